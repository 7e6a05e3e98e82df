// What gemm's `mma` emitter is made of, for itself and for emitters that multiply by the same loops
// (conv_mma.c): the stage's knobs as sizes. gemm_mma.c has knobs, rules and estimates,
// gemm_mma_lower.c the loops.
#pragma once

#include "family/gemm_operand.h"

// How products are made of the operands as they are stored. TF32X3: each factor of f32 is split
// into a high and a low part of tf32, and three of the four products are added, the small ones
// first; the fourth is below what f32 keeps.
enum mma_kind {
    MMA_KIND_F16,
    MMA_KIND_BF16,
    MMA_KIND_TF32,
    MMA_KIND_TF32X3,
    MMA_KIND_I8,
    MMA_KIND_E4M3,  // of gemm alone
    MMA_KIND_E5M2
};

// One operand. Its tile has `width` elements along the axis that stays (rows of the left, columns
// of the right) and `depth` along K, stored in rows along whichever of them lies side by side in
// memory.
struct mma_side {
    node_id leaf;  // where it is read from, by which map
    struct axis_map map;
    int64_t size;      // of the axis that stays
    bool along_k;      // neighbours in memory lie along K
    bool is_cut;       // where it ends is known only when it runs
    bool by_words;     // 32-bit elements across K, which no matrix load transposes
    int width, warps;  // of a block's tile; warps side by side
    int own;           // elements of one warp: width / warps
    int rows, length;  // of the tile as it is stored
    int copy_bytes;    // that one asynchronous copy moves: 4, 8 or 16
    int copy_elements;
    int copies;          // of a row
    int64_t items;       // copies of a thread for one slice
    int64_t tile_bytes;  // of one slice
    // Computed on its way (gemm_mma_prologue.c): of what; sources that are copied as they are, of
    // `operand`; the one that lies where the tile does and becomes it, -1: none.
    bool is_computed;
    struct gemm_operand operand;
    bool is_copied[SOURCES_MAX];
    int in_place;
    int slots;             // slices of the tile in shared memory
    int64_t source_bytes;  // of one slice, of the other sources
};

struct mma_sizes {
    enum mma_kind kind;
    enum dtype storage;  // of both operands
    bool is_rounded;     // tf32: operands are as they are multiplied
    int element_bytes;
    int64_t m, n, k, batch;
    int depth, stages, group, threads;
    int step;        // depth of one product: 32 bytes
    int64_t slices;  // along K
    int64_t chunk;   // slices whose sum is put aside; 0: all of them are one sum
    struct mma_side lhs, rhs;
};

extern const struct knob mma_knobs[];
bool mma_runs_on(const struct target *t);
// Which products the problem's precision and the stored types allow; false: none of them.
bool mma_find_kind(const struct form *f, enum dtype t, enum mma_kind *kind);
// How much a copy moves at a time of rows of so many bytes; 0: they are no multiple of 4.
int mma_copy_bytes(int64_t row_bytes);
// Fill in the rest, where m, n, k, batch, the storage type and of each side `size`, `along_k` and
// `copy_bytes` are known.
void mma_set_sizes(struct mma_sizes *z, const struct form *f, const struct kernel_stage *s);

// Operands that are computed on their way (gemm_mma_prologue.c): what one is of, for products in
// `storage`; which of its sources are copied, where both sides are set; floats of a thread
// meanwhile; bytes that are read for a slice of one side; seconds for a slice of both, where a
// multiprocessor has so many blocks.
void mma_find_computed(const struct form *f, bool is_lhs, enum dtype storage, struct mma_side *s);
void mma_set_sources(struct mma_sizes *z, const struct form *f);
int64_t mma_prologue_registers(const struct mma_sizes *z);
double mma_brought_bytes(const struct mma_sizes *z, const struct mma_side *s);
double mma_prologue_seconds(const struct mma_sizes *z, const struct target *t, double blocks);

// Floats (or words) that a thread keeps in registers, of one accumulator and in all.
int64_t mma_sums(const struct mma_sizes *z);
int64_t mma_registers(const struct mma_sizes *z);
int64_t mma_shared_bytes(const struct mma_sizes *z);

// For an emitter's rows: rules of the knobs; seconds of the products alone; the legal knobs of
// which the emitter's own estimate is the least.
bool mma_is_legal(const struct mma_sizes *z, const struct target *t, const struct kernel_stage *s,
                  struct objection *why);
double mma_seconds(const struct mma_sizes *z, const struct target *t);
void mma_defaults(const struct emitter *e, const struct form *f, const struct target *t,
                  struct kernel_stage *s);

void mma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s,
               struct mma_sizes z);
