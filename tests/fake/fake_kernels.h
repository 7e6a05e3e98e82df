// Kernels that the fake driver knows by name. The judge's are its real source, read as C; those
// of candidates work on a problem with one input and one output, y = 2 x + 1, of COUNT elements.
#pragma once

struct float4 {
    float x, y, z, w;
};
typedef struct float4 float4;
typedef struct {
    unsigned x, y, z, w;
} uint4;

#define JUDGE_KERNEL static void
#define JUDGE_FN static inline
#define JUDGE_INFINITY INFINITY
#define JUDGE_BITS(f) bits_of(f)

static unsigned long long thread, n_threads;

static inline unsigned long long first(void) {
    return thread;
}
static inline unsigned long long stride(void) {
    return n_threads;
}
static inline unsigned bits_of(float f) {
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}

#include "../../runtime/judge.cu"
#include "../../runtime/oracle.cu"

struct kernel {
    const char *name;
    void (*run)(void **arguments);
    int n_parameters;
};

static void run_compare(void **a) {
    judge_compare(*(const float **)a[0], *(struct judge_expected *)a[1], *(u64 *)a[2],
                  *(unsigned *)a[3], *(struct judge_part **)a[4]);
}
static void run_scan(void **a) {
    judge_scan(*(struct judge_regions *)a[0], *(struct judge_part **)a[1]);
}
static void run_fold(void **a) {
    judge_fold(*(const struct judge_part **)a[0], *(u64 *)a[1], *(struct judge_part **)a[2]);
}
static void run_flush(void **a) {
    (void)a;  // it only reads
}

static void run_oracle_fill(void **a) {
    oracle_fill(*(struct hone_source *)a[0], *(u64 *)a[1], *(float **)a[2]);
}
static void run_oracle_map(void **a) {
    oracle_map(*(struct oracle_map *)a[0]);
}
static void run_oracle_runs(void **a) {
    oracle_runs(*(struct oracle_reduce *)a[0]);
}
static void run_oracle_join(void **a) {
    oracle_join(*(struct oracle_reduce *)a[0]);
}
static void run_oracle_matmul(void **a) {
    oracle_matmul(*(struct oracle_product *)a[0]);
}
static void run_oracle_finish(void **a) {
    oracle_finish(*(struct oracle_product *)a[0]);
}
static void run_oracle_put(void **a) {
    oracle_put(*(struct oracle_put *)a[0], *(struct judge_part **)a[1]);
}
static void run_oracle_mean(void **a) {
    oracle_mean(*(const float **)a[0], *(const float **)a[1], *(u64 *)a[2],
                *(struct judge_part **)a[3]);
}
static void run_oracle_guess(void **a) {
    oracle_guess(*(struct oracle_guess *)a[0], *(struct judge_part **)a[1]);
}

enum { COUNT = 1000 };

static void right(void **a) {
    const float *x = *(const float **)a[0];
    float *y = *(float **)a[1];
    for (int i = 0; i < COUNT; i++)
        y[i] = 2 * x[i] + 1;
}
static void partial(void **a) {
    right(a);
    (*(unsigned **)a[1])[COUNT - 1] = bits_of(0);
}
static void noop(void **a) {
    (void)a;
}
static void overrun(void **a) {
    right(a);
    (*(float **)a[1])[COUNT] = 1;
}
static void mutate(void **a) {
    right(a);
    (*(float **)a[0])[0] += 1;
}
static void illegal(void **a) {
    (void)a;
    error = 700;
}
static void endless(void **a) {
    (void)a;
    for (;;)
        pause();
}
static void ends(void **a) {
    (void)a;
    _exit(7);
}
static void slow(void **a) {
    struct timespec from, now;
    right(a);
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec < 20000000);
}
static void stale(void **a) {
    static float kept[COUNT];
    static int has_kept;
    right(a);
    if (!has_kept)
        memcpy(kept, *(float **)a[1], sizeof kept);
    has_kept = 1;
    memcpy(*(float **)a[1], kept, sizeof kept);
}

static const struct kernel kernels[] = {
    {"judge_compare", run_compare, 5},
    {"judge_scan", run_scan, 2},
    {"judge_fold", run_fold, 3},
    {"judge_flush", run_flush, 3},
    {"oracle_fill", run_oracle_fill, 3},
    {"oracle_map", run_oracle_map, 1},
    {"oracle_runs", run_oracle_runs, 1},
    {"oracle_join", run_oracle_join, 1},
    {"oracle_matmul", run_oracle_matmul, 1},
    {"oracle_finish", run_oracle_finish, 1},
    {"oracle_put", run_oracle_put, 2},
    {"oracle_mean", run_oracle_mean, 4},
    {"oracle_guess", run_oracle_guess, 2},
    {"right", right, 2},
    {"partial", partial, 2},
    {"noop", noop, 2},
    {"overrun", overrun, 2},
    {"mutate", mutate, 2},
    {"illegal", illegal, 2},
    {"endless", endless, 2},
    {"ends", ends, 2},
    {"stale", stale, 2},
    {"slow", slow, 2},
    {0},
};
