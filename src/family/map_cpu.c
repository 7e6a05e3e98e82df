// map: elementwise regions, with views in any place. The space is the values' own axes;
// a block takes a run of the innermost group, or several whole ones.
#include "base/arena.h"
#include "family/emitter.h"
#include "family/knobs.h"
#include "family/map_form.h"
#include "family/partition.h"
#include "family/prefetch.h"

static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int grain_grid[] = {1024,  2048,   4096,   8192,   16384,   32768,
                                 65536, 131072, 262144, 524288, 1048576, -1};

static const struct knob knobs[] = {
    KNOB_CPU_VEC,
    {.name = "unroll",
     .summary = "vectors per turn of the loop",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "grain", .summary = "elements per block", .n_parts = 1, .grid = {grain_grid}},
    KNOB_CPU_STORE,
    {0},
};

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!legal_vector(t, s, why) || !legal_lanes(s, f->lanes, why))
        return false;
    if (stage_word_is(s, "store", "cached"))
        return true;
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    map_build_space(&l);
    struct partition d = partition_space(&l.space, l.space.n_groups, stage_number(s, "grain", 0));
    arena_reset(&scratch);
    return legal_stream(s, d.n_rows > 1 ? d.n_columns : 0, why);
}

// Results of 16 bits alone: two vectors of them are a line.
static bool is_narrow(const struct region *r) {
    for (int i = 0; i < r->n_values; i++) {
        enum dtype type = r->graph->nodes[r->value[i]].dtype;
        if (type != DTYPE_F16 && type != DTYPE_BF16)
            return false;
    }
    return true;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct region_work w;
    struct objection why;
    stage_set(s, "vec", 0, default_vec(t, f->lanes));
    stage_set(s, "grain", 0, 16384);
    region_count(f->region, &w);
    stage_set_word(s, "store", is_long_stream(t, w.bytes_written) ? "stream" : "cached");
    if (!is_legal(f, t, s, &why))
        stage_set_word(s, "store", "cached");
    if (stage_word_is(s, "store", "stream") && is_narrow(f->region))
        stage_set(s, "unroll", 0, 4);
}

struct body {
    const struct region *region;
    bool stream, asks;
    struct map_rows rows;           // of a table, by indices
    int row_group;                  // in which the next place asks for another row; -1: none
    const struct loop_expr *later;  // where the row begins that a later place asks for
};

// Rows of a table lie anywhere, so the processor cannot know which one is next: ask for the row of
// a place further on, ROWS_AHEAD bytes of rows or more. (An embedding of 16384 rows of 2 KiB on two
// cores of an EPYC: 1.25 ms without, 1.04 ms one row ahead, 0.91 two, 0.90 four.)
enum { ROWS_AHEAD = 4096, ROWS_WORTH = 16 << 20 };

static void find_rows(const struct lowering *l, struct body *body) {
    const struct graph *g = l->region->graph;
    const struct space *space = &l->space;
    body->row_group = -1;
    if (!map_find_rows(l->region, &body->rows))
        return;
    const struct node *table = &g->nodes[body->rows.table];
    int axis = g->nodes[body->rows.index].shape.rank, last = space->n_groups - 1;
    bool is_large = dtype_size(table->dtype, shape_count(&table->shape)) >= ROWS_WORTH;
    if (is_large && space->group[axis] == last && space->group[axis - 1] == last - 1)
        body->row_group = last - 1;
}

// Said once for all vectors of a row, so in the scope around them.
static const struct loop_expr *later_row(const struct body *body, const struct scope *s) {
    const struct lowering *l = s->lowering;
    const struct map_rows *m = &body->rows;
    struct arena *a = l->arena;
    int g = body->row_group;
    enum dtype type = l->region->graph->nodes[m->table].dtype;
    int64_t ahead = ROWS_AHEAD / dtype_size(type, m->width);
    struct scope later = {.lowering = l, .builder = s->builder, .lane_group = -1, .lanes = 1};
    for (int i = 0; i <= g; i++)
        later.index[i] = s->index[i];
    later.index[g] = loop_binary(a, LOOP_ADD, s->index[g], loop_int(a, ahead > 1 ? ahead : 1));
    later.index[g] = loop_binary(a, LOOP_MIN, loop_int(a, l->space.count[g] - 1), later.index[g]);
    struct axis_map map = map_identity(l->region->graph->nodes[m->index].shape.rank);
    const struct loop_expr *row = point_value(&later, m->index, &map);
    row = row->dtype == LOOP_I64 ? row : loop_cast(a, row, LOOP_I64);
    row = loop_to_index(a, row, 0, m->n_rows - 1);
    const struct loop_expr *at = loop_binary(a, LOOP_MUL, row, loop_int(a, m->width));
    if (l->offset && l->offset[m->table])
        at = loop_binary(a, LOOP_ADD, l->offset[m->table], at);
    return loop_let(s->builder, "later", at);
}

static void ask_row(struct body *body, struct scope *s) {
    const struct lowering *l = s->lowering;
    const struct loop_expr *column = s->index[body->row_group + 1];
    if (!body->later)
        body->later = later_row(body, s->outer);
    loop_prefetch(s->builder, l->buffer[body->rows.table],
                  loop_binary(l->arena, LOOP_ADD, body->later, column));
}

static void store_values(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct body *body = ctx;
    (void)copy;
    if (body->row_group >= 0 && s->lanes > 1)
        ask_row(body, s);
    for (int i = 0; i < body->region->n_values; i++) {
        int rank = body->region->graph->nodes[body->region->value[i]].shape.rank;
        struct axis_map map = map_identity(rank);
        if (body->asks)
            prefetch_value(s, body->region->value[i], &map);
        point_store(s, i, &map, body->stream);
    }
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    (void)f;
    map_build_space(l);
    l->is_quick_gelu = is_narrow(l->region);
    struct body body = {.region = l->region,
                        .stream = stage_word_is(stage, "store", "stream"),
                        .asks = prefetch_is_worth(l->region)};
    find_rows(l, &body);
    struct partition_kernel k = {.name = arena_printf(l->arena, "%s_map", stage->values[0]),
                                 .n_groups = l->space.n_groups,
                                 .grain = stage_number(stage, "grain", 0),
                                 .lanes = stage_number(stage, "vec", 0),
                                 .unroll = stage_number(stage, "unroll", 0)};
    partition_kernel(l, &k, store_values, &body);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    double seconds = estimate_stream(f->region, t, s, 1, 0.3);
    const struct region *r = f->region;
    double count = (double)shape_count(&r->graph->nodes[r->value[0]].shape);
    double blocks = count / stage_number(s, "grain", 0);
    struct map_crossing c;
    // What is read across comes line by line, and leaves the caches before its neighbours are used
    // (a transpose of 2048 x 4096 on two cores of a Xeon: 4.7 times what the bytes take).
    if (map_find_crossing(r, &c) && c.n_last > 32)
        seconds *= 4;
    // Too few blocks leave threads idle at the end, each costs a little.
    return seconds * (1 + 0.5 * t->n_threads / (blocks + t->n_threads)) + blocks * 100e-9 +
           seconds * 0.05 / stage_number(s, "unroll", 0);
}

const struct emitter map_cpu = {
    .name = "cpu",
    .summary = "elementwise values, with broadcasts and transposes",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
