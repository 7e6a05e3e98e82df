// Where an element comes from along one axis, as an expression of the point that is computed.
//
// A point is an index for every axis of a space (space.h). Slices, flips, reshapes, windows and
// gathers all become such expressions, in one normal form: a sum of scaled parts and a number,
// where a part is an axis, a quotient, a rest, a value brought into bounds, or an integer that
// the problem itself computes (a gather). Every expression knows the interval of its values, so
// guards that can never fail are never made, and a reshape that is taken back again
// ((i / 8) * 8 + i % 8) disappears.
//
// Indices are immutable and live in an arena; quotients and rests are of what is never negative.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/graph.h"

struct arena;
struct axis_map;

enum index_kind {
    INDEX_AXIS,       // of the space
    INDEX_SUM,        // number + scale * part ...; no parts: a constant
    INDEX_QUOTIENT,   // part / number
    INDEX_REMAINDER,  // part % number
    INDEX_WITHIN,     // part, or the nearest of [low, high]
    INDEX_VALUE,      // the value of `node` where `map` puts it, brought into [low, high]
};

struct index_term {
    int64_t scale;
    const struct index *part;  // never a sum
};

struct index {
    enum index_kind kind;
    int64_t low, high;  // every value lies in [low, high]
    int axis;
    int64_t number;
    const struct index *part;
    int n_terms;
    const struct index_term *term;
    node_id node;
    const struct axis_map *map;
};

const struct index *index_number(struct arena *a, int64_t value);
const struct index *index_axis(struct arena *a, int axis, int64_t size);
const struct index *index_add(struct arena *a, const struct index *x, const struct index *y);
const struct index *index_scale(struct arena *a, const struct index *x, int64_t by);
const struct index *index_shift(struct arena *a, const struct index *x, int64_t by);
// requires: x is never negative, by > 0.
const struct index *index_quotient(struct arena *a, const struct index *x, int64_t by);
const struct index *index_remainder(struct arena *a, const struct index *x, int64_t by);
const struct index *index_within(struct arena *a, const struct index *x, int64_t low, int64_t high);
const struct index *index_value(struct arena *a, node_id node, const struct axis_map *map,
                                int64_t high);

bool index_same(const struct index *x, const struct index *y);
// True and the value when it has only one.
bool index_constant(const struct index *x, int64_t *value);

// Does it depend on the axis at all; and is it affine in it (a multiple and a rest that does not
// depend on it)?
bool index_uses(const struct index *x, int axis);
bool index_is_affine(const struct index *x, int axis);
// The axis' factor where it is affine in it.
int64_t index_factor(const struct index *x, int axis);
