// conv of few channels (conv_direct.c): depthwise and other small groups of one to three axes, with
// strides, dilation and padding, compute the convolution on fibres and in the interpreter of loops,
// and no guard can be missing.
#include <criterion/criterion.h>

#include "base/error.h"
#include "family/lower.h"
#include "loop/passes.h"
#include "text_mutants.h"

static const struct mutant_kernel kernels[] = {
    // Depthwise, rows that are no multiple of the items, an epilogue.
    {"problem depth\nin x : f32[2, 3, 9, 35] ~ normal\nparam w : f32[3, 1, 3, 3] ~ normal\n"
     "param b : f32[3] ~ normal\nout y : f32[2, 3, 9, 35]\n"
     "y = relu(conv2d(x, w, b, padding=1, groups=3))\n",
     "stage y : conv as direct  threads 32  lines 2  items 4\n"},
    // Two results of a channel, strides and dilation, 16 bits.
    {"problem twice\nin x : f16[1, 2, 12, 21] ~ normal\nparam w : f16[4, 1, 2, 3] ~ normal\n"
     "out y : f16[1, 4, 5, 9]\ny = conv2d(x, w, stride=2, dilation=(2, 2), groups=2)\n",
     "stage y : conv as direct  threads 32  lines 1  items 2\n"},
    // One axis, two channels in a group.
    {"problem line\nin x : bf16[2, 4, 40] ~ normal\nparam w : bf16[2, 2, 5] ~ normal\n"
     "out y : f32[2, 2, 40]\ny = conv1d(x, w, padding=2, groups=2)\n",
     "stage y : conv as direct  threads 32  lines 2  items 1\n"},
    // Three axes, something for each result.
    {"problem solid\nin x : f32[1, 2, 5, 6, 8] ~ normal\nparam w : f32[2, 1, 2, 3, 3] ~ normal\n"
     "in m : f32[1, 2, 6, 4, 8] ~ normal\nout y : f32[1, 2, 6, 4, 8]\n"
     "y = relu(conv3d(x, w, padding=(1, 0, 1), groups=2)) + m\n",
     "stage y : conv as direct  threads 32  lines 2  items 4\n"},
};

static const struct mutant_same same[] = {
    // Rows below the last result of a thread that is stored.
    {"depth", "i + 2 <= 8", 0},
    {"depth", "i + 3 <= 8", 0},
    {"depth", "i + 4 <= 8", 0},
    {"twice", "i * 2 + 4 <= 11", 0},
    // One side of bounds that only the other reaches.
    {"depth",
     "34 of (column - 1 > 0 ? column - 1 : 0) < 34 ? (column - 1 > 0 ? column - 1 : 0) : 34", 0},
    {"line",
     "39 of (column - 2 > 0 ? column - 2 : 0) < 39 ? (column - 2 > 0 ? column - 2 : 0) : 39", 0},
    {"line",
     "39 of (column - 1 > 0 ? column - 1 : 0) < 39 ? (column - 1 > 0 ? column - 1 : 0) : 39", 0},
    {"solid", "7 of (column - 1 > 0 ? column - 1 : 0) < 7 ? (column - 1 > 0 ? column - 1 : 0) : 7",
     0},
};

Test(conv_direct, fails_without_any_one_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_GUARD], 6);
}

Test(conv_direct, the_interpreter_computes_the_same, .timeout = 600) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct text_subject s;
        struct error err = {0};
        char message[1200] = "";
        mutants_subject(&s, &kernels[i], i);
        struct loop_program *p = mutants_loops(&s, kernels[i].stages);
        cr_assert(pass_verify(p, &err), "%s", err.text);
        double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
        cr_expect(error >= 0 && error <= s.limit, "%s: %g, %s", s.problem->name, error, message);
        text_close(&s);
    }
}
