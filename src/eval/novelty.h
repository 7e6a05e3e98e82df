// Data that exist for one call only: the declared ones with a few elements changed just before, or
// all of them a little, or everything drawn anew.
// What is made of them is checked row by row, since computing all of it would take longer than the
// call.
#pragma once

#include "eval/oracle_compare.h"

struct rng;

// A few elements of every input changed.
struct novelty {
    struct patch patches[INPUTS_MAX][PATCHES];
    int n[INPUTS_MAX];
};

// A call on them.
struct novel_call {
    const struct novelty *changes;  // NULL: everything has changed
    int slot;
    uint32_t poison;  // what the outputs held before
    int64_t most;     // elements of input of a problem that is computed as a whole, if need be
};

// Rows that are looked at; elements of input of a problem that can be computed as a whole each
// time.
enum { NOVEL_ROWS = 7, NOVEL_SMALL = 1 << 18 };

// What a look at some rows of the outputs has found.
struct novel_look {
    int output;                    // that is wrong, or -1
    struct comparison comparison;  // of that one
    const char *elements;          // its first wrong elements, a line each; "" when there is none
    int64_t n_unwritten;  // elements that hold the poison, of all; as far as that is looked at
};

void novelty_draw(const struct oracle *o, uint64_t salt, struct novelty *n);

// Change every element of an input's declared data by up to 1 part in 64, within its range: signs
// stay, and nearly all comparisons, so that a processor's memory of branches serves as before. Only
// of real numbers, of at least 8 digits, that have nothing to do with one another; is there such an
// input at all?
void novelty_nudge(const struct problem *p, int input, uint64_t seed, void *values);
bool novelty_can_nudge(const struct problem *p);

// Rows to look at: those that changes are in, as far as each is in one row, and one by chance
// (several where everything is new, `n` NULL), in rising order. How many; 0: rows depend on one
// another.
int novelty_rows(const struct problem *p, const struct novelty *n, struct rng *rng,
                 int64_t rows[NOVEL_ROWS]);

// Look at them by the host. `inputs` have been changed. Where rows depend on one another all of the
// outputs are looked at, of a problem that has at most `most` elements of input, else none.
struct novel_data {
    const void *inputs[INPUTS_MAX], *outputs[OUTPUTS_MAX];
    const int64_t *rows;
    int n_rows;
    int64_t most;
};
void novelty_compare(struct arena *a, const struct oracle *o, const struct novel_data *d,
                     struct novel_look *look);
