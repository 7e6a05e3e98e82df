// Convolutions whose windows are one element are products: gemm takes them, by each of its
// emitters, and what they compute is right, as loops and as the printed text on fibres.
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "family/family.h"
#include "family/program.h"
#include "loop/passes.h"
#include "text_subject.h"

// A batch, a bias and something added; places that no vector divides, axes of one element.
#define IMAGE(type, weights)                                                 \
    "problem p\ndim B = 2, C = 24, O = 40, H = 5, W = 8\n"                   \
    "in x : " type "[B, C, H, W] ~ normal\nparam w : " weights " ~ normal\n" \
    "param b : " type "[O] ~ normal\nin r : " type "[B, O, H, W] ~ normal\n" \
    "out y : " type "[B, O, H, W]\n"
static const char image[] = IMAGE("f32", "f32[O, C, 1, 1]") "y = relu(conv2d(x, w, b) + r)\n";
static const char half[] = IMAGE("f16", "f16[O, C, 1, 1]") "y = relu(conv2d(x, w, b) + r)\n";
static const char turned[] =
    IMAGE("f32", "f32[C, O, 1, 1]") "y = conv2d(x, transpose(w, (1, 0, 2, 3)), b) + r\n";
static const char line[] =
    "problem p\nin x : f32[3, 7, 13] ~ normal\nparam w : f32[5, 7, 1] ~ normal\n"
    "out y : f32[3, 5, 13]\ny = conv1d(x, w)\n";
static const char cube[] = "problem p\nin x : f16[2, 16, 1, 6, 4] ~ normal\n"
                           "param w : f16[32, 16, 1, 1, 1] ~ normal\nout y : f16[2, 32, 1, 6, 4]\n"
                           "y = conv3d(x, w)\n";

static const struct {
    const char *problem, *target, *stage;
} kernels[] = {
    {image, "sm_90a", "gemm as simt"},
    {image, "sm_90a", "gemm as dot"},
    {image, "sm_90a", "gemm as mma  tile 32x32x16  warps 2x2"},
    {image, "sm_90a", "gemm as wgmma  tile 64x64  stages 2"},
    {half, "sm_90a", "gemm as wgmma  tile 64x64  warpgroups 1  stages 2"},
    {half, "sm_80", "gemm as mma  tile 32x32x32  warps 2x2"},
    {turned, "sm_90a", "gemm as mma  tile 32x32x16  warps 2x2"},
    {turned, "sm_90a", "gemm as simt"},
    {line, "sm_90a", "gemm as simt"},
    {cube, "sm_90a", "gemm as mma  tile 32x16x32  warps 2x1"},
    {cube, "sm_90a", "gemm as wgmma  tile 64x64  warpgroups 1  stages 2"},
};

enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static void make(struct text_subject *s, int i) {
    struct error err = {0};
    struct target t;
    struct lang_file file;
    const char *diagnostics = "";
    *s = (struct text_subject){0};
    target_of_arch(kernels[i].target, &t);
    s->problem = problem_from(&s->arena, kernels[i].problem);
    text_expect(s, (uint64_t)i);
    struct lang_source source = {
        .file = "test",
        .text = arena_printf(&s->arena, "%s\nkernel for p on %s\nstage y : %s\n",
                             kernels[i].problem, kernels[i].target, kernels[i].stage)};
    source.len = strlen(source.text);
    cr_assert(lang_parse(&s->arena, &source, &file, &diagnostics, &err), "%s", diagnostics);
    cr_assert(lower_kernel(&s->arena, s->problem, &t, file.kernels[0], &s->candidate, &err),
              "%s\n%s", source.text, err.text);
    char message[1200] = "";
    cr_assert(lower_check(&s->arena, s->problem, &t, file.kernels[0], &err), "%s", err.text);
    struct loop_program *program = program_lower(&s->arena, s->problem, &t, file.kernels[0]);
    double error =
        expect_execute(&s->expected, &s->arena, s->problem, program, message, sizeof message);
    cr_assert(error >= 0, "%s\n%s", source.text, message);
}

Test(pointwise, every_emitter_of_gemm_computes_it) {
    struct arena a = {0};
    struct text_subject *s = arena_array(&a, struct text_subject, N_KERNELS);
    struct fibre_program *p = arena_new(&a, struct fibre_program);
    for (int i = 0; i < N_KERNELS; i++) {
        make(&s[i], i);
        text_add(p, &s[i]);
    }
    fibre_build(&a, "gcc", p);
    for (int i = 0; i < N_KERNELS; i++) {
        const char *fault;
        cr_expect(text_is_right(&s[i], p, (struct fibre_run){i, 0, 0}, &fault), "%s%s\n%s",
                  kernels[i].problem, kernels[i].stage, fault);
        text_close(&s[i]);
    }
    fibre_remove(p);
    arena_reset(&a);
}

// What a search begins with, on a card and on a CPU of each width, where conv computes it as well.
Test(pointwise, the_default_kernel_is_a_product) {
    static const char *const problems[] = {image, half, turned, line, cube};
    for (int i = 0; i < 10; i++) {
        struct arena a = {0};
        struct expectation e;
        struct kernel k = {0};
        char message[1200] = "";
        struct problem *p = problem_from(&a, problems[i / 2]);
        struct target t = test_target(16 << i / 2 % 3);
        if (i % 2)
            target_of_arch("sm_90a", &t);
        lower_default(&a, p, &t, &k);
        const char *family = k.stages[k.n_stages - 1]->family;
        cr_expect(!strcmp(family, "gemm") || (!t.is_gpu && !strcmp(family, "conv")), "%s",
                  problems[i / 2]);
        expect_open(&e, &a, p, (uint64_t)i);
        double error =
            expect_execute(&e, &a, p, program_lower(&a, p, &t, &k), message, sizeof message);
        cr_expect(error >= 0 && error < 60, "%s\n%g %s", problems[i / 2], error, message);
        expect_close(&e);
        arena_reset(&a);
    }
}

// Others are none: steps, borders, groups, larger windows, one place, and a value for each column.
Test(pointwise, what_is_no_product_stays_a_convolution) {
    static const char *const others[] = {
        "out y : f32[2, 8, 3, 3]\ny = conv2d(x, w, stride=2)\n",
        "out y : f32[2, 8, 8, 8]\ny = conv2d(x, w, padding=1)\n",
        "out y : f32[2, 8, 6, 6]\ny = conv2d(x, w[:, :4], groups=2)\n",
        "in v : f32[8, 8, 2, 1] ~ normal\nout y : f32[2, 8, 5, 6]\ny = conv2d(x, v * w)\n",
        "in c : f32[6] ~ normal\nout y : f32[2, 8, 6, 6]\ny = conv2d(x, w) + c\n",
        "out y : f32[2, 8, 1, 1]\ny = conv2d(x[:, :, :1, :1], w)\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct arena a = {0};
        struct kernel k = {0};
        struct target t;
        target_of_arch("sm_90a", &t);
        struct problem *p =
            problem_from(&a, arena_printf(&a,
                                          "problem p\nin x : f32[2, 8, 6, 6] ~ normal\n"
                                          "in w : f32[8, 8, 1, 1] ~ normal\n%s",
                                          others[i]));
        lower_default(&a, p, &t, &k);
        cr_expect_str_neq(k.stages[k.n_stages - 1]->family, "gemm", "%s", others[i]);
        arena_reset(&a);
    }
}
