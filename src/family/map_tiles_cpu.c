// map on a CPU where something is read across: neighbours of the result are not neighbours in
// memory there (a transpose, channels moved last). It is read and written by tiles, so that every
// line of memory is read once and whole, and rows whose distance is a power of two do not push each
// other out of the caches. `turn array` copies a tile into a local array, along its own last axis,
// and uses it from there along the result's. `turn registers` goes through it by squares of as many
// rows as a vector has lanes: these rows are read, turned by shuffles of two registers at a time
// (the log2 of the lanes many steps, each of which exchanges blocks of half the size), and used; a
// tile is then only the order in which memory is walked. 2048 x 4096 of f32 on two cores of an
// EPYC: 2.4 ms by an array, 1.4 ms in registers, 1.4 ms for a copy of such tiles that turns
// nothing.
#include "base/arena.h"
#include "family/emitter.h"
#include "family/knobs.h"
#include "family/map_form.h"
#include "family/sweep.h"
#include "loop/range.h"

static const int along_grid[] = {16, 32, 64, 128, 256, -1};
static const int across_grid[] = {16, 32, 64, 128, 256, -1};
static const int ahead_grid[] = {0, 1, -1};
static const char *const turn_words[] = {"array", "registers", NULL};

static const struct knob knobs[] = {
    KNOB_CPU_VEC,
    {.name = "tile",
     .summary = "elements of a tile along the result's last axis, and along the operand's",
     .n_parts = 2,
     .grid = {along_grid, across_grid}},
    {.name = "ahead",
     .summary = "prefetch the next tile while this one is stored",
     .n_parts = 1,
     .grid = {ahead_grid}},
    {.name = "turn",
     .summary = "what is read across: through a local array, or in registers",
     .words = turn_words},
    KNOB_CPU_STORE,
    {0},
};

struct build {
    struct lowering *l;
    struct map_crossing c;
    int vec, tile[2];
    bool stream, ahead;
    int across, last;  // groups
    struct loop_buffer *local[MAP_CROSSED_MAX];
    const struct loop_expr *first[2], *end[2];  // of the tile: along the result's axis, across
    bool fills;                                 // the tile is being copied
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static int64_t tiles_of(int64_t count, int tile) {
    return (count + tile - 1) / tile;
}

// Registers are turned as floats.
static bool are_floats(const struct region *r, const struct map_crossing *c) {
    for (int i = 0; i < c->n_reads; i++)
        if (loop_arithmetic(r->graph->nodes[c->read[i].node].dtype) != LOOP_F32)
            return false;
    return true;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct map_crossing c;
    map_find_crossing(f->region, &c);
    if (!legal_vector(t, s, why) || !legal_lanes(s, c.has_lanes ? 0 : 1, why))
        return false;
    bool in_registers = stage_word_is(s, "turn", "registers");
    if (in_registers && (stage_number(s, "vec", 0) == 1 || !are_floats(f->region, &c)))
        return objection(why, "turn",
                         "turn registers needs vectors of floats: the nearest is turn array");
    int64_t bytes = in_registers
                        ? 0
                        : 4LL * c.n_reads * stage_number(s, "tile", 0) * stage_number(s, "tile", 1);
    if (bytes > LOCAL_BYTES_MAX)
        return objection(why, "tile", "tiles of %lld bytes, above %d: the nearest is tile 64x64",
                         (long long)bytes, LOCAL_BYTES_MAX);
    return stage_word_is(s, "store", "cached") || legal_stream(s, c.n_last, why);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct map_crossing c;
    struct region_work w;
    struct objection why;
    map_find_crossing(f->region, &c);
    region_count(f->region, &w);
    stage_set(s, "vec", 0, default_vec(t, c.has_lanes ? 2 : 1));
    for (int side = 0; side < 2; side++)
        stage_set(s, "tile", side, (side ? c.n_across : c.n_last) > 32 ? 64 : 32);
    stage_set(s, "ahead", 0, is_long_stream(t, w.bytes_written));
    // What is computed is written out for every row of a square.
    if (w.slow_flops == 0 && c.n_reads == 1 && are_floats(f->region, &c) && c.has_lanes)
        stage_set_word(s, "turn", "registers");
    stage_set_word(s, "store", is_long_stream(t, w.bytes_written) ? "stream" : "cached");
    if (!is_legal(f, t, s, &why))  // rows of results that do not begin at multiples of vectors
        stage_set_word(s, "store", "cached");
}

// Elements between two neighbours along the result's axis in a local tile.
static int64_t pitch_of(const struct build *x) {
    return x->tile[1];
}

static const struct loop_expr *place(const struct build *x, const struct scope *s) {
    const struct loop_expr *along = op2(x, LOOP_SUB, s->index[x->last], x->first[0]);
    const struct loop_expr *across = op2(x, LOOP_SUB, s->index[x->across], x->first[1]);
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, along, number(x, pitch_of(x))), across);
}

// Ask for a line of the tile that the next block reads: a vector of results has `lanes` rows of it,
// and each result's row asks for another one of those.
static void prefetch(const struct build *x, const struct scope *s) {
    const struct region *r = x->l->region;
    const struct loop_expr *lanes = number(x, s->lanes);
    const struct loop_expr *row = op2(x, LOOP_SUB, s->index[x->across], x->first[1]);
    const struct loop_expr *column = op2(x, LOOP_MUL, op2(x, LOOP_DIV, row, lanes), lanes);
    struct scope next = *s;
    next.lanes = 1;
    next.lane_group = -1;
    next.index[x->last] = op2(x, LOOP_ADD, s->index[x->last], op2(x, LOOP_MOD, row, lanes));
    next.index[x->across] =
        op2(x, LOOP_ADD, op2(x, LOOP_ADD, x->first[1], number(x, x->tile[1])), column);
    for (int i = 0; i < x->c.n_reads; i++) {
        node_id n = x->c.read[i].node;
        loop_prefetch(s->builder, x->l->buffer[n],
                      point_index(&next, &r->graph->nodes[n].shape, &x->c.read[i].map));
    }
}

static void move_vector(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *x = ctx;
    const struct region *r = x->l->region;
    struct arena *a = x->l->arena;
    (void)copy;
    if (x->ahead && !x->fills && s->lanes > 1)
        prefetch(x, s);
    for (int i = 0; i < x->c.n_reads; i++) {
        node_id node = x->c.read[i].node;
        if (x->fills) {
            const struct loop_expr *e = point_value(s, node, &x->c.read[i].map);
            loop_store(s->builder, x->local[i], place(x, s), loop_broadcast(a, e, s->lanes), false);
            continue;
        }
        const struct loop_expr *e =
            loop_load(a, x->local[i], place(x, s), s->lanes, s->lanes > 1 ? pitch_of(x) : 1);
        point_define(s, node, &x->c.read[i].map,
                     loop_let(s->builder, r->graph->nodes[node].name, e));
    }
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    for (int i = 0; i < r->n_values && !x->fills; i++)
        point_store(s, i, &map, x->stream);
}

// The tile row by row: of the operand while it is copied, then of the result.
static void move_tile(struct build *x, struct scope *outer, bool fills) {
    int rows = fills ? 0 : 1;  // which side is walked outside
    struct loop_builder b;
    struct loop_for f = {fills ? "l" : "a", x->first[rows], x->end[rows], 1, false};
    const struct loop_expr *row = loop_open_for(outer->builder, &f, &b);
    struct scope s = scope_inside(outer, &b);
    s.index[fills ? x->last : x->across] = row;
    struct sweep w = {.name = "j", .lanes = x->vec, .unroll = 1};
    w.group = fills ? x->across : x->last;
    w.begin = x->first[1 - rows];
    w.end = x->end[1 - rows];
    w.multiple = sweep_multiple(x->l->space.count[w.group], x->tile[1 - rows]);
    x->fills = fills;
    sweep_build(&s, &w, move_vector, x);
    loop_close(outer->builder, &b);
}

// ---- in registers

// Rows of a square become its columns: at each step halves of blocks change places.
static void turn_square(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *row[LANES_MAX]) {
    for (int run = x->vec / 2; run > 0; run /= 2)
        for (int i = 0; i < x->vec; i++) {
            const struct loop_expr *low = row[i], *high = row[i | run];
            if (i & run)
                continue;
            row[i] = loop_let(b, "turned",
                              loop_interleave(x->l->arena, LOOP_LANES_EVEN, low, high, run));
            row[i | run] =
                loop_let(b, "turned", loop_interleave(x->l->arena, LOOP_LANES_ODD, low, high, run));
        }
}

// A square of a read, turned: row i lies along the result's axis, at place i of the operand's.
// Lanes of the scope begin at its first column, `first` is its first row.
static void read_square(const struct build *x, struct scope *s, const struct loop_expr *first,
                        int read, const struct loop_expr *row[LANES_MAX]) {
    const struct node *node = &x->l->region->graph->nodes[x->c.read[read].node];
    struct scope across = scope_inside(s->outer, s->builder);
    across.lane_group = x->across;
    across.lanes = x->vec;
    across.index[x->across] = first;
    for (int i = 0; i < x->vec; i++) {
        struct scope line = scope_inside(&across, s->builder);
        line.lane_group = x->across;
        line.lanes = x->vec;
        line.index[x->last] = op2(x, LOOP_ADD, s->index[x->last], number(x, i));
        row[i] = point_value(&line, x->c.read[read].node, &x->c.read[read].map);
        struct scope next = line;
        next.lanes = 1;
        next.lane_group = -1;
        next.index[x->across] = op2(x, LOOP_ADD, first, number(x, x->tile[1]));
        if (x->ahead)
            loop_prefetch(s->builder, x->l->buffer[x->c.read[read].node],
                          point_index(&next, &node->shape, &x->c.read[read].map));
    }
    turn_square(x, s->builder, row);
}

static void store_values(const struct build *x, struct scope *s) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, x->stream && s->lanes > 1);
}

// Squares side by side that fill whole lines of results, so that these leave the processor whole;
// two at most, since each takes as many registers as a vector has lanes.
static int squares_of(const struct build *x) {
    enum { LINE_BYTES = 64 };
    const struct region *r = x->l->region;
    int bits = dtype_infos[r->graph->nodes[r->value[0]].dtype].bits;
    return x->stream && x->vec * bits / 8 < LINE_BYTES && x->tile[0] % (2 * x->vec) == 0 ? 2 : 1;
}

// `n` squares side by side. Their scopes fix columns alone: what is the same in all rows is
// computed there.
static void move_squares(struct build *x, struct scope *outer, struct loop_builder *b,
                         const struct loop_expr *const first[2], int n) {
    const struct loop_expr *row[2][MAP_CROSSED_MAX][LANES_MAX];
    struct scope square[2];
    for (int q = 0; q < n; q++) {
        square[q] = scope_inside(outer, b);
        square[q].lane_group = x->last;
        square[q].lanes = x->vec;
        square[q].index[x->last] = op2(x, LOOP_ADD, first[0], number(x, (int64_t)q * x->vec));
        for (int i = 0; i < x->c.n_reads; i++)
            read_square(x, &square[q], first[1], i, row[q][i]);
    }
    for (int i = 0; i < x->vec; i++)
        for (int q = 0; q < n; q++) {
            struct scope line = scope_inside(&square[q], b);
            line.lane_group = x->last;
            line.lanes = x->vec;
            line.index[x->across] = op2(x, LOOP_ADD, first[1], number(x, i));
            for (int k = 0; k < x->c.n_reads; k++)
                point_define(&line, x->c.read[k].node, &x->c.read[k].map, row[q][k][i]);
            store_values(x, &line);
        }
}

// Part of the tile: `n` squares at a time, or with none of them an element.
static void move_part(struct build *x, struct scope *outer, const struct loop_expr *const begin[2],
                      const struct loop_expr *const end[2], int n) {
    struct loop_builder b, inner;
    int step = n ? x->vec : 1;
    struct loop_for rows = {"a", begin[1], end[1], step, false};
    struct loop_for columns = {"j", begin[0], end[0], n > 1 ? n * step : step, false};
    if (range_at_most(end[0], begin[0]) || range_at_most(end[1], begin[1]))
        return;
    const struct loop_expr *first[2];
    first[1] = loop_open_for(outer->builder, &rows, &b);
    first[0] = loop_open_for(&b, &columns, &inner);
    if (n) {
        move_squares(x, outer, &inner, first, n);
    } else {
        struct scope s = scope_inside(outer, &inner);
        s.index[x->across] = first[1];
        s.index[x->last] = first[0];
        store_values(x, &s);
    }
    loop_close(&b, &inner);
    loop_close(outer->builder, &b);
}

// Where whole multiples of `step` end on one side of the tile.
static const struct loop_expr *whole(const struct build *x, struct scope *outer, int side,
                                     int step) {
    int64_t count = x->l->space.count[side ? x->across : x->last];
    if (sweep_multiple(count, x->tile[side]) % step == 0)
        return x->end[side];
    const struct loop_expr *n = op2(x, LOOP_SUB, x->end[side], x->first[side]);
    n = op2(x, LOOP_MUL, op2(x, LOOP_DIV, n, number(x, step)), number(x, step));
    return loop_let(outer->builder, "whole", op2(x, LOOP_ADD, x->first[side], n));
}

static void move_in_registers(struct build *x, struct scope *outer) {
    int n = squares_of(x);
    const struct loop_expr *end[2] = {whole(x, outer, 0, x->vec), whole(x, outer, 1, x->vec)};
    const struct loop_expr *wide = n > 1 ? whole(x, outer, 0, n * x->vec) : x->first[0];
    typedef const struct loop_expr *const place[2];
    if (n > 1)
        move_part(x, outer, x->first, (place){wide, end[1]}, n);
    move_part(x, outer, (place){wide, x->first[1]}, end, 1);
    move_part(x, outer, (place){x->first[0], end[1]}, (place){end[0], x->end[1]}, 0);
    move_part(x, outer, (place){end[0], x->first[1]}, x->end, 0);
}

// The block's tile, and all groups that it does not lie on. Blocks that follow each other read on
// where the one before stopped.
static void place_tile(struct build *x, struct scope *s, const struct loop_expr *block) {
    const struct space *space = &x->l->space;
    const struct loop_expr *rest = block;
    for (int side = 1; side >= 0; side--) {
        int g = side ? x->across : x->last;
        const struct loop_expr *n = number(x, tiles_of(space->count[g], x->tile[side]));
        const struct loop_expr *tile = number(x, x->tile[side]);
        x->first[side] = loop_let(s->builder, side ? "across" : "along",
                                  op2(x, LOOP_MUL, op2(x, LOOP_MOD, rest, n), tile));
        x->end[side] = op2(x, LOOP_MIN, space->extent[g], op2(x, LOOP_ADD, x->first[side], tile));
        rest = op2(x, LOOP_DIV, rest, n);
    }
    for (int g = space->n_groups - 1; g >= 0; g--) {
        if (g == x->across || g == x->last)
            continue;
        s->index[g] = loop_let(s->builder, "i", op2(x, LOOP_MOD, rest, space->extent[g]));
        rest = op2(x, LOOP_DIV, rest, space->extent[g]);
    }
}

static enum dtype local_type(const struct node *n) {
    switch (loop_arithmetic(n->dtype)) {
    case LOOP_F32:
        return DTYPE_F32;
    default:
        return n->dtype;
    }
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l};
    struct loop_builder b;
    x.vec = stage_number(stage, "vec", 0);
    x.tile[0] = stage_number(stage, "tile", 0);
    x.tile[1] = stage_number(stage, "tile", 1);
    x.stream = stage_word_is(stage, "store", "stream");
    x.ahead = stage_number(stage, "ahead", 0) > 0;
    map_find_crossing(f->region, &x.c);
    map_build_space(l);
    x.across = l->space.group[x.c.axis];
    x.last = l->space.group[x.c.last_axis];
    bool in_registers = stage_word_is(stage, "turn", "registers");
    for (int i = 0; i < x.c.n_reads && !in_registers; i++) {
        const struct node *n = &l->region->graph->nodes[x.c.read[i].node];
        struct loop_size shape[] = {{x.tile[0], NULL}, {x.tile[1], NULL}};
        x.local[i] = loop_local_of(l->program, arena_printf(l->arena, "%s_tile", n->name),
                                   local_type(n), shape, 2);
    }
    struct loop_kernel *k =
        loop_kernel_new(l->program, arena_printf(l->arena, "%s_map", stage->values[0]),
                        number(&x, map_count_tiles(&x.c, x.tile[0], x.tile[1])), &b);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1, .builder = &b};
    place_tile(&x, &outer, loop_ref(l->arena, k->block));
    if (in_registers) {
        move_in_registers(&x, &outer);
        return;
    }
    move_tile(&x, &outer, true);
    move_tile(&x, &outer, false);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct map_crossing c;
    map_find_crossing(f->region, &c);
    int along = stage_number(s, "tile", 0), across = stage_number(s, "tile", 1);
    double blocks = (double)map_count_tiles(&c, along, across);
    // Short rows of tiles are fetched line by line; tiles beyond the first cache, twice.
    double rows = 1 + 8.0 / along + 8.0 / across;
    bool in_registers = stage_word_is(s, "turn", "registers");
    double spills = in_registers                                                 ? 0.7
                    : 4.0 * c.n_reads * along * across > (double)t->l1_bytes / 2 ? 1.3
                                                                                 : 1;
    double serial = stage_number(s, "ahead", 0) ? 0.2 : 0.5;
    return 1.2 * estimate_stream(f->region, t, s, 1, serial) * rows * spills + blocks * 100e-9;
}

const struct emitter map_tiles_cpu = {
    .name = "tiles",
    .summary = "elementwise values of something read across, through a local array",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .accepts = map_accepts_crossing,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
