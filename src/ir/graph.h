// The graph: the only statement of *what* is computed.
//
// One plain node per operation, in an array in order of evaluation, so that an
// argument always has a smaller id than its user. Shapes and types are known for
// every node; a graph that exists is well formed (graph_verify says so).
//
// All movement of data is in one operation, OP_VIEW: each axis of the result
// walks along one axis of the argument, or along none (broadcast, `[:, None]`).
// So elementwise operations take arguments of exactly their own shape,
// reductions drop their axes, and no pass needs to know about broadcasting.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/op.h"
#include "ir/types.h"

struct arena;
struct error;

enum { RANK_MAX = 8, ARGS_MAX = 32, DIMS_MAX = 256 };

// A named size: `dim M = 4096`.
struct dim {
    const char *name;
    int64_t size;
};

struct shape {
    int rank;
    int64_t size[RANK_MAX];
    int dim[RANK_MAX];  // index into graph.dims of the name the author used, or -1
};

// Place in the source, from 1; 0 when a node has none.
struct place {
    int line, column;
};

typedef int node_id;

struct node_detail;  // ir/detail.h

struct node {
    enum op op;
    enum dtype dtype;
    struct shape shape;
    int n_args;
    node_id arg[ARGS_MAX];
    double value;                      // OP_CONST
    unsigned axes;                     // reductions: bit i set = axis i of the argument is reduced
    int view[RANK_MAX];                // OP_VIEW: per result axis the argument's axis, or -1
    const struct node_detail *detail;  // of structural operations, or NULL
    const char *name;                  // unique: "t", "y.max", "t.1"
    bool is_named;                     // the author bound this value to a name
    const char *composite;             // "softmax" when it came from expanding one, else NULL
    struct place at;
};

struct graph {
    struct node *nodes;
    int n_nodes;
    struct dim dims[DIMS_MAX];
    int n_dims;
};

int64_t shape_count(const struct shape *s);  // number of elements
bool shape_equal(const struct shape *a, const struct shape *b);
// "[M, 128]" into the arena.
const char *shape_print(struct arena *a, const struct graph *g, const struct shape *s);

// Index of the node of that name, or -1.
node_id graph_find(const struct graph *g, const char *name);

// Check every rule stated above; false and the broken rule when one does not hold.
bool graph_verify(const struct graph *g, struct error *err);

// The graph as text, one line per node; for tests and `hone check -v`.
const char *graph_print(struct arena *a, const struct graph *g);
