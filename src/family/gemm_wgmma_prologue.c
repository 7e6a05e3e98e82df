// Operands of gemm's `wgmma` emitter that are computed on their way.
//
//   three warps of the warpgroup of which one thread copies:
//       for every tile of this block:
//           for every slice of K:
//               wait until its slot is full
//               make each tile of its sources, in the place of the first of them
//               fence what was written; its slot is ready
//
// The copy engine brings the matrices that the operand is made of (its sources) as it brings any
// operand, so they lie in shared memory as products read them, and copies run as far ahead as
// without a prologue. Who multiplies waits for `ready` instead of `full`; the slot is given back as
// ever, and that nobody computes there any more follows from it having been ready. Tensor cores
// look at shared memory past the threads' way to it, so each thread fences what it wrote.
//
// It is computed in f32 and rounded once, to the type that is multiplied. What the copy engine has
// filled with zeros beyond the end of K stays so; vectors along rows or columns are read where they
// are needed, beyond the last one the last again.
//
// Turned down: a warpgroup of its own, with which 512 threads leave each 128 registers, too few for
// 128 sums (ptxas refuses them, whatever setmaxnreg says); computing by those that multiply, which
// have no registers left and wait for their products meanwhile; A from registers, which serves one
// side, and reads each source once for every warpgroup.
#include "base/arena.h"
#include "family/gemm_wgmma_slots.h"

// Eight elements of 16 bits: 16 bytes, of which a row has eight.
enum { PIECE = 8, PIECES = 8, ROWS_AT_ONCE = WGMMA_COMPUTERS / PIECES };

// What a thread makes of a slice: piece number `own`, and those that are 96 further on each.
struct slice {
    const struct loop_expr *own, *slot, *k0;
};

// A piece of a tile: element (stay, k) of the operand, at `at` in the tile's memory.
struct piece {
    const struct loop_expr *stay, *k, *at;
};

// Rows of 128 bytes lie one below the other, along K one for each row or column of the operand,
// across it boxes of 64 rows of K.
static struct piece find_piece(const struct wgmma_build *x, struct loop_builder *b,
                               const struct wgmma_tile *t, const struct slice *c,
                               const struct loop_expr *row) {
    const struct loop_expr *number = rest(x, c->own, PIECES);
    struct piece p;
    p.at = add(x, wgmma_slot_begin(x, t, c->slot), times(x, row, x->z.depth));
    p.at = add(x, p.at, times(x, loop_swizzle(x->a, row, number, WGMMA_ROW_BYTES), PIECE));
    if (t->s->along_k) {
        p.stay = row;
        p.k = times(x, number, PIECE);
    } else {
        p.stay = add(x, times(x, quotient(x, row, 64), 64), times(x, number, PIECE));
        p.k = rest(x, row, 64);
    }
    p.stay = loop_let(b, "stay", add(x, t->first, p.stay));
    p.k = loop_let(b, "k", add(x, c->k0, p.k));
    return p;
}

// The last row or column there is, beyond it.
static const struct loop_expr *near(const struct wgmma_build *x, const struct wgmma_tile *t,
                                    const struct loop_expr *stay) {
    if (t->s->size % wgmma_cluster_extent(&x->z, t->s) == 0)
        return stay;
    int64_t last = t->s->along_k ? 1 : PIECE;
    const struct loop_expr *extent = x->l->space.extent[t->group];
    return smaller(x, stay, loop_binary(x->a, LOOP_SUB, extent, num(x, last)));
}

static void compute_piece(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_tile *t,
                          const struct piece *p) {
    const struct gemm_operand *o = &t->s->operand;
    const struct graph *g = x->l->region->graph;
    struct scope s = scope_inside(&x->batch, b);
    s.index[t->group] = near(x, t, p->stay);
    s.index[x->form->group_k] = p->k;
    s.lanes = PIECE;
    s.lane_group = t->s->along_k ? x->form->group_k : t->group;
    for (int i = 0; i < o->n_sources; i++) {
        const struct loop_expr *v =
            loop_load(x->a, i == 0 ? t->tile : t->low_tile, p->at, PIECE, 1);
        point_define(&s, o->source[i].leaf, &o->source[i].map,
                     loop_let(b, g->nodes[o->source[i].leaf].name, v));
    }
    // The store rounds by itself.
    const struct node *node = &g->nodes[o->node];
    bool rounds = node->op == OP_CAST && node->dtype == x->z.storage;
    const struct loop_expr *v = point_value(&s, rounds ? node->arg[0] : o->node, o->map);
    if (v->dtype != LOOP_F32)
        v = loop_cast(x->a, v, LOOP_F32);
    loop_store(b, t->tile, p->at, loop_broadcast(x->a, v, PIECE), false);
}

static void compute_side(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_tile *t,
                         const struct slice *c) {
    struct loop_builder inner, guarded, inside;
    int items = (t->s->width + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    const struct loop_expr *item = open_unrolled(x, b, "item", items, &inner);
    const struct loop_expr *row = add(x, times(x, item, ROWS_AT_ONCE), quotient(x, c->own, PIECES));
    loop_open_if(&inner, row, num(x, t->s->width), &guarded);
    struct piece p = find_piece(x, &guarded, t, c, row);
    bool ends = x->z.k % x->z.depth != 0;
    loop_open_if(&guarded, ends ? p.k : num(x, 0),
                 ends ? x->l->space.extent[x->form->group_k] : num(x, 1), &inside);
    compute_piece(x, &inside, t, &p);
    loop_close(&guarded, &inside);
    loop_close(&inner, &guarded);
    loop_close(b, &inner);
}

static void compute_slice(struct wgmma_build *x, struct loop_builder *b,
                          const struct loop_expr *own, const struct loop_expr *slice) {
    const struct loop_expr *count = loop_let(b, "count", add(x, x->count, slice));
    struct slice c = {.own = own};
    c.slot = loop_let(b, "slot", wgmma_slot_of(x, count));
    c.k0 = loop_let(b, "k0", wgmma_depth_at(x, slice));
    loop_intrinsic(b, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{x->full, c.slot}, {NULL, wgmma_phase_of(x, count)}});
    if (x->z.lhs.is_computed)
        compute_side(x, b, &x->lhs, &c);
    if (x->z.rhs.is_computed)
        compute_side(x, b, &x->rhs, &c);
    loop_intrinsic(b, INTRINSIC_FENCE_WRITES, NULL);
    loop_intrinsic(b, INTRINSIC_MBARRIER_ARRIVE, (struct loop_operand[]){{x->ready, c.slot}});
}

void wgmma_compute(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder role, *by_tile, by_slice;
    struct wgmma_loops loops;
    // Of all threads those from the second warp on.
    const struct loop_expr *own =
        rest(x, add(x, x->thread, num(x, x->z.threads - GPU_WARP)), x->z.threads);
    loop_open_role(b, own, num(x, WGMMA_COMPUTERS), &role);
    own = loop_to_index(x->a, loop_cast(x->a, own, LOOP_I32), 0, WGMMA_COMPUTERS - 1);
    own = loop_let(&role, "own", own);
    by_tile = wgmma_open_tiles(x, &role, &loops);
    struct loop_for f = {"slice", num(x, 0), x->n_slices, 1, false};
    const struct loop_expr *slice = loop_open_for(by_tile, &f, &by_slice);
    compute_slice(x, &by_slice, own, slice);
    loop_close(by_tile, &by_slice);
    wgmma_close_tiles(x, &role, &loops);
    loop_close(b, &role);
}
