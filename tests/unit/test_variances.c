// Variances on shifted data: every way of computing them that keeps what there is to keep is inside
// the limits at every length, and the mean of the squares less the square of the mean is far
// outside, in whatever order its sums are made.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/lang.h"
#include "oracle/oracle_compare.h"
#include "oracle/oracle_private.h"

enum { LANES = 16 };

struct moments {
    float mean, variance;
};

// A sum of n values, or of their squares: one chain, sixteen of them, or by halves.
static float chain(const float *x, long n, int power) {
    float s = 0;
    for (long i = 0; i < n; i++)
        s += power == 2 ? x[i] * x[i] : x[i];
    return s;
}

static float lanes(const float *x, long n, int power) {
    float s[LANES] = {0}, all = 0;
    for (long i = 0; i < n; i++)
        s[i % LANES] += power == 2 ? x[i] * x[i] : x[i];
    for (int i = 0; i < LANES; i++)
        all += s[i];
    return all;
}

static float halves(const float *x, long n, int power) {
    return n <= 8 ? chain(x, n, power)
                  : halves(x, n / 2, power) + halves(x + n / 2, n - n / 2, power);
}

typedef float (*sum_fn)(const float *x, long n, int power);

static struct moments one_pass(const float *x, long n, sum_fn sum) {
    float mean = sum(x, n, 1) / (float)n;
    return (struct moments){mean, sum(x, n, 2) / (float)n - mean * mean};
}

static struct moments two_passes(const float *x, long n, sum_fn sum) {
    float *d = malloc(sizeof *d * (size_t)n), mean = sum(x, n, 1) / (float)n;
    for (long i = 0; i < n; i++)
        d[i] = x[i] - mean;
    struct moments m = {mean, sum(d, n, 2) / (float)n};
    free(d);
    return m;
}

static struct moments shifted(const float *x, long n, sum_fn sum) {
    float *d = malloc(sizeof *d * (size_t)n);
    for (long i = 0; i < n; i++)
        d[i] = x[i] - x[0];
    float s = sum(d, n, 1);
    struct moments m = {x[0] + s / (float)n, (sum(d, n, 2) - s * s / (float)n) / (float)n};
    free(d);
    return m;
}

// Welford's, in as many lanes as its sums have; these are joined as Chan, Golub and LeVeque do.
static struct moments welford(const float *x, long n, sum_fn sum) {
    int n_lanes = sum == chain ? 1 : LANES;
    float mean[LANES] = {0}, squares[LANES] = {0}, each = (float)(n / n_lanes);
    for (long i = 0; i < n; i++) {
        int at = (int)(i % n_lanes);
        float d = x[i] - mean[at];
        mean[at] += d / (float)(i / n_lanes + 1);
        squares[at] += d * (x[i] - mean[at]);
    }
    for (int half = n_lanes / 2; half > 0; half /= 2, each *= 2)
        for (int i = 0; i < half; i++) {
            float d = mean[i + half] - mean[i];
            mean[i] += d / 2;
            squares[i] += squares[i + half] + d * d * each / 2;
        }
    return (struct moments){mean[0], squares[0] / (float)n};
}

static const struct {
    const char *name;
    struct moments (*of)(const float *x, long n, sum_fn sum);
    bool is_honest;
} ways[] = {{"two passes", two_passes, true},
            {"differences to the first", shifted, true},
            {"Welford's", welford, true},
            {"one pass", one_pass, false}};

static const struct {
    const char *name;
    sum_fn sum;
} orders[] = {{"one chain", chain}, {"sixteen lanes", lanes}, {"halves", halves}};

static const char variance[] = "problem p\ndim M = %ld, K = %ld\nin x : f32[M, K] ~ %s\n"
                               "out y : f32[M]\nd = x - mean(x, axis=1)[:, None]\n"
                               "y = mean(d * d, axis=1)\n";
static const char layernorm[] =
    "problem p\ndim M = %ld, K = %ld\nin x : f32[M, K] ~ %s\nout y : f32[M, K]\n"
    "d = x - mean(x, axis=1)[:, None]\nv = mean(d * d, axis=1)\n"
    "y = d * rsqrt(v + 0.00001)[:, None]\n";

struct sample {
    const char *problem, *draws;
    long rows, length;
    uint64_t seed;
};

static void put_row(const struct sample *s, const float *x, const struct moments *m, float *y) {
    if (s->problem == variance) {
        *y = m->variance;
        return;
    }
    float scale = 1 / sqrtf(m->variance + 1e-5f);
    for (long k = 0; k < s->length; k++)
        y[k] = (x[k] - m->mean) * scale;
}

// Errors in parts of the limit; NAN and infinity count as infinite.
static double error_of(const struct sample *s, const struct oracle_output *e, const float *x,
                       float *y, size_t way, sum_fn sum) {
    struct comparison c;
    for (long i = 0; i < s->rows; i++) {
        const float *row = x + i * s->length;
        struct moments m = ways[way].of(row, s->length, sum);
        put_row(s, row, &m, y + i * (e->count / s->rows));
    }
    oracle_compare(e, y, 1, &c);
    double worst = fmax(c.stats.rms / c.stats.limit_rms, c.stats.max / c.stats.limit_max);
    return isfinite(c.stats.max) ? worst : INFINITY;
}

static void check(const struct sample *s) {
    struct arena a = {0};
    struct error err = {0};
    struct lang_file file;
    struct str text = {0};
    const char *diagnostics = "";
    str_printf(&text, s->problem, s->rows, s->length, s->draws);
    struct lang_source source = {.file = "t", .text = text.ptr, .len = text.len};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    struct oracle o;
    oracle_init(&o, file.problems[0], s->seed);
    oracle_compute(&o, 1U << SET_SHIFTED, 2);
    const struct oracle_output *e = &o.sets[SET_SHIFTED].outputs[0];
    float *x = arena_array(&a, float, s->rows * s->length), *y = arena_array(&a, float, e->count);
    oracle_fill(&o, SET_SHIFTED, 0, x);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
            double error = error_of(s, e, x, y, w, orders[k].sum);
            cr_expect(ways[w].is_honest ? error < 0.5 : error > 8,
                      "%s in %s of %ld, %s, seed %d: %g of the limit", ways[w].name, orders[k].name,
                      s->length, s->draws, (int)s->seed, error);
        }
    oracle_reset(&o);
    str_reset(&text);
    arena_reset(&a);
}

static void check_lengths(const char *problem, const char *draws, const long (*sizes)[3]) {
    for (; (*sizes)[0]; sizes++)
        for (long seed = 1; seed <= (*sizes)[2]; seed++)
            check(&(struct sample){problem, draws, (*sizes)[0], (*sizes)[1], (uint64_t)seed});
}

// Rows, their length, seeds. Chains of more than 65536 terms nobody makes.
static const long sizes[][3] = {
    {64, 64, 8}, {64, 256, 4}, {32, 1024, 3}, {16, 4096, 2}, {8, 16384, 2}, {8, 65536, 2}, {0}};
static const long few[][3] = {{32, 64, 2}, {8, 4096, 2}, {4, 65536, 1}, {0}};

Test(variances, of_shifted_data_at_every_length) {
    check_lengths(variance, "normal", sizes);
    check_lengths(layernorm, "normal", sizes);
}

Test(variances, of_other_draws) {
    static const char *const normal[] = {"normal(1.3, 1)", "normal(-5, 0.25)", "normal(300, 2)"};
    static const char *const uniform[] = {"uniform(0, 1)", "uniform(-3, 1)", "uniform(0.7, 100)"};
    for (size_t i = 0; i < sizeof normal / sizeof normal[0]; i++) {
        check_lengths(variance, normal[i], few);
        check_lengths(layernorm, normal[i], few);
        check_lengths(variance, uniform[i], few);
    }
}
