// map: elementwise regions, with views in any place. The space is the values' own axes;
// a block takes a run of the innermost group, or several whole ones.
#include "base/arena.h"
#include "family/ahead.h"
#include "family/deal.h"
#include "family/emitter.h"
#include "family/map_form.h"

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

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!legal_vector(t, s, why) || !legal_lanes(s, f->lanes, why))
        return false;
    if (stage_word_is(s, "store", "cached"))
        return true;
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    map_build_space(&l);
    struct deal d = deal_out(&l.space, l.space.n_groups, stage_number(s, "grain", 0));
    arena_reset(&scratch);
    return legal_stream(s, d.n_rows > 1 ? d.n_columns : 0, why);
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
}

struct body {
    const struct region *region;
    bool stream, asks;
};

static void store_values(void *ctx, struct scope *s, const struct loop_expr *copy) {
    const struct body *body = ctx;
    (void)copy;
    for (int i = 0; i < body->region->n_values; i++) {
        int rank = body->region->graph->nodes[body->region->value[i]].shape.rank;
        struct axis_map map = map_identity(rank);
        if (body->asks)
            ahead_ask(s, body->region->value[i], &map);
        point_store(s, i, &map, body->stream);
    }
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    (void)f;
    map_build_space(l);
    struct body body = {l->region, stage_word_is(stage, "store", "stream"),
                        ahead_is_worth(l->region)};
    struct deal_kernel k = {.name = arena_printf(l->arena, "%s_map", stage->values[0]),
                            .n_groups = l->space.n_groups,
                            .grain = stage_number(stage, "grain", 0),
                            .lanes = stage_number(stage, "vec", 0),
                            .unroll = stage_number(stage, "unroll", 0)};
    deal_kernel(l, &k, store_values, &body);
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
