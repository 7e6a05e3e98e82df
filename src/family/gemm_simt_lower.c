// The loops of gemm's `simt` emitter; gemm_simt.c says what they compute and why so.
#include "base/arena.h"
#include "family/gemm_simt.h"
#include "family/gpu.h"

struct build {
    struct lowering *l;
    struct arena *a;
    const struct gemm_form *form;
    struct simt_sizes z;
    struct scope *outer;  // batch fixed
    const struct loop_expr *thread;
    struct loop_buffer *sum;    // the thread's tile: [row][vector of columns]
    struct loop_buffer *total;  // shared, NULL: none
};

#define BUILD struct build
#include "family/index_arithmetic.h"

// Where in the tile a thread's vector number `item` lies.
struct spot {
    const struct loop_expr *stay, *k;
};

static struct spot find_spot(const struct build *x, const struct simt_side *s,
                             struct loop_builder *b, const struct loop_expr *item) {
    int64_t run = (s->along_k ? x->z.depth : s->width) / s->vec;
    const struct loop_expr *side_by_side, *other;
    if (x->z.threads % run == 0) {
        // A thread's items are whole rows apart: one address and constants, for compilers too.
        side_by_side = times(x, rest(x, x->thread, run), s->vec);
        other = add(x, times(x, item, x->z.threads / run), quotient(x, x->thread, run));
    } else {
        const struct loop_expr *v = add(x, times(x, item, x->z.threads), x->thread);
        side_by_side = times(x, rest(x, v, run), s->vec);
        other = quotient(x, v, run);
    }
    struct spot spot = {s->along_k ? other : side_by_side, s->along_k ? side_by_side : other};
    spot.stay = loop_let(b, arena_printf(x->a, "%s_at", s->name), spot.stay);
    spot.k = loop_let(b, arena_printf(x->a, "%s_k", s->name), spot.k);
    return spot;
}

// Element `at` of the tile along the axis that stays; beyond its edge the last one.
static const struct loop_expr *staying(const struct build *x, const struct simt_side *s,
                                       const struct loop_expr *at) {
    const struct loop_expr *stay = add(x, s->first, at);
    if (s->size % s->width == 0)
        return stay;
    return smaller(
        x, stay,
        loop_binary(x->a, LOOP_SUB, x->l->space.extent[s->group], num(x, s->along_k ? 1 : s->vec)));
}

// Load a slice that begins at depth `k0` into the thread's registers. `ragged`: it may be the
// last, and not a whole one.
static void load_slice(const struct build *x, const struct simt_side *s, struct loop_builder *b,
                       const struct loop_expr *k0, bool ragged) {
    struct loop_builder inner, guarded;
    const struct loop_expr *item = open_unrolled(x, b, "item", s->items, &inner);
    struct spot spot = find_spot(x, s, &inner, item);
    const struct loop_expr *k = add(x, k0, spot.k);
    if (ragged) {
        k = loop_let(&inner, "k", k);
        loop_store(&inner, s->incoming, item, loop_real(x->a, 0), false);
        loop_open_if(&inner, k, x->l->space.extent[x->form->group_k], &guarded);
    }
    struct scope scope = scope_inside(x->outer, ragged ? &guarded : &inner);
    scope.index[s->group] = staying(x, s, spot.stay);
    scope.index[x->form->group_k] = k;
    scope.lane_group = s->along_k ? x->form->group_k : s->group;
    scope.lanes = s->vec;
    const struct loop_expr *e = point_value(&scope, s->node, s->map);
    loop_store(scope.builder, s->incoming, item, loop_broadcast(x->a, e, s->vec), false);
    if (ragged)
        loop_close(&inner, &guarded);
    loop_close(b, &inner);
}

// Element (k, stay) of slice number `stage` in shared memory.
static const struct loop_expr *tile_index(const struct build *x, const struct simt_side *s,
                                          const struct loop_expr *stage, const struct loop_expr *k,
                                          const struct loop_expr *stay) {
    const struct loop_expr *row = add(x, times(x, stage, x->z.depth), k);
    return add(x, times(x, row, s->width + s->pad), stay);
}

// Put the registers where all threads can read them.
static void store_slice(const struct build *x, const struct simt_side *s, struct loop_builder *b,
                        const struct loop_expr *stage) {
    struct loop_builder inner, lanes;
    const struct loop_expr *item = open_unrolled(x, b, "item", s->items, &inner);
    struct spot spot = find_spot(x, s, &inner, item);
    const struct loop_expr *v = loop_load(x->a, s->incoming, item, s->vec, 1);
    if (s->along_k) {
        const struct loop_expr *lane = open_unrolled(x, &inner, "lane", s->vec, &lanes);
        loop_store(&lanes, s->tile, tile_index(x, s, stage, add(x, spot.k, lane), spot.stay),
                   loop_lane(x->a, v, lane), false);
        loop_close(&inner, &lanes);
    } else {
        loop_store(&inner, s->tile, tile_index(x, s, stage, spot.k, spot.stay), v, false);
    }
    loop_close(b, &inner);
}

// Position in the block's tile of the thread's row or column number `i`.
static const struct loop_expr *own_position(const struct build *x, const struct simt_side *s,
                                            const struct loop_expr *i) {
    const struct loop_expr *chunk = times(x, quotient(x, i, s->lanes), s->width / s->chunks);
    return add(x, add(x, chunk, times(x, s->thread, s->lanes)), rest(x, i, s->lanes));
}

static void read_own(const struct build *x, const struct simt_side *s, struct loop_builder *b,
                     const struct loop_expr *stage, const struct loop_expr *k) {
    struct loop_builder inner;
    const struct loop_expr *c = open_unrolled(x, b, "c", s->chunks, &inner);
    const struct loop_expr *at = own_position(x, s, times(x, c, s->lanes));
    loop_store(&inner, s->own, c,
               loop_load(x->a, s->tile, tile_index(x, s, stage, k, at), s->lanes, 1), false);
    loop_close(b, &inner);
}

// Number of the vector (row i, vector c of columns) of the thread's tile.
static const struct loop_expr *sum_index(const struct build *x, const struct loop_expr *i,
                                         const struct loop_expr *c) {
    return add(x, times(x, i, x->z.rhs.chunks), c);
}

static void multiply(const struct build *x, struct loop_builder *b, const struct loop_expr *stage) {
    const struct simt_side *l = &x->z.lhs, *r = &x->z.rhs;
    struct loop_builder by_k, by_row, by_column;
    const struct loop_expr *k = open_unrolled(x, b, "k", x->z.depth, &by_k);
    read_own(x, l, &by_k, stage, k);
    read_own(x, r, &by_k, stage, k);
    const struct loop_expr *i = open_unrolled(x, &by_k, "i", l->micro, &by_row);
    const struct loop_expr *c = open_unrolled(x, &by_row, "c", r->chunks, &by_column);
    const struct loop_expr *left = loop_load(x->a, l->own, quotient(x, i, l->lanes), l->lanes, 1);
    const struct loop_expr *right = loop_load(x->a, r->own, c, r->lanes, 1);
    const struct loop_expr *at = sum_index(x, i, c);
    const struct loop_expr *old = loop_load(x->a, x->sum, at, r->lanes, 1);
    left = loop_lane(x->a, left, rest(x, i, l->lanes));
    loop_store(&by_column, x->sum, at, loop_ternary(x->a, LOOP_FMA, left, right, old), false);
    loop_close(&by_row, &by_column);
    loop_close(&by_k, &by_row);
    loop_close(b, &by_k);
}

static void clear_sums(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->sum, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// The thread's vector number `at` of one level of totals.
static const struct loop_expr *total_index(const struct build *x, const struct loop_expr *at,
                                           int level) {
    const struct loop_expr *place = add(x, times(x, at, x->z.threads), x->thread);
    return add(x, times(x, place, x->sum->lanes), num(x, x->z.n_chunk_floats * level));
}

static const struct loop_expr *total_at(const struct build *x, const struct loop_expr *at,
                                        int level) {
    return loop_load(x->a, x->total, total_index(x, at, level), x->sum->lanes, 1);
}

static void clear_totals(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    for (int level = 0; level < x->z.cascade.n_levels; level++)
        loop_store(&inner, x->total, total_index(x, i, level),
                   loop_broadcast(x->a, loop_real(x->a, 0), x->sum->lanes), false);
    loop_close(b, &inner);
}

static void put_aside(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    const struct loop_expr *v = loop_load(x->a, x->sum, i, x->sum->lanes, 1);
    loop_store(&inner, x->total, total_index(x, i, 0),
               loop_binary(x->a, LOOP_ADD, total_at(x, i, 0), v), false);
    loop_close(b, &inner);
}

static void carry(void *ctx, struct loop_builder *b, int level) {
    const struct build *x = ctx;
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->total, total_index(x, i, level),
               loop_binary(x->a, LOOP_ADD, total_at(x, i, level), total_at(x, i, level - 1)),
               false);
    loop_store(&inner, x->total, total_index(x, i, level - 1),
               loop_broadcast(x->a, loop_real(x->a, 0), x->sum->lanes), false);
    loop_close(b, &inner);
}

// Vector number `at` of the thread's results.
static const struct loop_expr *result_at(const struct build *x, const struct loop_expr *at) {
    if (!x->total)
        return loop_load(x->a, x->sum, at, x->sum->lanes, 1);
    const struct loop_expr *all = total_at(x, at, 0);
    for (int level = 1; level < x->z.cascade.n_levels; level++)
        all = loop_binary(x->a, LOOP_ADD, all, total_at(x, at, level));
    return all;
}

static void load_both(const struct build *x, struct loop_builder *b, const struct loop_expr *k0,
                      bool ragged) {
    load_slice(x, &x->z.lhs, b, k0, ragged);
    load_slice(x, &x->z.rhs, b, k0, ragged);
}

static void store_both(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *stage) {
    store_slice(x, &x->z.lhs, b, stage);
    store_slice(x, &x->z.rhs, b, stage);
}

// ---- slices by asynchronous copies

// Start one operand's copies of a slice. Beyond the end of K nothing is read, and zeros arrive.
static void copy_side(const struct build *x, const struct simt_side *s, struct loop_builder *b,
                      const struct loop_expr *slice) {
    static const enum loop_intrinsic by_vec[] = {
        [1] = INTRINSIC_COPY4, [2] = INTRINSIC_COPY8, [4] = INTRINSIC_COPY16};
    struct loop_builder inner;
    const struct loop_expr *item = open_unrolled(x, b, "item", s->items, &inner);
    struct spot spot = find_spot(x, s, &inner, item);
    const struct loop_expr *k = add(x, times(x, slice, x->z.depth), spot.k);
    const struct loop_expr *valid = num(x, 4 * s->vec);
    if (x->z.k % x->z.depth != 0) {
        k = loop_let(&inner, "k", k);
        const struct loop_expr *left =
            loop_binary(x->a, LOOP_SUB, x->l->space.extent[x->form->group_k], k);
        left = times(x, loop_binary(x->a, LOOP_MAX, left, num(x, 0)), 4);
        // A vector that does not lie along K is there or not.
        valid = smaller(x, s->along_k ? left : times(x, left, s->vec), valid);
    }
    struct scope scope = scope_inside(x->outer, &inner);
    scope.index[s->group] = staying(x, s, spot.stay);
    scope.index[x->form->group_k] = k;
    const struct shape *shape = &x->l->region->graph->nodes[s->leaf].shape;
    const struct loop_expr *slot = rest(x, slice, x->z.stages);
    loop_intrinsic(&inner, by_vec[s->vec],
                   (struct loop_operand[]){{s->tile, tile_index(x, s, slot, spot.k, spot.stay)},
                                           {s->from, point_index(&scope, shape, &s->leaf_map)},
                                           {NULL, valid}});
    loop_close(b, &inner);
}

// Start the copies of a slice, if there is one; the group counts in any case.
static void copy_slice(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *slice) {
    struct loop_builder some;
    loop_open_if(b, slice, num(x, (x->z.k + x->z.depth - 1) / x->z.depth), &some);
    copy_side(x, &x->z.lhs, &some, slice);
    copy_side(x, &x->z.rhs, &some, slice);
    loop_close(b, &some);
    loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
}

// The first slices of a ring but one are on their way.
static void fill_ring(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    struct loop_for f = {"slice", num(x, 0), num(x, x->z.stages - 1), 1, false};
    copy_slice(x, &inner, loop_open_for(b, &f, &inner));
    loop_close(b, &inner);
}

// Behind the barrier a slice has come, of all threads, and nobody reads the one before it any more,
// whose place the next copies take.
static void walk_ring(const struct build *x, struct loop_builder *b, const struct loop_expr *begin,
                      const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"slice", quotient(x, begin, x->z.depth),
                         loop_ceildiv(x->a, end, x->z.depth), 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    loop_intrinsic(&inner, INTRINSIC_WAIT,
                   (struct loop_operand[]){{NULL, num(x, x->z.stages - 2)}});
    loop_barrier(&inner);
    copy_slice(x, &inner, add(x, slice, num(x, x->z.stages - 1)));
    multiply(x, &inner, rest(x, slice, x->z.stages));
    loop_close(b, &inner);
}

// ---- the walk along K

static const struct loop_expr *stage_of(const struct build *x, const struct loop_expr *k0) {
    return rest(x, quotient(x, k0, x->z.depth), 2);
}

// One slice in shared memory: all threads have read it before it is overwritten.
static void walk_single(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *begin, const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"k0", begin, end, x->z.depth, false};
    const struct loop_expr *k0 = loop_open_for(b, &f, &inner);
    load_both(x, &inner, k0, x->z.k % x->z.depth != 0);
    if (x->z.k > x->z.depth)
        loop_barrier(&inner);
    store_both(x, &inner, num(x, 0));
    loop_barrier(&inner);
    multiply(x, &inner, num(x, 0));
    loop_close(b, &inner);
}

// Two: one is used while the other is filled, and one barrier separates the turns. A chunk
// has an even number of slices, so the next one begins with the slice that was not used last.
static void walk_double(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *begin, const struct loop_expr *end) {
    struct loop_builder inner;
    const struct loop_expr *length = loop_binary(x->a, LOOP_SUB, end, begin);
    const struct loop_expr *turns = loop_ceildiv(x->a, length, x->z.depth);
    const struct loop_expr *ahead = loop_binary(x->a, LOOP_SUB, turns, num(x, 1));
    const struct loop_expr *last = add(x, begin, times(x, ahead, x->z.depth));
    if (x->total)
        last = loop_let(b, "last", last);
    // The last slice of all is the first of its chunk, or one of the others.
    bool ragged = x->z.k % x->z.depth != 0;
    bool first_is_last = (x->z.k - 1) % SIMT_CHUNK_TERMS < x->z.depth;
    load_both(x, b, begin, ragged && first_is_last);
    store_both(x, b, stage_of(x, begin));
    loop_barrier(b);
    struct loop_for f = {"k0", begin, last, x->z.depth, false};
    const struct loop_expr *k0 = loop_open_for(b, &f, &inner);
    const struct loop_expr *next = add(x, k0, num(x, x->z.depth));
    load_both(x, &inner, next, ragged && !first_is_last);
    multiply(x, &inner, stage_of(x, k0));
    store_both(x, &inner, stage_of(x, next));
    loop_barrier(&inner);
    loop_close(b, &inner);
    multiply(x, b, stage_of(x, last));
}

static void walk(const struct build *x, struct loop_builder *b, const struct loop_expr *begin,
                 const struct loop_expr *end) {
    clear_sums(x, b);
    if (x->z.is_ring)
        walk_ring(x, b, begin, end);
    else if (x->z.stages == 2)
        walk_double(x, b, begin, end);
    else
        walk_single(x, b, begin, end);
}

static void walk_all(struct build *x, struct loop_builder *b) {
    const struct loop_expr *end = x->l->space.extent[x->form->group_k];
    if (x->z.is_ring)
        fill_ring(x, b);
    if (!x->total) {
        walk(x, b, num(x, 0), end);
        return;
    }
    struct loop_builder inner;
    clear_totals(x, b);
    struct loop_for f = {"chunk", num(x, 0), end, SIMT_CHUNK_TERMS, false};
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    const struct loop_expr *stop =
        loop_binary(x->a, LOOP_MIN, end, add(x, begin, num(x, SIMT_CHUNK_TERMS)));
    walk(x, &inner, begin, stop);
    put_aside(x, &inner);
    cascade_carry(&x->z.cascade, &inner, quotient(x, begin, SIMT_CHUNK_TERMS), carry, x);
    loop_close(b, &inner);
}

// Store the thread's tile, in vectors where the columns allow it.
static void store_tile(const struct build *x, struct loop_builder *b) {
    const struct region *region = x->l->region;
    const struct simt_side *l = &x->z.lhs, *r = &x->z.rhs;
    int lanes = x->z.n % r->lanes == 0 ? r->lanes : 1;
    struct axis_map map = map_identity(region->graph->nodes[x->form->anchor].shape.rank);
    struct loop_builder by_row, row_guard, by_column, column_guard;
    const struct loop_expr *i = open_unrolled(x, b, "i", l->micro, &by_row);
    const struct loop_expr *row = loop_let(&by_row, "row", add(x, l->first, own_position(x, l, i)));
    loop_open_if(&by_row, row, x->l->space.extent[l->group], &row_guard);
    const struct loop_expr *c = open_unrolled(x, &row_guard, "c", r->micro / lanes, &by_column);
    const struct loop_expr *j = times(x, c, lanes);
    const struct loop_expr *column =
        loop_let(&by_column, "column", add(x, r->first, own_position(x, r, j)));
    loop_open_if(&by_column, column, x->l->space.extent[r->group], &column_guard);
    struct scope s = scope_inside(x->outer, &column_guard);
    s.index[l->group] = row;
    s.index[r->group] = column;
    s.lane_group = r->group;
    s.lanes = lanes;
    const struct loop_expr *at = sum_index(x, i, quotient(x, j, r->lanes));
    const struct loop_expr *e = result_at(x, at);
    if (lanes == 1)
        e = loop_lane(x->a, e, rest(x, j, r->lanes));
    point_define(&s, x->form->anchor, &x->form->at,
                 loop_let(s.builder, region->graph->nodes[x->form->anchor].name, e));
    for (int v = 0; v < region->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&by_column, &column_guard);
    loop_close(&row_guard, &by_column);
    loop_close(&by_row, &row_guard);
    loop_close(b, &by_row);
}

static void make_side(const struct build *x, struct simt_side *s) {
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{(int64_t)x->z.stages * x->z.depth, NULL},
                                {s->width + s->pad, NULL}};
    s->tile = loop_shared(p, arena_printf(x->a, "%s_tile", s->name), shape, 2);
    if (x->z.is_ring)
        s->from = x->l->buffer[s->leaf];
    else
        s->incoming = loop_register(p, arena_printf(x->a, "%s_next", s->name), s->items, s->vec);
    s->own = loop_register(p, arena_printf(x->a, "%s_own", s->name), s->chunks, s->lanes);
}

static void make_buffers(struct build *x) {
    struct simt_sizes *z = &x->z;
    make_side(x, &z->lhs);
    make_side(x, &z->rhs);
    x->sum =
        loop_register(x->l->program, "sum", (int64_t)z->lhs.micro * z->rhs.chunks, z->rhs.lanes);
    struct loop_size totals = {z->n_chunk_floats * z->cascade.n_levels, NULL};
    if (z->n_chunk_floats)
        x->total = loop_shared(x->l->program, "total", &totals, 1);
}

void simt_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage,
                struct simt_sizes z) {
    struct build x = {.l = l, .a = l->arena, .form = f->gemm, .z = z};
    gemm_build_space(l, x.form);
    struct simt_side *lhs = &x.z.lhs, *rhs = &x.z.rhs;
    lhs->group = x.form->group_m;
    rhs->group = x.form->group_n;

    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *down = loop_ceildiv(x.a, l->space.extent[lhs->group], lhs->width);
    const struct loop_expr *right = loop_ceildiv(x.a, l->space.extent[rhs->group], rhs->width);
    const struct loop_expr *tiles = loop_binary(x.a, LOOP_MUL, down, right);
    const struct loop_expr *grid =
        loop_binary(x.a, LOOP_MUL, scope_count(&top, 0, x.form->group_m), tiles);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_gemm", stage->values[0]), grid, x.z.threads, &b);
    if (z.min_blocks > 1)
        k.kernel->min_blocks = z.min_blocks;
    top.builder = &b;
    struct scope batch = scope_inside(&top, &b);
    scope_split(&batch, loop_binary(x.a, LOOP_DIV, k.block, tiles), 0, x.form->group_m);
    x.outer = &batch;
    x.thread = k.thread;
    const struct loop_expr *tile = loop_binary(x.a, LOOP_MOD, k.block, tiles);
    lhs->first = times(&x, loop_binary(x.a, LOOP_DIV, tile, right), lhs->width);
    rhs->first = times(&x, loop_binary(x.a, LOOP_MOD, tile, right), rhs->width);
    lhs->first = loop_let(&b, "row0", lhs->first);
    rhs->first = loop_let(&b, "column0", rhs->first);
    lhs->thread = quotient(&x, k.thread, rhs->width / rhs->micro);
    rhs->thread = rest(&x, k.thread, rhs->width / rhs->micro);
    make_buffers(&x);
    walk_all(&x, &b);
    store_tile(&x, &b);
}
