// Launches the kernels of runtime/judge.cu. The grid depends on the amount of data alone, so sums
// are the same bits on every card.
#include "oracle/gpu_bench.h"

#include "base/error.h"
#include "gpu/mapping.h"

// Enough threads to keep the memory busy, few enough that their parts are little. How many
// there are depends on the number of words alone, so that sums do not change.
enum { BLOCKS = 256, THREADS = 256, WORDS_EACH = 4 };
// Each warp leaves a part (hone_judge.h); one block makes few of them.
enum { LANES = 32, PARTS_EACH = THREADS / LANES, PARTS = BLOCKS * PARTS_EACH };

static int blocks_for(uint64_t n) {
    uint64_t blocks = n / (THREADS * WORDS_EACH) + 1;
    return blocks < BLOCKS ? (int)blocks : BLOCKS;
}

bool gpu_bench_open(struct gpu_bench *b, int ordinal, struct error *err) {
    struct cuda *cu = &b->cu;
    cuda_context context;
    size_t page = 0;
    *b = (struct gpu_bench){0};
    if (!cuda_open(cu, err))
        return false;
    b->is_open = true;
    int shares = 0;
    if (!cuda_ok(cu, cu->device_get(&b->device, ordinal), "open the GPU", err) ||
        !cuda_ok(cu, cu->device_attribute(&shares, CUDA_SHARES_MEMORY, b->device), "ask the GPU",
                 err) ||
        !cuda_ok(cu, cu->context_retain(&context, b->device), "make a context", err) ||
        !cuda_ok(cu, cu->context_set(context), "use the context", err) ||
        !cuda_mapping_granularity(cu, b->device, &page, err))
        return false;
    b->page_bytes = (int64_t)page;
    return shares || error_set(err, ERROR_UNSUPPORTED,
                               "this GPU cannot share memory between processes, which judging "
                               "takes");
}

bool gpu_bench_load(struct gpu_bench *b, const char *cubin, struct error *err) {
    struct cuda *cu = &b->cu;
    cuda_module m;
    return cuda_ok(cu, cu->module_load(&m, cubin), "load the judge's kernels", err) &&
           cuda_ok(cu, cu->module_function(&b->compare, m, "judge_compare"), "compare", err) &&
           cuda_ok(cu, cu->module_function(&b->compare_typed, m, "judge_compare_typed"), "compare",
                   err) &&
           cuda_ok(cu, cu->module_function(&b->scan, m, "judge_scan"), "scan", err) &&
           cuda_ok(cu, cu->module_function(&b->fold, m, "judge_fold"), "fold", err) &&
           cuda_ok(cu, cu->allocate(&b->parts, sizeof(struct judge_part) * PARTS), "take memory",
                   err) &&
           cuda_ok(cu, cu->allocate(&b->folded, sizeof(struct judge_part) * PARTS_EACH),
                   "take memory", err);
}

void gpu_bench_close(struct gpu_bench *b) {
    if (b->parts)
        b->cu.release(b->parts);
    if (b->folded)
        b->cu.release(b->folded);
    if (b->is_open) {
        b->cu.context_release(b->device);
        cuda_close(&b->cu);
    }
    *b = (struct gpu_bench){0};
}

static bool run(struct gpu_bench *b, cuda_function f, int blocks, void **arguments,
                struct error *err) {
    return cuda_ok(&b->cu,
                   b->cu.launch(f, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL),
                   "look at device memory", err);
}

static bool sum_parts(struct gpu_bench *b, int blocks, struct judge_part *sum, struct error *err) {
    uint64_t n = (uint64_t)blocks * PARTS_EACH;
    void *arguments[] = {&b->parts, &n, &b->folded};
    struct judge_part parts[PARTS_EACH];
    if (!run(b, b->fold, 1, arguments, err) ||
        !cuda_ok(&b->cu, b->cu.copy_from(parts, b->folded, sizeof parts), "look at device memory",
                 err))
        return false;
    *sum = (struct judge_part){0};
    for (int i = 0; i < PARTS_EACH; i++) {
        sum->sum += parts[i].sum;
        sum->max = parts[i].max > sum->max ? parts[i].max : sum->max;
        sum->n_wrong += parts[i].n_wrong;
        sum->n_same += parts[i].n_same;
        sum->n_other += parts[i].n_other;
        sum->digest += parts[i].digest;
    }
    return true;
}

bool gpu_bench_sum(struct gpu_bench *b, cuda_function f, uint64_t n, void **arguments,
                   struct judge_part *sum, struct error *err) {
    int blocks = blocks_for(n);
    return run(b, f, blocks, arguments, err) && sum_parts(b, blocks, sum, err);
}

static void launch_scan(struct gpu_scan *s) {
    struct judge_regions *r = &s->regions;
    struct judge_part sum;
    uint64_t most = 0;
    for (int i = 0; i < r->count; i++)
        most = r->n[i] > most ? r->n[i] : most;
    void *arguments[] = {r, &s->bench->parts};
    if (s->err.kind == ERROR_NONE &&
        gpu_bench_sum(s->bench, s->bench->scan, most, arguments, &sum, &s->err)) {
        s->sum.n_same += sum.n_same;
        s->sum.n_other += sum.n_other;
        s->sum.digest += sum.digest;
    }
    r->count = 0;
}

void gpu_scan_add(struct gpu_scan *s, const struct gpu_region *piece) {
    struct judge_regions *r = &s->regions;
    unsigned before = 8 * (unsigned)(piece->at % 4);
    uint64_t end = before + (uint64_t)piece->bits;
    if (r->count == JUDGE_REGIONS)
        launch_scan(s);
    r->at[r->count] = piece->at - piece->at % 4;
    r->n[r->count] = (end + 31) / 32;
    r->head[r->count] = ~0U << before;
    r->tail[r->count] = end % 32 ? (1U << end % 32) - 1 : ~0U;
    r->asks[r->count] = piece->asks;
    r->seed[r->count++] = piece->seed;
}

bool gpu_scan_end(struct gpu_scan *s, struct judge_part *sum, struct error *err) {
    if (s->regions.count)
        launch_scan(s);
    *sum = s->sum;
    *err = s->err;
    return err->kind == ERROR_NONE;
}

bool gpu_bench_compare(struct gpu_bench *b, const struct gpu_results *r,
                       const struct judge_expected *e, struct judge_part *sum, struct error *err) {
    struct gpu_results results = *r;
    struct judge_expected expected = *e;
    int type = (int)r->type;
    void *floats[] = {&results.at, &expected, &results.n, &results.poison, &b->parts};
    void *typed[] = {&results.at, &expected, &results.n, &results.poison, &type, &b->parts};
    return r->type == DTYPE_F32
               ? gpu_bench_sum(b, b->compare, (uint64_t)r->n, floats, sum, err)
               : gpu_bench_sum(b, b->compare_typed, (uint64_t)r->n, typed, sum, err);
}
