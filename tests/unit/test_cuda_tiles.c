// Emitted CUDA of poolings and of maps that read across, run by fibres: right as it is, and wrong
// without any one barrier or guard.
#include <criterion/criterion.h>

#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Windows that overlap and end within a group of items; lines beyond the last; padding.
    {"problem best\ndim B = 3, H = 14, W = 45\nin x : f32[B, 1, H, W] ~ normal\n"
     "out y : f32[B, 1, H - 1, W - 1]\ny = avg_pool2d(x, 2, stride=1) * 2\n",
     "stage y : pool  threads 32  lines 2  items 2\n"},
    {"problem deep\ndim B = 3, D = 4, H = 5, W = 40\nin x : f32[B, 1, D, H, W] ~ normal\n"
     "out y : f32[B, 1, 3, H, 20]\ny = avg_pool3d(x, (2, 1, 2), stride=(2, 1, 2), padding=(1, 0, "
     "0))\n",
     "stage y : pool  threads 32  lines 1  items 1\n"},
    {"problem line\ndim B = 3, W = 170\nin x : f32[B, 3, W] ~ normal\n"
     "out y : f32[B, 3, W]\ny = avg_pool1d(x, 3, stride=1, padding=1)\n",
     "stage y : pool  threads 32  lines 4  items 2  stage none\n"},
    {"problem staged\ndim B = 3, W = 194\nin x : f32[B, 3, W] ~ normal\n"
     "out y : f32[B, 3, W - 2]\ny = max_pool1d(x, 3, stride=1, padding=1, dilation=2)\n",
     "stage y : pool  threads 32  lines 1  items 2  stage shared\n"},
    // A transpose whose tiles are not full, with something that is not read across.
    {"problem turn\ndim B = 2, M = 45, N = 70\nin x : f32[B, M, N] ~ normal\n"
     "in c : f32[M] ~ normal\nout y : f32[B, N, M]\ny = transpose(x, (0, 2, 1)) * 2 + c\n",
     "stage y : map as tiles  tile 32  rows 8\n"},
    {"problem halves\ndim M = 64, N = 100\nin x : bf16[M, N] ~ normal\nin z : f32[M, N] ~ normal\n"
     "out y : bf16[N, M]\ny = x.T + tanh(z.T)\n",
     "stage y : map as tiles  tile 64  rows 2  vec 1\n"},
    {"problem pairs\ndim B = 3, M = 46, N = 70\nin x : bf16[B, M, N] ~ normal\n"
     "in c : f32[M] ~ normal\nout y : bf16[B, N, M]\ny = transpose(x, (0, 2, 1)) * 2 + c\n",
     "stage y : map as tiles  tile 64  rows 4  vec 2\n"},
};

Test(cuda_tiles, fails_without_any_one_barrier_or_guard) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, NULL, 0};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_geq(tally.all[FIBRE_BARRIER], 2);
    cr_assert_geq(tally.all[FIBRE_MASK], 4);
}
