// A problem cut down to a box computes that box of the whole.
#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "ir/cut.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "lowering.h"
#include "parsed.h"
#include "random_any.h"

enum { CASES = 600, BOXES = 4 };

struct whole {
    const struct problem *problem;
    void *inputs[INPUTS_MAX];
    struct interpret_result result;
};

static void open_whole(struct whole *w, const struct problem *p, uint64_t seed) {
    struct interpret_data data = {0};
    w->problem = p;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        w->inputs[i] = calloc((size_t)dtype_size(n->dtype, shape_count(&n->shape)) + 1, 1);
        inputs_fill(p, i, seed, w->inputs[i]);
        data.inputs[i] = w->inputs[i];
    }
    interpret(p, &data, &w->result);
}

static void close_whole(struct whole *w) {
    for (int i = 0; i < w->problem->n_inputs; i++)
        free(w->inputs[i]);
    interpret_reset(&w->result);
}

static struct box random_box(struct rng *r, const struct shape *s, int most) {
    struct box b = {0};
    for (int i = 0; i < s->rank; i++) {
        int64_t size = 1 + (int64_t)rng_below(r, (uint64_t)(s->size[i] < most ? s->size[i] : most));
        b.size[i] = size;
        b.first[i] = (int64_t)rng_below(r, (uint64_t)(s->size[i] - size + 1));
    }
    return b;
}

static bool is_near(double a, double b, double spread) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fabs(a) + 0.01 * spread;
}

// How many elements were compared.
static int64_t check_box(const struct whole *w, int output, const struct box *asked,
                         const char *text) {
    struct arena a = {0};
    const struct problem *p = w->problem;
    const struct shape *s = &p->graph.nodes[p->outputs[output].node].shape;
    struct cut *c = cut_problem(&a, p, output, asked);
    const struct box *box = &c->box;
    struct interpret_data data = {0};
    struct interpret_result part;
    int64_t n_asked = box_count(asked, s->rank);
    for (int i = 0; i < c->problem.n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[c->input[i]].node];
        int64_t count = box_count(&c->boxes[i], n->shape.rank);
        void *values = arena_alloc(&a, (size_t)dtype_size(n->dtype, count) + 1);
        box_gather(&c->boxes[i], &n->shape, n->dtype, w->inputs[c->input[i]], values);
        data.inputs[i] = values;
    }
    interpret(&c->problem, &data, &part);
    cr_assert_geq(part.count[0], n_asked, "%s", text);
    cr_assert_eq(part.count[0], box_count(box, s->rank), "%s", text);
    for (int64_t i = 0; i < part.count[0]; i++) {
        int64_t at = box_place(box, s, i);
        double want = w->result.value[output][at], spread = w->result.spread[output][at];
        cr_assert(is_near(want, part.value[0][i], isnan(spread) ? 0 : spread),
                  "%s\nelement %lld of output %d: %.17g in the cut, %.17g in the whole", text,
                  (long long)at, output, part.value[0][i], want);
    }
    int64_t n = part.count[0];
    interpret_reset(&part);
    arena_reset(&a);
    return n;
}

static int64_t check_problem(struct rng *r, const struct problem *p, const char *text) {
    struct whole w;
    int64_t n = 0;
    open_whole(&w, p, rng_next(r));
    for (int i = 0; i < BOXES && !w.result.fault[0]; i++) {
        int output = (int)rng_below(r, (uint64_t)p->n_outputs);
        struct box b = random_box(r, &p->graph.nodes[p->outputs[output].node].shape, i ? 3 : 1);
        n += check_box(&w, output, &b, text);
    }
    close_whole(&w);
    return n;
}

Test(cut, random_problems_of_all_operations_and_types, .timeout = 300) {
    struct rng r;
    int64_t n = 0;
    rng_init(&r, 5);
    for (int i = 0; i < CASES; i++) {
        struct arena a = {0};
        const char *text = random_any(&a, &r);
        n += check_problem(&r, problem_from(&a, text), text);
        arena_reset(&a);
    }
    cr_assert_gt(n, CASES * BOXES / 2);
}

static double work_of(const char *text, const struct box *b) {
    struct arena a = {0};
    double work = cut_work(parsed(&a, text), 0, b);
    arena_reset(&a);
    return work;
}

Test(cut, takes_no_more_than_an_element_needs) {
    struct box one = {.first = {3, 5, 1, 2}, .size = {1, 1, 1, 1}};
    cr_assert_lt(work_of("problem p\ndim N = 512\nin a : f32[N, N]\nin b : f32[N, N]\n"
                         "out y : f32[N, N]\ny = a.T @ relu(b) + 1\n",
                         &one),
                 8 * 512);
    cr_assert_lt(work_of("problem p\nin x : f32[512, 512]\nout y : f32[512, 512]\n"
                         "y = softmax(x)\n",
                         &one),
                 12 * 512);
    cr_assert_lt(work_of("problem p\nin x : f32[8, 32, 64, 64]\nin w : f32[64, 32, 3, 3]\n"
                         "out y : f32[8, 64, 64, 64]\ny = conv2d(x, w, padding=1)\n",
                         &one),
                 8 * 32 * 9);
    cr_assert_lt(work_of("problem p\nin x : f32[64, 32, 16]\nout y : f32[2048, 16]\n"
                         "y = exp(reshape(x, (2048, 16)))\n",
                         &one),
                 8);
}

// A loop over time for each row of a batch: one row of it.
Test(cut, loops_are_cut_to_the_rows_that_are_asked_for) {
    static const char text[] = "problem p\ndim B = 64, T = 16, H = 8\nin x : f32[B, T, H]\n"
                               "in h0 : f32[B, H]\nin w : f32[H, H]\nout y : f32[B, H]\n"
                               "for t in T with h = h0:\n    h = tanh(h @ w + x[:, t])\ny = h\n";
    struct arena a = {0};
    const struct problem *p = parsed(&a, text);
    struct box all = {.size = {64, 8}}, one = {.first = {5, 2}, .size = {1, 1}};
    cr_assert_lt(cut_work(p, 0, &one), cut_work(p, 0, &all) / 32);
    struct rng r;
    rng_init(&r, 1);
    cr_assert_gt(check_problem(&r, p, text), 3);
    arena_reset(&a);
}

Test(cut, boxes_of_packed_elements_are_gathered) {
    uint8_t all[8], out[2] = {0};
    struct shape s = {.rank = 2, .size = {3, 5}};
    struct box b = {.first = {1, 2}, .size = {2, 2}};
    for (int i = 0; i < 15; i++)
        dtype_put(DTYPE_I4, all, i, i % 8);
    box_gather(&b, &s, DTYPE_I4, all, out);
    const int want[] = {7, 0, 4, 5};
    for (int i = 0; i < 4; i++)
        cr_assert_eq((int)dtype_get(DTYPE_I4, out, i), want[i]);
}
