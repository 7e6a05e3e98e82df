// Products with quantised weights on tensor cores (qgemm_mma.c): weights of 4 and 8 bits, scales of
// groups, of rows and none, rows, tokens and chunks that fill nothing, and no wait, barrier or
// guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/family.h"
#include "family/lower.h"
#include "text_mutants.h"

// On a card of two multiprocessors.
static const struct mutant_kernel kernels[] = {
    // Two blocks of a cluster have two of four strips each; tiles of rows for two warps that do not
    // come out even, rows and tokens that end within a tile.
    {"problem groups\ndim M = 5, N = 88, K = 512, G = 128\nin x : f16[M, K] ~ normal\n"
     "in w : i4[N, K]\nin s : f16[N, K / G] ~ uniform(0.5, 2)\nout y : f16[M, N]\n"
     "y = qmatmul(x, w, s, group=G)\n",
     "stage y : qgemm as mma  tile 16x8  warps 2x1  strip 4  stages 2  split 2\n"},
    // Groups of 32: a word of a row at a time; several tiles of tokens; warps along K.
    {"problem small\ndim M = 19, N = 16, K = 128, G = 32\nin x : bf16[M, K] ~ normal\n"
     "in w : i4[N, K]\nin s : f32[N, K / G] ~ uniform(0.5, 2)\nin d : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = relu(qmatmul(x, w, s, group=G) + d)\n",
     "stage y : qgemm as mma  tile 16x8  warps 1x2  strip 4  stages 2  split 1\n"},
    // Bytes, a scale for each row, rows of x on two axes; rows of 128 bytes, halves exchanged.
    {"problem bytes\ndim B = 2, M = 3, N = 40, K = 384\nin x : f16[B, M, K] ~ normal\n"
     "in w : i8[N, K]\nin s : f32[N] ~ uniform(0.5, 2)\nout y : f32[B, M, N]\n"
     "y = x @ (w * s[:, None]).T\n",
     "stage y : qgemm as mma  tile 32x8  warps 1x1  strip 8  stages 3  split 1\n"},
    // Bytes in groups of 32, and none.
    {"problem eight\ndim M = 9, N = 16, K = 192\nin x : bf16[M, K] ~ normal\n"
     "in w : i8[N, K]\nin s : bf16[N, K / 32] ~ uniform(0.5, 2)\nout y : f32[M, N]\n"
     "y = qmatmul(x, w, s, group=32)\n",
     "stage y : qgemm as mma  tile 16x16  warps 1x1  strip 8  stages 2  split 1\n"},
    {"problem none\ndim M = 8, N = 16, K = 256\nin x : bf16[M, K] ~ normal\n"
     "in w : i8[N, K]\nout y : f32[M, N]\ny = x @ f32(w).T\n",
     "stage y : qgemm as mma  tile 16x8  warps 1x2  strip 4  stages 2  split 1\n"},
    // Weights straight to registers: two blocks of a cluster, rows and tokens that end within a
    // strip, x in three groups.
    {"problem stream\ndim M = 5, N = 40, K = 4096, G = 128\nin x : f16[M, K] ~ normal\n"
     "in w : i4[N, K]\nin s : f16[N, K / G] ~ uniform(0.5, 2)\nout y : f16[M, N]\n"
     "y = qmatmul(x, w, s, group=G)\n",
     "stage y : qgemm as stream  tile 16x8  warps 1x2  ahead 1  split 2\n"},
    // Several tiles of tokens, warps along K, two strips each, an epilogue.
    {"problem stream_tiles\ndim M = 19, N = 40, K = 512, G = 256\nin x : bf16[M, K] ~ normal\n"
     "in w : i4[N, K]\nin s : bf16[N, K / G] ~ uniform(0.5, 2)\nin d : f32[N] ~ normal\n"
     "out y : f32[M, N]\ny = relu(qmatmul(x, w, s, group=G) + d)\n",
     "stage y : qgemm as stream  tile 32x16  warps 1x2  ahead 2  split 1\n"},
    // Bytes, a scale for each row.
    {"problem stream_bytes\ndim M = 8, N = 56, K = 256\nin x : f16[M, K] ~ normal\n"
     "in w : i8[N, K]\nin s : f32[N] ~ uniform(0.5, 2)\nout y : f32[M, N]\n"
     "y = x @ (w * s[:, None]).T\n",
     "stage y : qgemm as stream  tile 16x8  warps 2x2  ahead 1  split 1\n"},
    // Bytes in groups, one scale of 16 bits for each block of a cluster, which no copy has.
    {"problem stream_one\ndim M = 8, N = 32, K = 512\nin x : bf16[M, K] ~ normal\n"
     "in w : i8[N, K]\nin s : bf16[N, K / 256] ~ uniform(0.5, 2)\nout y : f32[M, N]\n"
     "y = qmatmul(x, w, s, group=256)\n",
     "stage y : qgemm as stream  tile 16x8  warps 1x2  ahead 2  split 2\n"},
};

// What lies behind the last stage lies beyond the last row, which is not read; what is loaded
// behind the last strip nobody multiplies.
static const struct mutant_same same[] = {{"groups", "if (stage + 1 < 6) {", 0},
                                          {"bytes", "if (strip + 2 < 3) {", 0}};

Test(qgemm_mma, fails_without_any_one_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_card(2);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_GUARD], 1);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 5);
}

// The interpreter of loops knows every operation, and finds a missing order between threads of a
// warp.
Test(qgemm_mma, is_right_in_the_interpreter) {
    mutants_card(2);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct text_subject s;
        char message[256];
        mutants_subject(&s, &kernels[i], 7 + i);
        struct loop_program *p = mutants_loops(&s, kernels[i].stages);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_expect(error >= 0 && error <= s.limit, "%s: %g: %s", kernels[i].problem, error,
                  error < 0 ? message : "");
        text_close(&s);
    }
}

static const char *family_of(struct arena *a, const char *text, const char *arch) {
    struct kernel k;
    struct target t;
    target_of_arch(arch, &t);
    lower_default(a, problem_from(a, text), &t, &k);
    return k.n_stages == 1 ? k.stages[0]->family : "several";
}

// It is what such a problem begins with; what it cannot read as it is stays with others.
// What `stream` cannot do is refused with the nearest choice, or left to others.
Test(qgemm_mma, what_cannot_go_straight_to_registers_is_refused) {
    struct arena a = {0};
    static const char big[] = "problem p\nin x : f16[16, 4096]\nin w : i4[4096, 4096]\n"
                              "in s : f16[4096, 32]\nout y : f16[16, 4096]\n"
                              "y = qmatmul(x, w, s, group=128)\n";
    static const struct {
        const char *problem, *arch, *stage, *want;
    } cases[] = {
        {big, "sm_90a", "qgemm as stream", ""},
        {big, "sm_90a", "qgemm as stream  tile 16x8  warps 1x4  ahead 8  split 2",
         "the nearest is 1"},
        {big, "sm_80", "qgemm as stream  split 2", "sm_80 has no clusters of blocks"},
        {big, "sm_90a", "qgemm as stream  tile 32x16  warps 2x8  ahead 4  split 1", "fewer ahead"},
        {big, "sm_90a", "qgemm as stream  tile 16x64  warps 1x1  ahead 1  split 1",
         "fewer rows of x, or more blocks that share K"},
        {"problem p\nin x : f16[16, 4160]\nin w : i4[64, 4160]\nin s : f16[64]\n"
         "out y : f16[16, 64]\ny = qmatmul(x, w, s)\n",
         "sm_90a", "qgemm as stream", "128 columns of weights at a time"},
        {"problem p\nin x : f16[16, 262144]\nin w : i4[64, 262144]\nin s : f16[64]\n"
         "out y : f16[16, 64]\ny = qmatmul(x, w, s)\n",
         "sm_90a", "qgemm as stream", "take mma or nest"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct target t;
        struct error err = {0};
        target_of_arch(cases[i].arch, &t);
        struct problem *p = problem_from(&a, cases[i].problem);
        const char *text =
            arena_printf(&a, "kernel for p on %s\nstage y : %s\n", cases[i].arch, cases[i].stage);
        struct lang_source source = {.text = text, .len = strlen(text)};
        struct lang_file file;
        const char *diagnostics;
        cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
        bool ok = lower_check(&a, p, &t, file.kernels[0], &err);
        cr_expect(*cases[i].want ? !ok && strstr(err.text, cases[i].want) : ok, "case %zu: %s", i,
                  err.text);
    }
    arena_reset(&a);
}

Test(qgemm_mma, takes_what_it_computes) {
    struct arena a = {0};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int j = 0; j < 2; j++)
            cr_expect_str_eq(family_of(&a, kernels[i].problem, j ? "sm_80" : "sm_90a"), "qgemm",
                             "%s", kernels[i].problem);
    static const char *const others[] = {
        // K is no multiple of 32; f32 on the left; weights across; a scale for every column of w.
        "problem p\nin x : f16[4, 48] ~ normal\nin w : i4[16, 48]\nin s : f32[16]\n"
        "out y : f32[4, 16]\ny = qmatmul(x, w, s)\n",
        "problem p\nin x : f32[4, 64] ~ normal\nin w : i4[16, 64]\nin s : f32[16]\n"
        "out y : f32[4, 16]\ny = qmatmul(x, w, s)\n",
        "problem p\nin x : f16[4, 64] ~ normal\nin w : i8[64, 16]\nout y : f32[4, 16]\n"
        "y = x @ f32(w)\n",
        "problem p\nin x : f16[4, 64] ~ normal\nin w : i8[16, 64]\nin s : f32[64]\n"
        "out y : f32[4, 16]\ny = x @ (w * s).T\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_str_neq(family_of(&a, others[i], "sm_90a"), "qgemm", "%s", others[i]);
    arena_reset(&a);
}
