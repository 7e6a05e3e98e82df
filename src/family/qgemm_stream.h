// What qgemm's `stream` emitter is made of: the stage's knobs as sizes.
// qgemm_stream.c has knobs, rules and estimates, qgemm_stream_lower.c the
// loops.
#pragma once

#include "family/qgemm_form.h"

struct stream_sizes {
    int tokens;            // rows of x that a block has
    int tall;              // strips of sixteen rows of weights of a warp
    int down, along;       // warps of a block: one below the other, and along K
    int warps, threads;    // of a block
    int ahead;             // chunks of K on their way
    int split;             // blocks of a cluster, along K
    int own;               // elements of a row that a thread has of a chunk: 16 bytes of weights
    int depth;             // columns of a chunk
    int64_t chunks;        // of a warp
    int64_t strips;        // of sixteen rows of weights
    int64_t strips_block;  // of a block
    int64_t tiles_m;       // of x's rows
    int64_t blocks;        // side by side, of those that have the same columns and rows of x
    int64_t groups;        // of scales, in what a block has of a row; 0: they do not change there
    int64_t entries;       // pairs of sums of a strip
};

// `sms`: multiprocessors of the target.
struct stream_sizes stream_sizes(const struct qgemm_form *f, const struct kernel_stage *s, int sms);
// Of the scales that a block has of one row, in shared memory.
int64_t stream_scale_bytes(const struct qgemm_form *f, const struct stream_sizes *z);
int64_t stream_shared_bytes(const struct qgemm_form *f, const struct stream_sizes *z);

void stream_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
