// attention on tensor cores by warpgroups (attention_wgmma.c): types, parts, masks, layouts and
// lengths that no tile divides compute what the problem says on fibres and in the interpreter of
// loops, and no barrier, wait, phase, fence or guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "family/program.h"
#include "loop/passes.h"
#include "text_mutants.h"

// On a card of two multiprocessors: a block has several tiles.
static const struct mutant_kernel kernels[] = {
    // Probabilities of one part; more tiles of keys than slots, and a block with two tiles.
    {"problem heads\nprecision f16 accumulate f32\nin q : f16[3, 64, 64] ~ normal\n"
     "in k : f16[3, 192, 64] ~ normal\nin v : f16[3, 192, 64] ~ normal\nout o : f16[3, 64, 64]\n"
     "o = attention(q, k, v)\n",
     "stage o : attention as wgmma  tile 64x64  stages 2  group 1\n"},
    // Two warpgroups, a mask that leaves tiles out and cuts others, three parts; the last tiles are
    // not filled, nor are rows of 96 bytes, and the last queries look at all keys.
    {"problem causal\nin q : bf16[2, 200, 48] ~ normal\nin k : bf16[2, 136, 48] ~ normal\n"
     "in v : bf16[2, 136, 48] ~ normal\nout o : f32[2, 200, 48]\no = causal_attention(q, k, v)\n",
     "stage o : attention as wgmma  tile 128x64  stages 1  turns 1  group 2\n"},
    // A mask that is given, of odd length; heads that lie between the rows of others.
    {"problem masked\nin q : f16[40, 2, 16] ~ normal\nin k : f16[155, 2, 16] ~ normal\n"
     "in v : f16[155, 2, 80] ~ normal\nin m : bool[40, 155] ~ bernoulli(0.7)\n"
     "out o : f16[2, 40, 80]\no = attention(transpose(q, (1, 0, 2)), transpose(k, (1, 0, 2)), "
     "transpose(v, (1, 0, 2)), m)\n",
     "stage o : attention as wgmma  tile 64x64  stages 1  group 1\n"},
};

// Other threads give up registers that they do not have; a mask changes nothing in tiles that have
// no keys behind it.
static const struct mutant_same same[] = {
    {"causal", "if (thread < 128) {", 0},
    {"causal", "if (row0 + own < 63) {", 0},
    {"causal", "if ((row0 + own < 135 ? row0 + own : 135) < last) {", 0}};

Test(attention_wgmma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same, 3};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 40);
}

// As the interpreter of loops runs it.
Test(attention_wgmma, loops_compute_it_too, .timeout = 600) {
    mutants_card(2);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct text_subject s;
        char message[1200] = "";
        mutants_subject(&s, &kernels[i], i);
        struct loop_program *p = mutants_loops(&s, kernels[i].stages);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_expect(error >= 0 && error <= s.limit, "%s: %g, %s", s.problem->name, error, message);
        text_close(&s);
    }
}

// What is said about a stage on sm_90a; "" where nothing is.
static const char *said(struct arena *a, const char *problem, const char *stage) {
    struct target t;
    struct error err = {0};
    target_of_arch("sm_90a", &t);
    struct problem *p = problem_from(a, problem);
    const char *text = arena_printf(a, "kernel for %s on sm_90a\nstage %s\n", p->name, stage);
    struct lang_source source = {.text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return lower_check(a, p, &t, file.kernels[0], &err) ? "" : arena_strdup(a, err.text);
}

#define HEADS(type, width)                                                                \
    "problem p\nin q : " type "[6, 512, " width "]\nin k : " type "[6, 512, " width "]\n" \
    "in v : " type "[6, 512, " width "]\nout o : " type "[6, 512, " width "]\n"           \
    "o = attention(q, k, v)\n"

Test(attention_wgmma, what_it_cannot_do_is_refused_with_the_nearest_choice) {
    struct arena a = {0};
    static const struct {
        const char *problem, *stage, *want;
    } cases[] = {
        {HEADS("bf16", "256"), "o : attention as wgmma", ""},
        {HEADS("bf16", "80"), "o : attention as wgmma", ""},
        {HEADS("f16", "272"), "o : attention as wgmma", "16, 32, 48 ... 256 elements"},
        {HEADS("f16", "72"), "o : attention as wgmma", "16, 32, 48 ... 256 elements"},
        {HEADS("f32", "64"), "o : attention as wgmma", "of f16 or all of bf16"},
        {HEADS("f16", "256"), "o : attention as wgmma  tile 128x192", "the nearest is fewer keys"},
        {HEADS("f16", "128"), "o : attention as wgmma  tile 128x128  stages 5", "fewer stages"},
        {HEADS("f16", "64"), "o : attention as wgmma  group 4",
         "6 heads are no multiple of 4: the nearest is 2"},
        {"problem p\nin q : f16[64, 64]\nin k : f16[64, 64]\nin v : f16[64, 64]\n"
         "out o : f16[64, 64]\no = attention(transpose(q, (1, 0)), k, v)\n",
         "o : attention as wgmma", "lie side by side"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = said(&a, cases[i].problem, cases[i].stage);
        cr_expect(*cases[i].want ? strstr(got, cases[i].want) != NULL : !*got, "case %zu: %s", i,
                  got);
    }
    arena_reset(&a);
}
