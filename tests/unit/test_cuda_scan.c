// Emitted CUDA of scans, run by fibres: right as it is, and wrong without any one barrier or guard.
#include <criterion/criterion.h>

#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Scans: warps that share a line, lines that share a block, vectors from the end; lines across
    // memory; pieces, of which the last one is short.
    {"problem running\ndim M = 5, N = 1031\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = cumsum(x, axis=1)\n",
     "stage y : scan  threads 64  lines 2  vec 1  items 2\n"},
    {"problem backwards\ndim M = 2, N = 1416\nin x : f32[M, N] ~ normal\nin c : bool[M, N]\n"
     "out y : bf16[M, N]\ny = cumsum(where(c, x, 0), axis=1, reverse=true, exclusive=true) * 2\n",
     "stage y : scan  threads 64  lines 1  vec 4  items 2\n"},
    {"problem down\ndim A = 3, M = 45, N = 50\nin x : f32[A, M, N] ~ uniform(0.9, 1.1)\n"
     "out y : f32[A, M, N]\ny = cumprod(x, axis=1)\n",
     "stage y : scan  threads 4  lines 32  vec 2  items 4\n"},
    {"problem up\ndim M = 1000, N = 37\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = cumsum(x, axis=0, reverse=true, exclusive=true)\n",
     "stage y : scan  threads 8  lines 32  vec 1  items 4  split 8\n"},
    {"problem pieces\ndim M = 3, N = 3004\nin x : f32[M, N] ~ normal\nout y : f32[M, N]\n"
     "y = cumsum(x, axis=1)\n",
     "stage y : scan  threads 64  lines 1  vec 4  items 1  split 4\n"},
};

Test(cuda_scan, fails_without_any_one_barrier_or_guard) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, NULL, 0};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_geq(tally.all[FIBRE_BARRIER], 6);
}
