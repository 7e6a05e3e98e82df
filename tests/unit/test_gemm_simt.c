// gemm by ordinary multiply-adds with a ring of slices (gemm_simt.c): every operand layout and edge
// computes the product on fibres, no barrier, wait, commit or guard of the text can be missing, and
// operands that cannot be copied as they are get the nearest choice.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/lower.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // The left along K, turned element by element, with rows that end within a tile.
    {"problem nn\nprecision f32 exact\ndim M = 40, N = 32, K = 48\nin a : f32[M, K] ~ normal\n"
     "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm as simt  tile 32x16x8  micro 4x4  stages 3  vec 2\n"},
    // Both along K, more slots than slices, of which the last is short; an epilogue.
    {"problem nt\nprecision f32 exact\ndim M = 17, N = 19, K = 13\nin a : f32[M, K] ~ normal\n"
     "in b : f32[N, K] ~ normal\nin d : f32[N] ~ normal\nout c : f32[M, N]\n"
     "c = relu(a @ b.T + d)\n",
     "stage c : gemm as simt  tile 16x16x8  micro 2x2  stages 4  vec 1\n"},
    // Both across K, a batch; a row takes more copies than there are threads. Only in the last
    // slice
    // what lies beyond an edge lies beyond the operand: it is among those that fill the ring.
    {"problem tn\nprecision f32 exact\ndim B = 2, M = 24, N = 264, K = 8\n"
     "in a : f32[B, K, M] ~ normal\nin b : f32[B, K, N] ~ normal\nout c : f32[B, M, N]\n"
     "c = transpose(a, (0, 2, 1)) @ b\n",
     "stage c : gemm as simt  tile 32x256x4  micro 4x16  stages 3  vec 1\n"},
    // A short last slice of vectors across K.
    {"problem ragged\nprecision f32 exact\ndim M = 16, N = 16, K = 45\n"
     "in a : f32[K, M] ~ normal\nin b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a.T @ b\n",
     "stage c : gemm as simt  tile 16x16x16  micro 2x2  stages 3  vec 4\n"},
    // Sums are put aside: the ring goes on from chunk to chunk.
    {"problem aside\nprecision f32 exact\ndim M = 16, N = 16, K = 2080\n"
     "in a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n",
     "stage c : gemm as simt  tile 16x16x32  micro 2x2  stages 3  vec 4\n"},
};

static const struct mutant_same same[] = {
    // Of a slice beyond a short one no byte is read.
    {"nt", "if (slice < 2) {", 0},
    {"ragged", "if (slice + 2 < 3) {", 0},
};

Test(gemm_simt, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 3);
}

#define PRODUCT(type, c)                                                                     \
    "problem p\nprecision f32 exact\ndim M = 256, N = 256, K = 256\nin a : " type "[M, K]\n" \
    "in b : f32[K, N]\nout c : f32[M, N]\nc = " c "\n"

Test(gemm_simt, a_ring_copies_what_is_stored_as_f32) {
    static const struct {
        const char *problem, *want;
    } cases[] = {
        {PRODUCT("f32", "a @ b"), ""},
        {PRODUCT("f32", "a.T @ b"), ""},
        {PRODUCT("f32", "relu(a) @ b"), "the left operand of c is no stored matrix of f32: the "
                                        "nearest is stages 2"},
        {PRODUCT("f32", "a @ (b + 1)"), "the right operand of c is no stored matrix of f32"},
        {PRODUCT("f16", "a @ b"), "the left operand of c is no stored matrix of f32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct target t;
        target_of_arch("sm_80", &t);
        struct problem *p = problem_from(&a, cases[i].problem);
        struct lang_source source = {.file = "test",
                                     .text = arena_printf(&a,
                                                          "%s\nkernel for p on sm_80\n"
                                                          "stage c : gemm as simt  stages 3\n",
                                                          p->text)};
        struct lang_file file;
        const char *diagnostics = "";
        source.len = strlen(source.text);
        cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", diagnostics);
        bool ok = lower_check(&a, p, &t, file.kernels[0], &err);
        cr_expect_eq(ok, !*cases[i].want, "case %zu: %s", i, err.text);
        cr_expect(ok || strstr(err.text, cases[i].want), "case %zu: %s", i, err.text);
        arena_reset(&a);
    }
}
