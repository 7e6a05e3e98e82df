"""Convolutions, their transposes, pools and resizing in one to three dimensions."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Sequential(nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), nn.ConvTranspose1d(6, 2, 3, stride=2, output_padding=1))
        self.plane = nn.Conv2d(4, 6, (3, 2), padding="same", bias=False)
        self.circle = nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular")
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=(2, 1), padding=1, groups=2, dilation=(1, 2))
        self.cube = nn.Conv3d(4, 2, 2, stride=(1, 2, 1))
        self.back = nn.ConvTranspose3d(2, 3, 2, bias=False)
        self.pools = nn.ModuleList([nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.MaxPool2d(3, 2, ceil_mode=True)])

    def forward(self, line, plane, cube):
        pooled = [p(plane) for p in self.pools]
        lines = F.max_pool1d(line, 3, 1, 1, 2) [..., :4] + F.avg_pool1d(line, 2) + F.adaptive_avg_pool1d(line, 4) + F.adaptive_max_pool1d(line, 4)
        cubes = F.max_pool3d(cube, 2), F.avg_pool3d(cube, 3, 1, 1), F.adaptive_avg_pool3d(cube, (1, 2, 2))
        sized = F.interpolate(plane, scale_factor=2), F.interpolate(plane, size=(11, 5), mode="nearest")
        between = F.interpolate(plane, scale_factor=2, mode="bilinear"), F.interpolate(plane, size=(5, 9), mode="bilinear", align_corners=True)
        uneven = F.adaptive_avg_pool2d(plane, (3, 5))
        one = self.plane(plane[0])
        return self.line(line), self.plane(plane), self.circle(plane), self.up(plane), self.back(self.cube(cube)), pooled, lines, cubes, sized, between, uneven, one


def get_inputs():
    return [torch.randn(2, 4, 8), torch.randn(2, 4, 8, 8), torch.randn(2, 4, 4, 4, 4)]
