// MaxSim on tensor cores (maxsim_mma.c): tokens, queries and documents that fill nothing, both
// orders of the product, and no guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "family/lower.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Queries end within 16, tokens within a unit, documents within a round of the card's warps.
    {"problem docs\ndim C = 9, Q = 21, T = 20, D = 64\nin query : f16[Q, D] ~ normal\n"
     "in docs : f16[C, T, D] ~ normal\nout y : f32[C]\n"
     "y = sum(max(docs @ query.T, axis=1), axis=1)\n",
     "stage y : maxsim as mma  warps 2  tokens 8  minblocks 1\n"},
    // Queries on the left, and what follows by element.
    {"problem queries\ndim C = 6, Q = 8, T = 40, D = 32\nin query : bf16[Q, D] ~ normal\n"
     "in docs : bf16[C, T, D] ~ normal\nin d : f32[C] ~ normal\nout y : f32[C]\n"
     "y = sum(max(query @ transpose(docs, (0, 2, 1)), axis=2), axis=1) / 8.0 + d\n",
     "stage y : maxsim as mma  warps 1  tokens 16  minblocks 2\n"},
};

// A second time the same result is stored.
static const struct mutant_same same[] = {{"docs", "if (lane < 1) {", 0},
                                          {"queries", "if (lane < 1) {", 0}};

Test(maxsim_mma, fails_without_any_one_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same, 2};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_GUARD], 1);
}

static bool is_one_stage(const char *text) {
    struct arena a = {0};
    struct kernel k;
    struct target t;
    target_of_arch("sm_90a", &t);
    lower_default(&a, problem_from(&a, text), &t, &k);
    bool is_one = k.n_stages == 1 && strcmp(k.stages[0]->family, "maxsim") == 0;
    arena_reset(&a);
    return is_one;
}

// It is what such a problem begins with; a sum of other things, or a depth that has no place in
// registers, is not its.
Test(maxsim_mma, takes_what_it_computes) {
    cr_expect(is_one_stage(kernels[0].problem));
    cr_expect(is_one_stage(kernels[1].problem));
    cr_expect(!is_one_stage("problem p\ndim C = 9, Q = 21, T = 27, D = 64\n"
                            "in query : f16[Q, D] ~ normal\nin docs : f16[C, T, D] ~ normal\n"
                            "out y : f32[C]\ny = max(sum(docs @ query.T, axis=1), axis=1)\n"));
    cr_expect(!is_one_stage("problem p\ndim C = 9, Q = 21, T = 27, D = 64\n"
                            "in query : f16[Q, D] ~ normal\nin docs : f16[C, T, D] ~ normal\n"
                            "out m : f32[C, Q]\nout y : f32[C]\nm = max(docs @ query.T, axis=1)\n"
                            "y = sum(m, axis=1)\n"));
    cr_expect(!is_one_stage("problem p\ndim C = 9, Q = 21, T = 27, D = 256\n"
                            "in query : f16[Q, D] ~ normal\nin docs : f16[C, T, D] ~ normal\n"
                            "out y : f32[C]\ny = sum(max(docs @ query.T, axis=1), axis=1)\n"));
}
