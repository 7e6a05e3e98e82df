// Loops (recurrences), for the family nest: one kernel that goes through all steps.
//
// A block has a row: where the rows of the states (axis 0, the batch) do not depend on one another,
// there is a block for each, else one for all. It keeps the states and what a step computes in a
// scratch buffer of its own, and does in every step: take the step's parts of the arguments,
// compute the values that the author named one after the other, each as a nest of the body's graph,
// keep what is kept, and make the next states the states. On a GPU the threads of the block share
// the elements of every value and meet between them.
#pragma once

#include "family/nest_walk.h"
#include "ir/recurrence.h"

// Does the region compute results of one loop, and nothing of another kind?
bool nest_steps_accepts(const struct region *r, struct objection *why);

// Whether the body has a kernel: the node that has none, or -1.
node_id nest_steps_unsupported(const struct recurrence *r);

// An argument that every step reads whole and that is not materialised; -1: there is none.
node_id nest_steps_cut(const struct region *r);

// Is everything materialised that every step reads whole?
bool nest_steps_legal(const struct region *r, struct objection *why);

// Rows, each of which a block can have.
int64_t nest_steps_rows(const struct region *r);

// Elements of the largest value that a block computes in a step.
int64_t nest_steps_width(const struct region *r);

// Seconds on a GPU with a block for each row.
double nest_steps_seconds(const struct region *r, const struct target *t);

void nest_lower_steps(struct lowering *l, const char *name, const struct nest_threads *t);
