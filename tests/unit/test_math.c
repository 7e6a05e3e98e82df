// runtime/hone_math.h against float64, over the whole range of floats, at every width. The
// header is for the compiler that builds kernels, so that is what builds it here: with the
// machine's own instructions and with the least that every machine has.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "scratch.h"

enum { FUNCTIONS = 7, WIDTHS = 4 };

static const char source[] =
    "#include \"hone_math.h\"\n"
    "#define APPLY(name, w) void name##_##w(const float *x, float *y, long n) {\\\n"
    "    for (long i = 0; i < n; i += w) hone_store##w(y + i, hone_##name##w(hone_load##w(x + "
    "i))); }\n"
    "#define SCALAR(name) void name##_1(const float *x, float *y, long n) {\\\n"
    "    for (long i = 0; i < n; i++) y[i] = hone_##name##1(x[i]); }\n"
    "#define ALL(name) SCALAR(name) APPLY(name, 4) APPLY(name, 8) APPLY(name, 16)\n"
    "ALL(exp) ALL(log) ALL(erf) ALL(tanh) ALL(sqrt) ALL(rsqrt) ALL(exp_quick) "
    "ALL(gelu_quick)\n"
    "#define PAIR(name, w) void name##_##w(const float *x, const float *z, float *y, long n) {\\\n"
    "    for (long i = 0; i < n; i += w)\\\n"
    "        hone_store##w(y + i, hone_##name##w(hone_load##w(x + i), hone_load##w(z + i))); }\n"
    "PAIR(max, 4) PAIR(max, 8) PAIR(max, 16) PAIR(min, 4) PAIR(min, 8) PAIR(min, 16)\n"
    "void max_1(const float *x, const float *z, float *y, long n) {\n"
    "    for (long i = 0; i < n; i++) y[i] = hone_max1(x[i], z[i]); }\n"
    "void min_1(const float *x, const float *z, float *y, long n) {\n"
    "    for (long i = 0; i < n; i++) y[i] = hone_min1(x[i], z[i]); }\n"
    "#define ACROSS(w) void across_##w(const float *x, float *y) {\\\n"
    "    y[0] = hone_lanes_sum##w(hone_load##w(x)); y[1] = hone_lanes_prod##w(hone_load##w(x));\\\n"
    "    y[2] = hone_lanes_max##w(hone_load##w(x)); y[3] = hone_lanes_min##w(hone_load##w(x)); }\n"
    "ACROSS(4) ACROSS(8) ACROSS(16)\n"
    "#define MEMORY(w) void memory_##w(const float *x, float *y) {\\\n"
    "    hone_stream##w(y, hone_gather##w(x, 3)); }\n"
    "MEMORY(4) MEMORY(8) MEMORY(16)\n"
    "#define SPREAD(w) void spread_##w(const float *x, float *y) {\\\n"
    "    hone_store##w(y, hone_all##w(x[0])); }\n"
    "SPREAD(4) SPREAD(8) SPREAD(16)\n"
    "#define ORDER(w) void order_##w(const float *x, float *y) {\\\n"
    "    hone_store##w(y, hone_lanes_before_sum##w(hone_load##w(x)));\\\n"
    "    hone_store##w(y + 16, hone_lanes_before_prod##w(hone_load##w(x)));\\\n"
    "    hone_store##w(y + 32, hone_lanes_reversed##w(hone_load##w(x)));\\\n"
    "    y[48] = hone_lane##w(hone_load##w(x), w - 2); }\n"
    "ORDER(4) ORDER(8) ORDER(16)\n";

static double inverse_root(double x) {
    return 1 / sqrt(x);
}

// The largest error allowed, in units of the last place; what the header promises.
static const struct {
    const char *name;
    double (*exact)(double);
    double ulps, slope;  // and so much more for each unit of the argument
} functions[FUNCTIONS] = {{"exp", exp, 1.1, 0},        {"log", log, 1.0, 0},
                          {"erf", erf, 1.9, 0},        {"tanh", tanh, 2.0, 0},
                          {"sqrt", sqrt, 0.5, 0},      {"rsqrt", inverse_root, 1.5, 0},
                          {"exp_quick", exp, 3.0, 1.2}};

static const int widths[WIDTHS] = {1, 4, 8, 16};

static double error_ulps(float got, double want) {
    float rounded = (float)want;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got))
        // On the edge of overflow the largest number will do for infinity, and the reverse.
        return got == rounded ||
                       (signbit(got) == signbit(rounded) && fabsf(got) >= 0x1.fffffep127f &&
                        fabsf(rounded) >= 0x1.fffffep127f)
                   ? 0
                   : INFINITY;
    int exponent;
    frexp(want, &exponent);
    double unit = fabs(want) < 0x1p-126 ? 0x1p-149 : ldexp(1, exponent - 24);
    return fabs((double)got - want) / unit;
}

// Floats all over: every so many of all bit patterns, and the special ones.
enum { STEP = 11987, MOST = ((int)(0x100000000 / STEP) + 128) / 16 * 16 };

static long fill_samples(float *x) {
    static const float special[] = {
        0.0f,        -0.0f,      1.0f,       -1.0f,       INFINITY,        -INFINITY,
        NAN,         0x1p-149f,  -0x1p-149f, 0x1p-126f,   0x1.fffffep127f, -0x1.fffffep127f,
        88.72283f,   88.72284f,  -87.33655f, -103.97208f, -103.98f,        -104.0f,
        -150.0f,     89.0f,      3.92f,      3.95f,       -3.95f,          4.0f,
        0.13f,       0.26f,      9.0f,       10.0f,       11.0f,           -9.5f,
        0.70710678f, 1.41421356f};
    long n = 0;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        x[n++] = special[i];
    for (uint64_t bits = 0; bits < 0x100000000; bits += STEP) {
        uint32_t low = (uint32_t)bits;
        memcpy(&x[n++], &low, sizeof low);
    }
    while (n % 16)
        x[n++] = 0.5f;
    return n;
}

static void *build(struct arena *a, const char *dir, const char *compiler, const char *machine) {
    struct error err;
    const char *path = arena_printf(a, "%s/math.c", dir);
    const char *object = arena_printf(a, "%s/math%s.so", dir, machine);
    cr_assert(file_write(path, source, strlen(source), &err), "%s", err.text);
    const char *const argv[] = {compiler,
                                "-std=gnu17",
                                "-O3",
                                machine,
                                "-fno-math-errno",
                                "-fno-trapping-math",
                                "-fPIC",
                                "-shared",
                                "-Iruntime",
                                "-o",
                                object,
                                path,
                                NULL};
    struct process_spec spec = {.argv = argv, .keep_environment = true};
    struct process_result result;
    cr_assert(process_run(a, &spec, &result, &err), "%s", err.text);
    cr_assert(result.exit_status == 0, "%s", result.err);
    void *handle = dlopen(object, RTLD_NOW);
    cr_assert_not_null(handle, "%s", dlerror());
    return handle;
}

typedef void (*apply_fn)(const float *x, float *y, long n);
typedef void (*apply2_fn)(const float *x, const float *z, float *y, long n);
typedef void (*across_fn)(const float *x, float *y);

struct samples {
    long n;
    float *x, *y;
    double *exact[FUNCTIONS];
};

static void check_functions(struct arena *a, void *handle, const struct samples *s,
                            const char *where) {
    for (int f = 0; f < FUNCTIONS; f++)
        for (int w = 0; w < WIDTHS; w++) {
            const char *name = arena_printf(a, "%s_%d", functions[f].name, widths[w]);
            apply_fn apply = (apply_fn)dlsym(handle, name);
            apply(s->x, s->y, s->n);
            double worst = 0;
            float at = 0;
            for (long i = 0; i < s->n; i++) {
                double slope = functions[f].slope;
                double error = error_ulps(s->y[i], s->exact[f][i]);
                // Next to where it overflows a few units decide.
                if (slope > 0 && fabsf(s->x[i] - 88.72f) < 0.01f)
                    continue;
                if (slope > 0 && isfinite(s->x[i]) && isfinite(error))
                    error = fmax(0, error - slope * fabs((double)s->x[i]));
                if (s->exact[f][i] == 0 && s->y[i] == 0)
                    cr_assert_eq(!!signbit(s->y[i]), !!signbit(s->exact[f][i]), "%s %s(%a)", where,
                                 name, (double)s->x[i]);
                // Where erf is 1 in float64, nothing is rounded: 1 it must be.
                if (functions[f].exact == erf && fabs(s->exact[f][i]) == 1)
                    cr_assert_eq(fabsf(s->y[i]), 1.0f, "%s %s(%a)", where, name, (double)s->x[i]);
                if (error > worst) {
                    worst = error;
                    at = s->x[i];
                }
            }
            cr_assert(worst <= functions[f].ulps, "%s %s: %g ulp at %a", where, name, worst,
                      (double)at);
        }
}

// What honest f32 errs in gelu of a number that is exact: each rounding is taken for 2^-24 / sqrt 3
// of its result, as the judge has it, and carried on.
static double gelu_spread(double x) {
    double one = ldexp(1, -24) / sqrt(3), s = x * sqrt(0.5), e = erf(s), gate = 1 + e;
    double scaled = 2 / sqrt(acos(-1)) * exp(-s * s) * s * one;
    double below = hypot(hypot(scaled, e * one), gate * one);
    return hypot(x / 2 * below, x / 2 * gate * one);
}

// A judge admits 16 of those spreads: a quarter of them is plenty. Beyond -6 nothing is left of the
// result, and honest f32 gives zero.
static void check_gelu(struct arena *a, void *handle, const char *where) {
    enum { POINTS = 1 << 17 };
    static const float special[] = {0.0f, -0.0f, INFINITY, NAN, 3e38f, -3e38f, 1e-40f, -1e-40f};
    float *x = arena_array(a, float, POINTS + 16), *y = arena_array(a, float, POINTS + 16);
    for (int i = 0; i < POINTS; i++)
        x[i] = (float)(i - POINTS / 2) * (9.0f / (POINTS / 2)) + 1e-5f;
    memcpy(x + POINTS, special, sizeof special);
    for (int w = 0; w < WIDTHS; w++) {
        const char *name = arena_printf(a, "gelu_quick_%d", widths[w]);
        ((apply_fn)dlsym(handle, name))(x, y, POINTS + 16);
        for (int i = 0; i < POINTS; i++) {
            double v = (double)x[i], want = v * erfc(-v * sqrt(0.5)) / 2;
            double error = fabs((double)y[i] - want);
            double limit = v < -6 ? 1e-8 : 4 * gelu_spread(v);
            cr_assert(error <= limit, "%s %s(%a) is off by %g spreads", where, name, v,
                      error / gelu_spread(v));
        }
        const float *z = y + POINTS;
        cr_assert(z[0] == 0 && !signbit(z[0]) && z[1] == 0 && signbit(z[1]), "%s %s(0)", where,
                  name);
        cr_assert(z[2] == INFINITY && isnan(z[3]) && z[4] == 3e38f && z[5] == 0, "%s %s", where,
                  name);
        cr_assert(fabsf(z[6]) <= 1e-40f && fabsf(z[7]) <= 1e-40f, "%s %s(1e-40)", where, name);
    }
}

static bool same(float a, float b) {
    return a == b || (isnan(a) && isnan(b));
}

// NaN on either side comes out, as NumPy's maximum has it.
static void check_choice(struct arena *a, void *handle, const char *where) {
    static const float v[] = {1, -2, NAN, INFINITY, -INFINITY, 0, 3, 2};
    float x[64], z[64], y[64];
    for (int i = 0; i < 64; i++) {
        x[i] = v[i % 8];
        z[i] = v[i / 8];
    }
    for (int w = 0; w < WIDTHS; w++)
        for (int least = 0; least < 2; least++) {
            const char *name = arena_printf(a, "%s_%d", least ? "min" : "max", widths[w]);
            ((apply2_fn)dlsym(handle, name))(x, z, y, 64);
            for (int i = 0; i < 64; i++) {
                float want = isnan(x[i]) || isnan(z[i]) ? NAN
                             : least                    ? fminf(x[i], z[i])
                                                        : fmaxf(x[i], z[i]);
                cr_assert(same(y[i], want), "%s %s(%g, %g) = %g", where, name, (double)x[i],
                          (double)z[i], (double)y[i]);
            }
        }
}

static void check_lanes(struct arena *a, void *handle, const char *where) {
    for (int w = 1; w < WIDTHS; w++)
        for (int nan = -1; nan < widths[w]; nan++) {
            _Alignas(64) float x[64], y[16];
            float want[4] = {0, 1, -INFINITY, INFINITY};
            for (int i = 0; i < 48; i++)
                x[i] = (float)((i * 5) % 7 - 3) + 0.5f;
            if (nan >= 0)
                x[nan] = NAN;
            for (int i = 0; i < widths[w]; i++) {
                want[0] += x[i];
                want[1] *= x[i];
                want[2] = fmaxf(want[2], x[i]);
                want[3] = fminf(want[3], x[i]);
            }
            ((across_fn)dlsym(handle, arena_printf(a, "across_%d", widths[w])))(x, y);
            for (int i = 0; i < 4; i++)
                cr_assert(same(y[i], nan >= 0 ? NAN : want[i]), "%s across %d: %d: %g", where,
                          widths[w], i, (double)y[i]);
            ((across_fn)dlsym(handle, arena_printf(a, "memory_%d", widths[w])))(x, y);
            for (int i = 0; i < widths[w]; i++)
                cr_assert(same(y[i], x[3 * i]), "%s memory %d", where, widths[w]);
            // The sign of a zero stays, so that filling a vector takes no arithmetic.
            x[0] = -0.0f;
            ((across_fn)dlsym(handle, arena_printf(a, "spread_%d", widths[w])))(x, y);
            for (int i = 0; i < widths[w]; i++)
                cr_assert(y[i] == 0 && signbit(y[i]), "%s all %d", where, widths[w]);
        }
}

// By lane: sums and products of those before it, exact here, and the opposite order.
static void check_order(struct arena *a, void *handle, const char *where) {
    for (int w = 1; w < WIDTHS; w++) {
        float x[16], y[49], sum = 0, product = 1;
        for (int i = 0; i < 16; i++)
            x[i] = i % 3 ? 2 : -0.5f;
        ((across_fn)dlsym(handle, arena_printf(a, "order_%d", widths[w])))(x, y);
        for (int i = 0; i < widths[w]; i++) {
            cr_assert_eq(y[i], sum, "%s %d lanes: sum before %d", where, widths[w], i);
            cr_assert_eq(y[16 + i], product, "%s %d lanes: product before %d", where, widths[w], i);
            cr_assert_eq(y[32 + i], x[widths[w] - 1 - i], "%s reversed %d", where, widths[w]);
            sum += x[i];
            product *= x[i];
        }
        cr_assert_eq(y[48], x[widths[w] - 2], "%s lane %d", where, widths[w]);
    }
}

// Machine 0 is this one; 1 and 2 are older ones of the same kind.
static bool can_run(int machine) {
#if defined(__x86_64__)
    return machine != 1 || __builtin_cpu_supports("avx2");
#else
    return machine == 0;
#endif
}

Test(math, keeps_its_bounds_at_every_width, .timeout = 900) {
    struct arena a = {0};
    struct samples s = {.x = aligned_alloc(64, MOST * sizeof(float)),
                        .y = aligned_alloc(64, MOST * sizeof(float))};
    s.n = fill_samples(s.x);
    for (int f = 0; f < FUNCTIONS; f++) {
        s.exact[f] = arena_array(&a, double, s.n);
        for (long i = 0; i < s.n; i++)
            s.exact[f][i] = functions[f].exact((double)s.x[i]);
    }
    const char *dir = scratch_make(&a);
    static const char *const compilers[] = {"cc", "clang"};
    static const char *const machines[] = {"-march=native", "-march=x86-64-v3", "-march=x86-64"};
    for (int c = 0; c < 2; c++)
        for (int m = 0; m < 3; m++) {
            const char *compiler = file_find_program(&a, compilers[c]);
            if (!compiler || !can_run(m) || (c == 1 && m == 1))
                continue;
            void *handle = build(&a, dir, compiler, machines[m]);
            const char *where = arena_printf(&a, "%s %s:", compilers[c], machines[m]);
            check_functions(&a, handle, &s, where);
            check_gelu(&a, handle, where);
            check_choice(&a, handle, where);
            check_lanes(&a, handle, where);
            check_order(&a, handle, where);
            dlclose(handle);
        }
    scratch_remove(dir);
    free(s.x);
    free(s.y);
    arena_reset(&a);
}
