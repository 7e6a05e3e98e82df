// The machine code of a GPU's kernel, read from the cubin itself: what its instructions are, how
// wide they access memory, which loops they stand in, what waits for what. Nothing has to be
// installed for it; the vendor's disassembler is needed only for a listing with operands.
//
// A cubin is somebody else's: every offset in it is checked, and what is not understood is counted
// (`n_unknown`) rather than guessed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/metrics.h"

struct arena;
struct error;

enum sass_kind {
    SASS_UNKNOWN,
    SASS_OTHER,
    SASS_MOVE,
    SASS_UNIFORM,  // on the uniform path: once for a warp
    SASS_INTEGER,
    SASS_WIDE_INTEGER,  // 64-bit products
    SASS_F32,           // additions and products
    SASS_FMA,           // f32 multiply-adds
    SASS_F16,
    SASS_F64,
    SASS_FUNCTION,  // exp, reciprocals, counts of bits: a quarter of the rate, or less
    SASS_CONVERSION,
    SASS_DIVISION,      // the check of an exact f32 division
    SASS_TENSOR,        // matrix units, by a warp
    SASS_TENSOR_GROUP,  // matrix units, by four warps, from shared memory
    SASS_CONSTANT,
    SASS_GLOBAL_LOAD,
    SASS_GLOBAL_STORE,
    SASS_SHARED_LOAD,
    SASS_SHARED_STORE,
    SASS_LOCAL_LOAD,
    SASS_LOCAL_STORE,
    SASS_MATRIX_LOAD,  // ldmatrix
    SASS_ASYNC_COPY,   // cp.async
    SASS_BULK_COPY,    // by the copy engine of the multiprocessor
    SASS_TEXTURE,      // loads and stores by the texture units
    SASS_ATOMIC,
    SASS_SHARED_ATOMIC,
    SASS_WARP,     // shuffles and votes
    SASS_BARRIER,  // of the block
    SASS_FENCE,
    SASS_WAIT,
    SASS_BRANCH,
    SASS_CALL,
    SASS_EXIT,
    SASS_KINDS
};

enum { SASS_BYTES = 16 };  // of an instruction
#define SASS_STRIDE_UNKNOWN INT32_MIN
#define SASS_STRIDE_OF_LAUNCH INT32_MAX  // a parameter times the number of the thread

struct sass_instruction {
    uint8_t kind;     // enum sass_kind
    uint16_t code;    // bits 0..8
    uint8_t bytes;    // that a thread accesses; 0: it does not
    bool is_guarded;  // by a predicate
    bool is_indexed;  // of an access: its first operand is a register
    uint8_t cycles;   // until the next one may issue, as the compiler wrote
    uint8_t sets;     // barrier that its result will release, 0..5; 7: none
    uint8_t frees;    // barrier that it releases once its operands are read; 7: none
    uint8_t waits;    // barriers that it waits for, a bit each
    int32_t target;   // of a branch, in instructions from the start; -1: none, or not known
    int32_t stride;   // bytes from what a thread accesses to what the next one of its warp does
};

struct sass_loop {
    int begin, end;  // first instruction, and the branch back
    bool is_inner;   // no other loop within it
};

struct sass_kernel {
    const char *name;
    const struct sass_instruction *code;
    int n;          // up to the last that can run; padding is left out
    int n_unknown;  // of them
    const struct sass_loop *loops;
    int n_loops;
    int hot_begin, hot_end;  // the innermost loop with most instructions, or everything
    bool has_hot_loop;
    int registers;    // of a thread; -1: the cubin does not say
    int frame_bytes;  // stack of a thread; -1 likewise
};

struct sass {
    int capability;  // 90 for 9.0
    struct sass_kernel *kernels;
    int n_kernels;
};

// Read every kernel of a cubin. False: it is none, or damaged.
bool sass_read(struct arena *a, const void *bytes, size_t len, struct sass *out, struct error *err);
// Where it really spends its time: `issued` has samples for each instruction. The smallest loop
// with most of them is the hot part then, be there loops within it or not; without one, everything.
void sass_set_hot(struct sass_kernel *k, const double *issued);
struct sass_kernel *sass_find(const struct sass *s, const char *name);  // NULL: not there

const char *sass_name(uint16_t code);  // "LDG"; "?" when unknown

// What it says as metrics. Nothing where too much of it is not understood.
void sass_metrics(const struct sass_kernel *k, struct metrics *m);

// The most bytes of global loads that a thread has under way at once, from what waits for which
// barrier, and the number of those loads.
void sass_in_flight(const struct sass_kernel *k, int *loads, int *bytes);
