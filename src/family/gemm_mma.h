// What the two halves of gemm's `mma` emitter share: the stage's knobs as sizes. gemm_mma.c has
// knobs, rules and estimates, gemm_mma_lower.c the loops.
#pragma once

#include "family/gemm_form.h"

// How products are made of the operands as they are stored.
enum mma_kind { MMA_KIND_F16, MMA_KIND_BF16, MMA_KIND_TF32 };

// One operand. Its tile has `width` elements along the axis that stays (rows of the left, columns
// of the right) and `depth` along K, stored in rows along whichever of them lies side by side in
// memory.
struct mma_side {
    node_id leaf;  // where it is read from, by which map
    struct axis_map map;
    int64_t size;        // of the axis that stays
    bool along_k;        // neighbours in memory lie along K
    int width, warps;    // of a block's tile; warps side by side
    int own;             // elements of one warp: width / warps
    int rows, length;    // of the tile as it is stored
    int copy_elements;   // that one asynchronous copy moves
    int copies;          // of a row
    int64_t items;       // copies of a thread for one slice
    int64_t tile_bytes;  // of one slice
};

struct mma_sizes {
    enum mma_kind kind;
    enum dtype storage;  // of both operands
    int element_bytes;
    int64_t m, n, k, batch;
    int depth, stages, group, threads;
    int step;           // depth of one product: 32 bytes
    int64_t slices;     // along K
    int64_t chunk;      // slices whose sum is put aside; 0: all of them are one sum
    bool total_shared;  // what is put aside lies in shared memory, not in registers
    struct mma_side lhs, rhs;
};

// requires: the form is one that the emitter accepts.
struct mma_sizes mma_read_sizes(const struct form *f, const struct kernel_stage *s);
// Floats (or words) that a thread keeps in registers, of one accumulator and in all.
int64_t mma_sums(const struct mma_sizes *z);
int64_t mma_registers(const struct mma_sizes *z);
int64_t mma_shared_bytes(const struct mma_sizes *z);

void mma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
