// The form of a region around one product over groups of rows (ragged_matmul, ragged_outer): the
// groups are known only when it runs.
#pragma once

#include "family/emitter.h"

struct ragged_form {
    node_id anchor;
    node_id x, w, offsets;  // materialised; w: the matrices, or the second operand with rows
    bool is_outer;          // x.T @ w of the rows of each group; else x @ w by its rows
    int64_t rows, groups;   // in all
    int64_t in, out;        // columns of x, and of w
    bool has_pairs;         // results are computed and stored by pairs of columns
};

// Is it one product of materialised operands, whose result reaches the values by element?
bool ragged_find(struct form *form, struct objection *why);

// The space of results: every axis a group by itself.
void ragged_build_space(struct lowering *l, const struct ragged_form *f);
