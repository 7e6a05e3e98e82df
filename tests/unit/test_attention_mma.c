// attention on tensor cores (attention_mma.c): heads of several widths, masks, lengths that no tile
// divides, in both types compute what the problem says on fibres, and no barrier, wait, commit or
// guard of the text can be missing.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/program.h"
#include "ir/types.h"
#include "loop/execute.h"
#include "loop/passes.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Several tiles of keys, heads of a batch, all sizes divided.
    {"problem heads\nin q : f16[2, 2, 32, 32] ~ normal\nin k : f16[2, 2, 96, 32] ~ normal\n"
     "in v : f16[2, 2, 96, 16] ~ normal\nout o : f16[2, 2, 32, 16]\no = attention(q, k, v)\n",
     "stage o : attention  tile 32x32\n"},
    // Neither queries nor keys fill their tiles; rows of 96 bytes.
    {"problem ragged\nin q : f16[37, 48] ~ normal\nin k : f16[50, 48] ~ normal\n"
     "in v : f16[50, 48] ~ normal\nout o : f32[37, 48]\no = relu(attention(q, k, v))\n",
     "stage o : attention  tile 32x32\n"},
    // A mask that is computed, and tiles that it leaves out.
    {"problem causal\nin q : bf16[2, 64, 16] ~ normal\nin k : bf16[2, 64, 16] ~ normal\n"
     "in v : bf16[2, 64, 16] ~ normal\nout o : f32[2, 64, 16]\n"
     "o = causal_attention(q, k, v)\n",
     "stage o : attention  tile 32x32\n"},
    // A mask that is given, of odd length.
    {"problem masked\nin q : f16[32, 16] ~ normal\nin k : f16[55, 16] ~ normal\n"
     "in v : f16[55, 16] ~ normal\nin m : bool[32, 55] ~ bernoulli(0.7)\nout o : f16[32, 16]\n"
     "o = attention(q, k, v, m)\n",
     "stage o : attention  tile 32x32\n"},
};

// What would be copied beyond the last key is zeros, and nobody reads it; a mask changes nothing in
// tiles that have no keys behind it.
static const struct mutant_same same[] = {{"ragged", "if (tile + 1 < 2) {", 0},
                                          {"masked", "if (tile + 1 < 2) {", 0},
                                          {"ragged", "if (49 < last) {", 0},
                                          {"causal", "if (row0 + own < last) {", 0}};

Test(attention_mma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same, 4};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 15);
}

enum { M = 16, N = 32, D = 16 };

// As the interpreter of loops runs it: the operations of a quad, pairs and packing among them.
Test(attention_mma, loops_compute_it_too) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    static uint16_t q[M * D], k[N * D], v[N * D];
    static float o[M * D];
    target_of_arch("sm_90a", &t);
    struct problem *p =
        problem_from(&a, "problem p\nin q : f16[16, 16]\nin k : f16[32, 16]\nin v : f16[32, 16]\n"
                         "out o : f32[16, 16]\no = attention(q, k, v)\n");
    struct kernel block;
    lower_default(&a, p, &t, &block);
    cr_assert_str_eq(block.stages[0]->family, "attention");
    struct loop_program *loops = program_lower(&a, p, &t, &block);
    pass_prune(loops);
    cr_assert(pass_verify(loops, &err), "%s", err.text);
    for (int i = 0; i < N * D; i++) {
        dtype_put(DTYPE_F16, q, i % (M * D), (i * 7919 % 199 - 99) / 64.0);
        dtype_put(DTYPE_F16, k, i, (i * 104729 % 177 - 88) / 64.0);
        dtype_put(DTYPE_F16, v, i, (i * 1299709 % 131 - 65) / 64.0);
    }
    void **data = arena_array(&a, void *, loops->n_buffers);
    data[0] = q;
    data[1] = k;
    data[2] = v;
    data[3] = o;
    cr_assert(execute(loops, data, &err), "%s", err.text);
    for (int i = 0; i < M * D; i++) {
        double sum = 0, weights = 0;
        for (int j = 0; j < N; j++) {
            double score = 0;
            for (int d = 0; d < D; d++)
                score +=
                    dtype_get(DTYPE_F16, q, i / D * D + d) * dtype_get(DTYPE_F16, k, j * D + d);
            sum += exp(score / 4) * dtype_get(DTYPE_F16, v, j * D + i % D);
            weights += exp(score / 4);
        }
        cr_expect_float_eq((double)o[i], sum / weights, 2e-6, "%d: %g for %g", i, (double)o[i],
                           sum / weights);
    }
    arena_reset(&a);
}
