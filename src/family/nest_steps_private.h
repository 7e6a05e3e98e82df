// Shared by the lowerings of a loop: nest_steps.c (a block has a row) and nest_persistent.c (all
// blocks have the step together).
#pragma once

#include "family/nest_steps.h"

struct nest_loop {
    struct lowering *l;
    const struct node *node;
    const struct recurrence *loop;
    const struct nest_threads *threads;
    struct problem *body;  // of one row
    const bool *carries;   // per node of the body
    int64_t n_rows;
    const struct loop_expr *row, *thread;
    // Of the body's nodes: where they are, and what is materialised.
    struct loop_buffer **buffer;
    const struct loop_expr **offset;
    bool *is_ready;
    char *touched;                // per node: since threads last met
    int64_t *place;               // per node: where in a row of the work buffer of its type
    int64_t n_work[DTYPE_COUNT];  // elements of a row
    struct loop_buffer *work[DTYPE_COUNT];
};

// What a node of the body is kept as: its type, but i8 for i4, of which two elements to a byte would
// belong to two threads.
enum dtype steps_kept_type(const struct nest_loop *x, node_id n);

// Call for every element of a value of the body; threads share them.
typedef void (*steps_element_fn)(struct nest_loop *x, struct loop_builder *b,
                                 const struct loop_expr *e, void *ctx);
void steps_each_element(struct nest_loop *x, struct loop_builder *b, int64_t count,
                        steps_element_fn fn, void *ctx);

// An argument's part of step `t` (all of it: NULL), where the body's input of that number is.
void steps_take(struct nest_loop *x, struct loop_builder *b, int input, const struct loop_expr *t);

// Results of the step at `t`; NULL: the states after the last one, from where the states are.
void steps_keep_results(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *t);
