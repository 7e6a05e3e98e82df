// reduce on a GPU: see gpu_reduce.h.
#include <assert.h>

#include "base/arena.h"
#include "family/gpu_reduce.h"
#include "family/reduce_form.h"

static void find_figures(struct lowering *l, struct gpu_reduction *f) {
    struct objection why;
    struct reduce_form form;
    bool ok = reduce_find_form(l->region, &form, &why);
    assert(ok);
    f->anchor = form.anchor;
    f->at = form.at;
    f->arg = reduce_build_space(l, &form);
    f->n_kept = reduce_group_space(l, &form, &f->arg);
    f->n_results = f->n_terms = 1;
    for (int i = 0; i < l->space.n_groups; i++)
        *(i < f->n_kept ? &f->n_results : &f->n_terms) *= l->space.count[i];
    const struct graph *g = l->region->graph;
    const struct shape *arg = &g->nodes[g->nodes[f->anchor].arg[0]].shape;
    int axis = f->arg.axis[arg->rank - 1];
    f->across = f->n_kept > 0 && axis >= 0 && l->space.group[axis] == f->n_kept - 1;
    int last = f->across ? f->n_kept - 1 : l->space.n_groups - 1;
    // Nothing to reduce over, nothing kept: a single element.
    f->n_neighbours = last >= (f->across ? 0 : f->n_kept) ? space_lanes(&l->space, last) : 1;
}

static struct gpu_reduction figures_of(const struct region *r) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    struct gpu_reduction f = {0};
    find_figures(&l, &f);
    arena_reset(&scratch);
    return f;
}

static void defaults(const struct region *r, const struct target *t, struct kernel_stage *s) {
    struct gpu_reduction f = figures_of(r);
    gpu_reduce_defaults(&f, t, s);
}

static bool is_legal(const struct region *r, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct gpu_reduction f = figures_of(r);
    return gpu_reduce_legal(&f, t, s, why);
}

static void lower(struct lowering *l, const struct kernel_stage *stage) {
    struct gpu_reduction f = {0};
    find_figures(l, &f);
    gpu_reduce_lower(l, &f, stage);
}

static double estimate(const struct region *r, const struct target *t,
                       const struct kernel_stage *s) {
    struct region_work w;
    region_count(r, &w);
    struct gpu_reduction f = figures_of(r);
    return gpu_reduce_estimate(&f, t, s, w.bytes_read + w.bytes_written);
}

const struct emitter reduce_simt = {
    .name = "simt",
    .summary = "one reduction over any axes",
    .knobs = gpu_reduce_knobs,
    .runs_on = emitter_runs_on_gpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
