// map: elementwise regions, with views in any place. The space is the values' own axes;
// a block takes a run of the innermost group, or several whole ones.
#include "base/arena.h"
#include "family/family.h"
#include "family/map_form.h"
#include "family/sweep.h"

static const int vec_grid[] = {1, 4, 8, 16, -1};
static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int grain_grid[] = {1024,  2048,   4096,   8192,   16384,   32768,
                                 65536, 131072, 262144, 524288, 1048576, -1};
static const char *const store_words[] = {"cached", "stream", NULL};

static const struct knob knobs[] = {
    {.name = "vec", .summary = "lanes of a vector", .n_parts = 1, .grid = {vec_grid}},
    {.name = "unroll",
     .summary = "vectors per turn of the loop",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "grain", .summary = "elements per block", .n_parts = 1, .grid = {grain_grid}},
    {.name = "store", .summary = "through the caches or past them", .words = store_words},
    {0},
};

static void defaults(const struct region *r, const struct target *t, struct kernel_stage *s) {
    (void)r;
    stage_set(s, "vec", 0, t->vector_bytes >= 32 ? 8 : 4);
    stage_set(s, "grain", 0, 16384);
}

// How the space is dealt out: rows are all groups but the innermost.
struct deal {
    int64_t n_rows, n_columns;
    int64_t rows, columns;  // of one block
};

static struct deal deal_out(const struct space *space, int64_t grain) {
    struct deal d = {.n_rows = 1, .n_columns = space->count[space->n_groups - 1]};
    for (int i = 0; i < space->n_groups - 1; i++)
        d.n_rows *= space->count[i];
    d.columns = d.n_columns < grain ? d.n_columns : grain;
    d.rows = grain / d.n_columns > 1 ? grain / d.n_columns : 1;
    if (d.rows > d.n_rows)
        d.rows = d.n_rows;
    return d;
}

static bool is_legal(const struct region *r, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!legal_vector(t, s, why))
        return false;
    if (stage_word_is(s, "store", "cached"))
        return true;
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    map_build_space(&l);
    struct deal d = deal_out(&l.space, stage_number(s, "grain", 0));
    arena_reset(&scratch);
    return legal_stream(s, d.n_rows > 1 ? d.n_columns : 0, why);
}

struct body {
    const struct region *region;
    bool stream;
};

static void store_values(void *ctx, struct scope *s, const struct loop_expr *copy) {
    const struct body *body = ctx;
    (void)copy;
    for (int i = 0; i < body->region->n_values; i++) {
        int rank = body->region->graph->nodes[body->region->value[i]].shape.rank;
        struct axis_map map = map_identity(rank);
        point_store(s, i, &map, body->stream);
    }
}

static void lower(struct lowering *l, const struct kernel_stage *stage) {
    map_build_space(l);
    struct arena *a = l->arena;
    const struct space *space = &l->space;
    struct deal d = deal_out(space, stage_number(stage, "grain", 0));
    int last = space->n_groups - 1;
    int lanes = stage_number(stage, "vec", 0), unroll = stage_number(stage, "unroll", 0);

    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&outer, 0, last);
    const struct loop_expr *row_blocks = loop_ceildiv(a, n_rows, d.rows);
    const struct loop_expr *runs = loop_ceildiv(a, space->extent[last], d.columns);
    if (d.columns == d.n_columns)
        runs = loop_int(a, 1);

    struct loop_builder b, inner;
    struct loop_kernel *k = loop_kernel_new(l->program, arena_printf(a, "%s_map", stage->values[0]),
                                            loop_binary(a, LOOP_MUL, row_blocks, runs), &b);
    const struct loop_expr *block = loop_ref(a, k->block);
    outer.builder = &b;

    const struct loop_expr *first =
        loop_binary(a, LOOP_MUL, loop_binary(a, LOOP_DIV, block, runs), loop_int(a, d.rows));
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, loop_int(a, d.rows));
    struct loop_for rows = {"row", first, loop_binary(a, LOOP_MIN, n_rows, end), 1, false};
    const struct loop_expr *row = loop_open_for(&b, &rows, &inner);
    struct scope s = scope_inside(&outer, &inner);
    scope_split(&s, row, 0, last);

    const struct loop_expr *run = loop_binary(a, LOOP_MOD, block, runs);
    struct sweep w = {.name = "j", .group = last, .lanes = lanes, .unroll = unroll};
    w.begin = loop_binary(a, LOOP_MUL, run, loop_int(a, d.columns));
    w.end = loop_binary(a, LOOP_ADD, w.begin, loop_int(a, d.columns));
    w.end = d.columns == d.n_columns ? space->extent[last]
                                     : loop_binary(a, LOOP_MIN, space->extent[last], w.end);
    w.multiple = sweep_multiple(d.n_columns, d.columns);
    struct body body = {l->region, stage_word_is(stage, "store", "stream")};
    sweep_build(&s, &w, store_values, &body);
    loop_close(&b, &inner);
}

static double estimate(const struct region *r, const struct target *t,
                       const struct kernel_stage *s) {
    double seconds = estimate_stream(r, t, s, 1, 0.3);
    double count = (double)shape_count(&r->graph->nodes[r->value[0]].shape);
    double blocks = count / stage_number(s, "grain", 0);
    // Too few blocks leave threads idle at the end, each costs a little.
    return seconds * (1 + 0.5 * t->n_threads / (blocks + t->n_threads)) + blocks * 100e-9 +
           seconds * 0.05 / stage_number(s, "unroll", 0);
}

const struct family family_map = {
    .name = "map",
    .summary = "elementwise values, with broadcasts and transposes",
    .knobs = knobs,
    .accepts = map_accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
    .gpu = &gpu_map,
};
