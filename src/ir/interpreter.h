// Inside the interpreter: its state, and what interpret.c (which nodes are stored, groups of the
// others) and interpret_stored.c (each class of stored nodes) share.
#pragma once

#include <assert.h>

#include "base/arena.h"
#include "ir/interpret.h"
#include "ir/reading.h"
#include "ir/structural.h"

// Larger groups would fall out of the cache again.
enum { GROUP_MAX = 24 };

// A node inside a group and where its run stands.
struct step {
    node_id node;
    struct reading run;
};

struct interpreter {
    const struct problem *problem;
    const struct interpret_data *data;
    const struct reading *given;         // per input, in place of data, or NULL
    const struct structural_kept *kept;  // nodes that were computed once and for all, or NULL
    struct arena arena;
    struct reading *arrays;  // per node; value NULL: not stored (or not yet, or no more)
    bool *is_stored;
    int *n_uses;    // readers left; outputs have one more
    int *input_of;  // per node: number of the input, or -1
    int *step_of;   // per node: index in the open group + 1, or 0
    struct step steps[GROUP_MAX * (ARGS_MAX + 1)];
    int n_steps;
    double zeros[RUN_MAX];
    char fault[FAULT_MAX];
};

static inline const struct node *node_at(const struct interpreter *in, node_id id) {
    return &in->problem->graph.nodes[id];
}

// Do the reduced axes stand last, so that what is reduced lies together in memory?
static inline bool reduces_rows(const struct interpreter *in, const struct node *n) {
    int rank = node_at(in, n->arg[0])->shape.rank;
    unsigned kept = ((1u << rank) - 1) & ~n->axes;
    return (kept & (kept + 1)) == 0;
}

// A view that a product can read through: its matrices lie as they are, only the batch axes are
// broadcast or change places. Stored, it would repeat them for every batch.
static inline bool is_batch_view(const struct interpreter *in, const struct node *n) {
    const struct shape *from = n->op == OP_VIEW ? &node_at(in, n->arg[0])->shape : NULL;
    int rank = n->shape.rank;
    return from && from->rank >= 2 && rank >= 2 && node_at(in, n->arg[0])->op != OP_CONST &&
           n->view[rank - 2] == from->rank - 2 && n->view[rank - 1] == from->rank - 1;
}

// Elements from[0], from[stride], ... in all readings; a source without values is an input.
static inline void copy_run(struct reading out, struct reading from, int64_t stride, int64_t n) {
    for (int64_t i = 0; i < n && out.honest; i++)
        out.honest[i] = from.honest[i * stride];
    for (int64_t i = 0; i < n && out.wide; i++)
        out.wide[i] = from.wide[i * stride];
    for (int64_t i = 0; i < n; i++)
        out.value[i] = from.value ? from.value[i * stride] : (double)from.honest[i * stride];
    for (int64_t i = 0; i < n; i++)
        out.variance[i] = from.variance ? from.variance[i * stride] : 0;
}

static inline struct reading at_offset(struct reading r, int64_t offset) {
    return (struct reading){.value = r.value ? r.value + offset : NULL,
                            .variance = r.variance ? r.variance + offset : NULL,
                            .honest = r.honest ? r.honest + offset : NULL,
                            .wide = r.wide ? r.wide + offset : NULL,
                            .type = r.type};
}

// Where the one element of a constant stands.
struct number {
    float honest;
    double wide;
};

struct reading interpreter_new_array(int64_t count, enum dtype type);
void interpreter_free_array(struct reading *r);
void interpreter_fill(double *out, double value, int64_t n);
void interpreter_widen(double *restrict out, const float *restrict from, int64_t n);

// A node's whole array; an input of f32 has only its data, a constant one element, in `number`.
struct reading interpreter_whole(const struct interpreter *in, node_id id, struct number *number);

// Add the unstored nodes that `id` needs to the open group, arguments first, and compute elements
// [start, start + n) of all of them; n is at most RUN_MAX. Then an operand's run.
void interpreter_open_step(struct interpreter *in, node_id id, struct reading run);
void interpreter_run_group(struct interpreter *in, int64_t start, int n);
struct reading interpreter_operand(struct interpreter *in, node_id id, int64_t start);

// interpret_stored.c: make the array of a node, by its class.
void interpreter_store_input(struct interpreter *in, node_id id);
void interpreter_store_elementwise(struct interpreter *in, node_id id);
void interpreter_store_reduction(struct interpreter *in, node_id id);
void interpreter_store_matmul(struct interpreter *in, node_id id);
void interpreter_store_structural(struct interpreter *in, node_id id);
void interpreter_store_recurrence(struct interpreter *in, node_id id);
