// gemm on tensor cores (gemm_mma.c): every operand layout, type and edge computes the product on
// fibres, and no barrier, wait, commit or guard of the text can be missing.
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
    // Both along K; a ragged depth, and a ring that is longer than the walk.
    {"problem nt\ndim M = 40, N = 24, K = 72\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 32x16x32  warps 2x1  stages 4  group 1\n"},
    // The right one along columns, with an epilogue, and groups of tiles that do not divide.
    {"problem nn\ndim M = 80, N = 64, K = 96\nin a : f16[M, K] ~ normal\n"
     "in b : f16[K, N] ~ normal\nin d : f16[N] ~ normal\nout c : f32[M, N]\n"
     "c = relu(a @ b + d)\n",
     "stage c : gemm as mma  tile 16x32x32  warps 1x2  stages 3  group 4\n"},
    // The left one along rows, a whole batch.
    {"problem tn\ndim B = 2, M = 32, N = 16, K = 53\nin a : f16[B, K, M] ~ normal\n"
     "in b : f16[B, K, N] ~ normal\nout c : f32[B, M, N]\nc = transpose(a, (0, 2, 1)) @ b\n",
     "stage c : gemm as mma  tile 32x16x32  warps 2x1  stages 2  group 1\n"},
    // Rows and columns that end within a tile, of one slice: what is copied for them is there.
    {"problem edge\ndim M = 24, N = 40, K = 32\nin a : bf16[K, M] ~ normal\n"
     "in b : bf16[K, N] ~ normal\nout c : f32[M, N]\nc = a.T @ b\n",
     "stage c : gemm as mma  tile 32x32x32  warps 1x2  stages 2  group 1\n"},
    // Odd columns: results go one by one, copies in four bytes.
    {"problem odd\ndim M = 17, N = 19, K = 70\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 16x32x32  warps 1x2  stages 2  group 1\n"},
    // Sums are put aside: in registers.
    {"problem aside\ndim M = 16, N = 32, K = 640\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 16x32x64  warps 1x2  stages 2  group 1\n"},
    // Every block begins with another slice, of which the last is short.
    {"problem around\ndim M = 13, N = 40, K = 1032\nin a : bf16[M, K] ~ normal\n"
     "in b : bf16[N, K] ~ normal\nout c : bf16[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 16x16x32  warps 1x1  stages 3  group 1\n"},
    // tf32 of f32 operands.
    {"problem tf\nprecision tf32\ndim M = 16, N = 32, K = 40\nin a : f32[M, K] ~ normal\n"
     "in b : f32[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 16x32x16  warps 1x2  stages 2  group 1\n"},
    // Three products of parts; operands that are read word by word.
    {"problem parts\ndim M = 32, N = 32, K = 40\nin a : f32[K, M] ~ normal\n"
     "in b : f32[K, N] ~ normal\nin d : f32[M, 1] ~ normal\nout c : f32[M, N]\n"
     "c = tanh(a.T @ b + d)\n",
     "stage c : gemm as mma  tile 32x32x16  warps 2x1  stages 2  group 1\n"},
    // Whole numbers: pairs of sums as they are, and (odd columns, a bias of whole numbers) one by
    // one, with scales.
    {"problem whole\ndim M = 24, N = 40, K = 144\nin a : i8[M, K] ~ integers(-128, 127)\n"
     "in b : i8[N, K] ~ integers(-128, 127)\nout c : i32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 16x32x64  warps 1x2  stages 4  group 1\n"},
    {"problem scaled\ndim M = 17, N = 19, K = 132\nin a : i8[M, K] ~ integers(-128, 127)\n"
     "in b : i8[N, K] ~ integers(-128, 127)\nin d : i32[N] ~ integers(-9, 9)\n"
     "in s : f32[M, 1] ~ uniform(0.5, 2)\nout c : f16[M, N]\n"
     "c = (a @ b.T + d) * s * 0.001\n",
     "stage c : gemm as mma  tile 16x32x64  warps 1x2  stages 4  group 1\n"},
    // Scales of rows and columns behind pairs of sums.
    {"problem scales\ndim M = 16, N = 48, K = 64\nin a : i8[M, K] ~ integers(-128, 127)\n"
     "in b : i8[N, K] ~ integers(-128, 127)\nin s : f32[M, 1] ~ uniform(0.5, 2)\n"
     "in u : f16[N] ~ uniform(0.001, 0.002)\nout c : bf16[M, N]\n"
     "c = (a @ b.T) * s * u\n",
     "stage c : gemm as mma  tile 16x16x64  warps 1x1  stages 2  group 1\n"},
    // f8 of either kind.
    {"problem bytes\nprecision f8e4m3 accumulate f22\ndim M = 24, N = 40, K = 144\n"
     "in a : f8e4m3[M, K] ~ normal\nin b : f8e4m3[N, K] ~ normal\nout c : f16[M, N]\n"
     "c = a @ b.T\n",
     "stage c : gemm as mma  tile 16x32x64  warps 1x2  stages 4  group 1\n"},
    {"problem wide_bytes\nprecision f8e5m2 accumulate f22\ndim M = 16, N = 16, K = 96\n"
     "in a : f8e5m2[M, K] ~ normal\nin b : f8e5m2[N, K] ~ normal\nout c : f32[M, N]\n"
     "c = a @ b.T\n",
     "stage c : gemm as mma  tile 16x16x64  warps 1x1  stages 2  group 1\n"},
};

static const struct mutant_same same[] = {
    // Finite sums: what is computed again term by term is the same.
    {"parts", "if (spoiled < 1) {", 0},
    {"parts", "if (0 < spoiled) {", 0},
    // Beyond the last slice the first ones come again, to slots that nobody reads.
    {"around", "if (slice + 2 < 33) {", 0},
};

Test(gemm_mma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 30);
}

enum { M = 32, N = 32, K = 24 };

// c = a @ b by three products of parts, as the interpreter of loops runs it.
static void multiply_parts(const float *lhs, const float *rhs, float *result) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(
        &a, "problem p\ndim M = 32, N = 32, K = 24\nin a : f32[M, K]\nin b : f32[K, N]\n"
            "out c : f32[M, N]\nc = a @ b\n");
    static const char text[] = "kernel for p on sm_90a\n"
                               "stage c : gemm as mma  tile 32x32x16  warps 2x1  stages 2\n";
    struct loop_program *loops = program_from(&a, p, &t, text);
    void **data = arena_array(&a, void *, loops->n_buffers);
    data[0] = (void *)lhs;
    data[1] = (void *)rhs;
    data[2] = result;
    cr_assert(execute(loops, data, &err), "%s", err.text);
    arena_reset(&a);
}

// Parts have the range of f32, and what they cannot say is computed term by term.
Test(gemm_mma, parts_keep_range_and_infinities) {
    static float lhs[M * K], rhs[K * N], c[M * N];
    for (int i = 0; i < M * K; i++)
        lhs[i] = ldexpf((float)(i * 7919 % 1999 - 999), i / K % 2 ? -120 : 90);
    for (int i = 0; i < K * N; i++)
        rhs[i] = (float)(i * 104729 % 1777 - 888);
    lhs[5 * K + 3] = INFINITY;
    lhs[7 * K + 2] = NAN;
    lhs[9 * K + 1] = -3.4e38f;
    multiply_parts(lhs, rhs, c);
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
                cr_expect(fabs((double)got - sum) <= size * 1e-6, "%d %d: %g for %g", i, j,
                          (double)got, sum);
        }
}
