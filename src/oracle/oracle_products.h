// Products of matrices inside other operations: which a node is made of, and how their sides are
// packed. A convolution is one per image and group, of weights and the elements under their taps; a
// transposed one is several, since results that have another residue modulo the stride see other
// taps; a ragged product is one per group of rows, whose limits are data.
#pragma once

#include "oracle/oracle_plan.h"

// One side of a product.
struct oracle_side {
    node_id arg, base;  // base: whose data it looks at
    int64_t rows, k, batches;
    struct oracle_pack pack;  // but for its array, rows and k, `to` and `precision`
    bool narrows;             // the declared precision rounds it, and may change it
    bool is_input;            // exact
    bool is_kept;             // the same for all tiles, or for all steps of a loop
};

struct oracle_part {
    struct oracle_side sides[2];
    int64_t batch, m, n, k;  // k 0: nothing is ever added
    struct oracle_axes to;   // where the results go, from `to_at` on
    uint64_t to_at;
    bool is_exact;  // both sides are inputs
};

// How many a node is made of, within a tile of `rows` rows.
int oracle_parts(const struct oracle_plan *plan, node_id id);
struct oracle_part oracle_part(const struct oracle_plan *plan, node_id id, int64_t rows,
                               int number);

// Of a ragged product: rows [begin, end) belong to group `number`.
void oracle_part_group(struct oracle_part *p, const struct node *n, int number, int64_t begin,
                       int64_t end);

// Rows of a side when it is packed, and the bytes of an element.
static inline int64_t oracle_padded(int64_t rows) {
    return (rows + 3) / 4 * 4;
}
static inline int64_t oracle_packed_bytes(const struct oracle_part *p) {
    return (int64_t)sizeof(float) + (p->is_exact ? 0 : 2 * (int64_t)sizeof(double));
}
