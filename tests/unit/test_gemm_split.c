// f32 products by parts of f16 (gemm_wgmma_split.c): right at every layout and odd shape on fibres,
// no barrier, wait or guard can be missing, and ranges, infinities and NaN are those of f32.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/program.h"
#include "loop/execute.h"
#include "loop/passes.h"
#include "text_mutants.h"

// On a card of three multiprocessors: a block has several tiles, and a strip of columns two blocks.
static const struct mutant_kernel kernels[] = {
    // As people write it: one operand along K, one across, of sizes that nothing divides.
    {"problem odd\ndim M = 67, N = 75, K = 71\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nin d : f32[N] ~ normal\nout c : f32[M, N]\n"
     "c = relu(a @ b + d)\n",
     "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 4  split 1\n"},
};

// Only rows and columns without factors are computed once more, and here there are none. A block
// that goes on into the next one's rows writes what that one writes.
static const struct mutant_same same[] = {
    {"odd", "begin + 36 of 71 < begin + 36 ? 71 : begin + 36", 0},
    {"odd", "if (0 < hone_to_int((int)(least <= 0.0f), 0, 1)) {", 0},
    {"odd", "if (row < M) {", 1},
    {"odd", "if (column_2 < N) {", 0},
    {"odd",
     "if (0 < hone_to_int((int)(c_lhs_factors[row] * c_rhs_factors[column_2] <= 0.0f), 0, 1)) {",
     0},
};

Test(gemm_split, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_card(3);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 10);
}

// The other way round, a batch that shares one operand, which is computed on the way; results of 16
// bits, which pass shared memory; one term, and one element of everything.
Test(gemm_split, computes_every_layout) {
    static const struct mutant_kernel others[] = {
        {"problem batch\ndim B = 2, M = 72, N = 64, K = 132\nin a : f32[K, M] ~ normal\n"
         "in b : f32[B, N, K] ~ normal\nout c : f16[B, M, N]\n"
         "c = exp(a * 0.125).T @ transpose(b, (0, 2, 1))\n",
         "stage c : gemm as wgmma  tile 128x64  warpgroups 2  stages 2  group 1  split 1\n"},
        {"problem both\ndim B = 2, M = 5, N = 9, K = 2049\nin a : f32[B, M, K] ~ normal\n"
         "in b : f32[N, K] ~ normal\nout c : f32[B, M, N]\nc = a @ b.T\n",
         "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 1\n"},
        {"problem digits\nprecision tf32\ndim M = 70, N = 64, K = 1100\n"
         "in a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
         "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 1\n"},
        {"problem shares\ndim M = 70, N = 75, K = 400\nin a : f32[M, K] ~ normal\n"
         "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
         "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 4\n"},
        {"problem outer\ndim M = 4, N = 6, K = 1\nin a : f32[M, K] ~ normal\n"
         "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
         "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 1\n"},
        {"problem one\ndim M = 1, N = 1, K = 1\nin a : f32[M, K] ~ normal\n"
         "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
         "stage c : gemm as wgmma  tile 64x64  warpgroups 1  stages 2  group 1  split 1\n"},
    };
    mutants_card(2);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct text_subject s;
        char message[1200] = "";
        mutants_subject(&s, &others[i], i);
        struct loop_program *p = mutants_loops(&s, others[i].stages);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_expect(error >= 0 && error <= s.limit, "%s: %g, %s", s.problem->name, error, message);
        text_close(&s);
    }
}

enum { M = 66, N = 70, K = 100 };

// c = a @ b, as the interpreter of loops runs it.
static void multiply(const float *lhs, const float *rhs, float *result, int split) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(
        &a, "problem p\ndim M = 66, N = 70, K = 100\nin a : f32[M, K]\nin b : f32[K, N]\n"
            "out c : f32[M, N]\nc = a @ b\n");
    const char *text = arena_printf(&a,
                                    "kernel for p on sm_90a\nstage c : gemm as wgmma  tile 64x64  "
                                    "warpgroups 1  stages 2  split %d\n",
                                    split);
    struct loop_program *loops = program_from(&a, p, &t, text);
    void **data = arena_array(&a, void *, loops->n_buffers);
    for (int i = 0; i < loops->n_buffers; i++) {
        const struct loop_buffer *b = loops->buffers[i];
        if (b->space == LOOP_GLOBAL && b->role != LOOP_SCRATCH)
            data[i] = strcmp(b->name, "a") == 0   ? (void *)lhs
                      : strcmp(b->name, "b") == 0 ? (void *)rhs
                                                  : result;
    }
    cr_assert(execute(loops, data, &err), "%s", err.text);
    arena_reset(&a);
}

static void expect_f32(const float *lhs, const float *rhs, const float *c) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0, size = 0;
            for (int k = 0; k < K; k++) {
                sum += (double)lhs[i * K + k] * (double)rhs[k * N + j];
                size += fabs((double)lhs[i * K + k] * (double)rhs[k * N + j]);
            }
            float got = c[i * N + j], want = (float)sum;
            if (isnan(want))
                cr_expect(isnan(got), "%d %d: %g", i, j, (double)got);
            else if (isinf(want))
                cr_expect(got == want, "%d %d: %g", i, j, (double)got);
            else
                cr_expect(fabs((double)got - sum) <= size * 1e-6 + K * 0x1p-149, "%d %d: %g for %g",
                          i, j, (double)got, sum);
        }
}

static float *digits(struct arena *a, int count, int seed) {
    float *x = arena_array(a, float, count);
    for (int i = 0; i < count; i++)
        x[i] = (float)((i + seed) * 7919 % 1999 - 999) + (float)(i % 13) / 16384;
    return x;
}

// Rows and columns of all magnitudes; products of large and small ones; zeros.
Test(gemm_split, keeps_the_range_of_f32) {
    struct arena a = {0};
    float *lhs = digits(&a, M * K, 1), *rhs = digits(&a, K * N, 2),
          *c = arena_array(&a, float, M *N);
    for (int i = 0; i < M * K; i++)
        lhs[i] = i / K == 7 ? 0 : ldexpf(lhs[i], i / K * 4 - 140);
    for (int i = 0; i < K * N; i++)
        rhs[i] = i % N == 9 ? 0 : ldexpf(rhs[i], 100 - i % N * 3);
    multiply(lhs, rhs, c, 1);
    expect_f32(lhs, rhs, c);
    arena_reset(&a);
}

// Infinities and NaN reach their rows and columns alone. A row of two magnitudes, of which the
// right operand takes the small one: parts of f16 have lost it.
Test(gemm_split, computes_without_parts_what_they_cannot_say) {
    struct arena a = {0};
    float *lhs = digits(&a, M * K, 3), *rhs = digits(&a, K * N, 4),
          *c = arena_array(&a, float, M *N);
    lhs[5 * K + 3] = INFINITY;
    lhs[65 * K + 2] = NAN;
    lhs[9 * K + 1] = -3.4e38f;
    rhs[4 * N + 69] = -INFINITY;
    for (int k = 0; k < K; k++)
        lhs[20 * K + k] = ldexpf(lhs[20 * K + k], k == 50 ? 60 : 0);
    for (int k = 0; k < K; k++)
        rhs[k * N + 30] = ldexpf(rhs[k * N + 30], k % 2 ? 60 : 0);
    for (int j = 0; j < N; j++)
        rhs[50 * N + j] = 0;
    for (int i = 0; i < M; i++)
        for (int k = 1; k < K; k += 2)
            lhs[i * K + k] = i == 40 ? 0 : lhs[i * K + k];
    for (int split = 1; split <= 2; split++) {
        multiply(lhs, rhs, c, split);
        expect_f32(lhs, rhs, c);
    }
    arena_reset(&a);
}
