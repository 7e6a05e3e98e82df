// What the rows of intrinsics.def are made of: the hardware operations of the loop language
// (loop.h), what each asks of its operands, who executes it and when it is done.
#pragma once

#include <stdbool.h>

struct loop_buffer;
struct loop_expr;

// A mask is a truth value, an index what addresses memory and counts loops.
enum loop_dtype { LOOP_F32, LOOP_F64, LOOP_I32, LOOP_I64, LOOP_MASK, LOOP_INDEX, LOOP_DTYPE_COUNT };

enum loop_space { LOOP_GLOBAL, LOOP_LOCAL, LOOP_REGISTER, LOOP_SHARED };

// Hardware operations: a row each in intrinsics.def, where the words are explained.
enum loop_intrinsic {
#define INTRINSIC(id, ...) INTRINSIC_##id,
#include "loop/intrinsics.def"
#undef INTRINSIC
    INTRINSIC_COUNT
};

enum intrinsic_scope { SCOPE_THREAD, SCOPE_WARP };
enum intrinsic_effect { EFFECT_AT_ONCE, EFFECT_STARTS, EFFECT_COMMITS, EFFECT_WAITS };
enum operand_kind { OPERAND_NONE, OPERAND_MEMORY, OPERAND_REGISTER, OPERAND_NUMBER };
enum { USE_READ = 1, USE_WRITE = 2, USE_UPDATE = USE_READ | USE_WRITE };

// What a row asks of one operand.
struct operand_info {
    enum operand_kind kind;
    int use;                // MEMORY, REGISTER
    enum loop_space space;  // MEMORY: global or shared
    int count;              // MEMORY: bytes; REGISTER: elements
    enum loop_dtype value;  // REGISTER: of its elements, with that many lanes
    int lanes;
    int low, high;  // NUMBER
    bool is_constant;
};

enum { INTRINSIC_OPERANDS_MAX = 4 };

struct intrinsic_info {
    const char *text;
    enum intrinsic_scope scope;
    enum intrinsic_effect effect;
    struct operand_info operand[INTRINSIC_OPERANDS_MAX];  // NONE ends them
};
extern const struct intrinsic_info intrinsic_infos[INTRINSIC_COUNT];

// An element of a buffer and those that follow it, or (buffer NULL) a number.
struct loop_operand {
    const struct loop_buffer *buffer;
    const struct loop_expr *index;
};
