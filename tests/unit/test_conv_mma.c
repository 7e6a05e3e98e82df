// conv on tensor cores (conv_mma.c): windows of one to three axes with strides, dilation, padding
// and groups, transposed or not, in every type compute the convolution on fibres, and no barrier,
// wait, commit or guard of the text can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "family/lower.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Nothing divides anything, and a column's neighbour is in another row or image.
    {"problem plane\nprecision tf32\nin x : f32[2, 5, 7, 9] ~ normal\n"
     "param w : f32[19, 5, 2, 3] ~ normal\nparam b : f32[19] ~ normal\n"
     "out y : f32[2, 19, 4, 5]\ny = relu(conv2d(x, w, b, stride=2, padding=1))\n",
     "stage y : conv  tile 16x32x16  warps 1x2  stages 2  group 1\n"},
    // Groups, f16, pairs of results; a run that whole slices divide.
    {"problem groups\nin x : f16[1, 64, 6, 6] ~ normal\nparam w : f16[24, 32, 2, 3] ~ normal\n"
     "out y : f32[1, 24, 5, 4]\ny = conv2d(x, w, groups=2)\n",
     "stage y : conv  tile 16x32x32  warps 1x2  stages 3  group 1\n"},
    // Dilation, and a value computed by element on the way in.
    {"problem wide\nprecision tf32\nin x : f32[1, 8, 9, 8] ~ normal\n"
     "param w : f32[16, 8, 3, 2] ~ normal\nout y : f32[1, 16, 5, 6]\n"
     "y = conv2d(relu(x), w, dilation=(2, 2))\n",
     "stage y : conv  tile 16x32x16  warps 1x2  stages 2  group 1\n"},
    // One axis, bf16, sums put aside.
    {"problem line\nin x : bf16[2, 48, 32] ~ normal\nparam w : bf16[16, 48, 4] ~ normal\n"
     "out y : f32[2, 16, 32]\ny = conv1d(x, w, padding=\"same\")\n",
     "stage y : conv  tile 16x32x64  warps 1x2  stages 2  group 1\n"},
    // Three axes, f32 by parts.
    {"problem solid\nin x : f32[1, 3, 3, 6, 4] ~ normal\nparam w : f32[32, 3, 2, 3, 3] ~ normal\n"
     "out y : f32[1, 32, 2, 4, 4]\ny = conv3d(x, w, padding=(0, 0, 1))\n",
     "stage y : conv  tile 32x16x16  warps 2x1  stages 2  group 1\n"},
    // Windows of one element: nothing is copied before.
    {"problem point\nin x : f32[2, 12, 4, 8] ~ normal\nparam w : f32[32, 12, 1, 1] ~ normal\n"
     "out y : f32[2, 32, 4, 8]\ny = conv2d(x, w)\n",
     "stage y : conv  tile 32x32x16  warps 2x1  stages 2  group 1\n"},
    // Transposed: four products of 4, 2, 2 and 1 taps, whose results lie among each other.
    {"problem up\nin x : f16[2, 32, 4, 4] ~ normal\nparam w : f16[32, 16, 3, 3] ~ normal\n"
     "out y : f32[2, 16, 8, 8]\n"
     "y = conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)\n",
     "stage y : conv  tile 16x32x32  warps 1x2  stages 2  group 1\n"},
};

static const struct mutant_same same[] = {
    // Finite sums: what is computed again term by term is the same.
    {"solid", "if (spoiled < 1) {", 0},
    {"solid", "if (0 < spoiled) {", 0},
    {"point", "if (spoiled < 1) {", 0},
    {"point", "if (0 < spoiled) {", 0},
    // Channels that fill up 16 bytes are zeros in the image and in the weights, for whatever the
    // other one has.
    {"plane", "item <= 4", 0},
    {"plane", "i_2 <= 4", 0},
    {"solid", "(item * 256 + thread) / 512 <= 2", 0},
    {"solid", "i_2 <= 2", 0},
};

Test(conv_mma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 30);
}

static const char *first_family(struct arena *a, const char *text, bool simple) {
    struct target t;
    struct kernel k;
    target_of_arch("sm_90a", &t);
    (simple ? lower_simple : lower_default)(a, problem_from(a, text), &t, &k);
    return k.stages[0]->family;
}

// Stages that cannot use it, or ask for something simple, get what there was before.
Test(conv_mma, is_the_default_where_it_is_legal) {
    struct arena a = {0};
    static const char plane[] = "problem p\nin x : f32[8, 64, 58, 58]\n"
                                "param w : f32[64, 64, 3, 3]\nout y : f32[8, 64, 56, 56]\n"
                                "y = conv2d(x, w)\n";
    static const char little[] = "problem p\nin x : f32[2, 8, 9, 9]\nparam w : f32[8, 8, 3, 3]\n"
                                 "out y : f32[2, 8, 7, 7]\ny = conv2d(x, w)\n";
    static const char heads[] = "problem p\nin q : f16[64, 32]\nin k : f16[64, 32]\n"
                                "in v : f16[64, 32]\nout o : f16[64, 32]\no = attention(q, k, v)\n";
    static const char exact[] = "problem p\nprecision f32 exact\nin x : f32[8, 64, 58, 58]\n"
                                "param w : f32[64, 64, 3, 3]\nout y : f32[8, 64, 56, 56]\n"
                                "y = conv2d(x, w)\n";
    static const char depth[] = "problem p\nin x : f32[8, 64, 58, 58]\n"
                                "param w : f32[64, 1, 3, 3]\nout y : f32[8, 64, 56, 56]\n"
                                "y = conv2d(x, w, groups=64)\n";
    cr_expect_str_eq(first_family(&a, plane, false), "conv");
    cr_expect_str_eq(first_family(&a, plane, true), "nest");
    cr_expect_str_eq(first_family(&a, little, false), "nest");
    cr_expect_str_eq(first_family(&a, exact, false), "nest");
    cr_expect_str_eq(first_family(&a, depth, false), "conv");
    cr_expect_str_eq(first_family(&a, heads, false), "attention");
    cr_expect_str_eq(first_family(&a, heads, true), "gemm");
    arena_reset(&a);
}
