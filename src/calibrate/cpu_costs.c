// The least of a few repeats: whatever else runs here only makes them longer. Each repeat ends by
// the clock, so that a busy machine cannot make it last.
#include "calibrate/cpu_costs.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

enum { REPEATS = 5, PAGES = 2048 };
static const int64_t repeat_ns = 4000000;

double cpu_fault_s(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    double least = NAN;
    for (int i = 0; i < REPEATS; i++) {
        char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return least;
        madvise(at, bytes, MADV_NOHUGEPAGE);
        int64_t begin = clock_now_ns();
        for (size_t k = 0; k < bytes; k += page)
            ((volatile char *)at)[k] = 1;
        least = fmin(least, (double)(clock_now_ns() - begin) * 1e-9 / PAGES);
        munmap(at, bytes);
    }
    return least;
}

// Two threads that answer each other through one line.
struct ping_pong {
    _Alignas(128) atomic_int turn;  // 0: ours, 1: the other's, -1: over
};

static void *answer(void *ctx) {
    struct ping_pong *r = ctx;
    for (int turn; (turn = atomic_load(&r->turn)) >= 0;)
        if (turn == 1)
            atomic_compare_exchange_strong(&r->turn, &turn, 0);
    return NULL;
}

// Seconds for one way.
static double play(void) {
    struct ping_pong r = {.turn = 0};
    pthread_t other;
    long n = 0;
    if (pthread_create(&other, NULL, answer, &r) != 0)
        return NAN;
    int64_t begin = clock_now_ns(), now = begin;
    for (; now - begin < repeat_ns; now = clock_now_ns())
        for (int i = 0; i < 100; i++)
            if (atomic_load(&r.turn) == 0) {
                atomic_store(&r.turn, 1);
                n++;
            }
    atomic_store(&r.turn, -1);
    pthread_join(other, NULL);
    return n > 0 ? (double)(now - begin) * 1e-9 / (2 * (double)n) : NAN;
}

double cpu_line_of(double least_s) {
    // Between the two farthest cores of a machine it is some hundred nanoseconds.
    static const double most_s = 5e-6;
    return least_s <= most_s ? least_s : NAN;
}

double cpu_line_s(void) {
    cpu_set_t set;
    double least = NAN;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
        return NAN;
    for (int i = 0; i < REPEATS; i++)
        least = fmin(least, play());
    return cpu_line_of(least);
}

// ---- multiply-adds

#if defined(__x86_64__)
typedef float vec __attribute__((vector_size(32)));
enum { CHAINS = 12, TURNS = 4000 };

// As many independent sums as hide the latency of either, in registers.
#define EACH(step)                                                                           \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) \
        step(11)
#define FUSED(i) __asm__ volatile("vfmadd213ps %1, %1, %0" : "+x"(sum[i]) : "x"(one));
#define APART(i) \
    __asm__ volatile("vmulps %1, %0, %0\n\tvaddps %1, %0, %0" : "+x"(sum[i]) : "x"(one));

__attribute__((target("avx2,fma"))) static double run_sums(bool is_fused) {
    vec one = {0}, sum[CHAINS] = {0};
    int64_t begin = clock_now_ns();
    for (int turn = 0; turn < TURNS; turn++) {
        if (is_fused) {
            EACH(FUSED)
        } else {
            EACH(APART)
        }
    }
    return (double)(clock_now_ns() - begin);
}

double cpu_fuse_gain(void) {
    enum { TRIES = 20 };
    double fused = NAN, apart = NAN;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return NAN;
    for (int i = 0; i < TRIES; i++) {
        fused = fmin(fused, run_sums(true));
        apart = fmin(apart, run_sums(false));
    }
    return apart / fused;
}
#else
double cpu_fuse_gain(void) {
    return NAN;
}
#endif
