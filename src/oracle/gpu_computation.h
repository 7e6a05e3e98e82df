// What the parts of the GPU's oracle share: gpu_oracle.c (the walk, by element, reductions,
// outputs), gpu_products.c (matrices, convolutions, ragged products), gpu_structure.c (moves,
// scans, pools), gpu_order.c (orders and scattered sums).
#pragma once

#include "oracle/gpu_oracle.h"
#include "oracle/oracle_plan.h"

enum { COMPUTE_THREADS = 256, COMPUTE_THREADS_FEW = 64 };

struct computation {
    struct gpu_oracle *oracle;
    const struct gpu_oracle_request *request;
    struct oracle_plan plan;
    int64_t first, rows;               // of the tile
    cuda_pointer work;                 // where the plan's places are
    cuda_pointer fault;                // an int: something is out of range, and the host says what
    const struct oracle_array *given;  // of the body of a loop: its inputs, as readings
    struct judge_part sums[OUTPUTS_MAX];
};

static inline const struct node *compute_node(const struct computation *l, node_id id) {
    return &l->request->problem->graph.nodes[id];
}

bool compute_launch(struct computation *l, cuda_function f, int64_t n, int threads,
                    void **arguments, struct error *err);

// Three readings of `count` elements, from `at` on.
struct oracle_array compute_readings(cuda_pointer at, int64_t count, enum dtype type);
// The array that a stored node is written to.
struct oracle_array compute_own(const struct computation *l, node_id id);
// A node's data: an input's, a constant, or its array.
struct oracle_array compute_array(const struct computation *l, node_id id);
// The same with the axes of an argument, through views.
struct oracle_operand compute_operand(const struct computation *l, node_id id);
// Elements within the tile.
int64_t compute_count(const struct computation *l, node_id id);

// One by element, or a view or reshape that has an array, as data for the kernel.
struct oracle_map compute_map(const struct computation *l, node_id id);

// Partial results, by groups, until there is one for each result.
bool compute_join(struct computation *l, struct oracle_reduce *r, struct error *err);

// `n` elements as they are, to places of `out`.
bool compute_copy(struct computation *l, const struct oracle_operand *from,
                  const struct oracle_array *out, const struct oracle_axes *to, int64_t n,
                  struct error *err);

// One node: of any class; of one that is made of products, that is structural, or a loop.
bool compute_any(struct computation *l, node_id id, struct error *err);
bool compute_products(struct computation *l, node_id id, struct error *err);
bool compute_structure(struct computation *l, node_id id, struct error *err);
bool compute_order(struct computation *l, node_id id, struct error *err);
bool compute_scatter(struct computation *l, node_id id, struct error *err);
bool compute_recurrence(struct computation *l, node_id id, struct error *err);
