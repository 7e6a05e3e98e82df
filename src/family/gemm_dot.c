// gemm on a GPU as dot products: a team of threads, or several blocks, along K for every result.
// For products of few results and many terms, where tiles would leave most of the card idle.
#include "family/access.h"
#include "family/gemm_form.h"
#include "family/gpu_reduce.h"

enum { NEAR_BYTES = 64 << 10 };  // of a first cache, for one operand
// Terms from which on what rows share of the right factor is worth it: each row reads it again from
// the second cache, which gives little more than memory does.
enum { LONG = 1 << 18, LONG_ROWS = 4 };

// Does the left factor lie in memory as it is, row behind row, in elements that have vectors?
static bool has_rows(const struct form *f) {
    const struct gemm_form *p = f->gemm;
    node_id leaf;
    struct axis_map map;
    if (p->is_conv || !gemm_leaf(f->region, p, true, &leaf, &map))
        return false;
    const struct node *n = &f->region->graph->nodes[leaf];
    int last = n->shape.rank - 1;
    bool ok =
        last == p->axis_m + 1 && map.axis[last] == p->axis_k && access_has_lanes(f->region, leaf);
    for (int i = 0; i < last; i++)
        ok &= map.axis[i] == i &&
              n->shape.size[i] == f->region->graph->nodes[p->anchor].shape.size[i];
    return ok && n->dtype != DTYPE_BOOL;
}

static struct gpu_reduction reduction_of(const struct form *f, const struct kernel_stage *s) {
    struct gpu_reduction r = gpu_reduction_of_product(f->gemm, s);
    r.peels = has_rows(f);
    return r;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    bool is_long = f->gemm->k >= LONG && f->gemm->m >= LONG_ROWS;
    stage_set(s, "rows", 0, is_long ? LONG_ROWS : 1);
    struct gpu_reduction r = reduction_of(f, s);
    gpu_reduce_defaults(&r, t, s);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct gpu_reduction r = reduction_of(f, s);
    return gpu_reduce_legal(&r, t, s, why);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct gpu_reduction r = reduction_of(f, stage);
    gemm_build_space(l, f->gemm);
    gpu_reduce_lower(l, &r, stage);
}

// Seconds' worth of bytes that one operand's rows are read with, beyond the first time: each result
// reads its own; what was read before comes from a cache, some four times as fast, and from the
// nearest one where the whole operand fits there. Neighbours along K that do not lie side by side
// cost a sector of 32 bytes each.
static double read_again(const struct form *f, bool is_lhs, bool is_along_k, int rows) {
    const struct gemm_form *p = f->gemm;
    node_id leaf;
    struct axis_map map;
    double size = 4, results = (double)p->batch * (double)p->m * (double)p->n / rows;
    if (gemm_leaf(f->region, p, is_lhs, &leaf, &map))
        size = (double)dtype_size(f->region->graph->nodes[leaf].dtype, 1);
    double once = size * (double)(is_lhs ? p->m : p->n) * (double)p->k;
    double all = (is_along_k ? size : 32) * results * (double)p->k;
    double first = once * (double)p->batch;
    return all > first ? (all - first) / (once <= NEAR_BYTES ? 16 : 4) : 0;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct gemm_form *p = f->gemm;
    struct region_work w;
    region_count(f->region, &w);
    struct gpu_reduction r = reduction_of(f, s);
    bool rhs_is_along_k = !p->rhs_is_contiguous || p->n == 1;
    double again =
        read_again(f, true, p->lhs_is_along_k, 1) + read_again(f, false, rhs_is_along_k, r.rows);
    return gpu_reduce_estimate(&r, t, s, w.bytes_read + w.bytes_written + again);
}

const struct emitter gemm_dot = {
    .name = "dot",
    .summary = "a matrix product of few results and many terms, threads along K",
    .knobs = gpu_dot_knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = gemm_sums_floats,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
