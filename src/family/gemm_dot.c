// gemm on a GPU as dot products: a team of threads, or several blocks, along K for every result.
// For products of few results and many terms, where tiles would leave most of the card idle.
#include "family/gemm_form.h"
#include "family/gpu_reduce.h"

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct gpu_reduction r = gpu_reduction_of_product(f->gemm);
    gpu_reduce_defaults(&r, t, s);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct gpu_reduction r = gpu_reduction_of_product(f->gemm);
    return gpu_reduce_legal(&r, t, s, why);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct gpu_reduction r = gpu_reduction_of_product(f->gemm);
    gemm_build_space(l, f->gemm);
    gpu_reduce_lower(l, &r, stage);
}

// Every result reads its row and its column; what was read before comes from a cache, some four
// times as fast. Neighbours along K that do not lie side by side cost a sector of 32 bytes each.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct gemm_form *p = f->gemm;
    struct region_work w;
    region_count(f->region, &w);
    struct gpu_reduction r = gpu_reduction_of_product(p);
    bool rhs_is_along_k = !p->rhs_is_contiguous || p->n == 1;
    double each = (p->lhs_is_along_k ? 4 : 32) + (rhs_is_along_k ? 4 : 32);
    double least = w.bytes_read + w.bytes_written;
    double all = each * (double)r.n_results * (double)r.n_terms;
    return gpu_reduce_estimate(&r, t, s, least + (all > least ? (all - least) / 4 : 0));
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
