// gemm on tensor cores (gemm_mma.c): every operand layout, type and edge computes the product on
// fibres, and no barrier, wait, commit or guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

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
    {"problem tn\ndim B = 2, M = 32, N = 16, K = 64\nin a : f16[B, K, M] ~ normal\n"
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
    // tf32 of f32 operands.
    {"problem tf\nprecision tf32\ndim M = 16, N = 32, K = 40\nin a : f32[M, K] ~ normal\n"
     "in b : f32[N, K] ~ normal\nout c : f32[M, N]\nc = a @ b.T\n",
     "stage c : gemm as mma  tile 16x32x16  warps 1x2  stages 2  group 1\n"},
};

static const struct mutant_same same[] = {
    // More often than it has to.
    {"aside", "if (2 < slice % 4) {"},
};

Test(gemm_mma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 30);
}
