// Kernels of loops compute what the interpreter does: the default, the baseline and random blocks,
// on a CPU and by threads, every access checked.
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/error.h"
#include "family/plain.h"
#include "family/program.h"
#include "family/support.h"
#include "loop/passes.h"
#include "lowering.h"

enum { TOLERANCE = 60, RANDOM = 4 };

static const char *const loops[] = {
    // An LSTM whose rows do not depend on one another.
    "problem lstm\ndim B = 3, T = 4, D = 5, H = 6\n"
    "in x : f32[B, T, D] ~ normal\nin h0 : f32[B, H] ~ normal\nin c0 : f32[B, H] ~ normal\n"
    "param w : f32[4 * H, D] ~ normal\nparam u : f32[4 * H, H] ~ normal\nparam b : f32[4 * H]\n"
    "out y : f32[B, T, H]\nout hn : f32[B, H]\nout cn : f32[B, H]\n"
    "xw = x @ w.T + b\n"
    "for t in T with h = h0, c = c0:\n"
    "    g = xw[:, t] + h @ u.T\n"
    "    c = sigmoid(g[:, H:2 * H]) * c + sigmoid(g[:, :H]) * tanh(g[:, 2 * H:3 * H])\n"
    "    h = sigmoid(g[:, 3 * H:]) * tanh(c)\n"
    "    y[:, t] = h\n"
    "hn = h\ncn = c\n",
    // Time first, both ways, states that begin as parts and numbers.
    "problem both\ndim T = 5, B = 2, D = 3, H = 4\n"
    "in x : f32[T, B, D] ~ normal\nin h0 : f32[2, B, H] ~ normal\n"
    "param w : f32[H, D] ~ normal\nparam u : f32[H, H] ~ uniform(-0.5, 0.5)\n"
    "out y : f32[T, B, 2 * H]\n"
    "for t in T with h = h0[0] * 2:\n    h = tanh(x[t] @ w.T + h @ u.T)\n    there[t] = h\n"
    "for t in reversed(T) with k : f32[B, H] = 0.25:\n    k = tanh(x[t] @ w.T + k @ u.T)\n"
    "    back[t] = k\n"
    "y = concat(there, back, axis=2)\n",
    // A product of what comes in, which is one before the loop.
    "problem taken\ndim T = 5, B = 2, D = 19, H = 6\nin x : f32[B, T, D] ~ normal\n"
    "param w : f32[H, D] ~ normal\nparam u : f32[H, H] ~ normal\nout y : f32[B, T, H]\n"
    "for t in T with h : f32[B, H] = 0:\n    h = tanh(x[:, t] @ w.T + h @ u)\n    y[:, t] = h\n",
    // A scan of states with more axes, a sum in every step.
    "problem scan\ndim B = 2, T = 6, D = 3, N = 4\n"
    "in x : f32[B, T, D] ~ normal\nin dt : f32[B, T, D] ~ uniform(0.1, 1)\n"
    "param a : f32[D, N] ~ uniform(-1, -0.1)\nin b : f32[B, T, N] ~ normal\n"
    "in c : f32[B, T, N] ~ normal\nout y : f32[B, T, D]\nout last : f32[B, D, N]\n"
    "for t in T with h : f32[B, D, N] = 0:\n"
    "    h = exp(dt[:, t, :, None] * a) * h + (dt[:, t] * x[:, t])[:, :, None] * b[:, t, None]\n"
    "    y[:, t] = sum(h * c[:, t, None], axis=-1)\n"
    "last = h\n",
    // Axes in every place, and a state without rows next to one that has some.
    "problem axes\ndim T = 5, M = 3, N = 2\n"
    "in x : f32[T, M, N] ~ normal\nin h0 : f32[M, N] ~ normal\nin s : f32[T] ~ normal\n"
    "out first : f32[T, M, N]\nout late : f32[M, N, T]\nout sums : f32[T]\nout total : f32\n"
    "for t in reversed(T) with h = h0, k = 0:\n"
    "    h = maximum(h * 0.5, x[t])\n    k = k + s[t]\n"
    "    first[t] = h\n    late[:, :, t] = h\n    sums[t] = k\n"
    "total = k\n",
    // Rows that look at one another: one block for all.
    "problem mixed\ndim T = 4, M = 5, N = 3\nin x : f32[T, M, N] ~ normal\nout y : f32[T, M, N]\n"
    "for t in T with h : f32[M, N] = 0:\n    p = softmax(h + x[t], axis=0)\n"
    "    h = p - mean(p)\n    y[t] = h\n",
    // Whole numbers, truth values, two states that change places.
    "problem whole\nin n : i32[12] ~ index(9)\nout fib : i64[12]\nout big : bool[12]\n"
    "for t in 12 with a : i64 = 0, b : i64 = 1:\n"
    "    fib[t] = a\n    old = a\n    a = b\n    b = old + b + n[t]\n    big[t] = b > 100\n",
    // Two elements to a byte: in what comes in, states, values on the way and results.
    "problem packed\nin x : i4[6, 33] ~ integers(-8, 7)\nin n : i32[6, 33] ~ integers(-80, 70)\n"
    "out y : i4[6, 33]\nout z : i32[33]\nout last : i4[33]\n"
    "for t in 6 with h : i4[33] = 3:\n"
    "    g = i4(n[t] - h * 5)\n    m = max(g)\n    h = i4(g + x[t] - m)\n    y[t] = g\n"
    "last = h\nz = h + 1\n",
    // Half precision is rounded at every step.
    "problem half\ndim T = 6, B = 3, H = 4\nin x : f16[T, B, H] ~ normal\n"
    "param u : f16[H, H] ~ normal\nout y : f16[T, B, H]\n"
    "for t in T with h : f16[B, H] = 0:\n    h = tanh(x[t] + h @ u)\n    y[t] = h\n",
    // What every step sees whole: something computed, something with rows, something with none.
    "problem wholes\ndim T = 3, B = 4, N = 3\nin x : f32[B, T, N] ~ normal\n"
    "in w : f32[N, N] ~ normal\nin r : f32[B, N] ~ normal\nin c : f32 ~ normal\n"
    "out y : f32[B, N]\nw2 = tanh(w @ w.T)\nr2 = exp(r)\n"
    "for t in T with h : f32[B, N] = 0:\n"
    "    m = w2 * c\n    h = tanh(h @ m + x[:, t] * r2)\ny = h + 1\n",
    // Loops in a row, the second over what the first kept; looking up in the state.
    "problem chained\ndim T = 4, N = 5\nin x : f32[T, N] ~ normal\nin i : i32[T, N] ~ index(5)\n"
    "out y : f32[T, N]\nout z : f32[N]\n"
    "for t in T with h : f32[N] = 1:\n    h = h * 0.5 + take(h, i[t]) + x[t]\n    m[t] = h\n"
    "for t in T with k = h:\n    k = sin(k) + m[t]\n    y[t] = k\n"
    "z = k * h\n",
    // One step, one element.
    "problem one\nin x : f32[1]\nout y : f32\nfor t in 1 with h = 2:\n    h = h * x[t]\ny = h\n",
    // Products of batches, a window, a pad and a concat inside.
    "problem inner\ndim B = 2, T = 3, C = 4, L = 6\nin x : f32[B, T, C, L] ~ normal\n"
    "param w : f32[C, C, 3] ~ normal(0, 0.3)\nout y : f32[B, C, L]\n"
    "for t in T with h : f32[B, C, L] = 0:\n"
    "    v = conv1d(h, w, padding=1) + x[:, t]\n"
    "    q = v @ transpose(v, (0, 2, 1))\n"
    "    h = tanh(concat(q, pad(v, ((0, 0), (0, 0), (0, 0))), axis=2)[:, :, :L])\ny = h\n",
};

static void check(struct arena *a, const struct problem *p, struct loop_program *program,
                  const char *block, const struct expectation *e) {
    struct error err;
    char message[1200] = "";
    pass_unroll(program);
    pass_prune(program);
    cr_assert(pass_verify(program, &err), "%s\n%s\n%s", p->text, block, err.text);
    double error = expect_execute(e, a, p, program, message, sizeof message);
    cr_expect(error >= 0 && error < TOLERANCE, "%s\n%s\nerror %g %s", p->text, block, error,
              message);
}

Test(nest_steps, every_kernel_of_a_loop_computes_it) {
    struct rng r;
    rng_init(&r, 5);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        for (int on = 0; on < 2; on++) {
            struct arena a = {0};
            struct problem *p = problem_from(&a, loops[i]);
            struct target t = test_target(32);
            struct error err = {0};
            if (on == 1)
                target_of_arch("sm_90a", &t);
            cr_assert(support_problem(p, &err), "%s", err.text);
            struct expectation e;
            expect_open(&e, &a, p, i);
            check(&a, p, plain_program(&a, p, &t), "plain", &e);
            for (int n = 0; n < RANDOM; n++) {
                struct kernel *k = random_kernel(&a, &r, p, &t, n);
                check(&a, p, program_lower(&a, p, &t, k), kernel_print(&a, k), &e);
            }
            expect_close(&e);
            arena_reset(&a);
        }
}

// All results of a loop are one stage: the steps are gone through once.
Test(nest_steps, results_of_one_loop_share_a_stage) {
    struct arena a = {0};
    struct problem *p = problem_from(&a, loops[0]);
    struct target t = test_target(32);
    struct kernel k;
    lower_default(&a, p, &t, &k);
    cr_assert_eq(k.n_stages, 2, "%s", kernel_print(&a, &k));
    cr_assert_eq(k.stages[1]->n_values, 3);
    cr_assert_str_eq(k.stages[1]->family, "nest");
    arena_reset(&a);
}

Test(nest_steps, says_what_has_no_kernel) {
    struct arena a = {0};
    struct error err = {0};
    struct problem *p =
        problem_from(&a, "problem p\nin x : f32[3, 4]\nout y : f32[4]\n"
                         "for t in 3 with h : f32[4] = 0:\n    h = cumsum(h + x[t])\ny = h\n");
    cr_assert_not(support_problem(p, &err));
    cr_assert_str_eq(
        err.text, "problem p: 'h.next' is a cumsum in a loop, and no kernel is made of that yet");
    p = problem_from(&a,
                     "problem p\nin x : f32[3, 4]\nout y : f32[4]\nout z : f32[4]\n"
                     "for t in 3 with h : f32[4] = 0:\n    h = cumsum(h + x[t])\n"
                     "for t in 3 with g : f32[4] = 0:\n    g = cumsum(g - x[t])\ny = h\nz = g\n");
    cr_assert_not(support_problem(p, &err));
    cr_assert(strstr(err.text, "'h.next' is") && strstr(err.text, "; 'g.next' is"), "%s", err.text);
    arena_reset(&a);
}
