// A problem cut down to a few elements of one output: the parts of the inputs that these depend on,
// and a graph over those parts alone, as a problem of its own. So a large result can be verified at
// places that nobody knows before, in less time than it took to compute.
//
// A part is a box: a range along each axis. Boxes go from the output back to the inputs, each
// operation saying which box of its arguments a box of its result takes; where two users want
// different boxes of a value, the smallest box around both is computed, and each takes its slice.
// What depends on data (scatter, ragged products, loops) is computed whole, or for the rows alone
// that are asked for, where rows are independent.
#pragma once

#include "ir/problem.h"

struct arena;

struct box {
    int64_t first[RANK_MAX], size[RANK_MAX];
};

struct cut {
    struct problem problem;        // one output, as large as `box`
    struct box box;                // what is computed: as asked for, or more where that comes free
    int input[INPUTS_MAX];         // for each of its inputs: which of the whole problem's
    struct box boxes[INPUTS_MAX];  // and which part of that
};

// Elements that are computed for a box of an output, ten multiply-adds of a product counted as one:
// what it costs to interpret the cut, about.
double cut_work(const struct problem *p, int output, const struct box *box);

// The cut itself. It lives in the arena and shares details with the problem.
struct cut *cut_problem(struct arena *a, const struct problem *p, int output,
                        const struct box *box);

// Everything.
struct box box_whole(const struct shape *s);
int64_t box_count(const struct box *b, int rank);
// Which of all elements element i of the box is.
int64_t box_place(const struct box *b, const struct shape *s, int64_t i);

// The elements of a box, out of all, one after the other, as the type stores them.
void box_gather(const struct box *b, const struct shape *s, enum dtype type, const void *all,
                void *out);
