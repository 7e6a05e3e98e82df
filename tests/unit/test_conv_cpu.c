// conv on a CPU (conv_cpu.c) in the interpreter of loops: one to three axes, strides, dilation,
// padding, groups, transposed, in every type that is computed in f32, with lanes of both kinds and
// with tiles, micro-kernels and turns that do not divide what they are cut from.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/family.h"
#include "family/program.h"
#include "loop/passes.h"
#include "lowering.h"

enum { TOLERANCE = 60 };

static struct kernel *kernel_of(struct arena *a, const struct problem *p, const char *stage) {
    struct error err = {0};
    struct lang_file file;
    const char *diagnostics = "";
    const char *text =
        arena_printf(a, "%s\nkernel for p on cpu\nstage y : conv  %s\n", p->text, stage);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(a, &source, &file, &diagnostics, &err), "%s", diagnostics);
    return file.kernels[0];
}

static void check(const char *text, const char *stage) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = test_target(64);
    char message[1200] = "";
    struct problem *p = problem_from(&a, text);
    struct expectation e;
    struct kernel *k = kernel_of(&a, p, stage);
    cr_assert(lower_check(&a, p, &t, k, &err), "%s%s: %s", text, stage, err.text);
    expect_open(&e, &a, p, 7);
    struct loop_program *program = program_lower(&a, p, &t, k);
    pass_prune(program);
    pass_unroll(program);
    double error = expect_execute(&e, &a, p, program, message, sizeof message);
    cr_assert(error >= 0 && error < TOLERANCE, "%s%s: error %g %s", text, stage, error, message);
    expect_close(&e);
    arena_reset(&a);
}

static const char *const problems[] = {
    // Padding, a bias, an activation; 19 columns and 21 channels fill nothing.
    "problem p\nin x : f32[2, 5, 9, 19]\nparam w : f32[21, 5, 3, 3]\nparam b : f32[21]\n"
    "out y : f32[2, 21, 9, 19]\ny = relu(conv2d(x, w, b, padding=1))\n",
    // Strides, dilation, groups, 16 bits, something computed of the image on its way.
    "problem p\nin x : f16[1, 6, 13, 30]\nparam w : f16[8, 3, 2, 3]\nout y : f16[1, 8, 6, 9]\n"
    "y = conv2d(relu(x), w, stride=(2, 3), dilation=(1, 2), groups=2)\n",
    // One axis, longer than a span, and a residual.
    "problem p\nin x : bf16[2, 3, 1100]\nin r : f32[2, 5, 1100]\nparam w : bf16[5, 3, 5]\n"
    "out y : f32[2, 5, 1100]\ny = conv1d(x, w, padding=2) + r\n",
    // Three axes, and padding on all of them.
    "problem p\nin x : f32[2, 3, 4, 5, 18]\nparam w : f32[4, 3, 3, 2, 3]\n"
    "out y : f32[2, 4, 4, 6, 18]\ny = conv3d(x, w, padding=(1, 1, 1))\n",
    // Transposed: results of four classes, of which some begin further on.
    "problem p\nin x : f32[1, 7, 4, 10]\nparam w : f32[7, 5, 3, 3]\nparam b : f32[5]\n"
    "out y : f32[1, 5, 8, 20]\n"
    "y = tanh(conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1))\n",
    // Depthwise.
    "problem p\nin x : f32[2, 3, 7, 40]\nparam w : f32[3, 1, 3, 3]\nout y : f32[2, 3, 7, 40]\n"
    "y = conv2d(x, w, padding=1, groups=3)\n",
    // Windows of one element, and an image that is read across.
    "problem p\nin x : f32[2, 6, 17, 9]\nparam w : f32[10, 9, 1, 1]\nout y : f32[2, 10, 6, 17]\n"
    "y = conv2d(transpose(x, (0, 3, 1, 2)), w)\n",
    // Types that are not read in vectors.
    "problem p\nin x : f8e4m3[1, 3, 6, 18]\nparam w : f8e5m2[4, 3, 3, 3]\n"
    "out y : f32[1, 4, 6, 18]\ny = conv2d(x, w, padding=1)\n",
    // A window as large as the image.
    "problem p\nin x : f32[3, 4, 5, 5]\nparam w : f32[6, 4, 5, 5]\nout y : f32[3, 6, 1, 1]\n"
    "y = conv2d(x, w)\n",
};

static const char *const stages[] = {
    "tile 1x4  micro 3x4  depth 2  lanes channels  vec 4",
    "tile 4x32  micro 7x32  depth 4  lanes channels  vec 16",
    "tile 2x8  micro 1x8  depth 1  lanes channels  vec 8",
    "tile 8x1  micro 16x1  depth 8  lanes columns  vec 16",
    "tile 2x3  micro 8x3  depth 2  lanes columns  vec 4",
    "",
};

Test(conv_cpu, any_shape_type_and_tile, .timeout = 300) {
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        for (size_t k = 0; k < sizeof stages / sizeof *stages; k++)
            check(problems[i], stages[k]);
}

Test(conv_cpu, rejects_what_it_cannot_do) {
    static const char *const cases[][2] = {
        {"tile 4x32  micro 14x32  vec 8  lanes channels",
         "takes 61 vector registers of 32: the nearest is 6x32"},
        {"tile 4x32  micro 4x12  vec 8  lanes channels",
         "the 12 channels of micro are no multiple of vec 8: the nearest is 4x8"},
        {"tile 4x32  micro 12x4  vec 8  lanes columns",
         "the 12 results of micro are no multiple of vec 8: the nearest is 8x4"},
        {"tile 4x128  micro 4x48  vec 16  lanes channels",
         "a tile of 128 channels is no multiple of the 48 of micro: the nearest is tile 4x96"},
        {"tile 32x512  micro 4x16  vec 16  depth 8  lanes channels",
         "above 1048576: the nearest is tile 16x512 with depth 8"},
    };
    struct arena a = {0};
    struct target t = test_target(64);
    struct problem *p =
        problem_from(&a, "problem p\nin x : f32[2, 64, 64, 26]\nparam w : f32[512, 64, 3, 3]\n"
                         "out y : f32[2, 512, 64, 26]\ny = conv2d(x, w, padding=1)\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};
        struct kernel *k = kernel_of(&a, p, cases[i][0]);
        cr_assert(!lower_check(&a, p, &t, k, &err), "%s", cases[i][0]);
        cr_assert(strstr(err.text, cases[i][1]), "%s", err.text);
    }
    arena_reset(&a);
}

// What a problem begins with, on machines with vectors of each width.
Test(conv_cpu, is_the_default_of_convolutions) {
    static const struct {
        const char *text, *lanes;
    } cases[] = {
        {"problem p\nin x : f32[8, 64, 56, 56]\nparam w : f32[64, 64, 3, 3]\n"
         "out y : f32[8, 64, 56, 56]\ny = conv2d(x, w, padding=1)\n",
         NULL},
        {"problem p\nin x : f32[8, 64, 56, 56]\nparam w : f32[64, 1, 3, 3]\n"
         "out y : f32[8, 64, 56, 56]\ny = conv2d(x, w, padding=1, groups=64)\n",
         "columns"},
        {"problem p\nin x : bf16[8, 32, 14, 14]\nparam w : bf16[32, 16, 3, 3]\n"
         "out y : bf16[8, 16, 28, 28]\n"
         "y = conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)\n",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int bytes = 16; bytes <= 64; bytes *= 2) {
            struct arena a = {0};
            struct error err = {0};
            struct target t = test_target(bytes);
            struct problem *p = problem_from(&a, cases[i].text);
            struct kernel k;
            lower_default(&a, p, &t, &k);
            cr_assert_str_eq(k.stages[0]->family, "conv", "%s", cases[i].text);
            cr_assert(lower_check(&a, p, &t, &k, &err), "%s", err.text);
            cr_assert(!cases[i].lanes || stage_word_is(k.stages[0], "lanes", cases[i].lanes), "%s",
                      cases[i].text);
            arena_reset(&a);
        }
}

Test(conv_cpu, what_it_cannot_compute_is_left_to_nest) {
    static const char *const others[] = {
        // Sums of another type.
        "problem p\nin x : f64[2, 4, 9, 9]\nparam w : f64[8, 4, 3, 3]\nout y : f64[2, 8, 7, 7]\n"
        "y = conv2d(x, w)\n",
        // Windows that cover more than a local array holds.
        "problem p\nin x : f32[1, 4, 600001]\nparam w : f32[8, 4, 300001]\n"
        "out y : f32[1, 8, 300001]\ny = conv1d(x, w)\n",
        "problem p\nin x : f32[1, 4, 8, 8, 16391]\nparam w : f32[8, 4, 7, 7, 7]\n"
        "out y : f32[1, 8, 2, 2, 1025]\ny = conv3d(x, w, stride=(1, 1, 16))\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct arena a = {0};
        struct target t = test_target(64);
        struct kernel k;
        lower_default(&a, problem_from(&a, others[i]), &t, &k);
        cr_expect_str_eq(k.stages[0]->family, "nest", "%s", others[i]);
        arena_reset(&a);
    }
}

// Windows that just fit: the block that a search begins with is legal.
Test(conv_cpu, large_windows_begin_with_a_legal_block) {
    for (int taps = 1 << 10; taps <= 1 << 18; taps *= 2) {
        struct arena a = {0};
        struct error err = {0};
        struct target t = test_target(64);
        struct kernel k;
        const char *text = arena_printf(&a,
                                        "problem p\nin x : f32[1, 2, %d]\nparam w : f32[4, 2, %d]\n"
                                        "out y : f32[1, 4, 700]\ny = conv1d(x, w)\n",
                                        taps + 699, taps);
        struct problem *p = problem_from(&a, text);
        lower_default(&a, p, &t, &k);
        cr_expect(lower_check(&a, p, &t, &k, &err), "%s", err.text);
        cr_expect_str_eq(k.stages[0]->family, taps <= 1 << 17 ? "conv" : "nest", "%d taps", taps);
        arena_reset(&a);
    }
}
