// Ranges: what is known about index expressions without running anything.
//
// Every index variable carries the interval of its values, so the interval of an
// expression needs no context. Differences are taken on linear forms, so that
// `block * 4 + 4 - block * 4` is known to be 4 whatever `block` is.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop_expr;

struct range {
    int64_t low, high;
};

// Interval that holds every value of an index expression; ends that overflow are cut off.
struct range range_of(const struct loop_expr *e);

// True and the value when the expression has only one.
bool range_constant(const struct loop_expr *e, int64_t *value);

// True and x - y when that is the same for all values of the variables.
bool range_difference(const struct loop_expr *x, const struct loop_expr *y, int64_t *difference);

// Never y < x.
bool range_at_most(const struct loop_expr *x, const struct loop_expr *y);

// Same structure.
bool range_same(const struct loop_expr *x, const struct loop_expr *y);
