// How a GPU computes the truth of a problem: which nodes get arrays, where these lie, which rows
// are done at a time. Nothing here needs a device.
//
// Nodes that carry rows (their axis 0 is that of the outputs, or of the largest input) are computed
// for a *tile* of rows at a time, the others once. Where rows are independent (ir/interpret.h) one
// pass over the tiles does it. A reduction over the rows themselves *closes* a pass: each tile
// gives its partial results, these are joined behind the last tile, and what reads the result comes
// in the next *phase*, in which nodes that carry rows are computed again, tile by tile, as far as
// they are needed there. So batch norm takes three passes and memory for a tile, not for
// everything.
//
// Views, reshapes, inputs of f32 and constants get no arrays: reading them walks along other
// strides; but what is reshaped must lie in one piece, so a view that is has one. An array has
// three readings, 20 bytes per element (24 where the type is wide), that of an input of another
// type its data as f32 or f64; it is gone after its last reader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hone_oracle.h"
#include "ir/problem.h"

struct arena;
struct error;

enum { ORACLE_PARTIAL_BYTES = 40, ORACLE_BEST_BYTES = 56 };  // structs of runtime/oracle.cu

// Memory of one node.
struct oracle_place {
    int64_t at;                  // offsets in bytes
    int64_t partials, joined;    // of reductions, products, scans; of orders their places, twice
    int64_t bits[2], packed[2];  // of products, left and right
    int64_t body;                // of a loop: what its body takes, and copies of its arguments
};

struct oracle_plan {
    const struct problem *problem;
    bool *carries, *is_stored;  // per node
    bool *closes;               // per node: a reduction over rows, by tiles
    int *phase;        // per node: in which it can be computed; a closing one is read in it
    unsigned *needed;  // per node that carries rows: the phases that need it, a bit each
    int n_phases;
    int *last_use;  // per node: the node after which its array is free
    struct oracle_place *places;
    int64_t n_rows, tile_rows;
    int64_t tile_step;  // tiles have a multiple of so many rows, since sums go by runs
    int64_t bytes;
    bool is_body;  // of a loop: inputs are readings
};

// Can the kernels do all of this problem?
bool oracle_plan_supports(const struct problem *p);

// As many rows at a time as stay within `budget_bytes`; one row where none does.
void oracle_plan_make(struct arena *a, const struct problem *p, int64_t budget_bytes,
                      struct oracle_plan *plan);

// For so many rows at once, whatever that takes. requires: rows are independent.
void oracle_plan_make_rows(struct arena *a, const struct problem *p, int64_t rows,
                           struct oracle_plan *plan);

// The body of a loop, whose results stay until all of it is computed.
void oracle_plan_make_body(struct arena *a, const struct problem *body, struct oracle_plan *plan);
// Bytes of an input of a body.
int64_t oracle_plan_given_bytes(int64_t count);

// Can rows be computed apart?
bool oracle_plan_has_rows(const struct problem *p);

// A node's shape within a tile of `rows` rows.
struct shape oracle_plan_shape(const struct oracle_plan *plan, node_id id, int64_t rows);

// Is it a matrix product, or made of these (oracle_products.h)?
bool oracle_plan_multiplies(enum op op);
// Does a reduction give a position?
bool oracle_plan_chooses(enum op op);
int64_t oracle_plan_partial_bytes(enum op op);
// Terms that one thread takes in sequence.
int oracle_plan_run(enum op op);
// The axes of the indices of a scattered sum along which they differ: all, or where they are the
// same for every element of a row, those up to that of the sum.
unsigned oracle_plan_index_axes(const struct oracle_plan *plan, node_id id, int64_t rows);
// May it make whole numbers beyond 2^53?
bool oracle_plan_makes_long(const struct node *n);

// The node whose data `id` looks at, through views, and the strides with which it does.
node_id oracle_plan_base(const struct oracle_plan *plan, node_id id, int64_t rows,
                         uint64_t strides[RANK_MAX]);

// The axes of `shape` that are in `mask`, with their strides, as few as possible.
struct oracle_axes oracle_plan_axes(const struct shape *shape, const uint64_t strides[RANK_MAX],
                                    unsigned mask);

// Results of a reduction or product within a tile, and the runs of each.
void oracle_plan_runs(const struct oracle_plan *plan, node_id id, int64_t rows, int64_t *results,
                      int64_t *length);
