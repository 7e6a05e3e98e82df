// Recurrences: what they compute, in which precision, and what is no recurrence.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "ir/recurrence.h"
#include "ir/relations.h"
#include "ir/work.h"
#include "parsed.h"

static struct interpret_result interpreted(const char *text, const void *x) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct interpret_data data = {.inputs = {x}};
    struct interpret_result r;
    interpret(p, &data, &r);
    arena_reset(&a);
    return r;
}

Test(recurrence, a_step_sees_the_state_before_it) {
    static const float x[3] = {1, 2, 3};
    struct interpret_result r = interpreted("problem p\n"
                                            "in x : f32[3]\n"
                                            "out y : f32[3]\n"
                                            "out z : f32[3]\n"
                                            "out l : f32\n"
                                            "for t in 3 with h = 10:\n"
                                            "    z[t] = h\n"
                                            "    h = 2 * h + x[t]\n"
                                            "    y[t] = h\n"
                                            "l = h\n",
                                            x);
    static const double after[3] = {21, 44, 91}, before[3] = {10, 21, 44};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(r.value[0][i], after[i]);
        cr_assert_eq(r.value[1][i], before[i]);
        cr_assert_eq(r.spread[0][i], 0);
    }
    cr_assert_eq(r.value[2][0], 91);
    interpret_reset(&r);
}

Test(recurrence, backward_begins_at_the_last_position) {
    static const float x[3] = {1, 2, 3};
    struct interpret_result r = interpreted("problem p\n"
                                            "in x : f32[3]\n"
                                            "out y : f32[3]\n"
                                            "out l : f32\n"
                                            "for t in reversed(3) with h = 0:\n"
                                            "    h = 2 * h + x[t]\n"
                                            "    y[t] = h\n"
                                            "l = h\n",
                                            x);
    static const double want[3] = {17, 8, 3};
    for (int i = 0; i < 3; i++)
        cr_assert_eq(r.value[0][i], want[i]);
    cr_assert_eq(r.value[1][0], 17);
    interpret_reset(&r);
}

// h = h / 3 in f32: the honest reading rounds at every step, the truth does not, and the roundings
// of earlier steps shrink as the state does.
Test(recurrence, every_step_rounds_and_carries_what_was_rounded) {
    static const float x[1] = {1};
    struct interpret_result r = interpreted("problem p\n"
                                            "in x : f32[1]\n"
                                            "out y : f32[1]\n"
                                            "for t in 5 with h = x:\n"
                                            "    h = h / 3\n"
                                            "y = h\n",
                                            x);
    float honest = 1;
    for (int i = 0; i < 5; i++)
        honest = honest / 3;
    cr_assert_float_eq(r.value[0][0], pow(3, -5), 1e-18);
    cr_assert_eq(r.honest[0][0], honest);
    double unit = 0x1p-24 / sqrt(3) * pow(3, -5);
    cr_assert_float_eq(r.spread[0][0], unit * sqrt(5), 0.01 * unit);
    interpret_reset(&r);
}

Test(recurrence, a_narrow_state_is_rounded_to_its_type) {
    static const float x[1] = {1};
    struct interpret_result r = interpreted("problem p\n"
                                            "in x : f32[1]\n"
                                            "out y : f32\n"
                                            "for t in 4 with h : f16 = 2048:\n"
                                            "    h = h + x[0]\n"
                                            "y = h\n",
                                            x);
    cr_assert_eq(r.value[0][0], 2052);
    cr_assert_eq(r.honest[0][0], 2048);  // 2049 rounds to even, again and again
    cr_assert(r.spread[0][0] > 0.5);
    interpret_reset(&r);
}

Test(recurrence, an_index_outside_is_a_fault_in_a_loop_too) {
    static const int32_t x[2] = {0, 7};
    struct interpret_result r = interpreted("problem p\n"
                                            "in x : i32[2] ~ index(9)\n"
                                            "out y : f32[3]\n"
                                            "for t in 2 with h : f32[3] = 1:\n"
                                            "    h = h + take(h, x[t])\n"
                                            "y = h\n",
                                            x);
    cr_assert(strstr(r.fault, "index 7"), "%s", r.fault);
    interpret_reset(&r);
}

#define RNN                                   \
    "problem p\n"                             \
    "dim B = 2, T = 4, D = 3, H = 5\n"        \
    "in x : f32[B, T, D]\n"                   \
    "in w : f32[H, D]\n"                      \
    "in u : f32[H, H]\n"                      \
    "out y : f32[B, T, H]\n"                  \
    "out l : f32[B, H]\n"                     \
    "for t in T with h : f32[B, H] = 0:\n"    \
    "    h = tanh(x[:, t] @ w.T + h @ u.T)\n" \
    "    y[:, t] = h\n"                       \
    "l = h\n"

Test(recurrence, the_work_of_all_steps_counts_once) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, RNN);
    double flops = 0;
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        flops += work_flops(&p->graph, &p->graph.nodes[i]);
    // Two products, an addition and a tanh in each of four steps.
    cr_assert_eq(flops, 4 * (2. * 2 * 3 * 5 + 2. * 2 * 5 * 5 + 2 * 2 * 5));
    cr_assert_geq(relations_longest_sum(p), 4 * 5);
    arena_reset(&a);
}

// ---- the rules

static void breaks(void (*damage)(struct graph *g, struct node *n, struct recurrence *r,
                                  struct problem *body),
                   const char *rule) {
    struct arena a = {0};
    struct error err = {0};
    struct problem *p = parsed(&a, RNN);
    struct node *n = &p->graph.nodes[p->outputs[0].node];
    struct node_detail *d = arena_new(&a, struct node_detail);
    struct recurrence *r = arena_new(&a, struct recurrence);
    struct problem *body = arena_new(&a, struct problem);
    *d = *n->detail;
    *r = *d->recurrence;
    *body = *r->body;
    d->recurrence = r;
    r->body = body;
    n->detail = d;
    cr_assert(graph_verify(&p->graph, &err), "%s", err.text);
    damage(&p->graph, n, r, body);
    cr_assert_not(graph_verify(&p->graph, &err), "%s", rule);
    cr_assert(strstr(err.text, rule), "got '%s', wanted '%s'", err.text, rule);
    arena_reset(&a);
}

#define DAMAGE(name, code)                                                  \
    static void name(struct graph *g, struct node *n, struct recurrence *r, \
                     struct problem *body) {                                \
        (void)g, (void)n, (void)r, (void)body;                              \
        code;                                                               \
    }

#define DETAIL ((struct node_detail *)n->detail)

DAMAGE(no_steps, r->n_steps = 0)
DAMAGE(no_state, r->n_states = 0)
DAMAGE(more_arguments, n->n_args--)
DAMAGE(no_such_output, DETAIL->result = 2)
DAMAGE(other_count, r->n_steps = 5)
DAMAGE(other_axis, r->axis[1] = 2)
DAMAGE(other_value, n->arg[2] = n->arg[3])
DAMAGE(other_place, DETAIL->axis = 0)
DAMAGE(no_place, DETAIL->axis = 3)
DAMAGE(gives_input, body->outputs[1].node = body->inputs[0].node)
DAMAGE(gives_twice, body->outputs[1].node = body->outputs[0].node)
DAMAGE(other_state, body->inputs[0].node = body->inputs[2].node)
DAMAGE(bad_body, body->graph.nodes[body->outputs[0].node].arg[0] = 1000)

Test(recurrence, verify_finds_what_is_none) {
    breaks(no_steps, "no steps or no state");
    breaks(no_state, "no steps or no state");
    breaks(more_arguments, "takes other arguments");
    breaks(no_such_output, "no such output");
    breaks(other_count, "as many positions as there are steps");
    breaks(other_axis, "as many positions as there are steps");
    breaks(other_value, "not what the body takes");
    breaks(other_place, "not what the body gives");
    breaks(no_place, "joined along no axis");
    breaks(gives_input, "gives an input back");
    breaks(gives_twice, "one value twice");
    breaks(other_state, "changes its type");
    breaks(bad_body, "body breaks a rule");
}

// ---- products that wait for no state

// Each has a product that is computed before the loop, or would be but for S, a state that is 0.
static const char *const moved[] = {
    // Steps in each place, and the weights' own.
    "in x : f32[3, 4, 20]\nin w : f32[20, 5]\nout y : f32[3, 4, 5]\n"
    "for t in 3 with h : f32[4, 5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh((x[t] + S) @ w + h)\n    y[t] = h\n",
    "in x : f32[4, 3, 20]\nin w : f32[5, 20]\nin b : f32[5]\nout y : f32[4, 5, 3]\n"
    "for t in reversed(3) with h : f32[4, 5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh(linear(x[:, t] + S, w, b) + h)\n    y[:, :, t] = h\n",
    "in x : f32[4, 20, 3]\nin w : f32[20, 5]\nout y : f32[3, 4, 5]\n"
    "for t in 3 with h : f32[4, 5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh((x[:, :, t] + S) @ w + h)\n    y[t] = h\n",
    "in x : f32[2, 4, 3, 20]\nin w : f32[20, 5]\nout y : f32[3, 2, 4, 5]\n"
    "for t in 3 with h : f32[2, 4, 5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh((x[:, :, t] + S) @ w + h)\n    y[t] = h\n",
    "in x : f32[20, 3, 5]\nin w : f32[4, 20]\nout y : f32[3, 4, 5]\n"
    "for t in 3 with h : f32[4, 5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh(w @ (x[:, t] + S) + h)\n    y[t] = h\n",
    // Transposed, and both sides of the step.
    "in x : f32[3, 20, 4]\nin z : f32[5, 3, 20]\nout y : f32[3, 4, 5]\n"
    "for t in 3 with h : f32[4, 5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh((x[t].T + S) @ z[:, t].T + h)\n    y[t] = h\n",
    // A vector as a row, a scalar of each step, and a sum of two that have steps elsewhere.
    "in x : f32[20, 3]\nin d : f32[3]\nin z : f32[3, 20]\nin w : f32[20, 5]\nout y : f32[3, 5]\n"
    "for t in 3 with h : f32[5] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    g = (x[:, t] * d[t] + tanh(z[t]) + S)[None, :] @ w\n    h = tanh(g[0] + h)\n"
    "    y[t] = h\n",
    // One after the other, both read in the body; the product is kept, too.
    "in x : f32[3, 4, 20]\nin w : f32[20, 17]\nin v : f32[17, 5]\nout y : f32[3, 4, 5]\n"
    "out k : f32[3, 4, 17]\n"
    "for t in 3 with h : f32[4, 5] = 0, s : f32 = 0:\n    s = s * 2\n    g = (x[t] + S) @ w\n"
    "    h = tanh(gelu(g) @ v + h) + sum(g)\n    k[t] = g\n    y[t] = h\n",
    // No step at all.
    "in a : f32[4, 20]\nin w : f32[20, 4]\nin x : f32[3, 2, 4]\nout y : f32[3, 2, 4]\n"
    "for t in 3 with h : f32[2, 4] = 0, s : f32 = 0:\n    s = s * 2\n"
    "    h = tanh(h @ ((a + S) @ w) + x[t])\n    y[t] = h\n",
};

// The case with S in the place of S.
static const char *with_state(struct arena *a, const char *text, const char *s) {
    const char *at = strstr(text, " + S");
    return arena_printf(a, "problem p\n%.*s%s%s", (int)(at - text), text, s, at + 4);
}

static int products_of_body(const struct problem *p) {
    int n = 0;
    const struct recurrence *r = NULL;
    for (node_id i = 0; i < p->graph.n_nodes && !r; i++)
        r = recurrence_of(&p->graph.nodes[i]);
    for (node_id i = 0; i < r->body->graph.n_nodes; i++)
        n += r->body->graph.nodes[i].op == OP_MATMUL;
    return n;
}

static struct interpret_result drawn(struct arena *a, const struct problem *p) {
    struct interpret_data data = {{NULL}};
    struct interpret_result r;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct shape *s = &p->graph.nodes[p->inputs[i].node].shape;
        void *x = arena_array(a, float, shape_count(s));
        inputs_fill(p, i, 5, x);
        data.inputs[i] = x;
    }
    interpret(p, &data, &r);
    return r;
}

Test(recurrence, products_that_wait_for_no_state_are_computed_before_the_loop) {
    for (size_t c = 0; c < sizeof moved / sizeof *moved; c++) {
        struct arena a = {0};
        const struct problem *before = parsed(&a, with_state(&a, moved[c], ""));
        const struct problem *inside = parsed(&a, with_state(&a, moved[c], " + s"));
        cr_assert_eq(products_of_body(before), c == 8 ? 1 : 0, "%s", moved[c]);
        cr_assert_gt(products_of_body(inside), products_of_body(before), "%s", moved[c]);
        struct interpret_result x = drawn(&a, before), y = drawn(&a, inside);
        for (int o = 0; o < x.n_outputs; o++)
            for (int64_t i = 0; i < x.count[o]; i++)
                cr_assert_float_eq(x.value[o][i], y.value[o][i], 1e-12, "%s\n%d %lld: %g %g",
                                   moved[c], o, (long long)i, x.value[o][i], y.value[o][i]);
        interpret_reset(&x);
        interpret_reset(&y);
        arena_reset(&a);
    }
}

Test(recurrence, a_product_of_few_terms_stays_in_its_loop) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\nin x : f32[3, 4, 15]\nin w : f32[15, 5]\n"
                                         "out y : f32[3, 4, 5]\n"
                                         "for t in 3 with h : f32[4, 5] = 0:\n"
                                         "    h = tanh(x[t] @ w + h)\n    y[t] = h\n");
    cr_assert_eq(products_of_body(p), 1);
    arena_reset(&a);
}
