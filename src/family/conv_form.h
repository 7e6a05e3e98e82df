// The form of a region around one convolution: sizes, and the dense products that it is made of.
//
// Weights are the left operand, [out channels, K], and the image is the right one, [K, columns]: a
// column is one result of one image, and K counts the taps of the window and the channels in each.
// A plain convolution is one such product (for each group of channels). A transposed one with
// stride s is several: results whose places are alike modulo s are reached by the same taps, and
// are a plain convolution with stride 1 among themselves. Each of these is a class.
//
// The image is read with its padding, as one array of [batch, padded ..., groups, channels]: then
// places of all terms are affine and nothing is asked about borders. conv_layout.c makes it.
#pragma once

#include "family/emitter.h"
#include "ir/detail.h"

// Along one axis of the window: result t and tap m read place in_first + t in_step + m in_tap of
// the padded image, and are result out_first + t out_step and tap tap_first + m tap_step.
struct conv_axis {
    int64_t out, out_first, out_step;
    int64_t taps, tap_first, tap_step;
    int64_t in_first, in_step, in_tap;
};

struct conv_class {
    struct conv_axis axis[SPATIAL_MAX];
    int64_t places, taps;  // results of one image and channel, taps of one window
};

struct conv_form {
    node_id anchor, x, w;
    bool transposed;
    int n_axes;
    int64_t batch, groups, in, out;  // channels of one group
    int64_t size[SPATIAL_MAX];       // of the image, what is added before it, and with padding
    int64_t low[SPATIAL_MAX], padded[SPATIAL_MAX];
    int n_classes;
    const struct conv_class *classes;
    bool is_strided;  // results of a class do not lie side by side
    // Windows of one element, side by side: the image is read where it is.
    bool is_pointwise;
};

// Is it one convolution whose result reaches the values elementwise?
bool conv_find(struct form *form, struct objection *why);

int64_t conv_positions(const struct conv_form *f);  // of the padded image

// The space of results: batch, channels, and the window's axes, joined where one class has them all
// side by side; returns the first group of the latter.
int conv_build_space(struct lowering *l, const struct conv_form *f);
