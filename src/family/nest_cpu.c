// nest on a CPU: results dealt out in rows, scalar code. See nest.h.
#include "base/arena.h"
#include "family/knobs.h"
#include "family/nest_steps.h"
#include "family/partition.h"

static const int grain_grid[] = {1,   2,   4,    8,    16,   32,   64,    128,
                                 256, 512, 1024, 2048, 4096, 8192, 16384, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, -1};

static const struct knob knobs[] = {
    {.name = "vec",
     .summary = "lanes of a vector, each a result",
     .n_parts = 1,
     .grid = {knob_cpu_vec_grid}},
    {.name = "grain", .summary = "results per block", .n_parts = 1, .grid = {grain_grid}},
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "pieces of a line",
     .n_parts = 1,
     .grid = {split_grid}},
    {0},
};

static double flops_per_result(const struct region *r) {
    struct region_work w;
    region_count(r, &w);
    return w.flops / (double)shape_count(&r->graph->nodes[r->value[0]].shape);
}

// Blocks of some ten thousand operations, and a few for every thread.
static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct region *r = f->region;
    int64_t length, threads = t->n_threads > 0 ? t->n_threads : 1;
    if (nest_walker(r) >= 0) {
        int64_t lines = nest_lines(r, &length);
        int split = 1;
        while (split < 64 && lines * split < 4 * threads && length / (2 * split) >= 1024)
            split *= 2;
        stage_set(s, "split", 0, split);
        return;
    }
    // The widest: every second element of a line comes by one shuffle of two vectors only where
    // these have 16 lanes (max_pool2d of 2 x 2 on two cores of an EPYC: 1.17 ms by 8, 0.91 by 16).
    int vec = default_vec(t, f->lanes);
    while (vec > 1 && f->lanes < vec)
        vec = vec > 4 ? vec / 2 : 1;
    stage_set(s, "vec", 0, vec);
    double each = flops_per_result(r);
    int64_t count = shape_count(&r->graph->nodes[r->value[0]].shape);
    int grain = 1;
    while (grain < 16384 && grain * each < 20000 && count / (2 * grain) >= 8 * threads)
        grain *= 2;
    // Whole lines where vectors are for their middle alone.
    int64_t begin, end;
    if (vec > 1 && nest_inside(r, &begin, &end) >= 0)
        while (grain < 16384 && grain < f->lanes && count / f->lanes >= 8 * threads)
            grain *= 2;
    stage_set(s, "grain", 0, grain);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct region *r = f->region;
    if (!nest_steps_legal(r, why))
        return false;
    if (!legal_vector(t, s, why) || !legal_lanes(s, f->lanes, why))
        return false;
    int split = stage_number(s, "split", 0);
    int64_t length = 1;
    if (nest_walker(r) >= 0)
        nest_lines(r, &length);
    if (split > 1 && split > length)
        return objection(why, "split",
                         "only scans and scatters are split, and none into more than the %lld "
                         "elements of a line: the nearest is split 1",
                         (long long)length);
    return true;
}

static void store_values(void *ctx, struct scope *s, const struct loop_expr *copy) {
    (void)copy;
    nest_store(ctx, s);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    (void)f;
    struct nest n = {.l = l};
    const char *name = stage->values[0];
    int64_t grain = stage_number(stage, "grain", 0);
    if (nest_walker(l->region) >= 0) {
        struct nest_threads t = {.is_gpu = false, .per_block = grain};
        nest_lower_walker(&n, name, &t, stage_number(stage, "split", 0));
        return;
    }
    int lanes = stage_number(stage, "vec", 0);
    int64_t begin = 0, end = 0;
    nest_build_space_inside(&n, l, lanes > 1 ? nest_inside(l->region, &begin, &end) : -1);
    struct partition_kernel k = {.name = arena_printf(l->arena, "%s_nest", name),
                                 .n_groups = n.n_kept,
                                 .grain = grain,
                                 .lanes = lanes,
                                 .unroll = 1,
                                 .has_edges = n.inside >= 0,
                                 .begin = begin,
                                 .end = end};
    partition_kernel(l, &k, store_values, &n);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct region *r = f->region;
    double threads = t->n_threads > 0 ? t->n_threads : 1;
    double blocks =
        (double)shape_count(&r->graph->nodes[r->value[0]].shape) / stage_number(s, "grain", 0);
    double seconds = nest_estimate(r, 1e9 * threads * stage_number(s, "vec", 0), 5e9 * threads);
    return seconds * (1 + 0.5 * threads / (blocks + threads)) + blocks * 100e-9;
}

const struct emitter nest_cpu = {
    .name = "cpu",
    .summary = "whatever no other family takes, a result at a time",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    return nest_accepts(f->region, why);
}

// Families that have better ways on a GPU. What their vectors are there says nothing of lanes here.
static struct form as_nest(const struct form *f) {
    struct form nest = *f;
    nest.lanes = nest_lanes(f->region);
    return nest;
}

static void defaults_as_nest(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct form nest = as_nest(f);
    defaults(&nest, t, s);
}

static bool is_legal_as_nest(const struct form *f, const struct target *t,
                             const struct kernel_stage *s, struct objection *why) {
    struct form nest = as_nest(f);
    return is_legal(&nest, t, s, why);
}

#define AS_NEST(what)                                                                   \
    {                                                                                   \
        .name = "cpu", .summary = what, .knobs = knobs, .runs_on = emitter_runs_on_cpu, \
        .accepts = accepts, .defaults = defaults_as_nest, .is_legal = is_legal_as_nest, \
        .lower = lower, .estimate = estimate,                                           \
    }
const struct emitter pool_cpu = AS_NEST("a pooling, a result at a time");
