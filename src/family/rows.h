// The form of a region whose rows are independent, and the walks over one row.
//
// A row is what one set of reduced axes spans: the last axis (softmax), several (layer norm), or
// axes with kept ones between and behind them (batch norm). Reductions have levels: one of level 2
// needs a result of level 1. A row is walked once per level and once more for the values of full
// shape; that last walk is number n_levels + 1.
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
    const struct shape *full;  // rows and columns
    unsigned axes;             // of it that are reduced
    int n_kept_axes;           // and how many are not
    bool is_last;              // the last axis alone is reduced
    bool is_along;             // elements of a row are neighbours in memory, else those of rows
    struct axis_map map;       // of the full shape: kept axes come first in the space
    int column;                // the last axis that is reduced
    int64_t n_rows, n_columns;
    int64_t n_inner;  // elements of a row that lie side by side: those of its last group
    struct rows_walks walks;
};

bool rows_find(struct form *form, struct objection *why);

// Why an emitter for rows along the last axis alone does not take it: for `accepts`.
bool rows_accept_last(const struct form *f, const struct target *t, struct objection *why);
// The same for rows along any axes, the last among them.
bool rows_accept_along(const struct form *f, const struct target *t, struct objection *why);

// How a value of the stage lies in the rows: full shape, or one element per row. False: neither.
bool rows_value_map(const struct rows_form *f, node_id n, struct axis_map *map);
bool rows_is_full(const struct rows_form *f, node_id n);
bool rows_any_full_value(const struct rows_form *f);
// All that lies in memory as long as a row is of 16-bit floats: a rounding more of what is computed
// in f32 does not show.
bool rows_are_half(const struct rows_form *f);

// The space: kept axes, then reduced ones, grouped where they can be. Returns how many groups are
// kept.
int rows_build_space(struct lowering *l, const struct rows_form *f);

// Called as point_visit's for everything that a region reads or stores, in any walk.
void rows_visit(const struct rows_form *f, point_visit_fn fn, void *ctx);

// The walks, where only what `is_worth` is remembered from one to the next and all else computed
// again. NULL: whatever is elementwise is.
void rows_plan(const struct rows_form *f, struct arena *a, bool (*is_worth)(const struct node *n),
               struct rows_walks *w);
