// The form of a region whose rows are independent, and the walks over one row.
//
// Reductions have levels: one of level 2 needs a result of level 1. A row is walked once
// per level and once more for the values of full shape; that last walk is number
// n_levels + 1.
#pragma once

#include "family/emitter.h"

struct rows_walks {
    int n_levels;
    int *first;     // per node: the walk that computes or reads it first, from 1; 0: none
    int *last;      // per node: the last walk that needs it
    bool *is_kept;  // per node: an earlier walk's value that a later one needs
};

struct rows_form {
    const struct region *region;
    const struct shape *full;  // rows and column
    int column;                // the axis that is reduced: the last
    int64_t n_rows, n_columns;
    struct rows_walks walks;
};

bool rows_find(struct form *form, struct objection *why);

// How a value of the stage lies in the rows: full shape, or one element per row. False: neither.
bool rows_value_map(const struct rows_form *f, node_id n, struct axis_map *map);
bool rows_is_full(const struct rows_form *f, node_id n);
bool rows_any_full_value(const struct rows_form *f);

// The space: row axes grouped where they can be, the column alone.
void rows_build_space(struct lowering *l, const struct rows_form *f);
