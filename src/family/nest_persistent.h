// Recurrences on a GPU by blocks that stay for all steps.
//
// In `simt` a block has a row of the states and computes a whole step of it alone: a batch of ten
// leaves the card to ten blocks, and each reads all weights at every step. Here all blocks (at most
// as many as are resident at once) have a step together: a warp has a column of what is computed,
// of several rows, its threads lie along the terms, and the weights of the column, which are the
// same in every step, stay in registers or in shared memory. States go through global memory, in
// two buffers that take turns, so blocks meet once in a step; once more where a product or
// reduction needs what another one gives in the same step.
//
//     step t   states[t % 2] ──► sums of a warp ──► lane r: the values of row r ──► states[1 - t %
//     2]
//              meet
//
// A phase is what one nest computes: values of one shape.
#pragma once

#include "family/nest.h"
#include "ir/recurrence.h"

enum { PERSISTENT_USES_MAX = 16 };

// A place where values look at a product or reduction.
struct persistent_use {
    node_id anchor;
    struct axis_map map;
    int64_t n_terms;
    int held;  // the argument that is the same in every step, and in every row; -1: none
};

struct persistent_phase {
    struct region *region;  // of the body
    bool is_team;           // a warp has a column; else a thread has an element
    int n_uses;
    struct persistent_use use[PERSISTENT_USES_MAX];
    int64_t n_rows, n_columns;  // of its values: the last axis, and all others
    bool meets;                 // before it, in the same step
    struct persistent_phase *next;
};

struct persistent_plan {
    struct arena *arena;
    const struct node *node;  // a result of the loop
    const struct recurrence *loop;
    struct persistent_phase *first, **last;
    bool *ready;       // per node of the body: computed by a phase so far
    bool *done;        // likewise, or copied by one
    bool meets_taken;  // after slices that are computed on the way have been put in memory
    bool meets;        // at the end of a step
    bool meets_last;   // after the last one
};

// What the steps of a region's loop are made of; it lives in the arena.
void persistent_find(struct arena *a, const struct region *r, struct persistent_plan *p);

// The knobs of a stage.
struct persistent_choice {
    int blocks, threads, rows, unroll;
    bool in_registers, in_shared;
};
struct persistent_choice persistent_read(const struct kernel_stage *s);

// Items of a phase (a column of `rows` rows) that one warp has, and numbers of a thread that it
// keeps for all steps.
int64_t persistent_items(const struct persistent_phase *x, const struct persistent_choice *c);
int64_t persistent_held(const struct persistent_phase *x, const struct persistent_choice *c);

void persistent_lower(struct lowering *l, const char *name, const struct persistent_choice *c);
