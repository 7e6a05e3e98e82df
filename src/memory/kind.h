// What kind of problem is it? A canonical form of its graph, which knows neither names nor sizes
// nor the order in which somebody wrote the statements, and how far two kinds are apart.
//
// Siblings have the same skeleton, the operations that anchor regions: a product with one epilogue
// and the same product with another, softmax of other rows, of other types.
#pragma once

#include "ir/graph.h"
#include "record/lesson.h"

struct arena;
struct problem;

void kind_of(struct arena *a, const struct problem *p, struct problem_kind *k);

// Nodes in canonical order: from the outputs to what they need, arguments first, casts left out
// (in other types there are others). Returns how many; `order` has room for all nodes of the graph.
int kind_order(const struct problem *p, node_id *order);
// The node that a cast casts, and any other node itself.
node_id kind_uncast(const struct graph *g, node_id n);

// 0 for the same kind, types and sizes; below 1 for the same form; INFINITY for no siblings. A
// factor of two in every extent counts as much as a quarter of another epilogue; rows that are
// longer count for more than more rows.
double kind_distance(const struct problem_kind *x, const struct problem_kind *y);

// "M=512 N=1024": the named sizes of a problem, for people.
const char *kind_shape_text(struct arena *a, const struct problem *p);
