// What those have in common that copy, compute and multiply in a kernel of gemm's `wgmma` emitter:
// slots of the ring, the walk over tiles and slices, and each other's parts.
#pragma once

#include "family/gemm_wgmma_build.h"

// ---- slots of the ring, by the number of a slice among all that the block has

static inline const struct loop_expr *wgmma_slot_of(const struct wgmma_build *x,
                                                    const struct loop_expr *count) {
    return rest(x, count, x->z.stages);
}

static inline const struct loop_expr *wgmma_phase_of(const struct wgmma_build *x,
                                                     const struct loop_expr *count) {
    return rest(x, quotient(x, count, x->z.stages), 2);
}

// Where slot `slot` of a tile begins.
static inline const struct loop_expr *wgmma_slot_begin(const struct wgmma_build *x,
                                                       const struct wgmma_tile *t,
                                                       const struct loop_expr *slot) {
    return times(x, slot, (int64_t)t->s->width * x->z.depth);
}

// gemm_wgmma_lower.c: a walk over the block's tiles; inside, the batch and the tile's place are
// fixed. Returns where their statements go.
struct loop_builder *wgmma_open_tiles(struct wgmma_build *x, struct loop_builder *b,
                                      struct wgmma_loops *loops);
void wgmma_close_tiles(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops);

// The element of K that a slice of the block's begins with.
const struct loop_expr *wgmma_depth_at(const struct wgmma_build *x, const struct loop_expr *slice);

// gemm_wgmma_prologue.c: a role, of warps that make tiles of what the copy engine has brought.
void wgmma_compute(struct wgmma_build *x, struct loop_builder *b);

// gemm_wgmma_multiply.c: a warpgroup that multiplies, from its first tile to its last; where
// several blocks have a tile, what they do when their sums are in memory.
void wgmma_consume(struct wgmma_build *x, struct loop_builder *b);
void wgmma_combine(struct wgmma_build *x, struct loop_builder *b);
