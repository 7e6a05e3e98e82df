// The judge's secret on a GPU: inputs drawn and truth computed where they are used, by the kernels
// of runtime/oracle.cu. What they cannot do stays with oracle/oracle.h on the host.
#pragma once

#include "ir/problem.h"
#include "oracle/gpu_bench.h"
#include "oracle/oracle.h"
#include "record/verdict.h"

struct hone_source;

struct gpu_oracle {
    struct gpu_bench *bench;
    cuda_function fill, widen, keep, rows, scale, edges, map, runs, join, pack, bits, matmul;
    cuda_function matmul_whole, move, scan, scan_runs, scan_carry, pool, best_runs, best_join,
        merge, ranks, scatter;
    cuda_function put, mean, sum, guess;
    cuda_pointer work;  // kept from set to set
    int64_t work_bytes;
    int64_t budget_bytes;  // to compute one set; 0: what the outputs allow
};

// `cubin`: of runtime/oracle.cu.
bool gpu_oracle_load(struct gpu_oracle *o, struct gpu_bench *b, const char *cubin,
                     struct error *err);
// Give back the memory that computing took.
void gpu_oracle_release(struct gpu_oracle *o);

// At least so many bytes in `work`, which computing overwrites.
bool gpu_oracle_take_work(struct gpu_oracle *o, int64_t bytes, struct error *err);

// One thread for each of `n`, as far as blocks go.
bool gpu_oracle_launch(struct gpu_oracle *o, cuda_function f, int64_t n, void **arguments,
                       struct error *err);

// Draw `n` elements of a type.
bool gpu_oracle_fill(struct gpu_oracle *o, const struct hone_source *s, enum dtype type, int64_t n,
                     cuda_pointer out, struct error *err);

// What is expected of every output for these inputs: fills the arrays of `expected`, which the
// caller has allocated, and the honest errors with their limits. The problem must be one that
// oracle_plan_supports().
struct gpu_oracle_request {
    const struct problem *problem;
    const cuda_pointer *inputs;
    struct judge_expected *expected;  // per output
    struct error_stats *stats;        // per output
    enum oracle_set set;
    // Not what is expected, but output 0 itself, as honest arithmetic gives it, is put here; 0: no.
    cuda_pointer made;
    // So many rows alone: inputs that carry rows (ir/interpret.h), and `expected`, hold just these.
    // 0: all of them.
    int64_t n_rows;
};
bool gpu_oracle_compute(struct gpu_oracle *o, const struct gpu_oracle_request *request,
                        struct error *err);

// Is the sum of n numbers finite? Then all of them are, as good as always.
bool gpu_oracle_is_finite(struct gpu_oracle *o, cuda_pointer values, enum dtype type, int64_t n,
                          bool *is_finite, struct error *err);

// As null_kernels_try().
struct null_kernels;
bool gpu_oracle_null(struct gpu_oracle *o, const struct gpu_oracle_request *request,
                     struct null_kernels *t, struct error *err);
