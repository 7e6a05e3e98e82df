// Every law: where its pattern is found, and that its way gives the same result within its
// class. Where the language can say what the law computes, the rewritten problem is run in
// the interpreter against the original; where it cannot (rounding to tf32, Winograd's tiles),
// the law's arithmetic stands here.
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "family/laws.h"
#include "ir/inputs.h"
#include "ir/work.h"
#include "lowering.h"

enum {
    REASSOCIATED = 300,     // spreads of honest f32 that another order of rounding may cost
    EXACT_IN_REALS = 10000  // the same of honest f64: equal in the reals, nothing else
};

static struct region *whole(struct arena *a, const struct problem *p) {
    bool *is_ready = arena_array(a, bool, p->graph.n_nodes);
    const char *values[STAGE_VALUES_MAX];
    for (int i = 0; i < p->n_outputs; i++)
        values[i] = p->outputs[i].name;
    return region_build(a, p, values, p->n_outputs, is_ready);
}

static void run(struct arena *a, const struct problem *p, enum input_set set,
                struct interpret_result *result) {
    struct interpret_data data = {{NULL}};
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        void *to = arena_array(a, char, dtype_size(n->dtype, shape_count(&n->shape)));
        inputs_fill_set(p, i, set, 7, to);
        data.inputs[i] = to;
    }
    interpret(p, &data, result);
}

// The law's way against the problem as written, on every kind of data.
static void check_rewrite(const char *law, const char *written, const char *rewritten) {
    for (enum input_set set = 0; set < INPUT_SET_COUNT; set++) {
        struct arena a = {0};
        struct problem *p = problem_from(&a, written), *q = problem_from(&a, rewritten);
        // These depend on how long the problem's sums are, and on what else is done to the data.
        bool is_far = work_is_centred(&p->graph, 0) || work_is_centred(&q->graph, 0);
        if (set == INPUT_SET_DIGITS || (set == INPUT_SET_SHIFTED && is_far)) {
            arena_reset(&a);
            continue;
        }
        struct interpret_result want, got;
        run(&a, p, set, &want);
        run(&a, q, set, &got);
        for (int o = 0; o < want.n_outputs; o++)
            for (int64_t i = 0; i < want.count[o]; i++) {
                double v = want.value[o][i], unit = want.spread[o][i] + fabs(v) * 0x1p-25 + 1e-37;
                double real = fabs(got.value[o][i] - v) / (unit * 0x1p-29);
                double rounded = fabs(got.honest[o][i] - v) / unit;
                cr_assert(real < EXACT_IN_REALS && rounded < REASSOCIATED,
                          "%s, %s data: %s[%d] is %.9g, not %.9g: %.3g f64 and %.3g f32 units", law,
                          input_set_name(set), p->outputs[o].name, (int)i, got.value[o][i], v, real,
                          rounded);
            }
        interpret_reset(&want);
        interpret_reset(&got);
        arena_reset(&a);
    }
}

// The nodes of the law's first match as "role name, ...", or "" when it fits nowhere.
static const char *found(struct arena *a, const char *law, const char *text) {
    const struct problem *p = problem_from(a, text);
    struct law_uses uses = {0};
    const struct law *l = law_find(law);
    cr_assert_not_null(l);
    if (!law_use(l, whole(a, p), &uses))
        return "";
    const char *out = "";
    for (int i = 0; i < LAW_NODES_MAX && l->roles[i]; i++)
        out = arena_printf(a, "%s%s%s %s", out, i ? ", " : "", l->roles[i],
                           p->graph.nodes[uses.match[0].node[i]].name);
    return out;
}

#define IN_X "problem p\ndim M = 6, N = 60\nin x : f32[M, N] ~ normal\n"
#define IN_AB \
    "problem p\ndim M = 8, N = 12, K = 60\nin a : f32[M, K] ~ normal\nin b : f32[K, N] ~ normal\n"

Test(laws, find_their_patterns_and_nothing_else) {
    static const struct {
        const char *law, *problem, *nodes;
    } cases[] = {
        {"online_softmax", IN_X "out y : f32[M, N]\ny = softmax(x)\n",
         "x x, max y.max, shifted y.shifted, exp y.exp, sum y.sum"},
        {"online_softmax", IN_X "out y : f32[M]\ny = logsumexp(x, axis=1)\n",
         "x x, max y.max, shifted y.p2, exp y.exp, sum y.sum"},
        {"online_softmax", IN_X "out y : f32[M]\ny = sum(exp(x), axis=1)\n", ""},
        // Another maximum, other axes, another sign.
        {"online_softmax",
         IN_X "out y : f32[M]\nm = max(x * 2, axis=1)\ny = sum(exp(x - m[:, None]), axis=1)\n", ""},
        {"online_softmax", IN_X "out y : f32[M]\nm = max(x, axis=0)\ny = sum(exp(x - m), axis=1)\n",
         ""},
        {"online_softmax",
         IN_X "out y : f32[M]\nm = max(x, axis=1)\ny = sum(exp(m[:, None] - x), axis=1)\n", ""},
        {"shifted_variance", IN_X "out y : f32[M]\ny = var(x, axis=1)\n",
         "x x, sum y.mean.sum, centred y.centred, square y.p1, squares y.sum"},
        {"shifted_variance", IN_X "out y : f32[M, N]\ny = layernorm(x)\n",
         "x x, sum y.mean.sum, centred y.centred, square y.p1, squares y.var.sum"},
        // Not the mean.
        {"shifted_variance",
         IN_X
         "out y : f32[M]\nm = sum(x, axis=1) / 59\nd = x - m[:, None]\ny = sum(d * d, axis=1)\n",
         ""},
        {"shifted_variance", IN_X "out y : f32[M, N]\ny = rmsnorm(x)\n", ""},
        {"split_reduction", IN_X "out y : f32[M]\ny = sum(x, axis=1)\n", "whole y"},
        {"split_reduction", IN_AB "out y : f32[M, N]\ny = a @ b\n", "whole y"},
        {"split_reduction", IN_X "out y : f32[M, N]\ny = tanh(x)\n", ""},
        {"tf32x3", IN_AB "out y : f32[M, N]\ny = tanh(a @ b)\n", "product t.1"},
        {"tf32x3", IN_X "out y : f32[M]\ny = sum(x, axis=1)\n", ""},
        {"winograd",
         "problem p\nin x : f32[2, 3, 8, 8]\nin w : f32[4, 3, 3, 3]\nout y : f32[2, 4, 6, 6]\n"
         "y = conv2d(x, w)\n",
         "conv y"},
        {"winograd",
         "problem p\nin x : f32[2, 3, 8, 8]\nin w : f32[4, 3, 3, 3]\nout y : f32[2, 4, 3, 3]\n"
         "y = conv2d(x, w, stride=2)\n",
         ""},
        {"winograd",
         "problem p\nin x : f32[2, 3, 8, 8]\nin w : f32[4, 3, 5, 5]\nout y : f32[2, 4, 4, 4]\n"
         "y = conv2d(x, w)\n",
         ""},
        {"collapse", IN_AB "out y : f32[M]\ny = sum((a @ b) * 2 - 1, axis=1)\n",
         "product t.1, last t.3, sum y"},
        {"collapse", IN_AB "out y : f32[N]\ny = sum(a @ b, axis=0)\n",
         "product t.1, last t.1, sum y"},
        {"collapse", IN_AB "out y : f32[M]\ny = max(a @ b, axis=1)\n", ""},
        {"collapse", IN_AB "out y : f32[M]\ny = sum(abs(a @ b), axis=1)\n", ""},
        {"collapse", IN_AB "out y : f32\ny = sum(a @ b)\n", "product t.1, last t.1, sum y"},
        // Batches are summed products, not products of sums.
        {"collapse",
         "problem p\nin a : f32[2, 4, 8]\nin b : f32[2, 8, 4]\nout y : f32[4, 4]\n"
         "y = sum(a @ b, axis=0)\n",
         ""},
        // The product itself is wanted.
        {"collapse", IN_AB "out t : f32[M, N]\nout y : f32[M]\nt = a @ b\ny = sum(t, axis=1)\n",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        cr_expect_str_eq(found(&a, cases[i].law, cases[i].problem), cases[i].nodes, "%s\n%s\n%s",
                         cases[i].law, cases[i].problem, found(&a, cases[i].law, cases[i].problem));
        arena_reset(&a);
    }
}

Test(laws, exact_precision_forbids_three_tf32_products) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, IN_AB "out y : f32[M, N]\ny = a @ b\n");
    struct law_uses uses = {0};
    p->precision.is_exact = true;
    cr_assert(!law_use(law_find("tf32x3"), whole(&a, p), &uses));
    arena_reset(&a);
}

// Parts of a row one after the other: each rescales what came before it.
Test(laws, online_softmax_is_softmax) {
    check_rewrite("online_softmax",
                  IN_X "out m : f32[M]\nout s : f32[M]\nm = max(x, axis=1)\n"
                       "s = sum(exp(x - m[:, None]), axis=1)\n",
                  IN_X "out m : f32[M]\nout s : f32[M]\n"
                       "x1 = x[:, 0:20]\nx2 = x[:, 20:40]\nx3 = x[:, 40:60]\n"
                       "m1 = max(x1, axis=1)\ns1 = sum(exp(x1 - m1[:, None]), axis=1)\n"
                       "m2 = maximum(m1, max(x2, axis=1))\n"
                       "s2 = s1 * exp(m1 - m2) + sum(exp(x2 - m2[:, None]), axis=1)\n"
                       "m = maximum(m2, max(x3, axis=1))\n"
                       "s = s2 * exp(m2 - m) + sum(exp(x3 - m[:, None]), axis=1)\n");
}

Test(laws, shifted_variance_is_the_variance) {
    check_rewrite("shifted_variance",
                  IN_X "out m : f32[M]\nout v : f32[M]\nm = mean(x, axis=1)\nd = x - m[:, None]\n"
                       "v = sum(d * d, axis=1)\n",
                  IN_X "out m : f32[M]\nout v : f32[M]\nk = x[:, 0]\nd = x - k[:, None]\n"
                       "s = sum(d, axis=1)\nm = k + s / 60\nv = sum(d * d, axis=1) - s * s / 60\n");
}

Test(laws, a_split_reduction_is_the_whole) {
    check_rewrite("split_reduction", IN_X "out y : f32[M]\ny = sum(x, axis=1)\n",
                  IN_X "out y : f32[M]\ny = sum(sum(reshape(x, (6, 4, 15)), axis=2), axis=1)\n");
    check_rewrite("split_reduction", IN_X "out y : f32[M]\ny = max(x, axis=1)\n",
                  IN_X "out y : f32[M]\ny = max(max(reshape(x, (6, 4, 15)), axis=2), axis=1)\n");
    check_rewrite("split_reduction", IN_AB "out y : f32[M, N]\ny = a @ b\n",
                  IN_AB
                  "out y : f32[M, N]\ny = a[:, 0:24] @ b[0:24, :] + a[:, 24:60] @ b[24:60, :]\n");
}

Test(laws, a_collapsed_chain_is_the_chain) {
    check_rewrite("collapse", IN_AB "out y : f32[M]\ny = sum((a @ b) * 2 - 1, axis=1)\n",
                  IN_AB "out y : f32[M]\nw = sum(b, axis=1)\n"
                        "y = (a @ w[:, None])[:, 0] * 2 - 12\n");
    check_rewrite("collapse", IN_AB "out y : f32[N]\ny = sum(a @ b, axis=0)\n",
                  IN_AB "out y : f32[N]\nw = sum(a, axis=0)\ny = (w[None, :] @ b)[0, :]\n");
}

// Relative to the sum of |a b| three products err by about 2^-21; one alone by 2^-11.
Test(laws, three_tf32_products_are_nearly_one_of_f32) {
    for (enum input_set set = 0; set < INPUT_SET_COUNT; set++) {
        struct arena a = {0};
        struct problem *p = problem_from(&a, IN_AB "out y : f32[M, N]\ny = a @ b\n");
        float *x = arena_array(&a, float, 8 * 60), *y = arena_array(&a, float, 60 * 12);
        struct interpret_result want;
        run(&a, p, set, &want);
        inputs_fill_set(p, 0, set, 7, x);
        inputs_fill_set(p, 1, set, 7, y);
        double worst_of_three = 0, worst_of_one = 0;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 12; j++) {
                double three = 0, one = 0, scale = 1e-300;
                for (int k = 0; k < 60; k++) {
                    double l = x[i * 60 + k], r = y[k * 12 + j];
                    double l_high = dtype_round_digits(11, l), r_high = dtype_round_digits(11, r);
                    double l_low = dtype_round_digits(11, l - l_high);
                    double r_low = dtype_round_digits(11, r - r_high);
                    one += l_high * r_high;
                    three += l_low * r_high + l_high * r_low + l_high * r_high;
                    scale += fabs(l * r);
                }
                double v = want.value[0][i * 12 + j];
                worst_of_three = fmax(worst_of_three, fabs(three - v) / scale);
                worst_of_one = fmax(worst_of_one, fabs(one - v) / scale);
            }
        cr_assert(worst_of_three < 0x1p-20, "%s data: %g", input_set_name(set), worst_of_three);
        // The test can tell: one product alone is far off wherever there is something to round.
        cr_assert(set != INPUT_SET_DECLARED || worst_of_one > 0x1p-15);
        interpret_reset(&want);
        arena_reset(&a);
    }
}

// F(2, 3): two results of a window of three from four products.
static void winograd_1d(const double *x, const double *w, double *y) {
    double u[4] = {w[0], (w[0] + w[1] + w[2]) / 2, (w[0] - w[1] + w[2]) / 2, w[2]};
    double v[4] = {x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]};
    double m[4];
    for (int i = 0; i < 4; i++)
        m[i] = u[i] * v[i];
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
}

// The same by each axis: 4 x 4 of x and 3 x 3 of w give 2 x 2.
static void winograd_2d(double x[4][4], double w[3][3], double y[2][2]) {
    double u[4][4], v[4][4], rows[4][4], turned[3][4];
    for (int i = 0; i < 3; i++) {
        double s = w[i][0] + w[i][2];
        turned[i][0] = w[i][0];
        turned[i][1] = (s + w[i][1]) / 2;
        turned[i][2] = (s - w[i][1]) / 2;
        turned[i][3] = w[i][2];
    }
    for (int j = 0; j < 4; j++) {
        double s = turned[0][j] + turned[2][j];
        u[0][j] = turned[0][j];
        u[1][j] = (s + turned[1][j]) / 2;
        u[2][j] = (s - turned[1][j]) / 2;
        u[3][j] = turned[2][j];
    }
    for (int i = 0; i < 4; i++) {
        rows[i][0] = x[i][0] - x[i][2];
        rows[i][1] = x[i][1] + x[i][2];
        rows[i][2] = x[i][2] - x[i][1];
        rows[i][3] = x[i][1] - x[i][3];
    }
    for (int j = 0; j < 4; j++) {
        v[0][j] = rows[0][j] - rows[2][j];
        v[1][j] = rows[1][j] + rows[2][j];
        v[2][j] = rows[2][j] - rows[1][j];
        v[3][j] = rows[1][j] - rows[3][j];
    }
    double half[2][4];
    for (int j = 0; j < 4; j++) {
        half[0][j] = u[0][j] * v[0][j] + u[1][j] * v[1][j] + u[2][j] * v[2][j];
        half[1][j] = u[1][j] * v[1][j] - u[2][j] * v[2][j] - u[3][j] * v[3][j];
    }
    for (int i = 0; i < 2; i++) {
        y[i][0] = half[i][0] + half[i][1] + half[i][2];
        y[i][1] = half[i][1] - half[i][2] - half[i][3];
    }
}

Test(laws, winograd_is_the_convolution) {
    for (enum input_set set = 0; set < INPUT_SET_COUNT; set++) {
        struct arena a = {0};
        struct problem *p = problem_from(
            &a,
            "problem p\nin x : f32[1, 1, 8, 8] ~ normal\nin w : f32[1, 1, 3, 3] ~ normal\n"
            "in r : f32[1, 1, 8] ~ normal\nin s : f32[1, 1, 3] ~ normal\n"
            "out y : f32[1, 1, 6, 6]\nout z : f32[1, 1, 6]\ny = conv2d(x, w)\nz = conv1d(r, s)\n");
        float x[64], w[9], r[8], s[3];
        void *data[] = {x, w, r, s};
        struct interpret_result want;
        run(&a, p, set, &want);
        for (int i = 0; i < 4; i++)
            inputs_fill_set(p, i, set, 7, data[i]);
        double largest = 1e-300, weight = 1e-300, error = 0;
        for (int i = 0; i < 64; i++)
            largest = fmax(largest, fmax(fabs(x[i]), fabs(r[i % 8])));
        for (int i = 0; i < 9; i++)
            weight = fmax(weight, fmax(fabs(w[i]), fabs(s[i % 3])));
        for (int i = 0; i < 6; i += 2) {
            double row[4], kernel[3] = {s[0], s[1], s[2]}, two[2];
            for (int k = 0; k < 4; k++)
                row[k] = r[i + k];
            winograd_1d(row, kernel, two);
            for (int k = 0; k < 2; k++)
                error = fmax(error, fabs(two[k] - want.value[1][i + k]));
            for (int j = 0; j < 6; j += 2) {
                double tile[4][4], window[3][3], four[2][2];
                for (int k = 0; k < 16; k++)
                    tile[k / 4][k % 4] = x[(i + k / 4) * 8 + j + k % 4];
                for (int k = 0; k < 9; k++)
                    window[k / 3][k % 3] = w[k];
                winograd_2d(tile, window, four);
                for (int k = 0; k < 4; k++)
                    error = fmax(error, fabs(four[k / 2][k % 2] -
                                             want.value[0][(i + k / 2) * 6 + j + k % 2]));
            }
        }
        cr_assert(error < 1e-13 * largest * weight, "%s data: %g", input_set_name(set), error);
        interpret_reset(&want);
        arena_reset(&a);
    }
}
