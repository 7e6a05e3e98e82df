// The judge's own context on a GPU: its kernels (runtime/judge.cu) look at device memory, its own
// and what runners share with it. Sums are the same for the same data.
#pragma once

#include "base/error.h"
#include "gpu/cuda.h"
#include "ir/types.h"

// As in runtime/judge.cu.
struct judge_part {
    double sum, max;
    uint64_t n_wrong, n_same, n_other, digest;
};

// Of f32 three arrays of float; of any other type two of double: `high` is the truth, `spread` the
// unit.
struct judge_expected {
    cuda_pointer high, low, spread;
    double limit;
};

struct gpu_bench {
    struct cuda cu;
    cuda_device device;
    bool is_open;
    cuda_function compare, compare_typed, scan, fold;
    cuda_pointer parts, folded;
    int64_t page_bytes;
};

// `cubin`: of runtime/judge.cu.
bool gpu_bench_open(struct gpu_bench *b, int ordinal, struct error *err);
bool gpu_bench_load(struct gpu_bench *b, const char *cubin, struct error *err);
void gpu_bench_close(struct gpu_bench *b);

// What is asked about a piece of memory: how many of its words are the poison, how many are not,
// the digest of all of them. Of the first and the last word only some bits belong to it. As in
// runtime/judge.cu.
enum { JUDGE_SAME = 1, JUDGE_OTHER = 2, JUDGE_DIGEST = 4 };
enum { JUDGE_REGIONS = 48 };
struct judge_regions {
    cuda_pointer at[JUDGE_REGIONS];
    uint64_t n[JUDGE_REGIONS];  // words of four bytes
    uint64_t seed[JUDGE_REGIONS];
    uint32_t head[JUDGE_REGIONS], tail[JUDGE_REGIONS], asks[JUDGE_REGIONS];
    int count;
    uint32_t poison;
};

// Pieces that are checked together, in as many launches as their number takes: add them, then
// ask for the sums. Begins with `bench` and, where it matters, the poison.
struct gpu_scan {
    struct gpu_bench *bench;
    struct judge_regions regions;  // those that no launch has looked at yet
    struct judge_part sum;         // of the others
    struct error err;              // of the first launch that failed
};
struct gpu_region {
    cuda_pointer at;
    int64_t bits;
    uint64_t seed;  // of its digest
    uint32_t asks;
};
void gpu_scan_add(struct gpu_scan *s, const struct gpu_region *r);
bool gpu_scan_end(struct gpu_scan *s, struct judge_part *sum, struct error *err);

// `n` results: how they differ from what is expected, and how many are still the poison (of another
// type than f32: of those that are wrong).
struct gpu_results {
    cuda_pointer at;
    int64_t n;
    uint32_t poison;
    enum dtype type;
};
bool gpu_bench_compare(struct gpu_bench *b, const struct gpu_results *r,
                       const struct judge_expected *e, struct judge_part *sum, struct error *err);

// Launch a kernel that looks at `n` words and leaves parts (its last argument is b->parts), and add
// them up.
bool gpu_bench_sum(struct gpu_bench *b, cuda_function f, uint64_t n, void **arguments,
                   struct judge_part *sum, struct error *err);
