// gemm on a GPU as dot products: a team of threads, or several blocks, along K for every result.
// For products of few results and many terms, where tiles would leave most of the card idle.
#include <assert.h>

#include "base/arena.h"
#include "family/gemm_form.h"
#include "family/gpu_reduce.h"

static void find_figures(struct lowering *l, struct gemm_form *p, struct gpu_reduction *f) {
    struct objection why;
    bool ok = gemm_find_form(l->region, p, &why);
    assert(ok);
    gemm_build_space(l, p);
    *f = gpu_reduction_of_product(l, p);
}

static struct gpu_reduction figures_of(const struct region *r) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    struct gemm_form p;
    struct gpu_reduction f;
    find_figures(&l, &p, &f);
    arena_reset(&scratch);
    f.product = NULL;  // figures alone
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
    struct gemm_form p;
    struct gpu_reduction f;
    find_figures(l, &p, &f);
    gpu_reduce_lower(l, &f, stage);
}

static double estimate(const struct region *r, const struct target *t,
                       const struct kernel_stage *s) {
    struct region_work w;
    region_count(r, &w);
    struct gpu_reduction f = figures_of(r);
    // Every result reads its row and its column. What was read before comes from a cache, some
    // four times as fast.
    double least = w.bytes_read + w.bytes_written;
    double all = 8.0 * (double)f.n_results * (double)f.n_terms;
    return gpu_reduce_estimate(&f, t, s, least + (all > least ? (all - least) / 4 : 0));
}

const struct emitter gemm_dot = {
    .name = "dot",
    .summary = "a matrix product of few results and many terms, threads along K",
    .knobs = gpu_reduce_knobs,
    .runs_on = emitter_runs_on_gpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
