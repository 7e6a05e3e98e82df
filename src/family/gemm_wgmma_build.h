// What the parts of wgmma's lowering share: the kernel that is being built, and shorthands for its
// expressions. Only gemm_wgmma_lower.c (copies), gemm_wgmma_multiply.c (products),
// gemm_wgmma_store.c (results), gemm_wgmma_split.c (operands of f32 in two parts) and
// ragged_wgmma_lower.c (groups of rows) include this.
#pragma once

#include "base/arena.h"
#include "family/gemm_wgmma.h"
#include "family/gpu.h"

struct wgmma_tile {
    const struct wgmma_side *s;
    int group;                      // of the space, that stays
    const struct loop_expr *first;  // of the tile, along it
    struct loop_buffer *map, *tile;
    // Split operands: the low halves, what both are copied from, and the factors that undo the
    // scales, two for each row of the left or column of the right.
    // Operands that are computed: the second source, where the first becomes the tile.
    struct loop_buffer *low_map, *low_tile, *parts[2], *factors;
};

// The loops around a tile, of which the last is the innermost.
struct wgmma_loops {
    struct loop_builder at[2];
    int n;
};

// Products whose tiles are known only when it runs: how a block walks over its own. `open` sets the
// tile's place and what follows from it (below, from `batch` to `cut`).
struct wgmma_build;
struct wgmma_walk {
    void (*open)(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops);
    void (*close)(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops);
    const void *ctx;
};

// Where the sums of a thread lie in the tile.
struct wgmma_place {
    const struct loop_expr *consumer, *lane, *warp;  // the warp among four
    const struct loop_expr *first;                   // row of the tile that the warp begins with
};

struct wgmma_build {
    struct lowering *l;
    struct arena *a;
    const char *name;  // of the stage's first value
    const struct gemm_form *form;
    struct wgmma_sizes z;
    int64_t blocks;     // of the grid
    bool more;          // some have more than one tile
    struct scope *top;  // nothing fixed
    const struct loop_expr *block, *thread;
    const struct loop_expr *rank;    // of the block in a cluster that shares an operand; NULL: none
    const struct wgmma_walk *walk;   // NULL: over the tiles of all matrices
    struct scope batch;              // batch fixed
    const struct loop_expr *matrix;  // number of the tile's in the batch
    const struct loop_expr *rows_end;                // of results
    const struct loop_expr *first_k, *cut;           // rows of the operands that are cut: the first
                                                     // (where they are K; else NULL), and the end
    const struct loop_expr *turn;                    // of a consumer that has tiles of its own
    const struct loop_expr *count;                   // of slices before this tile's
    const struct loop_expr *first_slice, *n_slices;  // of the tile's, that are the block's
    const struct loop_expr *chunk;                   // of slices, where it is not the same for all
    struct wgmma_tile lhs, rhs;
    struct loop_buffer *full, *empty;  // barriers, one for each slot
    struct loop_buffer *ready;         // the same of operands that are computed, or NULL
    struct loop_buffer *turns;         // one for each consumer that has tiles of its own
    struct loop_buffer *sum;           // [64 rows][8 columns][rows g, g + 8] of two columns
    struct loop_buffer *cross;         // the same of products with a low part, or NULL
    struct loop_buffer *total;         // NULL: one sum is enough
    struct loop_buffer *shares;  // of sums, where several blocks have a tile: [block][pair][thread]
    struct loop_buffer *least;   // split: smallest of the tile's factors; 0: some are missing
    struct loop_buffer *plain[2];  // split: sums of what is computed without tensor cores
    struct loop_buffer *passage[STAGE_VALUES_MAX];  // by value: through which it is stored, or NULL
    struct loop_buffer *box_map;                    // by which boxes of it are, or NULL
    // What becomes of a tile's sums instead of the stage's values; NULL: these.
    void (*store)(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p);
    const void *store_ctx;
};

#define BUILD struct wgmma_build
#include "family/index_arithmetic.h"

// Sets all that the next one requires, for a product of matrices.
void wgmma_begin(struct wgmma_build *x, struct lowering *l, const struct form *f,
                 const struct kernel_stage *stage);
// Makes the kernel: one warpgroup copies, the others multiply and store.
// requires: x has lowering, name, form, sizes, blocks, and what the tiles of both sides are of.
void wgmma_build_kernel(struct wgmma_build *x, const char *suffix);
// Sets the first row and column of number `tile` of a matrix with `down` rows of tiles.
void wgmma_place_tile(struct wgmma_build *x, struct loop_builder *b, const struct loop_expr *tile,
                      const struct loop_expr *down);

// Stores the tile whose sums this thread has; `consumer` is its warpgroup among those that
// multiply.
void wgmma_store_tile(struct wgmma_build *x, struct loop_builder *b,
                      const struct loop_expr *consumer);

// What it stores is made of: the sums of rows `part` (of 64) and `half` (of 8) and columns from 8 *
// `j` on; a point of the space; the product there.
const struct loop_expr *wgmma_sum_at(const struct wgmma_build *x, const struct loop_expr *part,
                                     const struct loop_expr *half, const struct loop_expr *j);
struct scope wgmma_scope_at(struct wgmma_build *x, struct loop_builder *b,
                            const struct loop_expr *row, const struct loop_expr *column, int lanes);
void wgmma_define(struct wgmma_build *x, struct scope *s, const struct loop_expr *sum);

// Boxes of results: the map that they are stored by; waits for the last of them.
void wgmma_make_boxes(struct wgmma_build *x);
void wgmma_await_boxes(const struct wgmma_build *x, struct loop_builder *b);
// Makes a map of rows one whose copies say where rows end, and `at`, coordinates of a box of them,
// such; x->cut is the end.
void wgmma_cut_map(struct loop_map *map);
void wgmma_cut_rows(const struct wgmma_build *x, const struct loop_expr *end,
                    struct loop_operand *at);

// Where several blocks have a tile: puts this one's sums into memory; adds up and stores this one's
// share of the tile when all have done so.
void wgmma_store_share(struct wgmma_build *x, struct loop_builder *b);
void wgmma_store_shares(struct wgmma_build *x, struct loop_builder *b);

// Split operands: makes the kernel that writes the parts and factors of one operand.
void wgmma_split(struct wgmma_build *x, struct wgmma_tile *t);
// The first (0) or second factor of row or column `at` of the tile's matrix, and `lanes - 1` more.
const struct loop_expr *wgmma_factor(const struct wgmma_build *x, const struct wgmma_tile *t,
                                     int which, const struct loop_expr *at, int lanes);
