// map on a GPU where something is read across: neighbours of the result are not neighbours in
// memory there (a transpose, channels moved last). Tiles of it go through shared memory: read along
// its own last axis, used along the result's. A row of the tile in shared memory is a little longer
// than the tile is wide, so that columns lie in different banks; two elements at once, from and to
// memory, are apart there.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/map_form.h"

static const int tile_grid[] = {32, 64, -1};
static const int rows_grid[] = {2, 4, 8, 16, 32, -1};
static const int vec_grid[] = {1, 2, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "elements of a tile along either axis",
     .n_parts = 1,
     .grid = {tile_grid}},
    {.name = "rows",
     .summary = "rows of a tile that are moved at once",
     .n_parts = 1,
     .grid = {rows_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    KNOB_GPU_STORE,
    {0},
};

static int64_t tiles_of(int64_t count, int tile) {
    return (count + tile - 1) / tile;
}

// Elements of a row in shared memory. Columns of two elements of 16 bits are two rows apart.
static int pitch_of(enum dtype t, int tile, int vec) {
    return tile + (dtype_infos[t].bits < 32 && vec == 1 ? 2 : 1);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    int tile = stage_number(s, "tile", 0), rows = stage_number(s, "rows", 0);
    int vec = stage_number(s, "vec", 0);
    struct map_crossing c;
    map_find_crossing(f->region, &c);
    if (tile / vec * rows > GPU_BLOCK_MAX)
        return objection(why, "rows", "%d rows of %d threads are above %d: the nearest is rows %d",
                         rows, tile / vec, GPU_BLOCK_MAX, GPU_BLOCK_MAX / (tile / vec));
    if (c.lanes % vec != 0)
        return objection(why, "vec",
                         "rows on both sides must begin at multiples of %d elements: "
                         "the nearest is vec 1",
                         vec);
    int64_t shared = 0;
    for (int i = 0; i < c.n_reads; i++) {
        enum dtype type = f->region->graph->nodes[c.read[i].node].dtype;
        shared += (int64_t)tile * pitch_of(type, tile, vec) * dtype_infos[type].bits / 8;
    }
    return gpu_legal_shared(t, "tile", shared, "tile 32", why) &&
           gpu_legal_grid("tile", map_count_tiles(&c, tile, tile), why);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct objection why;
    struct map_crossing c;
    map_find_crossing(f->region, &c);
    bool is_narrow = dtype_infos[f->region->graph->nodes[c.read[0].node].dtype].bits < 32;
    bool is_large = c.n_across >= 64 && c.n_last >= 64;
    stage_set(s, "tile", 0, is_large ? 64 : 32);
    stage_set(s, "vec", 0, is_narrow && c.lanes % 2 == 0 ? 2 : 1);
    stage_set(s, "rows", 0, is_large && (!is_narrow || c.lanes % 2 == 0) ? 8 : 4);
    if (!is_legal(f, t, s, &why))
        stage_set(s, "tile", 0, 32);
}

struct build {
    struct lowering *l;
    const struct kernel_stage *stage;
    struct map_crossing c;
    int tile, rows, vec;
    int across, last;  // groups
    struct loop_buffer *shared[MAP_CROSSED_MAX];
    const struct loop_expr *column, *row;               // of the thread
    const struct loop_expr *first_across, *first_last;  // of the block
};

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

// The block's tile, and all groups that it does not lie on.
static void place(struct build *x, const struct gpu_kernel *k, struct scope *s) {
    const struct space *space = &x->l->space;
    const struct loop_expr *tile = number(x, x->tile), *rest = k->block;
    const struct loop_expr *threads = number(x, x->tile / x->vec);
    x->column = op2(x, LOOP_MUL, op2(x, LOOP_MOD, k->thread, threads), number(x, x->vec));
    x->row = op2(x, LOOP_DIV, k->thread, threads);
    for (int side = 0; side < 2; side++) {
        int64_t n = tiles_of(space->count[side ? x->across : x->last], x->tile);
        const struct loop_expr *at = op2(x, LOOP_MUL, op2(x, LOOP_MOD, rest, number(x, n)), tile);
        rest = op2(x, LOOP_DIV, rest, number(x, n));
        if (side)
            x->first_across = loop_let(s->builder, "across", at);
        else
            x->first_last = loop_let(s->builder, "along", at);
    }
    for (int g = space->n_groups - 1; g >= 0; g--) {
        if (g == x->across || g == x->last)
            continue;
        s->index[g] = loop_let(s->builder, "i", op2(x, LOOP_MOD, rest, space->extent[g]));
        rest = op2(x, LOOP_DIV, rest, space->extent[g]);
    }
}

// A scope at the thread's element number `item`, where threads lie along one side of the tile.
static struct scope open_item(struct build *x, struct scope *outer, struct loop_builder *b,
                              const struct loop_expr *item, bool is_across,
                              struct loop_builder inside[2]) {
    const struct loop_expr *down =
        op2(x, LOOP_ADD, x->row, op2(x, LOOP_MUL, item, number(x, x->rows)));
    const struct loop_expr *a = op2(x, LOOP_ADD, x->first_across, is_across ? x->column : down);
    const struct loop_expr *l = op2(x, LOOP_ADD, x->first_last, is_across ? down : x->column);
    loop_open_if(b, a, x->l->space.extent[x->across], &inside[0]);
    loop_open_if(&inside[0], l, x->l->space.extent[x->last], &inside[1]);
    struct scope s = scope_inside(outer, &inside[1]);
    s.index[x->across] = a;
    s.index[x->last] = l;
    if (x->vec > 1) {
        s.lane_group = is_across ? x->across : x->last;
        s.lanes = x->vec;
    }
    return s;
}

// Where the thread's element lies in shared memory, of a row for each step along the last axis.
static const struct loop_expr *shared_at(const struct build *x, int read,
                                         const struct loop_expr *item, bool is_across) {
    const struct loop_expr *down =
        op2(x, LOOP_ADD, x->row, op2(x, LOOP_MUL, item, number(x, x->rows)));
    enum dtype type = x->l->region->graph->nodes[x->c.read[read].node].dtype;
    return op2(
        x, LOOP_ADD,
        op2(x, LOOP_MUL, is_across ? down : x->column, number(x, pitch_of(type, x->tile, x->vec))),
        is_across ? x->column : down);
}

// One element of what the thread read. Truth values have no lanes that can be picked out; their
// numbers have.
static const struct loop_expr *lane_of(const struct build *x, const struct loop_expr *e, int v) {
    struct arena *a = x->l->arena;
    if (e->lanes == 1)
        return e;
    if (e->dtype != LOOP_MASK)
        return loop_lane(a, e, number(x, v));
    return loop_cast(a, loop_lane(a, loop_cast(a, e, LOOP_F32), number(x, v)), LOOP_MASK);
}

static void store_shared(struct build *x, struct loop_builder *b, int read,
                         const struct loop_expr *at, const struct loop_expr *e) {
    for (int v = 0; v < x->vec; v++)
        loop_store(b, x->shared[read], op2(x, LOOP_ADD, at, number(x, v)), lane_of(x, e, v), false);
}

static void move_tile(struct build *x, struct scope *outer, bool is_across) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    struct loop_builder b, inside[2];
    struct loop_for f = {"item", number(x, 0), number(x, x->tile / x->rows), 1, true};
    const struct loop_expr *item = loop_open_for(outer->builder, &f, &b);
    struct scope s = open_item(x, outer, &b, item, is_across, inside);
    for (int i = 0; i < x->c.n_reads; i++) {
        node_id node = x->c.read[i].node;
        const struct loop_expr *at = shared_at(x, i, item, is_across);
        if (is_across)
            store_shared(x, &inside[1], i, at, point_value(&s, node, &x->c.read[i].map));
        else
            point_define(&s, node, &x->c.read[i].map,
                         loop_load(x->l->arena, x->shared[i], at, x->vec,
                                   pitch_of(r->graph->nodes[node].dtype, x->tile, x->vec)));
    }
    for (int i = 0; i < r->n_values && !is_across; i++)
        point_store(&s, i, &map, stage_word_is(x->stage, "store", "stream"));
    loop_close(&inside[0], &inside[1]);
    loop_close(&b, &inside[0]);
    loop_close(outer->builder, &b);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .stage = stage};
    struct loop_builder b;
    x.tile = stage_number(stage, "tile", 0);
    x.rows = stage_number(stage, "rows", 0);
    x.vec = stage_number(stage, "vec", 0);
    map_find_crossing(f->region, &x.c);
    map_build_space(l);
    x.across = l->space.group[x.c.axis];
    x.last = l->space.group[x.c.last_axis];
    for (int i = 0; i < x.c.n_reads; i++) {
        const struct node *n = &l->region->graph->nodes[x.c.read[i].node];
        struct loop_size shape[] = {{x.tile, NULL}, {pitch_of(n->dtype, x.tile, x.vec), NULL}};
        x.shared[i] = loop_shared_of(l->program, arena_printf(l->arena, "%s_tile", n->name),
                                     n->dtype, shape, 2);
    }
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(l->arena, "%s_map", stage->values[0]),
                                          loop_int(l->arena, map_count_tiles(&x.c, x.tile, x.tile)),
                                          x.tile / x.vec * x.rows, &b);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1, .builder = &b};
    place(&x, &k, &outer);
    move_tile(&x, &outer, true);
    loop_barrier(&b);
    move_tile(&x, &outer, false);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct map_crossing c;
    struct region_work w;
    region_count(f->region, &w);
    map_find_crossing(f->region, &c);
    int tile = stage_number(s, "tile", 0), rows = stage_number(s, "rows", 0);
    int vec = stage_number(s, "vec", 0);
    double filled = (double)(tiles_of(c.n_across, tile) * tiles_of(c.n_last, tile)) * tile * tile /
                    ((double)c.n_across * (double)c.n_last);
    struct gpu_traffic traffic = {.bytes = w.bytes_read + w.bytes_written,
                                  .blocks = (double)map_count_tiles(&c, tile, tile),
                                  .threads = tile / vec * rows,
                                  .in_flight = 4.0 * c.n_reads * vec * tile / rows};
    // Two bytes of each thread are little at a place; four of them are enough.
    bool is_narrow = dtype_infos[f->region->graph->nodes[c.read[0].node].dtype].bits < 32;
    double width = is_narrow == (vec > 1) ? 1 : 1.1;
    // A block reads, then writes: others fill the gap.
    return gpu_estimate_traffic(t, &traffic) * 1.05 * (0.7 + 0.3 * filled) * width;
}

const struct emitter map_tiles = {
    .name = "tiles",
    .summary = "elementwise values of something read across, through shared memory",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = map_accepts_crossing,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
