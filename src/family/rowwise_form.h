// The form of a region whose rows are independent: what a row is, and the walks over it.
//
// Reductions have levels: one of level 2 needs a result of level 1. A row is walked once
// per level and once more for the values of full shape.
#pragma once

#include "family/family.h"

struct rowwise_form {
    const struct region *region;
    const struct shape *full;  // rows and column
    int column;                // the axis that is reduced: the last
    const char *mistake;       // while it is being found out
    node_id culprit;
};

bool rowwise_find_form(const struct region *r, struct rowwise_form *f, struct objection *why);

// How a value of the stage lies in the rows: full shape, or one element per row.
bool rowwise_value_map(const struct rowwise_form *f, node_id n, struct axis_map *map);
bool rowwise_is_full(const struct rowwise_form *f, node_id n);

struct rowwise_walks {
    const struct rowwise_form *form;
    int n_levels;
    int *level;     // per node: how many reductions deep
    int *first;     // per node of full shape: the walk that computes or reads it first, from 1
    int *last;      // and the last one that needs it; 0: none
    bool *is_kept;  // per node: an earlier walk's value that a later one needs
    int now;
};

void rowwise_plan_walks(struct arena *a, const struct rowwise_form *f, struct rowwise_walks *w);

// The space: the rows (grouped where they can be) and the column.
void rowwise_build_space(struct lowering *l, const struct rowwise_form *f);
