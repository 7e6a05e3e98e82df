// Products of which each row becomes a number (rowgemm_wgmma.c): every kind of fold and every edge
// computes what the problem says on fibres, nothing of the text can be missing, and what it does
// not take is refused with what to do instead.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/program.h"
#include "loop/execute.h"
#include "loop/passes.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Rows and columns that end within a tile; what is folded reads columns, what follows rows.
    {"problem sums\ndim M = 160, N = 72, K = 328\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nin d : f32[M] ~ normal\nin e : f32[N] ~ normal\n"
     "out c : f32[M]\nt = f32(a @ b.T) + e\nc = sum(relu(t), axis=1) * 0.5 + d\n",
     "stage c : rowgemm  tile 64x64  warpgroups 1  stages 2  group 1  apart 0  cluster 1\n"},
    // The largest, kept as a column, of a batch whose right operand lies across K.
    {"problem largest\ndim B = 2, M = 64, N = 128, K = 256\nin a : f16[B, M, K] ~ normal\n"
     "in b : f16[B, K, N] ~ normal\nin d : f32[B, M, 1] ~ normal\nout c : f16[B, M, 1]\n"
     "t = f32(a @ b) * d\nc = tanh(max(t, axis=2, keepdims=true))\n",
     "stage c : rowgemm  tile 64x64  warpgroups 1  stages 2  group 1  apart 0  cluster 1\n"},
    // Two numbers for each row and tile; warpgroups have tiles of their own.
    {"problem lse\ndim M = 128, N = 264, K = 192\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal(0, 0.1)\nout c : f32[M]\nc = logsumexp(f32(a @ b.T), axis=1)\n",
     "stage c : rowgemm  tile 64x64  warpgroups 2  stages 2  group 1  apart 1  cluster 1\n"},
    // More tiles than are finished at once; two of a cluster, of which one may lie outside.
    {"problem many\ndim M = 64, N = 1096, K = 192\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : f32[M]\nc = sum(f32(a @ b.T), axis=1)\n",
     "stage c : rowgemm  tile 64x64  warpgroups 1  stages 2  group 1  apart 0  cluster 2\n"},
};

// As of gemm: the copying warpgroup has work for one thread.
static const struct mutant_same same[] = {{"lse", "if (thread < 128) {", 0}};

Test(rowgemm, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 20);
}

enum { M = 64, N = 192, K = 64 };

// c = logsumexp(a @ b.T + e) in tiles of 64 columns, as the interpreter of loops runs it. The
// product is 0, so that rows are those of e.
static void fold(const float *e, float *c) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(
        &a, "problem p\ndim M = 64, N = 192, K = 64\nin a : bf16[M, K]\nin b : bf16[N, K]\n"
            "in e : f32[N]\nout c : f32[M]\nc = logsumexp(f32(a @ b.T) + e, axis=1)\n");
    static const char text[] = "kernel for p on sm_90a\n"
                               "stage c : rowgemm  tile 64x64  warpgroups 1\n";
    struct loop_program *loops = program_from(&a, p, &t, text);
    static short zeros[N * K];
    void **data = arena_array(&a, void *, loops->n_buffers);
    for (int i = 4; i < loops->n_buffers; i++)
        data[i] = loops->buffers[i]->role == LOOP_SCRATCH ? arena_array(&a, float, 3 * M) : NULL;
    data[0] = data[1] = zeros;
    data[2] = (void *)e;
    data[3] = c;
    cr_assert(execute(loops, data, &err), "%s", err.text);
    arena_reset(&a);
}

// What one tile has is rescaled by what others have: none of it may become NaN on the way.
Test(rowgemm, tiles_of_any_size_meet) {
    static const struct {
        double tile[3];  // of every column
        double want;
    } cases[] = {
        {{0, 0, 0}, 5.2574953720277815},
        {{1e4, -1e4, 0}, 1e4 + 4.1588830833596715},
        {{-INFINITY, -1000, -1001}, -1000 + 4.472144771009863},
        {{-3e38, -INFINITY, -3e38}, -3e38},
        {{-INFINITY, -INFINITY, -INFINITY}, -INFINITY},
        {{INFINITY, 0, -1e30}, INFINITY},
        {{NAN, 0, 0}, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static float e[N], c[M];
        for (int j = 0; j < N; j++)
            e[j] = (float)cases[i].tile[j / 64];
        fold(e, c);
        double want = cases[i].want;
        for (int row = 0; row < M; row++)
            cr_expect(isnan(want)   ? isnan(c[row])
                      : isinf(want) ? (double)c[row] == want
                                    : fabs((double)c[row] - want) <= 1e-6 * fabs(want),
                      "case %zu, row %d: %g for %g", i, row, (double)c[row], want);
    }
}

// What is said about a stage on sm_90a; "" where nothing is.
static const char *said(struct arena *a, const char *types, const char *c) {
    struct target t;
    struct error err = {0};
    target_of_arch("sm_90a", &t);
    struct problem *p =
        problem_from(a, arena_printf(a,
                                     "problem p\ndim M = 256, N = 256, K = 256\nin a : %s[M, K]\n"
                                     "in b : %s[K, N]\n%s\n",
                                     types, types, c));
    static const char text[] = "kernel for p on sm_90a\nstage c : rowgemm\n";
    struct lang_source source = {.text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return lower_check(a, p, &t, file.kernels[0], &err) ? "" : arena_strdup(a, err.text);
}

Test(rowgemm, what_it_does_not_take_is_refused) {
    static const struct {
        const char *types, *c, *want;
    } cases[] = {
        {"f16", "out c : f32[M]\nc = mean(f32(a @ b), axis=1)", ""},
        {"f16", "out c : f32[M]\nc = min(f32(a @ b), axis=1)", "materialise"},
        {"f16", "out c : f32[N]\nc = sum(f32(a @ b), axis=0)", "and c is none"},
        {"f16", "out c : f32[M, N]\nc = softmax(f32(a @ b), axis=1)",
         "not one number for each row"},
        {"f16", "out c : f32[M, N]\nc = f32(a @ b)", "and c is none"},
        {"f32", "out c : f32[M]\nc = sum(a @ b, axis=1)", "are f32; materialise it first"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = said(&a, cases[i].types, cases[i].c);
        cr_expect(*cases[i].want ? strstr(got, cases[i].want) != NULL : !*got, "case %zu: %s", i,
                  got);
    }
    arena_reset(&a);
}
