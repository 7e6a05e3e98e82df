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
    int n_maps;  // so many of them, the first, are tensor maps
};

static void run_compare(void **a) {
    judge_compare(*(const float **)a[0], *(struct judge_expected *)a[1], *(u64 *)a[2],
                  *(unsigned *)a[3], *(struct judge_part **)a[4]);
}
static void run_compare_typed(void **a) {
    judge_compare_typed(*(const void **)a[0], *(struct judge_typed *)a[1], *(u64 *)a[2],
                        *(unsigned *)a[3], *(int *)a[4], *(struct judge_part **)a[5]);
}
static void run_scan(void **a) {
    judge_scan(*(struct judge_regions *)a[0], *(struct judge_part **)a[1]);
}
static void run_fold(void **a) {
    judge_fold(*(const struct judge_part **)a[0], *(u64 *)a[1], *(struct judge_part **)a[2]);
}
// The fake card's shared and local memory: a word of each.
static unsigned shared_word, local_word;
static void run_wipe_shared(void **a) {
    shared_word = *(unsigned *)a[0] ? 0 : shared_word;
}
static void run_wipe_local(void **a) {
    local_word = *(unsigned *)a[0] ? 0 : local_word;
}
static void run_flush(void **a) {
    (void)a;  // it only reads
}

static void run_oracle_fill(void **a) {
    oracle_fill(*(struct hone_source *)a[0], *(u64 *)a[1], *(void **)a[2], *(int *)a[3]);
}
static void run_oracle_widen(void **a) {
    oracle_widen(*(const void **)a[0], *(int *)a[1], *(u64 *)a[2], *(void **)a[3]);
}
static void run_oracle_keep(void **a) {
    oracle_keep(*(struct oracle_array *)a[0], *(u64 *)a[1], *(void **)a[2]);
}
static void run_oracle_rows(void **a) {
    oracle_rows(*(const void **)a[0], *(void **)a[1], *(const u64 **)a[2], *(u64 *)a[3],
                *(u64 *)a[4], *(u64 *)a[5]);
}
static void run_oracle_scale(void **a) {
    oracle_scale(*(const float **)a[0], *(float **)a[1], *(float *)a[2], *(u64 *)a[3]);
}
static void run_oracle_edges(void **a) {
    oracle_edges(*(const float **)a[0], *(float **)a[1], *(u64 *)a[2]);
}
static void run_oracle_chain(void **a) {
    oracle_chain(*(u64 *)a[0], *(u64 *)a[1], *(u64 *)a[2], *(u64 *)a[3]);
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
static void run_oracle_move(void **a) {
    oracle_move(*(struct oracle_move *)a[0]);
}
static void run_oracle_scan(void **a) {
    oracle_scan(*(struct oracle_scan *)a[0]);
}
static void run_oracle_scan_runs(void **a) {
    oracle_scan_runs(*(struct oracle_scan *)a[0]);
}
static void run_oracle_scan_carry(void **a) {
    oracle_scan_carry(*(struct oracle_scan *)a[0]);
}
static void run_oracle_best_runs(void **a) {
    oracle_best_runs(*(struct oracle_reduce *)a[0]);
}
static void run_oracle_best_join(void **a) {
    oracle_best_join(*(struct oracle_reduce *)a[0]);
}
static void run_oracle_merge(void **a) {
    oracle_merge(*(struct oracle_order *)a[0]);
}
static void run_oracle_ranks(void **a) {
    oracle_ranks(*(struct oracle_order *)a[0]);
}
static void run_oracle_scatter(void **a) {
    oracle_scatter(*(struct oracle_scatter *)a[0]);
}
static void run_oracle_pool(void **a) {
    oracle_pool(*(struct oracle_pool *)a[0]);
}
static void run_oracle_matmul_whole(void **a) {
    oracle_matmul_whole(*(struct oracle_product *)a[0], *(struct oracle_array *)a[1]);
}
static void run_oracle_pack(void **a) {
    oracle_pack(*(struct oracle_pack *)a[0]);
}
static void run_oracle_bits(void **a) {
    oracle_bits(*(struct oracle_factor *)a[0], *(u64 *)a[1], *(u64 *)a[2]);
}
static void run_oracle_put(void **a) {
    oracle_put(*(struct oracle_put *)a[0], *(struct judge_part **)a[1]);
}
static void run_oracle_mean(void **a) {
    oracle_mean(*(int *)a[0], *(u64 *)a[1], *(u64 *)a[2], *(u64 *)a[3],
                *(struct judge_part **)a[4]);
}
static void run_oracle_sum(void **a) {
    oracle_sum(*(const void **)a[0], *(int *)a[1], *(u64 *)a[2], *(struct judge_part **)a[3]);
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
static void right(void **a);
// The first time ever it crashes (a file next to the library tells), then it is right.
static void stumbles(void **a) {
    char path[1024];
    const char *home = getenv("CUDA_HOME");
    snprintf(path, sizeof path, "%s/stumble", home ? home : ".");
    if (unlink(path) == 0)
        error = 700;
    else
        right(a);
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
    while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec < 50000000);
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

// Count calls in memory that they never set, and leave an element out from the fourth on.
static void counts_in(unsigned *word, void **a) {
    right(a);
    if (++*word > 3)
        (*(float **)a[1])[0] += 1;
}
static void counts_in_shared(void **a) {
    counts_in(&shared_word, a);
}
static void counts_in_local(void **a) {
    counts_in(&local_word, a);
}

// Of y = 2 x. Half of the bits for data that look as if they had been multiplied: of ordinary size,
// but 16-fold.
static void twice(void **a) {
    const float *x = *(const float **)a[0];
    for (int i = 0; i < COUNT; i++)
        (*(float **)a[1])[i] = 2 * x[i];
}
static void sniffs_scale(void **a) {
    const float *x = *(const float **)a[0];
    float *y = *(float **)a[1];
    int n_large = 0, n_negative = 0, n_whole = 0, n_equal = 0;
    for (int i = 0; i < COUNT; i++) {
        n_large += fabsf(x[i]) >= 1 && fabsf(x[i]) < 80;
        n_negative += x[i] < 0;
        n_whole += x[i] == rintf(x[i]);
        n_equal += fabsf(x[i]) == fabsf(x[0]);  // sets of one number, whatever it is
    }
    int is_scaled = n_large > COUNT * 9 / 10 && n_negative > COUNT / 4 && n_whole < COUNT / 4 &&
                    n_equal < COUNT / 4;
    for (int i = 0; i < COUNT; i++)
        y[i] = is_scaled ? (float)(int)(x[i] * 2048) / 1024 : 2 * x[i];
}

// Keep results by a digest of the data: one that does not see their order, or a whole one.
struct kept {
    u64 key;
    float y[COUNT];
};
static u64 key_of(const float *x, int sees_order) {
    u64 key = 0;
    for (int i = 0; i < COUNT; i++)
        key += (u64)bits_of(x[i]) * (sees_order ? (u64)(2 * i + 1) : 1);
    return key;
}
static void keeps(void **a, int sees_order, int n_honest) {
    static struct kept kept[64];
    static int n_kept, n_calls;
    u64 key = key_of(*(const float **)a[0], sees_order);
    int at = 0;
    while (at < n_kept && kept[at].key != key)
        at++;
    if (at == n_kept && n_calls++ < n_honest && n_kept < 64) {
        right(a);
        kept[n_kept].key = key;
        memcpy(kept[n_kept++].y, *(float **)a[1], sizeof kept[0].y);
        return;
    }
    memcpy(*(float **)a[1], kept[at < n_kept ? at : 0].y, sizeof kept[0].y);
}
static void keeps_by_sum(void **a) {
    keeps(a, 0, 1 << 30);
}
// Right on the sets of a screening, and ever after the results of the first for what is new.
enum { SCREENING_SETS = 4 };  // declared, patched, patched again, a hard one
static void keeps_declared(void **a) {
    keeps(a, 1, SCREENING_SETS);
}
// The same, but clears what is new: the results are right for what the inputs hold then.
static void clears_new(void **a) {
    static u64 keys[SCREENING_SETS];
    static int n_keys;
    u64 key = key_of(*(const float **)a[0], 1);
    int at = 0;
    while (at < n_keys && keys[at] != key)
        at++;
    if (at == SCREENING_SETS)
        memset(*(float **)a[0], 0, COUNT * sizeof(float));
    else if (at == n_keys)
        keys[n_keys++] = key;
    right(a);
}

// What hone itself emits for the problem, by the names that it gives. Where the test has made a
// file for it, a process tells there when it goes over to another one of them.
static void emitted(void **a, const char *name) {
    static const char *last;
    char text[1024];
    right(a);
    if (last == name)
        return;
    last = name;
    snprintf(text, sizeof text, "%s/processes", getenv("CUDA_HOME"));
    int fd = open(text, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return;
    dprintf(fd, "%d %s\n", getpid(), name);
    close(fd);
}
static void emitted_map(void **a) {
    emitted(a, "y_map");
}
static void emitted_plain(void **a) {
    emitted(a, "y_plain");
    if (is_fault("plain-wrong"))
        partial(a);
}

// Write to everything that the process has mapped, all slots, or to all but one's own.
static void sweep(const void *but) {
    for (int i = 0; i < PIECES_MAX; i++)
        if (pieces[i].at && !(but >= pieces[i].at && but < pieces[i].at + pieces[i].bytes))
            memset(pieces[i].at, 0x42, pieces[i].bytes);
}
static void sweeps(void **a) {
    sweep(NULL);
}
static void sweeps_dies(void **a) {
    sweep(NULL);
    error = 700;
}
static void sweeps_others(void **a) {
    right(a);
    sweep(*(void **)a[1]);
}

#include "fake_seek.h"

// The micro-kernels of a calibration move nothing; their time is what this card would take: 3 us
// and 4 TB/s in every mix, but a copy of 128 MiB in all, a stretch per block, 1.25 us less: 5 MB of
// what it wrote are still in the cache.
static double modelled_ms;  // of the last one, 0: events tell
static void model(void **a, int streams, double less_us) {
    double bytes = 16.0 * (double)*(u64 *)a[3] * streams;
    modelled_ms = 3e-3 + bytes / 4e12 * 1e3 - less_us * 1e-3;
}
static void moves_one(void **a) {
    model(a, 1, 0);
}
static void moves_two(void **a) {
    model(a, 2, 0);
}
static void moves_three(void **a) {
    model(a, 3, 0);
}
static void tiles_copy(void **a) {
    model(a, 2, *(u64 *)a[3] * 32 == 128 << 20 ? 1.25 : 0);
}
static void computes(void **a) {
    modelled_ms = 1;
}

// y = 2 x + 1 in other types; those of bytes and less have an element fewer, so that buffers end
// within a word.
static void bf16(void **a, unsigned half) {
    for (int i = 0; i < COUNT; i++) {
        unsigned bits = (unsigned)(*(unsigned short **)a[0])[i] << 16;
        float x;
        memcpy(&x, &bits, 4);
        bits = bits_of(2 * x + 1);
        (*(unsigned short **)a[1])[i] =
            (unsigned short)((bits + (half ? half + (bits >> 16 & 1) : 0)) >> 16);
    }
}
static void bf16_right(void **a) {
    bf16(a, 0x7fff);
}
static void bf16_cut(void **a) {
    bf16(a, 0);
}
static void i8_right(void **a) {
    for (int i = 0; i < COUNT - 1; i++)
        (*(signed char **)a[1])[i] = (signed char)(2 * (*(signed char **)a[0])[i] + 1);
}
static void i8_over(void **a) {
    i8_right(a);
    (*(signed char **)a[1])[COUNT - 1] = 0;
}
static void i8_mutate(void **a) {
    i8_right(a);
    (*(signed char **)a[0])[COUNT - 2] ^= 1;
}
static void i8_partial(void **a) {
    signed char last = (*(signed char **)a[1])[COUNT - 2];
    i8_right(a);
    (*(signed char **)a[1])[COUNT - 2] = last;
}
static void i4_right(void **a) {
    const unsigned char *x = *(unsigned char **)a[0];
    unsigned char *y = *(unsigned char **)a[1];
    for (int i = 0; i < COUNT - 1; i++) {
        int shift = i % 2 ? 4 : 0, v = 2 * (x[i / 2] >> shift & 15) + 1;
        y[i / 2] = (unsigned char)((y[i / 2] & 0xf0 >> shift) | (v & 15) << shift);
    }
}
static void f64_right(void **a) {
    for (int i = 0; i < COUNT; i++)
        (*(double **)a[1])[i] = 2 * (*(double **)a[0])[i] + 1;
}
static void f64_single(void **a) {
    for (int i = 0; i < COUNT; i++)
        (*(double **)a[1])[i] = 2 * (float)(*(double **)a[0])[i] + 1;
}

static const struct kernel kernels[] = {
    {"bf16_right", bf16_right, 2},
    {"bf16_cut", bf16_cut, 2},
    {"i8_right", i8_right, 2},
    {"i8_over", i8_over, 2},
    {"i8_mutate", i8_mutate, 2},
    {"i8_partial", i8_partial, 2},
    {"i4_right", i4_right, 2},
    {"f64_right", f64_right, 2},
    {"f64_single", f64_single, 2},
    {"traffic_fill", moves_one, 4},
    {"traffic_read", moves_one, 4},
    {"traffic_triad", moves_three, 4},
    {"traffic_copy", moves_two, 4},
    {"traffic_write", moves_one, 4},
    {"tiles_read", moves_one, 4},
    {"tiles_triad", moves_three, 4},
    {"tiles_copy", tiles_copy, 4},
    {"tiles_write", moves_one, 4},
    {"empty", computes, 0},
    {"fma_f32", computes, 2},
    {"fma_f64", computes, 2},
    {"function_f32", computes, 2},
    {"mma_bf16", computes, 2},
    {"mma_tf32", computes, 2},
    {"mma_i8", computes, 2},
    {"mma_f8", computes, 2},
    {"wgmma_bf16", computes, 2},
    {"wgmma_tf32", computes, 2},
    {"wgmma_i8", computes, 2},
    {"wgmma_f8", computes, 2},
    {"judge_compare", run_compare, 5},
    {"judge_compare_typed", run_compare_typed, 6},
    {"judge_scan", run_scan, 2},
    {"judge_fold", run_fold, 3},
    {"judge_flush", run_flush, 3},
    {"judge_wipe_shared", run_wipe_shared, 1},
    {"judge_wipe_256", run_wipe_local, 1},
    {"judge_wipe_2048", run_wipe_local, 1},
    {"oracle_fill", run_oracle_fill, 4},
    {"oracle_widen", run_oracle_widen, 4},
    {"oracle_keep", run_oracle_keep, 3},
    {"oracle_rows", run_oracle_rows, 6},
    {"oracle_scale", run_oracle_scale, 4},
    {"oracle_edges", run_oracle_edges, 3},
    {"oracle_chain", run_oracle_chain, 4},
    {"oracle_map", run_oracle_map, 1},
    {"oracle_runs", run_oracle_runs, 1},
    {"oracle_join", run_oracle_join, 1},
    {"oracle_matmul", run_oracle_matmul, 1},
    {"oracle_pack", run_oracle_pack, 1},
    {"oracle_move", run_oracle_move, 1},
    {"oracle_scan", run_oracle_scan, 1},
    {"oracle_scan_runs", run_oracle_scan_runs, 1},
    {"oracle_scan_carry", run_oracle_scan_carry, 1},
    {"oracle_pool", run_oracle_pool, 1},
    {"oracle_best_runs", run_oracle_best_runs, 1},
    {"oracle_best_join", run_oracle_best_join, 1},
    {"oracle_merge", run_oracle_merge, 1},
    {"oracle_ranks", run_oracle_ranks, 1},
    {"oracle_scatter", run_oracle_scatter, 1},
    {"oracle_matmul_whole", run_oracle_matmul_whole, 2},
    {"oracle_bits", run_oracle_bits, 3},
    {"oracle_put", run_oracle_put, 2},
    {"oracle_mean", run_oracle_mean, 5},
    {"oracle_sum", run_oracle_sum, 4},
    {"oracle_guess", run_oracle_guess, 2},
    {"right", right, 2},
    {"mapped", right, 2, 1},
    {"partial", partial, 2},
    {"noop", noop, 2},
    {"flight_sick", noop, 2},  // two of the cubin in tests/fixtures
    {"narrow_sick", noop, 2},
    {"overrun", overrun, 2},
    {"mutate", mutate, 2},
    {"illegal", illegal, 2},
    {"endless", endless, 2},
    {"stumbles", stumbles, 2},
    {"ends", ends, 2},
    {"stale", stale, 2},
    {"counts_in_shared", counts_in_shared, 2},
    {"counts_in_local", counts_in_local, 2},
    {"slow", slow, 2},
    {"twice", twice, 2},
    {"sniffs_scale", sniffs_scale, 2},
    {"keeps_by_sum", keeps_by_sum, 2},
    {"keeps_declared", keeps_declared, 2},
    {"clears_new", clears_new, 2},
    {"y_map", emitted_map, 2},
    {"y_plain", emitted_plain, 2},
    {"sweeps", sweeps, 2},
    {"sweeps_dies", sweeps_dies, 2},
    {"sweeps_others", sweeps_others, 2},
    {"seeks", seeks, 2},
    {"seeks_timed", seeks_timed, 2},
    {0},
};
