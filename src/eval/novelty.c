// Which elements change and which rows that reaches, where rows are independent; those rows, and
// some by chance, are compared with the interpreter.
#include "eval/novelty.h"

#include <math.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/interpret.h"

enum { ROWS_BY_CHANCE = 4 };

void novelty_draw(const struct oracle *o, uint64_t salt, struct novelty *n) {
    for (int i = 0; i < o->problem->n_inputs; i++)
        n->n[i] = oracle_patches(o, salt, i, n->patches[i]);
}

static bool can_nudge(const struct problem *p, int input) {
    const struct problem_input *in = &p->inputs[input];
    bool is_real = in->distribution.kind == DISTRIBUTION_NORMAL ||
                   in->distribution.kind == DISTRIBUTION_UNIFORM;
    // In fewer digits so little changes hardly any element.
    return is_real && dtype_infos[p->graph.nodes[in->node].dtype].digits >= 8 &&
           dtype_is_float(p->graph.nodes[in->node].dtype);
}

bool novelty_can_nudge(const struct problem *p) {
    bool can = false;
    for (int i = 0; i < p->n_inputs; i++) {
        if (p->inputs[i].maker || p->inputs[i].promise != PROMISE_NONE)
            return false;  // they may hang on the others
        can = can || can_nudge(p, i);
    }
    return can;
}

// -1/64 .. 1/64
static float next_share(uint64_t *x) {
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int32_t)(*x >> 32)) * 0x1p-37F;
}

void novelty_nudge(const struct problem *p, int input, uint64_t seed, void *data) {
    const struct problem_input *in = &p->inputs[input];
    const struct node *n = &p->graph.nodes[in->node];
    int64_t count = can_nudge(p, input) ? shape_count(&n->shape) : 0;
    bool has_range = in->distribution.kind == DISTRIBUTION_UNIFORM;
    double from = has_range ? in->distribution.a : -INFINITY;
    double to = has_range ? in->distribution.b : INFINITY;
    uint64_t x = seed + (uint64_t)input;
    float *values = data, low = (float)from, high = (float)to;
    if (n->dtype != DTYPE_F32) {
        for (int64_t i = 0; i < count; i++) {
            double v = dtype_get(n->dtype, data, i), share = (double)next_share(&x);
            double nudged = dtype_round(n->dtype, v + v * share);
            if (nudged >= from && nudged < to && isfinite(nudged))
                dtype_put(n->dtype, data, i, nudged);
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float nudged = values[i] + values[i] * next_share(&x);
        values[i] = nudged >= low && nudged < high ? nudged : values[i];
    }
}

// Into its place; one that is there already counts once.
static int add_row(int64_t rows[NOVEL_ROWS], int n, int64_t row) {
    int at = n;
    for (int i = 0; i < n; i++)
        if (rows[i] == row)
            return n;
    for (; at > 0 && rows[at - 1] > row; at--)
        rows[at] = rows[at - 1];
    rows[at] = row;
    return n + 1;
}

int novelty_rows(const struct problem *p, const struct novelty *n, struct rng *rng,
                 int64_t rows[NOVEL_ROWS]) {
    const struct shape *shape = &p->graph.nodes[p->outputs[0].node].shape;
    int n_rows = 0;
    if (shape_count(shape) == 0 || !interpret_rows_independent(p))
        return 0;
    uint64_t n_all = (uint64_t)shape->size[0];
    for (int k = 0; !n && k < ROWS_BY_CHANCE - 1; k++)
        n_rows = add_row(rows, n_rows, (int64_t)rng_below(rng, n_all));
    // The first change of each input, then the second ones.
    for (int k = 0; n && k < PATCHES; k++)
        for (int i = 0; i < p->n_inputs && n_rows < NOVEL_ROWS - 1; i++) {
            int64_t row = k < n->n[i] ? interpret_row_of(p, i, n->patches[i][k].index) : -1;
            if (row >= 0)
                n_rows = add_row(rows, n_rows, row);
        }
    return add_row(rows, n_rows, (int64_t)rng_below(rng, n_all));
}

void novelty_compare(struct arena *a, const struct oracle *o, const struct novel_data *d,
                     struct novel_look *look) {
    struct str words = {0};
    *look = (struct novel_look){.output = -1, .elements = ""};
    struct oracle_row r = {.inputs = d->inputs, .outputs = d->outputs, .row = -1, .most = d->most};
    for (int i = 0; i < d->n_rows && look->output < 0; i++) {
        r.row = d->rows[i];
        look->output = oracle_compare_row(o, &r, &look->comparison, &words);
    }
    if (!d->n_rows)
        look->output = oracle_compare_row(o, &r, &look->comparison, &words);
    look->elements = str_take(a, &words);
}
