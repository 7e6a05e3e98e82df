// What the halves of mma's lowering share: the kernel that is being built, and shorthands for its
// expressions. For gemm_mma_lower.c, gemm_mma_store.c and those who bring other operands to the
// same loops.
#pragma once

#include "family/gemm_mma.h"
#include "family/gpu.h"

struct mma_tile {
    const struct mma_side *s;
    const struct loop_expr *extent;  // of the axis that stays
    const struct loop_expr *end;     // up to which it is read; NULL: its extent
    const struct loop_expr *first;   // of the tile, along it
    const struct loop_expr *warp;    // where this warp's part begins
    struct loop_buffer *from, *tile, *words;
    struct loop_buffer *high, *low;  // parts of the words
    // Of what is computed on its way: where a source is, and where it comes to; the tile itself, or
    // [slot][row][column] as it lies in memory.
    struct loop_buffer *source_from[SOURCES_MAX], *source[SOURCES_MAX];
    bool is_lhs;
};

struct mma_build;

// Where one copy of a slice reads: from element `stay` of the axis that stays and slice * depth +
// `inside` along K on.
struct mma_at {
    const struct loop_expr *slice, *inside, *stay;
};

// What is multiplied, and where results go: products of matrices have the rows of gemm_mma_lower.c.
struct mma_operands {
    // The element of the operand's buffer that a copy begins at.
    const struct loop_expr *(*source)(const struct mma_build *x, const struct mma_tile *t,
                                      struct loop_builder *b, const struct mma_at *at);
    // Both factors of one term, f32.
    void (*term)(const struct mma_build *x, struct loop_builder *b, const struct loop_expr *row,
                 const struct loop_expr *column, const struct loop_expr *k,
                 const struct loop_expr *factor[2]);
    // Fix the point of the space that a result belongs to; of `lanes` columns side by side.
    void (*place)(const struct mma_build *x, struct scope *s, const struct loop_expr *row,
                  const struct loop_expr *column, int lanes);
};

struct mma_build {
    struct lowering *l;
    struct arena *a;
    const struct mma_operands *operands;
    const void *ctx;  // of the owner of the operands
    node_id anchor;   // the product, and where it is in the space
    struct axis_map at;
    int pair;  // columns that are stored at once: 1 or 2
    struct mma_sizes z;
    const struct loop_expr *extent_k;
    const struct loop_expr
        *first_k;                    // where K begins, and how many slices it has, if that is known
    const struct loop_expr *slices;  // only when it runs; NULL: 0, and as many as `z` says
    const struct loop_expr *turn;    // the slice that the block begins with; NULL: the first
    struct scope *outer;             // batch fixed
    const struct loop_expr *thread, *lane;
    struct mma_tile lhs, rhs;
    struct loop_buffer *sum;    // [16 rows][8 columns][rows g, g + 8] of two columns
    struct loop_buffer *total;  // NULL: one sum is enough
};

#define BUILD struct mma_build
#include "family/index_arithmetic.h"

// Where in `sum` the part of 16 rows and 8 columns begins.
static inline const struct loop_expr *sum_at(const struct mma_build *x, const struct loop_expr *i,
                                             const struct loop_expr *j) {
    return times(x, add(x, times(x, i, x->z.rhs.own / 8), j), 2);
}

// Element number `i` of the thread's sums, with what was put aside.
static inline const struct loop_expr *sum_and_total(const struct mma_build *x,
                                                    const struct loop_expr *i) {
    const struct loop_expr *sum = loop_load(x->a, x->sum, i, 2, 1);
    if (!x->total)
        return sum;
    return loop_binary(x->a, LOOP_ADD, loop_load(x->a, x->total, i, 2, 1), sum);
}

// gemm_mma_lower.c: where a copy or the like begins in the tile as it is stored: row and element of
// one of the thread's pieces; an address there; how many of the `bytes` of a copy exist, of `each`
// for an element.
struct mma_piece {
    const struct loop_expr *row, *column;
};
struct mma_piece mma_piece_of(const struct mma_build *x, const struct mma_side *s,
                              const struct loop_expr *item);
const struct loop_expr *mma_element_at(const struct mma_build *x, const struct mma_side *s,
                                       const struct loop_expr *slice,
                                       const struct mma_piece *piece);
struct mma_at mma_where(const struct mma_build *x, const struct mma_tile *t,
                        const struct loop_expr *slice, const struct mma_piece *piece);
const struct loop_expr *mma_valid_bytes(const struct mma_build *x, const struct mma_tile *t,
                                        const struct mma_at *at, int64_t each, int64_t bytes);

// gemm_mma_prologue.c: buffers; starts the copies of a slice's sources; makes the tile of them, in
// the same threads, when they have come.
void mma_make_sources(struct mma_build *x, struct mma_tile *t, const char *name);
void mma_copy_sources(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice);
void mma_compute_tile(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice);

// gemm_mma_store.c: the epilogue, and the store of every value.
void mma_store_results(const struct mma_build *x, struct loop_builder *b);

// gemm_mma_lower.c: registers and shared memory of a tile; operands as they lie in `lhs` and `rhs`.
void mma_make_buffers(struct mma_build *x, struct loop_buffer *lhs, struct loop_buffer *rhs);
// How many tiles one product has, and everything from a block's tile on.
const struct loop_expr *mma_tiles(const struct mma_build *x);
void mma_build_tile(struct mma_build *x, struct loop_builder *b, const struct gpu_kernel *k,
                    const struct loop_expr *tile);
// The same where `first` of both sides is known.
void mma_build_placed(struct mma_build *x, struct loop_builder *b, const struct gpu_kernel *k);
