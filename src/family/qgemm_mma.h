// What qgemm's `mma` emitter is made of: the stage's knobs as sizes. qgemm_mma.c has knobs, rules
// and estimates, qgemm_mma_lower.c the loops.
#pragma once

#include "family/qgemm_form.h"

struct qgemm_sizes {
    int rows, tokens;        // of w and of x, that a warp multiplies at once
    int down, along;         // warps of a block: one below the other, and along K
    int warps, threads;      // of a block
    int stages, split;       // split: blocks of a cluster, along K
    int pieces;              // of 8 elements of x that a thread has of a row in one chunk
    int depth;               // of a chunk: what a warp multiplies at once
    int words;               // of w that a thread has of a row in one chunk
    int per_word;            // numbers in one of them
    int lanes;               // threads that copy a strip of a row
    int strip;               // chunks of a strip
    int64_t chunks;          // of K
    int64_t parts;           // of K: split times along
    int64_t strips;          // of a part
    int64_t tiles, tiles_m;  // of w's rows, of x's
    int64_t blocks;          // side by side, of those that have the same part and rows of x
    int64_t rounds;          // tiles of a warp
    bool scales_groups;      // scales change along a row, and with chunks
};

// `sms`: multiprocessors of the target.
struct qgemm_sizes qgemm_sizes(const struct qgemm_form *f, const struct kernel_stage *s, int sms);
// Chunks of a part of K.
int64_t qgemm_part_chunks(const struct qgemm_sizes *z);
int64_t qgemm_shared_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z);

void qgemm_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
