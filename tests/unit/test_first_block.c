// The block that is tried first, where what comes to mind first is illegal or slow: products that
// several stages need, products that tiles do not take with what is around them, networks of
// hundreds of layers.
#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/program.h"
#include "loop/passes.h"
#include "lowering.h"

// Layers of an attention whose queries, keys and values are slices of one projection. Two have more
// levels of reductions and products than a stage may have.
static const char *attention_layers(struct arena *a, int n) {
    struct str s = {0};
    str_puts(&s, "problem p\nin x : f32[10, 2, 32] ~ normal\nparam w : f32[96, 32] ~ normal\n"
                 "out y : f32[10, 2, 32]\nn0 = x\n");
    for (int i = 1; i <= n; i++) {
        str_printf(&s, "t%d = transpose(n%d, (1, 0, 2))\nh%d = linear(t%d, w)\n", i, i - 1, i, i);
        str_printf(&s, "q%d = transpose(reshape(h%d[:, :, :32], (2, 20, 16)), (1, 0, 2)) / 4\n", i,
                   i);
        str_printf(&s, "k%d = transpose(reshape(h%d[:, :, 32:64], (2, 20, 16)), (1, 2, 0))\n", i,
                   i);
        str_printf(&s, "v%d = transpose(reshape(h%d[:, :, 64:], (2, 20, 16)), (1, 0, 2))\n", i, i);
        str_printf(&s, "s%d = transpose(softmax(q%d @ k%d, axis=2) @ v%d, (1, 0, 2))\n", i, i, i,
                   i);
        str_printf(&s, "a%d = transpose(reshape(s%d, (2, 10, 32)), (1, 0, 2))\n", i, i);
        str_printf(&s, "n%d = layernorm(n%d + a%d)\n", i, i - 1, i);
    }
    str_printf(&s, "y = n%d * 2\n", n);
    return str_take(a, &s);
}

static void check_right(struct arena *a, const struct problem *p, const struct target *t,
                        const struct kernel *k) {
    struct expectation e;
    char message[400] = "";
    expect_open(&e, a, p, 3);
    struct loop_program *program = program_lower(a, p, t, k);
    double error = expect_execute(&e, a, p, program, message, sizeof message);
    cr_expect(error >= 0 && error <= 64, "%s: %g, %s", p->name, error, message);
    expect_close(&e);
}

Test(first_block, computes_a_product_that_several_stages_need_once) {
    static const char *const archs[] = {"sm_80", "sm_90a"};
    struct arena a = {0};
    for (int i = 0; i < 2; i++) {
        struct problem *p = problem_from(&a, attention_layers(&a, 2));
        struct target t;
        struct kernel k;
        struct error err = {0};
        cr_assert(target_of_arch(archs[i], &t));
        lower_default(&a, p, &t, &k);
        cr_assert(lower_check(&a, p, &t, &k, &err), "%s", err.text);
        check_right(&a, p, &t, &k);
    }
    arena_reset(&a);
}

static bool has_family(const struct kernel *k, const char *family) {
    for (int i = 0; i < k->n_stages; i++)
        if (strcmp(k->stages[i]->family, family) == 0)
            return true;
    return false;
}

// The same problem, large enough that tiles pay for the copy, and small enough to be run.
static void check_apart(const char *large, const char *small) {
    struct arena a = {0};
    const char *texts[] = {large, small};
    for (int i = 0; i < 2; i++) {
        struct problem *p = problem_from(&a, texts[i]);
        struct target t;
        struct kernel k, simple;
        cr_assert(target_of_arch("sm_90a", &t));
        lower_default(&a, p, &t, &k);
        if (i == 0) {
            lower_simple(&a, p, &t, &simple);
            cr_expect(has_family(&simple, "nest"), "%s", texts[i]);
            cr_expect(!has_family(&k, "nest") && has_family(&k, "gemm"), "%s", texts[i]);
        } else {
            check_right(&a, p, &t, &k);
        }
    }
    arena_reset(&a);
}

#define TRIANGLE(N)                                                                         \
    "problem p\nin a : f32[" #N ", " #N "] ~ normal\nin b : f32[" #N ", " #N "] ~ normal\n" \
    "out y : f32[" #N ", " #N "]\ny = triu(a @ b)\n"
#define HEADS(B)                                                                          \
    "problem p\nin v : f32[" #B ", 4, 32, 24] ~ normal\nparam w : f32[64, 96] ~ normal\n" \
    "out y : f32[" #B ", 32, 64]\n"                                                       \
    "y = linear(reshape(transpose(v, (0, 2, 1, 3)), (" #B ", 32, 96)), w)\n"

Test(first_block, takes_products_out_of_nest_where_tiles_are_faster) {
    check_apart(TRIANGLE(2048), TRIANGLE(96));
    check_apart(HEADS(2048), HEADS(2));
}

// Each of many batch norms reduces its rows twice, and each pair is tried as one stage.
Test(first_block, of_a_long_network_takes_little_memory) {
    enum { LAYERS = 120, MOST_KIB = 400 << 10 };
    struct arena a = {0};
    struct str s = {0};
    struct target t;
    struct kernel k;
    struct rusage before, after;
    str_puts(&s, "problem p\nin x : f32[4, 64, 28, 28] ~ normal\nparam w : f32[64, 64, 1, 1] ~ "
                 "normal\nout y : f32[4, 64, 28, 28]\nn0 = x\n");
    for (int i = 1; i <= LAYERS; i++)
        str_printf(&s, "c%d = conv2d(n%d, w)\nn%d = relu(batchnorm(c%d)) + n%d\n", i, i - 1, i, i,
                   i - 1);
    str_printf(&s, "y = n%d * 2\n", LAYERS);
    struct problem *p = problem_from(&a, str_take(&a, &s));
    cr_assert(target_of_arch("sm_90a", &t));
    getrusage(RUSAGE_SELF, &before);
    lower_default(&a, p, &t, &k);
    getrusage(RUSAGE_SELF, &after);
    cr_expect(k.n_stages > LAYERS, "%d stages", k.n_stages);
// With the sanitizer each allocation of an arena is one of its own, and freed memory is kept.
#if !defined(__SANITIZE_ADDRESS__)
    cr_expect_lt(after.ru_maxrss - before.ru_maxrss, MOST_KIB, "%ld KiB",
                 after.ru_maxrss - before.ru_maxrss);
#endif
    arena_reset(&a);
}
