// The loops of gemm's `wgmma` emitter; gemm_wgmma.c says what they compute and why so.
//
//   one thread of the first warpgroup:               the other warpgroups:
//       for every tile of this block:                    for every tile of this block:
//           for every slice of K:                            for every slice of K:
//               wait until its slot is empty                     wait until its slot is full
//               expect the bytes, start the copies               start the products, commit
//                                                                wait for those of the slice before
//                                                                its slot is empty
//                                                            wait for the last; its slot is empty
//                                                            store
//
// All of them have the same tile, each some of its rows; or (`apart`) every other tile each, so
// that one stores while the other multiplies.
//
// Slots and phases follow from the number of the slice among all that the block has: slice c is in
// slot c % stages, and that slot is filled for the (c / stages)-th time.
//
// What lies outside of an operand is zero by the copy engine, so that it adds nothing; rows and
// columns outside of the result are not stored.
#include <assert.h>

#include "family/gemm_wgmma_slots.h"

// ---- which tile

// The first row or column of tile `tile` along a side: blocks of a cluster have it side by side
// along the one that they do not share.
static const struct loop_expr *first_of(const struct wgmma_build *x, const struct wgmma_tile *t,
                                        const struct loop_expr *tile) {
    const struct loop_expr *first = times(x, tile, wgmma_cluster_extent(&x->z, t->s));
    if (!x->rank || t->s == wgmma_shared(&x->z))
        return first;
    return add(x, first, times(x, x->rank, t->s->width));
}

// `group` rows of tiles are walked column by column, so that blocks that run at the same time read
// the same operands.
void wgmma_place_tile(struct wgmma_build *x, struct loop_builder *b, const struct loop_expr *tile,
                      const struct loop_expr *down) {
    int64_t high = wgmma_cluster_extent(&x->z, &x->z.lhs),
            wide = wgmma_cluster_extent(&x->z, &x->z.rhs);
    int64_t all = (x->z.m + high - 1) / high, right = (x->z.n + wide - 1) / wide;
    int64_t group = x->z.group < all ? x->z.group : all;
    bool is_known = down->op == LOOP_CONST;
    const struct loop_expr *first =
        loop_let(b, "above", times(x, quotient(x, tile, group * right), group));
    const struct loop_expr *inside = loop_let(b, "inside", rest(x, tile, group * right));
    const struct loop_expr *rows = num(x, group);
    if (!is_known || down->integer % group != 0)
        rows = smaller(x, loop_binary(x->a, LOOP_SUB, down, first), rows);
    // The tile exists, so there is a row.
    if (!is_known)
        rows = loop_to_index(x->a, loop_cast(x->a, rows, LOOP_I32), 1, group);
    if (rows->op != LOOP_CONST)
        rows = loop_let(b, "rows", rows);
    const struct loop_expr *row = add(x, first, loop_binary(x->a, LOOP_MOD, inside, rows));
    const struct loop_expr *column = loop_binary(x->a, LOOP_DIV, inside, rows);
    x->lhs.first = loop_let(b, "row0", first_of(x, &x->lhs, row));
    x->rhs.first = loop_let(b, "column0", first_of(x, &x->rhs, column));
}

// Which slices of the tile are the block's, where several have a part of them each.
static void find_slices(struct wgmma_build *x, struct loop_builder *b) {
    int64_t each = wgmma_slices_each(&x->z);
    x->first_slice = num(x, 0);
    x->n_slices = num(x, x->z.slices);
    if (x->z.split == 1)
        return;
    x->first_slice = loop_let(b, "first", times(x, rest(x, x->block, x->z.split), each));
    x->n_slices = num(x, each);
    if (x->z.slices % each != 0)
        x->n_slices =
            loop_let(b, "slices",
                     smaller(x, x->n_slices,
                             loop_binary(x->a, LOOP_SUB, num(x, x->z.slices), x->first_slice)));
}

// Over the tiles of all matrices of a batch.
static void open_matrices(struct wgmma_build *x, struct loop_builder *b,
                          struct loop_builder *inner) {
    int64_t all = wgmma_tiles(&x->z) / x->z.cluster, each = all / x->z.batch;
    int64_t step = x->blocks / x->z.cluster;
    const struct loop_expr *first =
        quotient(x, x->block, x->z.split > 1 ? x->z.split : x->z.cluster);
    struct loop_for f = {"tile", first, num(x, all), step, false};
    // Consumers take the block's tiles in turns; the one that copies brings all of them.
    if (x->turn) {
        f.begin = add(x, first, times(x, x->turn, step));
        f.step = x->z.consumers * step;
    }
    // One tile each: a loop that runs once.
    if (!x->more)
        f.end = add(x, first, num(x, 1));
    const struct loop_expr *tile = loop_open_for(b, &f, inner);
    x->count = num(x, 0);
    if (x->more)
        x->count = loop_let(inner, "before", times(x, quotient(x, tile, step), x->z.slices));
    find_slices(x, inner);
    x->batch = scope_inside(x->top, inner);
    x->matrix = quotient(x, tile, each);
    scope_split(&x->batch, x->matrix, 0, x->form->group_m);
    x->rows_end = x->l->space.extent[x->lhs.group];
    int64_t high = wgmma_cluster_extent(&x->z, &x->z.lhs);
    wgmma_place_tile(x, inner, rest(x, tile, each), num(x, (x->z.m + high - 1) / high));
}

// A walk over the block's tiles; inside, the batch and the tile's place are fixed. Returns where
// their statements go.
struct loop_builder *wgmma_open_tiles(struct wgmma_build *x, struct loop_builder *b,
                                      struct wgmma_loops *loops) {
    if (x->walk) {
        x->walk->open(x, b, loops);
    } else {
        open_matrices(x, b, &loops->at[0]);
        loops->n = 1;
    }
    return &loops->at[loops->n - 1];
}

void wgmma_close_tiles(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops) {
    if (x->walk)
        x->walk->close(x, b, loops);
    else
        loop_close(b, &loops->at[0]);
}

// ---- rows that end where a copy says so

// Row r of those before row `end` is copied as row CUT - end + r of CUT, so that what lies behind
// the end lies outside of the map; a second axis takes it back by `end` rows, and a third, whose
// only coordinate is CUT, by -CUT rows: addresses wrap around at 2^64, which is CUT times the
// stride that it would have otherwise.
void wgmma_cut_map(struct loop_map *map) {
    map->rank = 4;
    map->dims[2] = map->dims[1] + 1;
    map->dims[1] = WGMMA_CUT_ROWS;
    map->dims[3] = WGMMA_CUT_ROWS + 1;
    map->strides[2] = map->strides[1];
    map->strides[3] = ((int64_t)1 << 34) - map->strides[1];
    map->box[2] = map->box[3] = 1;
}

void wgmma_cut_rows(const struct wgmma_build *x, const struct loop_expr *end,
                    struct loop_operand *at) {
    at[1].index = add(x, loop_binary(x->a, LOOP_SUB, num(x, WGMMA_CUT_ROWS), end), at[1].index);
    at[2].index = end;
    at[3].index = num(x, WGMMA_CUT_ROWS);
}

// ---- the one that copies

// Which matrix of the batch, among those of the operand's buffer.
static const struct loop_expr *matrix_of(struct wgmma_build *x, struct loop_builder *b,
                                         const struct wgmma_tile *t) {
    if (x->z.parts || x->walk)
        return x->matrix;
    const struct shape *shape = &x->l->region->graph->nodes[t->s->leaf].shape;
    struct scope s = scope_inside(&x->batch, b);
    s.index[t->group] = num(x, 0);
    s.index[x->form->group_k] = num(x, 0);
    const struct loop_expr *at = point_index(&s, shape, &t->s->map);
    return loop_let(b, t == &x->lhs ? "lhs_matrix" : "rhs_matrix",
                    quotient(x, at, x->z.k * t->s->size));
}

// Where a copy comes from and goes to, besides the slot.
struct wgmma_copy {
    const struct wgmma_tile *t;
    bool is_low;  // of a split operand
    const struct loop_expr *slot, *k, *matrix;
};

// Does each block of a cluster bring a part of this operand for all of them?
static bool is_part(const struct wgmma_build *x, const struct wgmma_tile *t) {
    return x->rank && t->s == wgmma_shared(&x->z);
}

static void copy_box(const struct wgmma_build *x, struct loop_builder *b,
                     const struct wgmma_copy *c, const struct loop_expr *box) {
    const struct wgmma_tile *t = c->t;
    const struct loop_expr *from = times(x, box, 64);
    bool is_shared = is_part(x, t);
    if (is_shared)
        from = add(x, from, times(x, x->rank, t->s->width / x->z.cluster));
    const struct loop_expr *to =
        add(x, wgmma_slot_begin(x, t, c->slot), times(x, from, x->z.depth));
    const struct loop_expr *stay = add(x, t->first, from);
    struct loop_operand o[] = {{c->is_low ? t->low_tile : t->tile, to},
                               {c->is_low ? t->low_map : t->map, NULL},
                               {x->full, c->slot},
                               {NULL, t->s->along_k ? c->k : stay},
                               {NULL, t->s->along_k ? stay : c->k},
                               {NULL, c->matrix},
                               {NULL, NULL}};
    if (t->s->is_cut)
        wgmma_cut_rows(x, x->cut, o + 3);
    // All blocks of the cluster get it.
    if (is_shared)
        o[t->s->is_batch ? 6 : 5].index = num(x, (1 << x->z.cluster) - 1);
    loop_intrinsic(b,
                   is_shared && t->s->is_batch ? INTRINSIC_BULK_SHARE3
                   : is_shared                 ? INTRINSIC_BULK_SHARE2
                   : t->s->is_cut              ? INTRINSIC_BULK_COPY4
                   : t->s->is_batch            ? INTRINSIC_BULK_COPY3
                                               : INTRINSIC_BULK_COPY2,
                   o);
}

static void copy_side(const struct wgmma_build *x, struct loop_builder *b, struct wgmma_copy c) {
    struct loop_builder inner;
    int boxes = c.t->s->along_k ? 1 : c.t->s->width / 64 / (is_part(x, c.t) ? x->z.cluster : 1);
    for (int low = 0; low < wgmma_rings(&x->z, c.t->s); low++) {
        c.is_low = low;
        copy_box(x, &inner, &c, open_unrolled(x, b, "box", boxes, &inner));
        loop_close(b, &inner);
    }
}

// Where all blocks read the same operand, not all of them read the same slice of it at a time: each
// goes around K from a slice of its own on. Of few slices it does not matter.
static bool begins_apart(const struct wgmma_build *x) {
    enum { FEW = 32 };
    bool is_same = x->z.m <= x->z.lhs.width || x->z.n <= x->z.rhs.width;
    return is_same && x->z.batch == 1 && !x->walk && x->z.split == 1 && x->z.slices >= FEW;
}

const struct loop_expr *wgmma_depth_at(const struct wgmma_build *x, const struct loop_expr *slice) {
    const struct loop_expr *at = add(x, x->first_slice, slice);
    if (begins_apart(x))
        at = rest(x, add(x, at, quotient(x, x->block, x->z.cluster)), x->z.slices);
    const struct loop_expr *k = times(x, at, x->z.depth);
    return x->first_k ? add(x, x->first_k, k) : k;
}

static void produce(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder *by_tile, by_slice;
    struct wgmma_loops loops;
    by_tile = wgmma_open_tiles(x, b, &loops);
    const struct loop_expr *left = NULL, *right = NULL;
    if (x->z.lhs.is_batch)
        left = matrix_of(x, by_tile, &x->lhs);
    if (x->z.rhs.is_batch)
        right = matrix_of(x, by_tile, &x->rhs);
    // Unrolled by the compiler it needed more registers than this warpgroup keeps, and spilled.
    struct loop_for f = {"slice", num(x, 0), x->n_slices, 1, false};
    const struct loop_expr *slice = loop_open_for(by_tile, &f, &by_slice);
    loop_keep_rolled(&by_slice);
    const struct loop_expr *count = loop_let(&by_slice, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&by_slice, "slot", wgmma_slot_of(x, count));
    const struct loop_expr *k = wgmma_depth_at(x, slice);
    // Before it was filled for the first time it is empty.
    loop_intrinsic(
        &by_slice, INTRINSIC_MBARRIER_WAIT,
        (struct loop_operand[]){{x->empty, slot},
                                {NULL, wgmma_phase_of(x, add(x, count, num(x, x->z.stages)))}});
    int64_t bytes = (int64_t)wgmma_rings(&x->z, &x->z.lhs) * x->z.lhs.width * WGMMA_ROW_BYTES +
                    (int64_t)wgmma_rings(&x->z, &x->z.rhs) * x->z.rhs.width * WGMMA_ROW_BYTES;
    loop_intrinsic(&by_slice, INTRINSIC_MBARRIER_EXPECT,
                   (struct loop_operand[]){{x->full, slot}, {NULL, num(x, bytes)}});
    copy_side(x, &by_slice, (struct wgmma_copy){&x->lhs, false, slot, k, left});
    copy_side(x, &by_slice, (struct wgmma_copy){&x->rhs, false, slot, k, right});
    loop_close(by_tile, &by_slice);
    wgmma_close_tiles(x, b, &loops);
}

// ---- the kernel

// How the copy engine sees one matrix, or its low parts.
static struct loop_buffer *make_map(struct wgmma_build *x, const struct wgmma_side *s,
                                    const struct loop_buffer *of, const char *name) {
    int64_t rows = s->along_k ? s->size : x->z.k;
    struct loop_map map = {.of = of, .rank = s->is_batch ? 3 : 2, .swizzle_bytes = 128};
    assert(map.of->dtype == x->z.storage);
    map.dims[0] = s->along_k ? x->z.k : s->size;
    map.dims[1] = rows;
    map.dims[2] = of->count / (rows * s->pitch);
    map.strides[0] = 1;
    map.strides[1] = s->pitch;
    map.strides[2] = rows * s->pitch;
    map.box[0] = x->z.depth;
    bool is_part = x->z.cluster > 1 && s == wgmma_shared(&x->z);
    map.box[1] = s->along_k ? s->width / (is_part ? x->z.cluster : 1) : x->z.depth;
    map.box[2] = 1;
    if (s->is_cut)
        wgmma_cut_map(&map);
    return loop_map_of(x->l->program, name, &map);
}

static struct loop_buffer *make_tile(struct wgmma_build *x, const struct wgmma_side *s,
                                     const char *name) {
    struct loop_size shape[] = {{(int64_t)x->z.stages * s->width, NULL}, {x->z.depth, NULL}};
    struct loop_buffer *tile = loop_shared_of(x->l->program, name, x->z.storage, shape, 2);
    tile->align = 1024;
    return tile;
}

static void make_side(struct wgmma_build *x, struct wgmma_tile *t, const char *name) {
    const struct loop_buffer *of = x->z.parts ? t->parts[0] : x->l->buffer[t->s->leaf];
    t->map = make_map(x, t->s, of, arena_printf(x->a, "%s_map", name));
    t->tile = make_tile(x, t->s, arena_printf(x->a, "%s_tile", name));
    if (wgmma_rings(&x->z, t->s) < 2)
        return;
    const char *what = x->z.parts ? "low" : "second";
    const struct loop_buffer *second =
        x->z.parts ? t->parts[1] : x->l->buffer[t->s->operand.source[1].leaf];
    t->low_map = make_map(x, t->s, second, arena_printf(x->a, "%s_%s_map", name, what));
    t->low_tile = make_tile(x, t->s, arena_printf(x->a, "%s_%s_tile", name, what));
}

// Warpgroups that have their own code have names of their own for their registers: what one left in
// them would have to be kept for the other.
static void make_sums(struct wgmma_build *x) {
    struct loop_program *p = x->l->program;
    int64_t pairs = wgmma_pairs(&x->z);
    x->sum =
        loop_register_of(p, "sum", pairs / x->z.halves, 2, x->form->is_whole ? LOOP_I32 : LOOP_F32);
    if (x->z.chunk)
        x->total = loop_register(p, "total", pairs, 2);
}

static void make_buffers(struct wgmma_build *x) {
    struct loop_program *p = x->l->program;
    struct loop_size stages = {x->z.stages, NULL};
    make_side(x, &x->lhs, "lhs");
    make_side(x, &x->rhs, "rhs");
    if (x->z.boxes)
        wgmma_make_boxes(x);
    x->full = loop_shared_of(p, "full", DTYPE_I64, &stages, 1);
    x->empty = loop_shared_of(p, "empty", DTYPE_I64, &stages, 1);
    if (x->z.computes)
        x->ready = loop_shared_of(p, "ready", DTYPE_I64, &stages, 1);
    struct loop_size both = {2, NULL};
    if (x->z.apart)
        x->turns = loop_shared_of(p, "turns", DTYPE_I64, &both, 1);
    struct loop_size shares[] = {{wgmma_tiles(&x->z) * x->z.split, NULL},
                                 {(int64_t)x->z.lhs.width * x->z.rhs.width, NULL}};
    if (x->z.split > 1)
        x->shares = loop_global_of(p, arena_printf(x->a, "%s_sums", x->name), LOOP_SCRATCH,
                                   DTYPE_F32, shares, 2);
    if (x->z.parts > 1)
        x->cross = loop_register(p, "cross", wgmma_pairs(&x->z), 2);
    if (x->z.parts) {
        x->least = loop_register(p, "least", 1, 1);
        x->plain[0] = loop_register(p, "plain", 1, 1);
        x->plain[1] = loop_register(p, "plain_part", 1, 1);
    }
    // One array serves all values of a type.
    struct loop_size staged = {x->z.staged_bytes / 2, NULL};
    for (int v = 0; v < x->l->region->n_values; v++) {
        enum dtype t = x->l->target[v]->dtype;
        if (!x->z.staged_bytes || x->z.boxes || !wgmma_is_staged(x->l->region, x->form, v) ||
            x->l->target_offset[v] || dtype_infos[t].bits != 16 ||
            (v > 0 && x->passage[0] && x->passage[0]->dtype != t))
            continue;
        x->passage[v] =
            v > 0 && x->passage[0] ? x->passage[0] : loop_shared_of(p, "passage", t, &staged, 1);
        x->passage[v]->align = 128;
    }
}

// A slot is full by one arrival and its bytes, empty when every consumer says so.
static void make_barriers(const struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder one, inner;
    loop_open_if(b, x->thread, num(x, 1), &one);
    const struct loop_expr *i = open_unrolled(x, &one, "i", x->z.stages, &inner);
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{x->full, i}, {NULL, num(x, 1)}});
    int64_t readers = (x->z.apart ? 1 : x->z.consumers) * x->z.cluster;
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{x->empty, i}, {NULL, num(x, readers)}});
    if (x->ready)
        loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                       (struct loop_operand[]){{x->ready, i}, {NULL, num(x, WGMMA_COMPUTERS)}});
    loop_close(&one, &inner);
    for (int turn = 0; turn < 2 && x->z.apart; turn++)
        loop_intrinsic(&one, INTRINSIC_MBARRIER_INIT,
                       (struct loop_operand[]){{x->turns, num(x, turn)}, {NULL, num(x, 1)}});
    loop_close(b, &one);
    // Others arrive here, or copy, only when all are made.
    if (x->rank)
        loop_group_barrier(b, NULL, NULL);
    else
        loop_barrier(b);
}

// Three warpgroups have 168 registers for each thread: the one that copies leaves most of them to
// the others, as many as it can do without where sums fill them.
static void set_registers(const struct wgmma_build *x, struct loop_builder *b, bool more) {
    int less = x->z.computes ? WGMMA_COMPUTING : wgmma_sums(&x->z) > 176 ? 24 : 40;
    if (x->z.consumers == 2)
        loop_intrinsic(b, more ? INTRINSIC_REGISTERS_MORE : INTRINSIC_REGISTERS_LESS,
                       (struct loop_operand[]){{NULL, num(x, more ? 252 - less / 2 : less)}});
}

// All warpgroups that multiply, or the one that has its own turn.
static void open_consumers(struct wgmma_build *x, struct loop_builder *b, int turn,
                           struct loop_builder *role) {
    if (!x->z.apart) {
        loop_open_role(b, num(x, WGMMA_GROUP - 1), x->thread, role);
        return;
    }
    x->turn = num(x, turn);
    const struct loop_expr *group = quotient(x, x->thread, WGMMA_GROUP);
    int after = x->z.consumers - turn;
    loop_open_role(b, rest(x, add(x, group, num(x, after)), x->z.consumers + 1), num(x, 1), role);
}

// One thread of the first warpgroup copies; all of it gives up registers. Three of its warps
// compute what is computed on its way, while that thread copies.
static void make_copying(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder role, one;
    bool gives = x->z.consumers == 2;
    if (x->z.computes) {
        if (gives) {
            loop_open_if(b, x->thread, num(x, WGMMA_GROUP), &one);
            set_registers(x, &one, false);
            loop_close(b, &one);
        }
        loop_open_role(b, x->thread, num(x, 1), &role);
        produce(x, &role);
        loop_close(b, &role);
        wgmma_compute(x, b);
        return;
    }
    loop_open_role(b, x->thread, num(x, gives ? WGMMA_GROUP : 1), &role);
    set_registers(x, &role, false);
    if (gives) {
        loop_open_if(&role, x->thread, num(x, 1), &one);
        produce(x, &one);
        loop_close(&role, &one);
    } else {
        produce(x, &role);
    }
    loop_close(b, &role);
}

void wgmma_build_kernel(struct wgmma_build *x, const char *suffix) {
    struct loop_builder b, role;
    struct gpu_kernel k = gpu_open_kernel(x->l, arena_printf(x->a, "%s_%s", x->name, suffix),
                                          num(x, x->blocks * x->z.split), x->z.threads, &b);
    k.kernel->min_blocks = 1;
    int group = x->z.split > 1 ? x->z.split : x->z.cluster;
    k.kernel->blocks_per_group = group > 1 ? group : 0;
    k.kernel->is_cluster = group > 1;
    struct scope top = {.lowering = x->l, .lane_group = -1, .lanes = 1, .builder = &b};
    x->top = &top;
    x->block = k.block;
    x->thread = k.thread;
    if (x->z.cluster > 1)
        x->rank = loop_let(&b, "rank", rest(x, x->block, x->z.cluster));
    make_buffers(x);
    make_barriers(x, &b);
    // Operands are split by launches of their own, which end while this one begins.
    k.kernel->is_programmatic = x->z.parts > 0;
    if (x->z.parts)
        loop_intrinsic(&b, INTRINSIC_LAUNCH_WAIT, NULL);
    make_copying(x, &b);
    for (int turn = 0; turn < (x->z.apart ? x->z.consumers : 1); turn++) {
        open_consumers(x, &b, turn, &role);
        make_sums(x);
        set_registers(x, &role, true);
        wgmma_consume(x, &role);
        loop_close(&b, &role);
    }
    if (x->z.split > 1)
        wgmma_combine(x, &b);
    // Nobody ends while others copy to it or arrive at its barriers.
    if (x->rank)
        loop_group_barrier(&b, NULL, NULL);
}

void wgmma_begin(struct wgmma_build *x, struct lowering *l, const struct form *f,
                 const struct kernel_stage *stage) {
    *x = (struct wgmma_build){.l = l, .a = l->arena, .form = f->gemm};
    gemm_build_space(l, x->form);
    x->z = wgmma_read_sizes(f, stage);
    l->is_quick = l->is_quick_inverse = wgmma_is_narrow(f->region);
    x->name = stage->values[0];
    x->more = l->sms < wgmma_tiles(&x->z) && x->z.split == 1;
    x->blocks = x->more ? l->sms / x->z.cluster * x->z.cluster : wgmma_tiles(&x->z);
    x->lhs = (struct wgmma_tile){.s = &x->z.lhs, .group = x->form->group_m};
    x->rhs = (struct wgmma_tile){.s = &x->z.rhs, .group = x->form->group_n};
}

void wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct wgmma_build x;
    wgmma_begin(&x, l, f, stage);
    if (x.z.parts) {
        wgmma_split(&x, &x.lhs);
        wgmma_split(&x, &x.rhs);
    }
    wgmma_build_kernel(&x, "gemm");
}
