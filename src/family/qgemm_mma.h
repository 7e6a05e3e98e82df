// What qgemm's `mma` emitter is made of: the stage's knobs as sizes. qgemm_mma.c has knobs, rules
// and estimates, qgemm_mma_lower.c the loops.
#pragma once

#include "family/qgemm_form.h"

struct qgemm_sizes {
    int rows, tokens;  // of w and of x, that a block works on
    int warps, stages, resident;
    int pieces;      // of 8 elements of x that a thread has of a row in one chunk
    int depth;       // of a chunk: what a warp multiplies at once
    int words;       // of w that a thread has of a row in one chunk
    int per_word;    // numbers in one of them
    int64_t chunks;  // of K
    int64_t rounds;  // chunks of a warp
    int64_t tiles_n, tiles_m;
    bool scales_groups;  // scales change along a row, and with chunks
};

enum { QGEMM_PAD = 4 };  // floats behind each line of partial sums: no two in one bank

struct qgemm_sizes qgemm_sizes(const struct qgemm_form *f, const struct kernel_stage *s);
// Bytes of shared memory: of one warp's chunk, and in all.
int64_t qgemm_chunk_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z);
int64_t qgemm_shared_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z);

void qgemm_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
