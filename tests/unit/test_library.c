// Products and convolutions by libraries: the calls that problems become, computed by the loop
// language's interpreter in the library's place; and how the parts of a call cover its result.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/moves.h"
#include "family/program.h"
#include "family/source_plan.h"
#include "library/blas.h"
#include "lowering.h"
#include "record/plan.h"

static struct target any_target(bool is_gpu) {
    struct target t = test_target(32);
    if (is_gpu)
        cr_assert(target_of_arch("sm_90a", &t));
    return t;
}

// The block of `library`, computed; its text.
static const char *computed(struct arena *a, const char *text, bool is_gpu) {
    struct target t = any_target(is_gpu);
    struct problem *p = problem_from(a, text);
    struct kernel k;
    struct error err = {0};
    char message[400] = "";
    cr_assert(lower_library(a, p, &t, &k, &err), "%s", err.text);
    struct expectation e;
    expect_open(&e, a, p, 7);
    double error = expect_execute(&e, a, p, program_lower(a, p, &t, &k), message, sizeof message);
    expect_close(&e);
    cr_expect(error >= 0 && error < 32, "%s: error %g %s", text, error, message);
    return kernel_print(a, &k);
}

#define HEAD "problem p\ndim M = 5, N = 7, K = 6, B = 3\n"

Test(library, computes_products_in_every_layout_and_what_is_around_them) {
    static const struct {
        const char *text, *block;
    } cases[] = {
        {HEAD "in x : f32[M, K]\nin w : f32[K, N]\nout y : f32[M, N]\ny = x @ w\n",
         "stage y : library"},
        {HEAD "in x : f32[K, M]\nin w : f32[N, K]\nout y : f32[M, N]\ny = x.T @ w.T\n",
         "stage y : library"},
        {HEAD "in x : f32[M, K]\nin w : f32[N, K]\nin b : f32[N]\nout y : f32[M, N]\n"
              "y = relu(x @ w.T + b)\n",
         "stage t.1 : library"},
        {HEAD "in x : f32[M, K]\nin w : f32[N, K]\nout y : f32[M, N]\ny = exp(x) @ w.T\n",
         "stage t.1 : map"},
        {HEAD "in x : f32[B, M, K]\nin w : f32[B, K, N]\nout y : f32[B, M, N]\ny = x @ w\n",
         "stage y : library"},
        {HEAD "in x : f32[B, M, K]\nin w : f32[K, N]\nout y : f32[B, M, N]\ny = x @ w\n",
         "stage y : library"},
        {HEAD "in x : f32[M, K]\nout y : f32[M, M]\ny = x @ x.T\n", "stage y : library"},
        {HEAD "in x : f32[M, K]\nin w : f32[K, N]\nin v : f32[N, K]\nout y : f32[M, K]\n"
              "y = softmax(x @ w) @ v\n",
         "stage t.1 : library"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int is_gpu = 0; is_gpu < 2; is_gpu++) {
            struct arena a = {0};
            const char *text = computed(&a, cases[i].text, is_gpu);
            cr_expect(strstr(text, cases[i].block), "%s", text);
            cr_expect(strstr(text, ": library"), "%s", text);
            arena_reset(&a);
        }
}

Test(library, computes_convolutions_of_every_kind_on_a_gpu) {
    static const char *const texts[] = {
        "problem c\nin x : f32[2, 4, 9, 8]\nin w : f32[6, 4, 3, 2]\nout y : f32[2, 6, 4, 4]\n"
        "y = conv2d(x, w, stride=2, padding=(0, 0))\n",
        "problem c\nin x : f32[2, 4, 9]\nin w : f32[6, 2, 3]\nout y : f32[2, 6, 9]\n"
        "y = conv1d(x, w, padding=2, dilation=2, groups=2)\n",
        "problem c\nin x : f32[1, 2, 4, 5, 6]\nin w : f32[3, 2, 2, 3, 3]\n"
        "out y : f32[1, 3, 3, 5, 6]\ny = conv3d(x, w, padding=(0, 1, 1))\n",
        "problem c\nin x : f32[2, 4, 5, 5]\nin w : f32[4, 3, 3, 3]\nin b : f32[6]\n"
        "out y : f32[2, 6, 10, 10]\n"
        "y = relu(conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2)"
        " + b[:, None, None])\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena a = {0};
        cr_expect(strstr(computed(&a, texts[i], true), ": library as cudnn"), "%s", texts[i]);
        arena_reset(&a);
    }
}

// A result is rounded by the library where nobody wants it otherwise; the arithmetic is what the
// problem's precision says and never less.
Test(library, takes_types_and_precision_from_the_problem) {
    static const struct {
        const char *text, *in_source;
    } cases[] = {
        {HEAD "in x : bf16[M, K]\nin w : bf16[N, K]\nout y : bf16[M, N]\ny = x @ w.T\n",
         "call gemm math(f32) size(5, 7, 6, 1) lhs(6, 1, 0) rhs(1, 6, 0) out(7, 1, 0) "
         "args(x, w, y, library_work)"},
        {HEAD "in x : f32[M, K]\nin w : f32[N, K]\nout y : f32[M, N]\ny = x @ w.T\n",
         "call gemm math(f32)"},
        {HEAD "precision tf32\nin x : f32[M, K]\nin w : f32[N, K]\nout y : f32[M, N]\n"
              "y = x @ w.T\n",
         "call gemm math(tf32)"},
        {HEAD "precision tf32\nin x : f16[M, K]\nin w : f16[N, K]\nout y : f32[M, N]\n"
              "y = x @ w.T\n",
         "call gemm math(f32)"},
        {HEAD "in x : f16[M, K]\nin w : f16[N, K]\nin b : f16[N]\nout y : f16[M, N]\n"
              "y = x @ w.T + b\n",
         "args(x, w, t_1, library_work)"},
        {HEAD "precision f8e4m3 accumulate f22\nin x : f8e4m3[M, K]\nin w : f8e4m3[N, K]\n"
              "out y : bf16[M, N]\ny = x @ w.T\n",
         "call gemm math(f32)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct target t = any_target(true);
        struct problem *p = problem_from(&a, cases[i].text);
        struct kernel k;
        struct candidate c;
        struct plan plan, again;
        cr_assert(lower_library(&a, p, &t, &k, &err) && lower_kernel(&a, p, &t, &k, &c, &err), "%s",
                  err.text);
        cr_expect(strstr(c.source, cases[i].in_source), "%s", c.source);
        cr_assert(candidate_plan(&a, p, &t, &c, &plan, &err), "%s", err.text);
        json_t *json = plan_to_json(&plan);
        cr_assert(plan_from_json(&a, json, &again, &err), "%s", err.text);
        cr_expect(plan_has_calls(&again));
        cr_expect_eq(memcmp(again.steps[0].call, plan.steps[0].call, sizeof(struct call)), 0);
        json_decref(json);
        arena_reset(&a);
    }
}

Test(library, says_why_there_is_none) {
    static const struct {
        const char *text, *why;
        bool is_gpu;
    } cases[] = {
        {HEAD "in x : f32[M, K]\nout y : f32[M]\ny = sum(x, axis=1)\n",
         "no library computes any of it: there is no product and no convolution", true},
        {HEAD "in x : f16[M, K]\nin w : f16[N, K]\nout y : f16[M, N]\ny = x @ w.T\n",
         "OpenBLAS multiplies f32 to f32 and f64 to f64; x is f16", false},
        {HEAD "in x : f16[M, K]\nin w : f32[N, K]\nout y : f32[M, N]\ny = x @ w.T\n",
         "a library takes two operands of one type, not f16 and f32", true},
        {"problem c\nin x : f32[2, 4, 9]\nin w : f32[6, 4, 3]\nout y : f32[2, 6, 7]\n"
         "y = conv1d(x, w)\n",
         "OpenBLAS has no convolutions", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct target t = any_target(cases[i].is_gpu);
        struct kernel k;
        cr_expect_not(lower_library(&a, problem_from(&a, cases[i].text), &t, &k, &err));
        cr_expect_eq(err.kind, ERROR_UNSUPPORTED);
        cr_expect(strstr(err.text, cases[i].why), "%s", err.text);
        arena_reset(&a);
    }
}

// Neither the default nor a move reaches for a library; from one a move leads back.
Test(library, is_no_move_of_the_search) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = any_target(false);
    struct problem *p =
        problem_from(&a, HEAD "in x : f32[M, K]\nin w : f32[K, N]\nout y : f32[M, N]\ny = x @ w\n");
    struct kernel k;
    int n = 0;
    lower_default(&a, p, &t, &k);
    cr_expect_not(strstr(kernel_print(&a, &k), "library"));
    struct move *m = moves_list(&a, p, &t, &k, &n);
    for (int i = 0; i < n; i++)
        cr_expect_not(strstr(m[i].words, "library"), "%s", m[i].words);
    cr_assert(lower_library(&a, p, &t, &k, &err), "%s", err.text);
    m = moves_list(&a, p, &t, &k, &n);
    bool leads_back = false;
    for (int i = 0; i < n; i++)
        leads_back |= strstr(m[i].words, "library -> gemm") != NULL;
    cr_expect(leads_back);
    arena_reset(&a);
}

// ---- parts of a call

static int *touched;
static int width;

static void count(int order, int lhs, int rhs, int m, int n, int k, float alpha, const float *x,
                  int lda, const float *y, int ldb, float beta, float *out, int ldc) {
    (void)order, (void)lhs, (void)rhs, (void)k, (void)alpha, (void)x, (void)lda, (void)y, (void)ldb;
    (void)beta, (void)ldc;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            touched[(int)(intptr_t)out / 4 + i * width + j]++;
}

Test(library, parts_cover_a_result_once) {
    static const struct {
        int m, n, batch, threads;
    } cases[] = {{1, 1, 1, 64},  {100, 90, 1, 7}, {1, 500, 1, 8},    {500, 1, 1, 8},
                 {64, 64, 5, 2}, {40, 40, 3, 16}, {129, 257, 1, 12}, {17, 33, 2, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int m = cases[i].m, n = cases[i].n, batch = cases[i].batch;
        struct call c = {.number = {m, n, 4, batch, 4, 1, 4L * m, n, 1, 0, n, 1, (int64_t)m * n}};
        struct blas b = {.sgemm = count};
        void *args[3] = {0};
        touched = calloc((size_t)m * (size_t)n * (size_t)batch, sizeof *touched);
        width = n;
        int64_t blocks = blas_blocks(&c, cases[i].threads);
        for (int64_t k = 0; k < blocks; k++)
            blas_block(&b, &c, cases[i].threads, k, args);
        for (int k = 0; k < m * n * batch; k++)
            cr_expect_eq(touched[k], 1, "case %zu: element %d %d times", i, k, touched[k]);
        free(touched);
    }
}

Test(library, source_that_somebody_wrote_calls_none) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = any_target(false);
    struct plan plan;
    struct problem *p =
        problem_from(&a, HEAD "in x : f32[M, K]\nin w : f32[K, N]\nout y : f32[M, N]\ny = x @ w\n");
    static const struct {
        const char *call, *why;
        enum tier tier;
    } cases[] = {
        {"size(5, 7, 6, 1) lhs(6, 1, 0) rhs(7, 1, 0) out(7, 1, 0) args(x, w, y)",
         "only a kernel block calls a library", TIER_C},
        {"size(5, 7, 6, 1) lhs(6, 1, 0) rhs(7, 1, 0) out(7, 1, 0) args(x, w, y)", NULL, TIER_K},
        {"size(6, 7, 6, 1) lhs(6, 1, 0) rhs(7, 1, 0) out(7, 1, 0) args(x, w, y)",
         "it does not fit its buffers", TIER_K},
        {"size(5, 7, 6, 1) lhs(6, 1, 0) rhs(7, 1, 0) out(7, 1, 0) args(y, w, x)",
         "its result is an input", TIER_K},
        {"size(5, 7, 6, 1) lhs(6, 1, 0) rhs(7, 1, 0) out(7, 1, 0) args(y, w, y)",
         "its result overlaps another argument", TIER_K},
        {"size(5, 7) args(x, w, y)", "size takes 4 numbers", TIER_K},
        {"size(5, 7, 0, 1) lhs(6, 1, 0) rhs(7, 1, 0) out(7, 1, 0) args(x, w, y)",
         "a size is out of range", TIER_K},
        {"size(5, 7, 6, 1099511627776) lhs(6, 1, 1099511627776) rhs(7, 1, 0) out(7, 1, 0) "
         "args(x, w, y)",
         "it does not fit its buffers", TIER_K},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct candidate c = {.tier = cases[i].tier};
        c.source = arena_printf(&a, "#pragma hone call gemm math(f32) %s\n", cases[i].call);
        bool ok = candidate_plan(&a, p, &t, &c, &plan, &err);
        cr_expect_eq(ok, !cases[i].why, "%s: %s", cases[i].call, err.text);
        if (cases[i].why)
            cr_expect(strstr(err.text, cases[i].why), "%s", err.text);
    }
    arena_reset(&a);
}
