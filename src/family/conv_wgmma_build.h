// What the parts of conv's `wgmma` lowering share: the kernel that is being built, and shorthands
// for its expressions. Only conv_wgmma_lower.c (copies and products) and conv_wgmma_store.c
// (results) include this.
#pragma once

#include "base/arena.h"
#include "family/conv_wgmma.h"
#include "family/gpu.h"

struct conv_side {
    struct loop_buffer *from[2], *map[2], *tile[2];  // high parts, low parts
};

struct conv_build {
    struct lowering *l;
    struct arena *a;
    const struct form *form;
    const struct conv_form *f;
    const struct conv_class *class;
    struct conv_wgmma_sizes z;
    int first_group;  // of the space: of the window's axes
    int64_t blocks;   // of the grid
    bool more;        // some have more than one tile
    struct scope *top;
    const struct loop_expr *block, *thread, *consumer;
    const struct loop_expr *group, *row0, *column0;  // of the tile
    const struct loop_expr *count;                   // of slices before this tile's
    struct conv_side weights, image;
    struct loop_buffer *full, *empty;              // barriers, one for each slot
    struct loop_buffer *image_full, *image_empty;  // where taps share a box: those of the image
    const struct loop_expr *boxes;                 // of the image before this tile's
    struct loop_buffer *sum;        // [64 rows][8 columns][rows g, g + 8] of two columns
    struct loop_buffer *total;      // NULL: one sum is enough
    bool reads_rows, reads_places;  // the epilogue: something for each channel, or result
    struct loop_buffer *passage[STAGE_VALUES_MAX];  // by value: through which it is stored, or NULL
};

#define BUILD struct conv_build
#include "family/index_arithmetic.h"

// By how many rows of the image outer tap `tap` is further than the window itself.
const struct loop_expr *conv_tap_rows(const struct conv_build *x, const struct loop_expr *tap);

// Stores the tile whose sums this thread has.
void conv_wgmma_store(struct conv_build *x, struct loop_builder *b);
