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

#include "ir/types.h"

struct arena;
struct error;

enum { RANK_MAX = 8, ARGS_MAX = 32, DIMS_MAX = 256 };

enum op {
#define OP(id, name, class, arity, types, flops, pipe) OP_##id,
#include "ir/ops.def"
#undef OP
    OP_COUNT
};

enum op_class {
    OP_CLASS_LEAF,         // input, constant: of any type
    OP_CLASS_VIEW,         // index map
    OP_CLASS_ELEMENTWISE,  // arguments of the result's shape
    OP_CLASS_REDUCE,       // drops the axes in `axes`
    OP_CLASS_CONTRACT,     // matmul
    OP_CLASS_IOTA,         // from here on as ops.def says under "structure"
    OP_CLASS_MOVE,
    OP_CLASS_GATHER,
    OP_CLASS_SCATTER,
    OP_CLASS_SCAN,
    OP_CLASS_ORDER,
    OP_CLASS_WINDOW,
    OP_CLASS_RAGGED,
    OP_CLASS_RECUR,  // ir/recurrence.h
};
enum { OP_CLASS_COUNT = OP_CLASS_RECUR + 1 };

// What an operation is to those who only ask what depends on what.
enum op_role {
    OP_ROLE_LEAF,         // there already
    OP_ROLE_INDEX,        // elements of its arguments at other places, or an index itself
    OP_ROLE_ELEMENTWISE,  // a value from those at the same place
    OP_ROLE_ANCHOR        // a value from many places
};

struct op_class_info {
    enum op_role role;
    bool has_terms;      // each result is a fold over terms that have nothing to do with another's
    bool is_by_data;     // which elements belong together is in the data: indices, order
    bool makes_numbers;  // results need not be among the arguments
};
extern const struct op_class_info op_classes[OP_CLASS_COUNT];

// What an operation takes and gives: ops.def explains them.
enum op_types {
    OP_TYPES_NUMBER,
    OP_TYPES_REAL,
    OP_TYPES_WHOLE,
    OP_TYPES_TESTS,
    OP_TYPES_LOGIC,
    OP_TYPES_OWN
};

enum op_pipe { OP_PIPE_NONE, OP_PIPE_VECTOR, OP_PIPE_TRANSCENDENTAL };

struct op_info {
    const char *name;
    enum op_class class;
    int arity;  // -1: as many as its details say
    enum op_types types;
    int flops;  // per element of the result (reduce: of the argument), for the bound
    enum op_pipe pipe;
    enum op joins;    // by which terms are folded; OP_COUNT: it folds nothing
    double identity;  // from what on
};
extern const struct op_info op_infos[OP_COUNT];

static inline const struct op_class_info *op_class_of(enum op op) {
    return &op_classes[op_infos[op].class];
}

// The type of the result for arguments of these types; false when it does not take them.
// requires: not a leaf, a view or a cast, which say their own.
bool op_result_type(enum op op, const enum dtype *args, enum dtype *result);

// An elementwise operation of one or two numbers, in float64. requires: not where or cast.
double op_evaluate(enum op op, double a, double b);

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
