// A recurrence: state that goes along an axis, as in an RNN or a state-space scan.
//
// The body says what one step computes. It is a problem of its own (as the maker of an input is),
// so whatever reads graphs reads bodies: its inputs are the node's arguments in the same order, its
// outputs are the next states in the order of the states, and then what is kept of every step.
//
//   argument                 what step t sees of it
//   0 .. n_states            the state: the argument itself in the first step
//   .. n_states + n_slices   position t along axis[i], which is gone
//   the rest                 all of it
//
// A node of OP_RECUR is one result: `detail->result` is an output of the body. Below n_states it
// is that state after the last step; from there on all steps' values, joined along a new axis
// `detail->axis`. Nodes of one loop share `detail->recurrence` and have the same arguments. So each
// is a value like any other, and who evaluates or counts them can see that the work is the same.
// (The alternative, one node that gives all of them with selectors behind it, would be a node
// without a shape.)
#pragma once

#include <stddef.h>

#include "ir/detail.h"
#include "ir/problem.h"

struct recurrence {
    const struct problem *body;
    int64_t n_steps;
    bool reverse;  // from position n_steps - 1 down to 0
    int n_states, n_slices;
    int axis[ARGS_MAX];  // per argument, of slices
};

static inline const struct recurrence *recurrence_of(const struct node *n) {
    return n->op == OP_RECUR ? n->detail->recurrence : NULL;
}

static inline bool recurrence_is_slice(const struct recurrence *r, int arg) {
    return arg >= r->n_states && arg < r->n_states + r->n_slices;
}

// The shape without an axis, and with a new one of `size`.
struct shape recurrence_without(const struct shape *s, int axis);
struct shape recurrence_with(const struct shape *s, int axis, int64_t size);

// The first node that is a result of the same loop.
node_id recurrence_first(const struct graph *g, node_id n);

// Which nodes of the body (inputs aside) see neither state nor step, such as a transposed weight.
// `is_same` has a place for each and begins as false.
void recurrence_find_same(const struct recurrence *r, bool *is_same);

// Rule that a node of OP_RECUR breaks, or NULL.
const char *recurrence_broken(const struct graph *g, const struct node *n);

// The body as graph_print shows it, each line behind `indent`.
void recurrence_print(struct str *out, const struct recurrence *r, const char *indent);
