// What the parts of conv's `cpu` emitter share: conv_cpu.c has knobs, rules and estimates,
// conv_cpu_lower.c builds the kernels.
//
// A convolution on a CPU is a matrix product that is never written down. A micro-kernel holds the
// sums of some neighbouring results (`pixels`) of a row for some out channels (`wide`) in
// registers. Its lanes are channels: then a term takes the weights of these channels as vectors and
// one element of the image for each result, and neither strides nor dilation nor short rows cost
// anything. Or they are results: a term takes elements of the image as vectors and one weight for
// each channel. That is for groups of few channels, as in depthwise convolutions.
//
// Weights are copied once a call, in the order in which they are read: for a panel of `wide`
// channels all terms, each with the weights of these channels side by side. A block computes some
// rows of results for some panels. For some channels of the image at a time it copies what the
// windows of these rows cover into a local array, with zeros for borders, and adds the products to
// a tile of results, whose lanes lie side by side as well. The epilogue stores the tile by rows.
#pragma once

#include "family/conv_form.h"

struct conv_cpu_sizes {
    bool by_columns;  // lanes are results of a row, not channels
    int lanes, pixels, wide;
    int n_vectors, n_sums;       // of what lies in lanes; of the micro-kernel
    int64_t panels_all, panels;  // of `wide` out channels: of a group, and of a block
    int64_t depth;               // channels of the image that are copied at a time
    // Of one class: results of a block, those of a row rounded up to whole micro-kernels.
    int64_t rows, columns;
    int64_t row_tiles, spans;           // blocks along rows, and along one row
    int64_t leads;                      // taps of a window's first axis, where there are three
    int64_t image_rows, image_columns;  // of the image under a block's windows, a channel and lead
    int64_t pitch;                      // from one of these rows to the next
};

// The axes of a window by what they are for: the last one is walked in rows, the one before it
// counts these rows, and one more is walked plane by plane. -1: there is none.
static inline int conv_cpu_column_axis(const struct conv_form *f) {
    return f->n_axes - 1;
}
static inline int conv_cpu_row_axis(const struct conv_form *f) {
    return f->n_axes - 2;
}
static inline int conv_cpu_plane_axis(const struct conv_form *f) {
    return f->n_axes - 3;
}

struct conv_cpu_sizes conv_cpu_sizes(const struct conv_form *f, const struct conv_class *c,
                                     const struct kernel_stage *s);
// Elements of the two local arrays of a block.
int64_t conv_cpu_image_count(const struct conv_cpu_sizes *z);
int64_t conv_cpu_tile_count(const struct conv_cpu_sizes *z);

void conv_cpu_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
