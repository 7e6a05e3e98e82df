// reduce on a GPU: see gpu_reduce.h.
#include "family/gpu_reduce.h"
#include "family/reduce_form.h"

static struct gpu_reduction reduction_of(const struct form *f) {
    const struct reduce_form *r = f->reduce;
    return (struct gpu_reduction){.anchor = r->anchor,
                                  .at = r->at,
                                  .arg = r->arg,
                                  .across = r->across,
                                  .n_kept = r->n_kept,
                                  .n_results = r->n_results,
                                  .n_terms = r->n_terms,
                                  .n_neighbours = f->lanes};
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct gpu_reduction r = reduction_of(f);
    gpu_reduce_defaults(&r, t, s);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct gpu_reduction r = reduction_of(f);
    return gpu_reduce_legal(&r, t, s, why);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct gpu_reduction r = reduction_of(f);
    reduce_build_space(l, f->reduce);
    reduce_group_space(l, f->reduce);
    gpu_reduce_lower(l, &r, stage);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    region_count(f->region, &w);
    struct gpu_reduction r = reduction_of(f);
    return gpu_reduce_estimate(&r, t, s, w.bytes_read + w.bytes_written);
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
