#include "eval/novelty.h"

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/interpret.h"

void novelty_draw(const struct oracle *o, uint64_t salt, struct novelty *n) {
    for (int i = 0; i < o->problem->n_inputs; i++)
        n->n[i] = oracle_patches(o, salt, i, n->patches[i]);
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
    // The first change of each input, then the second ones.
    for (int k = 0; k < PATCHES; k++)
        for (int i = 0; i < p->n_inputs && n_rows < NOVEL_ROWS - 1; i++) {
            int64_t row = k < n->n[i] ? interpret_row_of(p, i, n->patches[i][k].index) : -1;
            if (row >= 0)
                n_rows = add_row(rows, n_rows, row);
        }
    return add_row(rows, n_rows, (int64_t)rng_below(rng, (uint64_t)shape->size[0]));
}

void novelty_compare(struct arena *a, const struct oracle *o, const struct novel_data *d,
                     struct novel_look *look) {
    struct str words = {0};
    *look = (struct novel_look){.output = -1, .elements = ""};
    struct oracle_row r = {.inputs = d->inputs, .outputs = d->outputs, .row = -1};
    for (int i = 0; i < d->n_rows && look->output < 0; i++) {
        r.row = d->rows[i];
        look->output = oracle_compare_row(o, &r, &look->comparison, &words);
    }
    if (!d->n_rows)
        look->output = oracle_compare_row(o, &r, &look->comparison, &words);
    look->elements = str_take(a, &words);
}
