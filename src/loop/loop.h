// The loop language: what stands between a graph and emitted text.
//
// A program is buffers and kernels; a kernel is a body that runs once for every block of its grid,
// in any order and at the same time. Expressions have a type and a number of lanes (1: scalar), so
// vector code is written down, not hoped for. Values are let-bound and never change; whatever
// changes lives in a buffer, which is global (input, output, scratch), local (an array of one
// block) or a register array, whose indices are constants once loops marked `unroll` are unrolled.
// Families build programs, passes.h improves them, execute.h runs them and print_c.h and
// print_cuda.h turn them into text. Nothing here knows tensors. Indices are 64-bit.
//
// `enum dtype` (ir/types.h) is how memory stores an element, `enum loop_dtype` what a value is
// while computed with. A load converts one to the other (loop_arithmetic), a store back: floats
// round to nearest even, integers wrap. Only LOOP_F32 and LOOP_MASK have several lanes (4, 8, 16;
// with threads 2, 4, 8, and pairs of LOOP_I32), and only memory of f32, f16, bf16 and bool (pairs:
// i32) is accessed by them. A store to i4 writes a byte, so both its elements are one thread's.
//
// A kernel for a GPU has threads: its body runs once for every thread of a block, at the same
// time. Registers are then a thread's own, shared arrays are the block's, and what one thread wrote
// to them another may read after a barrier that all come to. A block group is neighbouring blocks
// that run at the same time; after its barrier each may read what the others wrote to global
// memory. Asynchronous copies, matrix fragments (elements of a register array) and products on
// tensor cores are LOOP_INTRINSIC, one kind of statement driven by the table intrinsics.def.
#pragma once

#include "ir/types.h"
#include "loop/intrinsic.h"

struct arena;

enum { LANES_MAX = 16, BUFFER_RANK_MAX = 8 };

enum loop_op {
#define LOOP_OP(id, arity, takes, text) LOOP_##id,
#include "loop/loop_ops.def"
#undef LOOP_OP
    LOOP_OP_COUNT
};

struct loop_op_info {
    const char *text;
    int arity, takes;  // of types, 1 << each: what its operands may be
};
extern const struct loop_op_info loop_ops[LOOP_OP_COUNT];

// A size with the name its author gave it: printed as N, computed as 4096.
struct loop_size {
    int64_t value;
    const char *name;  // NULL: none
};

enum loop_role { LOOP_INPUT, LOOP_OUTPUT, LOOP_SCRATCH };  // of a global buffer

struct loop_buffer {
    const char *name;  // in the emitted text: an identifier, unique in the program
    const char *plan;  // global: the name that the plan knows it by
    enum loop_space space;
    enum loop_role role;
    int rank;  // global, local, shared: the shape, only for printing; else 0
    struct loop_size shape[BUFFER_RANK_MAX];
    enum dtype dtype;            // how an element is stored; a register is not
    enum loop_dtype value;       // what is loaded and stored
    int64_t count;               // elements
    int lanes, align, id;        // of a register; bytes, 0: 16; position in its program
    const struct loop_map *map;  // LOOP_MAP
    bool is_zeroed;              // scratch: zeros when the first kernel begins
};

// A name bound once: by a let, by a for, or `block` and `thread` by the launch.
struct loop_var {
    const char *name;
    enum loop_dtype dtype;
    int lanes;
    int64_t low, high;  // LOOP_INDEX: every value it takes lies in [low, high]
    int id;             // unique in its program
};

struct loop_expr {
    enum loop_op op;
    enum loop_dtype dtype;
    int lanes;
    const struct loop_expr *arg[3];
    double real;                       // CONST of floats
    int64_t integer;                   // CONST of all other types
    const char *name;                  // CONST of LOOP_INDEX: its name, or NULL
    const struct loop_var *var;        // VAR
    const struct loop_buffer *buffer;  // LOAD of element arg[0] and those that follow it,
    int64_t stride;      // one lane every `stride` elements; LANES_EVEN, _ODD, _SLID: a run
    enum dtype storage;  // ROUND_TO
    int64_t low, high;   // TO_INDEX: what it is clamped to
};

enum loop_kind {
    LOOP_FOR,            // var from begin to end (not reached) by step
    LOOP_IF,             // index condition
    LOOP_LET,            // var = value
    LOOP_STORE,          // buffer[index ...] = value
    LOOP_PREFETCH,       // a hint that buffer[index] is wanted soon; need not exist
    LOOP_NOTE,           // a comment
    LOOP_BARRIER,        // all threads of the block come by here before one goes on
    LOOP_INTRINSIC,      // an operation of the hardware, with its operands
    LOOP_GROUP_BARRIER,  // a barrier of all blocks of a group; buffer[index] counts them, or NULL
};

struct loop_block {
    struct loop_stmt *first, *last;
};

struct loop_stmt {
    enum loop_kind kind;
    struct loop_stmt *next;
    struct loop_var *var;                  // FOR, LET
    const struct loop_expr *begin, *end;   // FOR
    int64_t step;                          // FOR
    bool unroll, rolled, stream, is_role;  // FOR; FOR; STORE: past the caches; IF: loop_open_role
    struct loop_block body;                // FOR, IF
    const struct loop_expr *low, *high;    // IF low < high
    const struct loop_expr *value;         // LET, STORE
    const struct loop_buffer *buffer;      // STORE, PREFETCH, MEET; and its element:
    const struct loop_expr *index;
    const char *text;               // NOTE
    enum loop_intrinsic intrinsic;  // INTRINSIC, and its operands
    struct loop_operand operand[INTRINSIC_OPERANDS_MAX];
};

struct loop_kernel {
    const char *name;              // an identifier
    const struct loop_call *call;  // in the place of all that follows (loop_call.h), or NULL
    const char *text;              // a comment: what it computes and how; may be NULL
    const struct loop_expr *grid;
    struct loop_var *block;
    int threads, min_blocks;  // of a block, 0: not for a GPU; resident at once, 0: as it comes
    struct loop_var *thread;  // NULL when there are no threads
    int blocks_per_group;     // blocks next to each other that share a barrier; 0: none do
    bool is_cluster;       // a group is a cluster of the hardware; else the whole grid is resident
    bool is_programmatic;  // it may begin before the kernel before it has ended: see LAUNCH_WAIT
    struct loop_block body;
};

enum { LOOP_DIMS_MAX = 256 };
struct loop_program {
    struct arena *arena;
    const char *about;                     // lines for the comment at the head
    struct loop_size dims[LOOP_DIMS_MAX];  // defined by name at the head of the text
    struct loop_buffer **buffers;
    struct loop_kernel **kernels;
    int n_dims, n_buffers, cap_buffers, n_kernels, cap_kernels;
    bool libm;  // call the C library's functions instead of hone_math.h; scalar programs only
    const char **names;  // a table of every identifier taken so far, reserved words too
    int n_names, cap_names, n_vars;
};
