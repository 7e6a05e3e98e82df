// Products by kernels of CUTLASS 3.x and later (sm_90a): which configurations there are, the checks
// that come before any compiling, and the C++ text against CUTLASS's headers.
//
// The text is a function of the call's numbers and of the types of its buffers, and of nothing
// else. The compiler's caller makes it anew from a call that was checked (cutlass_check): a
// candidate carries numbers, never host code.
//
// What it becomes is a shared object with two functions in C:
//     int64_t hone_cutlass_work_bytes(void);
//     int hone_cutlass_issue(void *const *args, cudaStream_t stream);
// `args` are those of the call; 0: it is in the stream, else CUTLASS's own number
// (cutlass::Status).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/library_call.h"

struct arena;
struct target;

// Words of a configuration, NULL-terminated; numbers of a call count in these. `..._fast` adds up
// products of f8 in the tensor cores alone.
enum { SCHEDULE_COOPERATIVE, SCHEDULE_PINGPONG, SCHEDULE_COOPERATIVE_FAST, SCHEDULE_PINGPONG_FAST };
enum { STORE_TMA, STORE_DIRECT };
enum { SCHEDULER_PERSISTENT, SCHEDULER_STREAM_K };
enum { RASTER_AUTO, RASTER_ALONG_M, RASTER_ALONG_N };
extern const char *const cutlass_schedules[], *const cutlass_stores[], *const cutlass_schedulers[],
                                                                           *const cutlass_rasters[];

struct cutlass_objection {
    const char *knob;  // the clause of the call that is at fault; NULL: sizes or types
    char text[320];    // and the nearest that is legal
};

// Would CUTLASS's templates compile, and its kernel take the sizes? requires: call_broken finds
// nothing else wrong with it. `types`: of its arguments.
bool cutlass_check(const struct call *c, const enum dtype *types, struct cutlass_objection *why);

// Shared memory of a block with so many stages; at least what CUTLASS's types take.
int64_t cutlass_shared_bytes(const struct call *c, const enum dtype *types, int stages);
// Memory to work in, at least what CUTLASS asks for on a card of so many multiprocessors.
int64_t cutlass_work_bytes(const struct call *c, int sms);
// Do operands lie along K?
bool cutlass_is_along_k(const struct call *c, int operand);

// The numbers that an object's functions take.
enum { CUTLASS_SIZES = CUTLASS_NUMBERS + 3 * CALL_LOADS_MAX };
void cutlass_sizes(const struct call *c, int64_t numbers[CUTLASS_SIZES]);

const char *cutlass_text(struct arena *a, const struct call *c, const enum dtype *types);

// An operation in C++ over floats A, B and C; NULL: an epilogue does not take it.
const char *cutlass_spelling(enum op op);
bool cutlass_rounds_to(enum dtype type);
