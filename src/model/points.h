// Points of traffic: what single sizes took, beside the line through all of them.
//
// The line (fixed + bytes / rate) says it well over decades and less well at one size: how much of
// what was written still lies in the cache when the clock stops differs from size to size, and near
// the size of a card's L2 a kernel can be some percent faster than the line. Points are kept as
// measured, and only what lies below the line counts: reach promises no size more time than that
// very traffic took here. Not for reads: those have to arrive before the clock stops.
#pragma once

#include <jansson.h>

struct json_reader;

enum { POINTS_MAX = 8 };

struct ceiling_point {
    double bytes, seconds;
};

struct ceiling_points {
    struct ceiling_point point[POINTS_MAX];  // by rising bytes
    int n;                                   // 0: none were kept
};

// Seconds by which traffic of `bytes` was measured below fixed_s + bytes / bytes_per_s, 0 where it
// was not. Between two points in proportion, below the first falling to nothing, beyond the last
// as at the last: a cache holds no more for longer.
double points_below_line(const struct ceiling_points *p, double fixed_s, double bytes_per_s,
                         double bytes);

json_t *points_to_json(const struct ceiling_points *p);
// `json` may be NULL: older measurements kept none.
void points_from_json(struct json_reader *r, const json_t *json, struct ceiling_points *p);
