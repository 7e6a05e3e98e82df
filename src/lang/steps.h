// Loops of a problem block: `for t in T with h = h0:`, for state that goes along an axis.
//
// Why a loop, in Python's words: people write an LSTM as this loop, and reads it without
// a manual. What keeps it a description rather than a program: states are named in the `with`, each
// is assigned once, everything else in the body is a value that is assigned once, the number of
// steps is a size, and t is no number but a place: x[:, t] reads one position, y[:, t] = v keeps
// one. (A function scan(f, init, xs) as elsewhere would need functions as values, and tuples.)
//
// The body is built as a graph of its own (ir/recurrence.h): a name from before the loop becomes an
// input of it when it is first read.
#pragma once

#include "ir/recurrence.h"
#include "lang/value.h"

struct steps_input {
    node_id outer, inner;
    int axis;  // that the steps go along; -1: none, all of it is seen
};

// What the loop gives: states, then what is kept of every step.
struct steps_output {
    const struct statement *st;  // of a kept value: where it is assigned
    const char *name;
    struct spot at;
    node_id node;  // in the body; -1: not assigned yet
    int axis;      // kept values
};

struct steps {
    struct value_scope scope;  // of the body
    struct value_scope *outer;
    const struct statement *at;  // its `for`
    const struct expr *count;    // how many steps
    struct problem *body;
    struct recurrence *recurrence;
    struct steps_input inputs[ARGS_MAX];
    int n_inputs;  // states first
    struct steps_output outputs[OUTPUTS_MAX];
    int n_outputs;
    bool has_mistake;
    struct steps *next;  // the problem's loops, for what is stated later, such as its precision
};

// A name of the body that is not its own: the symbol of the value's input.
struct symbol *steps_import(struct value_scope *s, const struct expr *e);

// Is it x[:, t], inside a loop over t?
bool steps_is_slice(const struct value_scope *s, const struct expr *e);

// The input that is position t of x. The subscript t is taken out of `e`.
node_id steps_slice(struct value_scope *s, struct expr *e);

// An input of the body for a value from before the loop.
node_id steps_input(struct steps *l, struct spot at, struct steps_input in);

// The dim whose name counts the steps, or -1.
int steps_dim(const struct steps *l);

// The node of one result, in the graph around the loop. requires: the body is complete.
node_id steps_result(struct steps *l, int output, const char *name);

// Inputs and outputs of the body in the order of ir/recurrence.h.
void steps_close(struct steps *l);
