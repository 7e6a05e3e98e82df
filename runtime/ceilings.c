// What this machine can do at best: traffic of four mixes, reads from each cache, multiply-adds in
// every width of vectors, functions, and nothing. Run by `hone calibrate` in the same runner and
// under the same clock as every candidate; `order` says what a call shall do:
//   [0] which of them   [1] blocks of traffic, or rounds
//   [2] floats of a block of each stream, or of each part of a cache   [3] such parts
//
// LANES floats make a vector.
#include "hone_math.h"

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4 * LANES)));

enum {
    READ,
    TRIAD,
    TRIAD_STREAM,
    COPY,
    COPY_STREAM,
    WRITE,
    WRITE_STREAM,
    CACHE,
    FUNCTION,
    F32X16,
    F32X32,
    F32X64,
    F64X16,
    F64X32,
    F64X64
};

static inline void stream(vec *to, vec v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, to);
#elif defined(__AVX512F__) && LANES == 16
    __builtin_ia32_movntps512((float *)to, v);
#elif defined(__AVX__) && LANES == 8
    __builtin_ia32_movntps256((float *)to, v);
#elif defined(__SSE__) && LANES == 4
    __builtin_ia32_movntps((float *)to, v);
#else
    *to = v;
#endif
}

static inline void fence(void) {
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}

// Both inputs, each in two halves: four streams keep more reads in flight than one. Eight
// sums that do not wait for each other.
static void read_block(const vec *a, const vec *b, long n, float *sum) {
    long half = n / 2;
    vec s[8] = {{0}};
    for (long i = 0; i < half; i += 2)
        for (int k = 0; k < 2; k++) {
            s[k] += a[i + k];
            s[2 + k] += a[half + i + k];
            s[4 + k] += b[i + k];
            s[6 + k] += b[half + i + k];
        }
    for (int k = 1; k < 8; k++)
        s[0] += s[k];
    *sum = s[0][0] + s[0][LANES - 1];
}

static void triad_block(const vec *a, const vec *b, vec *c, long n, int streams) {
    if (streams)
        for (long i = 0; i < n; i++)
            stream(&c[i], a[i] + 0.5f * b[i]);
    else
        for (long i = 0; i < n; i++)
            c[i] = a[i] + 0.5f * b[i];
}

static void copy_block(const vec *a, vec *c, long n, int streams) {
    if (streams)
        for (long i = 0; i < n; i++)
            stream(&c[i], a[i]);
    else
        for (long i = 0; i < n; i++)
            c[i] = a[i];
}

static void write_block(vec *c, long n, int streams) {
    vec one = (vec){0} + 1;
    if (streams)
        for (long i = 0; i < n; i++)
            stream(&c[i], one);
    else
        for (long i = 0; i < n; i++)
            c[i] = one;
}

// The same floats again and again. Sixteen sums: eight additions under way in each of two units.
static void cache_block(const vec *a, long n, long rounds, float *sum) {
    vec s[16] = {{0}};
    for (long r = 0; r < rounds; r++)
        for (long i = 0; i + 16 <= n / LANES; i += 16)
            for (int k = 0; k < 16; k++)
                s[k] += a[i + k];
    for (int k = 1; k < 16; k++)
        s[0] += s[k];
    *sum = s[0][0] + s[0][LANES - 1];
}

// exp of 4096 floats again and again.
static void function_block(const float *a, long rounds, float *sum) {
    HONE_JOIN(f32x, LANES) s[4] = {{0}};
    for (long r = 0; r < rounds; r++)
        for (long i = 0; i < 4096; i += 4 * LANES)
            for (int k = 0; k < 4; k++)
                s[k] += HONE_JOIN(hone_exp, LANES)(HONE_JOIN(hone_load, LANES)(a + i + k * LANES));
    s[0] += s[1] + s[2] + s[3];
    *sum = s[0][0] + s[0][LANES - 1];
}

// Twelve chains: enough to cover the latency of two units, and in registers everywhere.
#define CHAINS(name, type, bytes)                                                  \
    static void name(const float *a, long rounds, float *sum) {                    \
        typedef type wide __attribute__((vector_size(bytes)));                     \
        wide s[12], m = (wide){0} + (type)(0.5 + 1e-9 * a[0]), t = m * (type)0.5f; \
        for (int k = 0; k < 12; k++)                                               \
            s[k] = (wide){0} + (type)a[k];                                         \
        for (long i = 0; i < rounds; i++)                                          \
            for (int k = 0; k < 12; k++)                                           \
                s[k] = s[k] * m + t;                                               \
        for (int k = 1; k < 12; k++)                                               \
            s[0] += s[k];                                                          \
        *sum = (float)s[0][0];                                                     \
    }

CHAINS(chains_f32x16, float, 16)
CHAINS(chains_f64x16, double, 16)
#if LANES >= 8
CHAINS(chains_f32x32, float, 32)
CHAINS(chains_f64x32, double, 32)
#endif
#if LANES >= 16
CHAINS(chains_f32x64, float, 64)
CHAINS(chains_f64x64, double, 64)
#endif

static void arithmetic(int what, const float *a, long rounds, float *sum) {
    switch (what) {
    case F32X16:
        chains_f32x16(a, rounds, sum);
        break;
    case F64X16:
        chains_f64x16(a, rounds, sum);
        break;
#if LANES >= 8
    case F32X32:
        chains_f32x32(a, rounds, sum);
        break;
    case F64X32:
        chains_f64x32(a, rounds, sum);
        break;
#endif
#if LANES >= 16
    case F32X64:
        chains_f32x64(a, rounds, sum);
        break;
    case F64X64:
        chains_f64x64(a, rounds, sum);
        break;
#endif
    default:
        function_block(a, rounds, sum);
    }
}

void ceiling(long block, const float *order, const float *a, const float *b, float *c,
             float *sums) {
    int what = (int)order[0];
    if (what < CACHE && block >= (long)order[1])
        return;
    long from = what < CACHE ? block * (long)order[2] : 0, n = (long)order[2] / LANES;
    const vec *x = (const vec *)(a + from), *y = (const vec *)(b + from);
    vec *z = (vec *)(c + from);
    switch (what) {
    case READ:
        read_block(x, y, n, &sums[16 * block]);
        break;
    case TRIAD:
    case TRIAD_STREAM:
        triad_block(x, y, z, n, what == TRIAD_STREAM);
        break;
    case COPY:
    case COPY_STREAM:
        copy_block(x, z, n, what == COPY_STREAM);
        break;
    case WRITE:
    case WRITE_STREAM:
        write_block(z, n, what == WRITE_STREAM);
        break;
    case CACHE:
        cache_block((const vec *)(a + block % (long)order[3] * (long)order[2]), (long)order[2],
                    (long)order[1], &sums[16 * block]);
        break;
    default:
        arithmetic(what, a, (long)order[1], &sums[16 * block]);
    }
    fence();
}

void nothing(long block, float *sums) {
    (void)block, (void)sums;
}
