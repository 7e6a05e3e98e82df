// The terms of an anchor: what a reduction, a product or a window adds up (or takes the largest
// of) for one of its elements.
//
// An anchor's element is found by walking along axes of its own, which the space has after those
// of the values: the reduced ones, the inner one of a product, channels and taps of a window. At
// each step the arguments are read where index expressions say, if the step has a term at all: a
// window's tap may lie in the padding, or between the elements of a transposed convolution.
// Families that take an anchor get all they need from here and differ in how they walk.
#pragma once

#include "family/access.h"
#include "loop/loop.h"

enum { TERM_AXES_MAX = RANK_MAX, TERM_GUARDS_MAX = 2 * RANK_MAX };

// A condition more than an interval: `index` is a multiple of `of`. Such taps of a transposed
// convolution are the only ones that meet an element.
struct multiple {
    const struct index *index;
    int64_t of;
};

struct terms {
    struct axis_map map[ARGS_MAX];        // of each argument
    struct guard guard[TERM_GUARDS_MAX];  // else there is no term
    int n_guards;
    struct multiple multiple[RANK_MAX];
    int n_multiples;
};

// Is it an anchor whose elements are made of terms? Scans, orders and scatters are not.
bool terms_has(const struct node *n);
// Terms are products of the first two arguments, or the first itself.
bool terms_are_products(const struct node *n);

// Sizes of the axes that are walked, outermost first; returns how many.
int terms_axes(const struct region *r, node_id n, struct loop_size *size);

// What is read at a step: the anchor's element is at `map`, its own axes are `first` and those
// after it in the space. For groups of rows (ragged products) the first of them is the group.
void terms_find(const struct region *r, node_id n, const struct axis_map *map, int first,
                struct terms *t);
// The same where all taps of windows along this axis of the space are known to meet an element, so
// that nothing is asked there; -1: along none.
void terms_find_inside(const struct region *r, node_id n, const struct axis_map *map, int first,
                       int inside, struct terms *t);
