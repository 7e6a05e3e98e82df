// What only structural operations have: where they work along, windows, offsets. It lives in the
// graph's arena and never changes.
#pragma once

#include "ir/graph.h"

struct str;
struct recurrence;  // ir/recurrence.h

enum { SPATIAL_MAX = 3 };

// Windows over the last `n_axes` axes. Element j of window o reads position
// o stride + j dilation - before. For a transposed convolution it is the other way round: element
// j of what x[i] gives lands on i stride + j dilation - before.
struct window {
    int n_axes;
    int64_t size[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX], before[SPATIAL_MAX];
    int64_t groups;  // convolutions
};

struct node_detail {
    int axis;                                 // concat, take, scatter_add, scans, topk, recur
    bool reverse, exclusive;                  // scans; topk: smallest first
    int64_t start[RANK_MAX], step[RANK_MAX];  // slice; pad: elements before and after
    double value;                             // pad
    struct window window;                     // convolutions and pools
    const struct recurrence *recurrence;      // recur: shared by the nodes of one loop
    int result;                               // recur: which of the body's outputs this is
};

// The rule of its operation that a structural node breaks, or NULL.
const char *detail_broken(const struct graph *g, const struct node *n);

// The details as graph_print shows them: " axis 1", " step (2,-1)".
void detail_print(struct str *out, const struct graph *g, const struct node *n);
