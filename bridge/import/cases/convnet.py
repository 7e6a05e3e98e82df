"""A convolution block as KernelBench's files are laid out: sizes at the top, arguments, inputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3, padding=1)
        self.norm = nn.BatchNorm2d(features)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(features, 5)
        self.scale = nn.Parameter(torch.ones(features))

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        x = x * self.scale[:, None, None]
        return self.fc(x.mean(dim=(2, 3)))


batch_size = 4
channels = 3
features = 6


def get_inputs():
    return [torch.rand(batch_size, channels, 8, 8)]


def get_init_inputs():
    return [channels, features]
