#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "ir/inputs.h"
#include "ir/interpret.h"
#include "parsed.h"

static bool same_bits(const void *x, const void *y, size_t bytes) {
    return memcmp(x, y, bytes) == 0;
}

// Both ways, on three threads; every reading must agree to the bit.
static void check_same(const char *text, bool independent) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct interpret_data data = {0};
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        float *x = arena_array(&a, float, shape_count(&n->shape));
        inputs_fill(p, i, 7, x);
        data.inputs[i] = x;
    }
    cr_assert_eq(interpret_rows_independent(p), independent, "%s", text);
    struct interpret_result one, many;
    interpret(p, &data, &one);
    interpret_parallel(p, &data, 3, &many);
    cr_assert_eq(one.n_outputs, many.n_outputs);
    for (int i = 0; i < one.n_outputs; i++) {
        size_t n = (size_t)one.count[i];
        cr_assert_eq(one.count[i], many.count[i]);
        cr_assert(same_bits(one.value[i], many.value[i], n * sizeof(double)), "%s", text);
        cr_assert(same_bits(one.spread[i], many.spread[i], n * sizeof(double)), "%s", text);
        cr_assert(same_bits(one.honest[i], many.honest[i], n * sizeof(float)), "%s", text);
    }
    interpret_reset(&one);
    interpret_reset(&many);
    arena_reset(&a);
}

// 97 rows do not divide evenly among pieces.
#define HEAD "problem p\ndim M = 97, N = 33, K = 17\n"

Test(interpret_rows, independent_rows_give_the_same_bits) {
    check_same(HEAD "in x : f32[M, N]\nout y : f32[M, N]\ny = softmax(x)\n", true);
    check_same(HEAD "in x : f32[M, N]\nin b : f32[N]\nout y : f32[M, N]\ny = gelu(x + b)\n", true);
    check_same(HEAD "in a : f32[M, K]\nin b : f32[K, N]\nout c : f32[M, N]\nc = a @ b\n", true);
    check_same(HEAD "in a : f32[M, K]\nin w : f32[N, K]\nin s : f32[M]\nout c : f32[M, N]\n"
                    "out r : f32[M]\nt = a @ w.T\nc = t * s[:, None]\nr = sum(t, axis=1)\n",
               true);
    check_same(HEAD "in a : f32[M, N, K]\nin b : f32[M, K, N]\nout c : f32[M, N, N]\nc = a @ b\n",
               true);
}

Test(interpret_rows, rows_that_need_each_other_are_left_together) {
    check_same(HEAD "in x : f32[M, N]\nout y : f32[M, N]\ny = softmax(x, axis=0)\n", false);
    check_same(HEAD "in x : f32[M, N]\nout y : f32[M, M]\ny = x @ x.T\n", false);
    check_same(HEAD "in x : f32[M, M]\nout y : f32[M, M]\ny = x + x.T\n", false);
    check_same(HEAD "in x : f32[M, N]\nout y : f32[M, N]\ny = x - mean(x, axis=0)\n", false);
    check_same(HEAD "in x : f32[M, N]\nout y : f32[N, M]\ny = x.T\n", false);
    check_same(HEAD "in x : f32[M, N]\nout y : f32[N]\ny = sum(x, axis=0)\n", false);
    check_same("problem p\ndim M = 97, N = 97\nin x : f32[M, N]\nin z : f32[N, M]\n"
               "out y : f32[M, N]\ny = x * z\n",
               false);
}

#define LSTM                                                                         \
    "g = x[:, t] + h @ u.T\n    "                                                    \
    "c = sigmoid(g[:, :N]) * c + tanh(g[:, N:2 * N]) * sigmoid(g[:, 2 * N:3 * N])\n" \
    "    h = sigmoid(g[:, 3 * N:]) * tanh(c)\n    y[:, t] = h\n"

Test(interpret_rows, loops_leave_rows_alone_unless_steps_are_rows) {
    check_same(HEAD "in x : f32[M, 5, 4 * N]\nin u : f32[4 * N, N]\nin h0 : f32[M, N]\n"
                    "out y : f32[M, 5, N]\nout l : f32[M, N]\n"
                    "for t in 5 with h = h0, c : f32[M, N] = 0:\n    " LSTM "l = c\n",
               true);
    // The state begins as something that has no rows.
    check_same(HEAD "in x : f32[M, 5, N]\nin s : f32[N]\nout y : f32[M, 5, N]\n"
                    "for t in 5 with h : f32[M, N] = s:\n    h = h * 0.5 + x[:, t]\n"
                    "    y[:, t] = h\n",
               true);
    check_same(HEAD "in x : f32[M, N]\nout y : f32[M, N]\n"
                    "for t in M with h : f32[N] = 0:\n    h = h * 0.5 + x[t]\n    y[t] = h\n",
               false);
    check_same(HEAD "in x : f32[M, 5, N]\nout y : f32[M, N]\n"
                    "for t in 5 with h : f32[M, N] = 0:\n    h = h + x[:, t] - max(h, axis=0)\n"
                    "y = h\n",
               false);
    check_same(HEAD "in x : f32[M, 5, N]\nout y : f32[5, M, N]\n"
                    "for t in 5 with h : f32[M, N] = 0:\n    h = h + x[:, t]\n    y[t] = h\n",
               false);
}

Test(interpret_rows, a_scalar_and_a_short_problem_work) {
    check_same(HEAD "in x : f32[M, N]\nout s : f32[]\ns = sum(x)\n", false);
    check_same("problem p\ndim M = 3\nin x : f32[M]\nout y : f32[M]\ny = exp(x)\n", true);
}

Test(interpret_rows, one_row_alone_is_that_row) {
    struct arena a = {0};
    const struct problem *p =
        parsed(&a, HEAD "in x : f32[M, N]\nin b : f32[N]\nout y : f32[M, N]\ny = softmax(x + b)\n");
    float *x = arena_array(&a, float, 97 * 33), *b = arena_array(&a, float, 33);
    inputs_fill(p, 0, 7, x);
    inputs_fill(p, 1, 7, b);
    struct interpret_data data = {.inputs = {x, b}};
    struct interpret_result all, one;
    interpret(p, &data, &all);
    interpret_row(p, &data, 41, &one);
    cr_assert_eq(one.count[0], 33);
    cr_assert(same_bits(one.value[0], all.value[0] + 41 * 33, 33 * sizeof(double)));
    cr_assert(same_bits(one.spread[0], all.spread[0] + 41 * 33, 33 * sizeof(double)));
    cr_assert(same_bits(one.honest[0], all.honest[0] + 41 * 33, 33 * sizeof(float)));
    cr_assert_eq(interpret_row_of(p, 0, 41 * 33 + 5), 41);
    cr_assert_eq(interpret_row_of(p, 1, 5), -1, "a bias has a part in every row");
    interpret_reset(&all);
    interpret_reset(&one);
    arena_reset(&a);
}
