// What gemm's `simt` emitter is made of: the stage's knobs as sizes. gemm_simt.c has knobs, rules
// and estimates, gemm_simt_lower.c the loops.
#pragma once

#include "family/cascade.h"
#include "family/gemm_form.h"

// Terms of one sum before it is put aside: twice the honest blocks of 1024, a quarter of what a
// judge allows.
enum { SIMT_CHUNK_TERMS = 2048 };

// One operand: the tile has `width` elements along the axis that stays (rows of the left,
// columns of the right) and depth of them along K.
struct simt_side {
    node_id node;
    const struct axis_map *map;
    const char *name;
    int group;       // that stays
    int64_t size;    // of it
    bool along_k;    // neighbours in memory lie along K
    int width, pad;  // in shared memory
    int vec;         // elements that are moved at once
    int micro, lanes, chunks;
    int64_t n_vectors, items;        // of a tile; per thread
    const struct loop_expr *first;   // of the tile
    const struct loop_expr *thread;  // which of the threads side by side
    struct loop_buffer *tile, *incoming, *own;
    // Of a ring: the stored value that is copied, the map by which it is read, its buffer.
    node_id leaf;
    struct axis_map leaf_map;
    struct loop_buffer *from;
};

struct simt_sizes {
    int64_t m, n, k, batch;
    int depth, stages, vec, threads, min_blocks;
    int64_t n_chunk_floats;  // of one level of totals in shared memory, 0: none
    struct cascade cascade;  // of the totals
    bool is_ring;            // slices come by asynchronous copies
    struct simt_side lhs, rhs;
};

// Loops of a product whose stage has been read as `z`.
void simt_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage,
                struct simt_sizes z);
