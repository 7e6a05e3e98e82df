// conv on tensor cores by warpgroups (conv_wgmma.c): windows of one to three axes with strides,
// dilation, padding and groups, transposed or not, in every type compute the convolution on fibres
// and in the interpreter of loops, and no barrier, wait, phase, fence or guard can be missing.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/str.h"
#include "family/lower.h"
#include "loop/passes.h"
#include "text_mutants.h"

// On a card of one multiprocessor: a block has several tiles.
static const struct mutant_kernel kernels[] = {
    // Few channels, all taps in a row; no size divides anything.
    {"problem plane\nprecision tf32\nin x : f32[2, 5, 8, 12] ~ normal\n"
     "param w : f32[72, 5, 3, 5] ~ normal\nparam b : f32[72] ~ normal\n"
     "out y : f32[2, 72, 4, 5]\ny = relu(conv2d(x, w, b, stride=2, padding=1))\n",
     "stage y : conv as wgmma  tile 64x64  warpgroups 1  stages 2  minblocks 1\n"},
    // Groups, results of 16 bits by two, rows that go on into their neighbours.
    {"problem groups\nin x : f16[1, 32, 13, 9] ~ normal\nparam w : f16[56, 16, 3, 4] ~ normal\n"
     "out y : f16[1, 56, 11, 6]\n"
     "y = conv2d(x, w, groups=2)\n",
     "stage y : conv as wgmma  tile 64x128  warpgroups 1  stages 2  minblocks 1\n"},
    // A stride: two phases; a box for three taps, a place between them.
    {"problem phases\nin x : bf16[2, 64, 7, 12] ~ normal\nparam w : bf16[72, 64, 2, 3] ~ normal\n"
     "out y : f32[2, 72, 3, 8]\ny = conv2d(x, w, stride=(2, 1), dilation=(1, 2))\n",
     "stage y : conv as wgmma  tile 64x64  warpgroups 1  stages 2  minblocks 1\n"},
    // One axis, two warpgroups, results of 16 bits one by one; weights are far ahead of the image.
    {"problem line\nin x : bf16[4, 72, 35] ~ normal\nparam w : bf16[96, 72, 2] ~ normal\n"
     "out y : f32[4, 96, 35]\nt = bf16(conv1d(x, w, padding=\"same\"))\ny = relu(t)\n",
     "stage t : conv as wgmma  tile 128x64  warpgroups 2  stages 4  minblocks 1\nstage y : map\n"},
    // Three axes, f32 by parts, a value computed by element on the way in.
    {"problem solid\nin x : f32[1, 8, 3, 6, 5] ~ normal\nparam w : f32[72, 8, 2, 2, 2] ~ normal\n"
     "out y : f32[1, 72, 2, 5, 6]\ny = conv3d(relu(x), w, padding=(0, 0, 1))\n",
     "stage y : conv as wgmma  tile 64x64  warpgroups 1  stages 2  minblocks 1\n"},
};

// Only in the interpreter, which lets nobody read what is not there or write a place twice.
static const struct mutant_kernel others[] = {
    // Transposed: four products of 4, 2, 2 and 1 taps, whose results lie among each other.
    {"problem up\nin x : f16[3, 40, 4, 4] ~ normal\nparam w : f16[40, 72, 3, 3] ~ normal\n"
     "out y : f16[3, 72, 8, 8]\n"
     "y = conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)\n",
     "stage y : conv as wgmma  tile 64x64  warpgroups 1  stages 2  minblocks 1\n"},
    // An epilogue that reads something for each result, which passes shared memory.
    {"problem sums\nin x : f16[2, 24, 9, 10] ~ normal\nparam w : f16[40, 24, 3, 3] ~ normal\n"
     "in r : f16[2, 40, 7, 8] ~ normal\nparam b : f16[40] ~ normal\nout y : f16[2, 40, 7, 8]\n"
     "y = relu(conv2d(x, w, b) + r)\n",
     "stage y : conv as wgmma  tile 64x128  warpgroups 1  stages 3  minblocks 2\n"},
};

static const struct mutant_same same[] = {
    // Finite sums: what is computed again term by term is the same.
    {"solid", "if (spoiled < 1) {", 0},
    {"solid", "if (0 < spoiled) {", 0},
    {"solid", "if (column < 108) {", 1},
    {"solid", "if (at_2 < 5) {", 1},
    {"solid", "if (at_3 < 2) {", 1},
    {"solid", "if (row < 72) {", 1},
    // What is multiplied or read too early is not finite here, and computed again.
    {"solid", "hone_wgmma_wait(1);", 0},
    {"solid", "if (chunk < slice) {", 0},
    {"solid", "hone_wgmma_wait(0);", 0},
    // Zeros that fill up rows, and weights of these, for whatever the other one has.
    {"plane", "element + item * 2 + thread / 128 <= 74", 0},
    {"plane", "i_2 <= 74", 0},
    {"line", "i_2 <= 71", 0},
    // Slots that are waited for with those of the other operand.
    {"line", "hone_mbarrier_wait(&empty[slot], (count + 4) / 4 % 2);", 0},
    {"phases", "hone_mbarrier_wait(&image_empty[image_slot], (box + 2) / 2 % 2);", 0},
    // Places and elements that no window reads.
    {"groups", "i <= 8", 0},
};

Test(conv_wgmma, fails_without_any_one_barrier_wait_or_guard, .timeout = 600) {
    static const struct mutant_set set = {kernels, sizeof kernels / sizeof *kernels, same,
                                          sizeof same / sizeof *same};
    struct mutant_tally tally;
    mutants_card(1);
    mutants_try(&set, &tally);
    cr_assert_gt(tally.all[FIBRE_BARRIER], 30);
}

static void expect_same(const struct mutant_kernel *k, uint64_t seed) {
    struct text_subject s;
    struct error err = {0};
    char message[1200] = "";
    mutants_subject(&s, k, seed);
    struct loop_program *p = mutants_loops(&s, k->stages);
    cr_assert(pass_verify(p, &err), "%s", err.text);
    double error = expect_execute(&s.expected, &s.arena, s.problem, p, message, sizeof message);
    cr_expect(error >= 0 && error <= s.limit, "%g, %s\n%s", error, message, k->problem);
    text_close(&s);
}

Test(conv_wgmma, the_interpreter_computes_the_same, .timeout = 600) {
    mutants_card(1);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        expect_same(&kernels[i], i);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_same(&others[i], i);
}

// A convolution of random sizes; axes whose window does not fit are widened.
static const char *random_conv(struct arena *a, struct rng *r, int number) {
    static const char *const types[] = {"f16", "bf16", "f32", "f32"};
    const char *type = types[number % 4];
    int axes = 1 + (int)rng_below(r, 3), groups = 1 + (int)rng_below(r, 2);
    int in = 1 + (int)rng_below(r, 20), out = 8 + (int)rng_below(r, 36);
    struct str text = {0}, x = {0}, w = {0}, y = {0}, option[3] = {{0}, {0}, {0}};
    for (int i = 0; i < axes; i++) {
        int taps = 1 + (int)rng_below(r, 3), stride = 1 + (int)rng_below(r, 3);
        int dilation = 1 + (int)rng_below(r, 2), padding = (int)rng_below(r, 3);
        int span = dilation * (taps - 1) + 1, size = span + (int)rng_below(r, axes > 2 ? 3 : 7);
        str_printf(&x, ", %d", size);
        str_printf(&w, ", %d", taps);
        str_printf(&y, ", %d", (size + 2 * padding - span) / stride + 1);
        const int values[] = {stride, dilation, padding};
        for (int k = 0; k < 3; k++)
            str_printf(&option[k], "%s%d", i ? ", " : axes > 1 ? "(" : "", values[k]);
    }
    const char *end = axes > 1 ? ")" : "";
    str_printf(&text, "problem p\n%sin x : %s[2, %d%s] ~ normal\n",
               number % 4 == 2 ? "precision tf32\n" : "", type, in * groups, str_text(&x));
    str_printf(&text, "param w : %s[%d, %d%s] ~ normal\nout y : f32[2, %d%s]\n", type, out * groups,
               in, str_text(&w), out * groups, str_text(&y));
    str_printf(&text, "y = conv%dd(x, w, stride=%s%s, dilation=%s%s, padding=%s%s, groups=%d)\n",
               axes, str_text(&option[0]), end, str_text(&option[1]), end, str_text(&option[2]),
               end, groups);
    struct str *all[] = {&x, &w, &y, &option[0], &option[1], &option[2]};
    for (int i = 0; i < 6; i++)
        str_reset(all[i]);
    return str_take(a, &text);
}

Test(conv_wgmma, convolutions_of_random_sizes_are_right, .timeout = 600) {
    struct arena a = {0};
    struct rng r;
    rng_init(&r, 15);
    mutants_card(1);
    for (int i = 0; i < 12; i++) {
        struct mutant_kernel k = {random_conv(&a, &r, i),
                                  "stage y : conv as wgmma  tile 64x64  warpgroups 1  stages 2  "
                                  "minblocks 1\n"};
        expect_same(&k, (uint64_t)i);
    }
    arena_reset(&a);
}
