// argmax and argmin of a row that lies in memory as it is, by vectors.
#pragma once

#include "family/point.h"

struct nest_best {
    node_id arg;
    const struct axis_map *map;  // of the argument
    int group;                   // that the row lies along
    int64_t length;
    bool largest;
    enum loop_dtype position;  // LOOP_I32, LOOP_I64
};

// The position of the first best element; NULL: not by vectors.
const struct loop_expr *nest_best_by_vectors(struct scope *s, const struct nest_best *b);
