// The tables of operations and of their classes.
#include "ir/op.h"

#include <math.h>

const struct op_info op_infos[OP_COUNT] = {
#define OP(id, name, class, arity, types, flops, pipe) \
    {name, OP_CLASS_##class, arity, OP_TYPES_##types, flops, OP_PIPE_##pipe, OP_COUNT, 0},
#define FOLD(id, name, class, arity, types, flops, joins, identity) \
    {name, OP_CLASS_##class, arity, OP_TYPES_##types, flops, OP_PIPE_VECTOR, OP_##joins, identity},
#include "ir/ops.def"
#undef OP
#undef FOLD
};

const struct op_class_info op_classes[OP_CLASS_COUNT] = {
    // role, has_terms, is_by_data, makes_numbers, is_linear, is_structural
    [OP_CLASS_LEAF] = {OP_ROLE_LEAF, false, false, false, false, false},
    [OP_CLASS_VIEW] = {OP_ROLE_INDEX, false, false, false, true, false},
    [OP_CLASS_ELEMENTWISE] = {OP_ROLE_ELEMENTWISE, false, false, true, false, false},
    [OP_CLASS_REDUCE] = {OP_ROLE_ANCHOR, true, false, true, false, false},
    [OP_CLASS_CONTRACT] = {OP_ROLE_ANCHOR, true, false, true, true, false},
    [OP_CLASS_IOTA] = {OP_ROLE_INDEX, false, false, false, false, true},
    [OP_CLASS_MOVE] = {OP_ROLE_INDEX, false, false, false, true, true},
    [OP_CLASS_GATHER] = {OP_ROLE_INDEX, false, true, false, false, true},
    [OP_CLASS_SCATTER] = {OP_ROLE_ANCHOR, false, true, true, false, true},
    [OP_CLASS_SCAN] = {OP_ROLE_ANCHOR, false, false, true, false, true},
    [OP_CLASS_ORDER] = {OP_ROLE_ANCHOR, false, true, false, false, true},
    [OP_CLASS_WINDOW] = {OP_ROLE_ANCHOR, true, false, true, false, true},
    [OP_CLASS_RAGGED] = {OP_ROLE_ANCHOR, true, true, true, true, true},
    [OP_CLASS_RECUR] = {OP_ROLE_ANCHOR, false, false, false, false, true},
};
