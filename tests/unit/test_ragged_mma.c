// Products over groups of rows on tensor cores (ragged_mma.c): groups that end within a tile, are
// empty, or leave rows out, and no barrier, wait or guard of the text can be missing.
#include <criterion/criterion.h>

#include "family/family.h"
#include "family/lower.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // More groups than tiles; the depth ends within a slice.
    {"problem forward\ndim T = 70, E = 5, K = 72, N = 40\nin x : bf16[T, K] ~ normal\n"
     "in o : i32[E + 1] ~ offsets(T)\nin w : bf16[E, K, N] ~ normal\nin d : f32[N] ~ normal\n"
     "out y : f32[T, N]\ny = relu(ragged_matmul(x, w, o) + d)\n",
     "stage y : ragged as mma  tile 16x32x32  warps 1x2  stages 4  group 1\n"},
    // Rows of no group, before and behind; offsets of 64 bits; odd columns are stored one by one.
    {"problem gaps\ndim T = 60, E = 3, K = 32, N = 24\nin x : f16[T, K] ~ normal\n"
     "in o : i64[E + 1] ~ sorted(5, 50)\nin w : f16[E, K, N] ~ normal\n"
     "out y : f16[T, N]\ny = ragged_matmul(x, w, o)\n",
     "stage y : ragged as mma  tile 32x32x32  warps 2x1  stages 2  group 1\n"},
    // The rows of a group are the depth; some groups have none.
    {"problem outer\ndim T = 600, E = 6, K = 32, N = 32\nin x : bf16[T, K] ~ normal\n"
     "in g : bf16[T, N] ~ normal\nin p : i32[E + 1] ~ offsets(T)\nout y : f32[E, K, N]\n"
     "o = p // 40 * 40\ny = ragged_outer(x, g, o)\n",
     "stage o : map\n"
     "stage y : ragged as mma  tile 32x32x32  warps 2x1  stages 3  group 1\n"},
};

// What a block without rows computes is not stored.
// Nor is anything read of a slice that does not exist; and of rows behind a group's end it is
// enough that one operand is zeros, as long as the other is finite.
#define LEFT "end - (begin + (slice + 2) * 32 + item * 16 + thread / 4)"
#define COPIED "(" LEFT " > 0 ? " LEFT " : 0) * 16"
static const struct mutant_same same[] = {
    {"forward", "if (row0 < rows_end) {", 0},
    {"gaps", "if (row0 < rows_end) {", 0},
    {"outer", "if (slice < slices) {", 0},
    {"outer", "if (slice + 2 < slices) {", 0},
    {"outer", COPIED " of " COPIED " < 16 ? " COPIED " : 16", 0}};

Test(ragged_mma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 10);
}

static const char *emitter_of(const char *text) {
    struct arena a = {0};
    struct kernel k;
    struct target t;
    target_of_arch("sm_90a", &t);
    lower_default(&a, problem_from(&a, text), &t, &k);
    const char *family = k.stages[k.n_stages - 1]->family;
    arena_reset(&a);
    return family;
}

// Groups of 16-bit numbers begin there; f32 that is not tf32, and rows that no copy of four bytes
// fits, go to nest.
Test(ragged_mma, is_what_groups_begin_with) {
    cr_expect_str_eq(emitter_of(kernels[0].problem), "ragged");
    cr_expect_str_eq(
        emitter_of("problem p\ndim T = 64, E = 4, K = 32, N = 32\nin x : f16[T, K] ~ normal\n"
                   "in o : i32[E + 1] ~ offsets(T)\nin g : f16[T, N] ~ normal\n"
                   "out y : f32[E, K, N]\ny = ragged_outer(x, g, o)\n"),
        "ragged");
    cr_expect_str_eq(
        emitter_of("problem p\ndim T = 64, E = 4, K = 32, N = 32\nin x : f32[T, K] ~ normal\n"
                   "in o : i32[E + 1] ~ offsets(T)\nin w : f32[E, K, N] ~ normal\n"
                   "out y : f32[T, N]\ny = ragged_matmul(x, w, o)\n"),
        "nest");
    cr_expect_str_eq(
        emitter_of("problem p\ndim T = 64, E = 4, K = 33, N = 32\nin x : f16[T, K] ~ normal\n"
                   "in o : i32[E + 1] ~ offsets(T)\nin w : f16[E, K, N] ~ normal\n"
                   "out y : f32[T, N]\ny = ragged_matmul(x, w, o)\n"),
        "nest");
}
