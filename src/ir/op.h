// The operations: a row of ops.def each, and what all of a class have in common.
#pragma once

#include <stdbool.h>

#include "ir/types.h"

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
    bool is_linear;      // in each argument that has numbers, the others being what they are
    bool is_structural;  // has details (ir/detail.h) and is computed over whole arrays
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
