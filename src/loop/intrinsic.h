// What the rows of intrinsics.def are made of: the hardware operations of the loop language
// (loop.h), what each asks of its operands, who executes it and when it is done.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop_buffer;
struct loop_expr;

// A mask is a truth value, an index what addresses memory and counts loops.
enum loop_dtype { LOOP_F32, LOOP_F64, LOOP_I32, LOOP_I64, LOOP_MASK, LOOP_INDEX, LOOP_DTYPE_COUNT };

// A map is how the copy engine sees a global buffer (struct loop_map).
enum loop_space { LOOP_GLOBAL, LOOP_LOCAL, LOOP_REGISTER, LOOP_SHARED, LOOP_MAP };

// Hardware operations: a row each in intrinsics.def, where the words are explained.
enum loop_intrinsic {
#define INTRINSIC(id, ...) INTRINSIC_##id,
#include "loop/intrinsics.def"
#undef INTRINSIC
    INTRINSIC_COUNT
};

enum intrinsic_scope { SCOPE_THREAD, SCOPE_WARP, SCOPE_WARPGROUP };
enum intrinsic_effect {
    EFFECT_AT_ONCE,
    EFFECT_STARTS,
    EFFECT_COMMITS,
    EFFECT_WAITS,
    EFFECT_ORDERS
};
enum operand_kind { OPERAND_NONE, OPERAND_MEMORY, OPERAND_REGISTER, OPERAND_NUMBER, OPERAND_MAP };
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

enum { INTRINSIC_OPERANDS_MAX = 8 };

struct intrinsic_info {
    const char *text;
    enum intrinsic_scope scope;
    enum intrinsic_effect effect;
    struct operand_info operand[INTRINSIC_OPERANDS_MAX];  // NONE ends them
};
extern const struct intrinsic_info intrinsic_infos[INTRINSIC_COUNT];

// How the copy engine of a GPU sees a global buffer, innermost axis first: a copy brings a box of
// it to shared memory, with zeros for what lies outside.
enum { LOOP_MAP_RANK_MAX = 5 };
struct loop_map {
    const struct loop_buffer *of;
    int rank;
    int64_t dims[LOOP_MAP_RANK_MAX];
    int64_t strides[LOOP_MAP_RANK_MAX];  // elements; that of the innermost axis is 1
    int64_t box[LOOP_MAP_RANK_MAX];
    int swizzle_bytes;  // 128: rows of 128 bytes, their pieces of 16 exchanged as loop_swizzle says
};

// An element of a buffer and those that follow it, or (buffer NULL) a number.
struct loop_operand {
    const struct loop_buffer *buffer;
    const struct loop_expr *index;
};
