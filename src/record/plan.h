// A plan: the launches of a candidate, declared in its source.
//
//     #pragma hone scratch packed f32[K, N]
//     #pragma hone launch pack grid(ceildiv(N, 64)) args(w, packed)
//     #pragma hone launch rows grid(M) args(x, packed, y)
//
// For tier C, `launch F grid(e)` names `void F(long block, <args>)`, which the
// runner's thread pool calls once for every block in [0, e). On a GPU (tier D) a launch
// has threads too, and may say more:
//
//     #pragma hone tensormap xa = x dims(K, M) strides(4*K) box(32, 128) swizzle(128)
//     #pragma hone launch rows grid(M, 2) block(256) shared(4*N) cluster(2, 1, 1) args(xa, y)
//     #pragma hone launch more grid(M) block(256) programmatic args(y, z)
//
// `programmatic`: it may begin before the launch before it has ended, as programmatic dependent
// launches do; it waits for that one by itself (griddepcontrol.wait).
//
// A step may also be a call of a library by our own host code (ir/library_call.h). Only the
// lowering of a kernel block writes one: in source by a person or a model it is a mistake.
//
// Steps run in order, each to its end before the next begins unless that is programmatic.
// Expressions: integers, dims, THREADS (tier C) or SMS (tier D), + - * / %, min max ceildiv,
// parentheses; they are evaluated here, once, when the plan is parsed.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/library_call.h"
#include "ir/types.h"

struct arena;
struct error;

// Far beyond what a network's kernels have.
enum {
    PLAN_STEPS_MAX = 4096,
    PLAN_ARGS_MAX = 640,  // every input and output of a problem, and some scratch
    PLAN_BUFFERS_MAX = 2048,
    PLAN_TENSORMAPS_MAX = 2048,
    TENSORMAP_RANK_MAX = 5,
};

enum buffer_role { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_SCRATCH };

struct plan_buffer {
    const char *name;
    enum buffer_role role;
    int64_t size_bytes;
    bool is_zeroed;   // scratch declared with `= 0`: cleared before every call, inside the window
    enum dtype type;  // of its elements
};

// How the copy engine of a GPU sees a buffer; innermost axis first.
struct plan_tensormap {
    const char *name;
    int buffer;
    int rank;
    int64_t dims[TENSORMAP_RANK_MAX];
    int64_t strides_bytes[TENSORMAP_RANK_MAX - 1];
    int64_t box[TENSORMAP_RANK_MAX];
    int swizzle_bytes;  // 0: none, 32, 64, 128
    int promote_bytes;  // 0: none, 64, 128, 256
    bool is_nan_outside;
};

// How a launch on a GPU is cut up; all zero in tier C.
struct plan_shape {
    int64_t grid[3], block[3];
    int64_t shared_bytes;  // dynamic
    int64_t cluster[3];    // 0: none
    bool is_cooperative;
    bool is_programmatic;  // may begin before the launch before it has ended
};

enum step_kind { STEP_LAUNCH, STEP_FILL, STEP_CALL };

struct plan_step {
    enum step_kind kind;
    const char *function;     // STEP_LAUNCH; STEP_CALL: what is called, for people
    int64_t grid;             // STEP_LAUNCH: number of blocks in all
    struct plan_shape shape;  // STEP_LAUNCH on a GPU
    int *args;                // indices into buffers; below zero: -1 - index into tensormaps
    int n_args;
    int fill_buffer;  // STEP_FILL
    double fill_value;
    const struct call *call;  // STEP_CALL
    // Of a call that is compiled (CALL_CUTLASS): the shared object, set by its compiler;
    // no source says it.
    const char *object;
};

struct plan {
    struct plan_buffer *buffers;  // inputs, outputs, then scratch
    int n_buffers;
    struct plan_tensormap *tensormaps;
    int n_tensormaps;
    struct plan_step *steps;
    int n_steps;
};

// One more of each at the end of its list, which may move; the caller has looked at the limits.
struct plan_buffer *plan_add_buffer(struct arena *a, struct plan *p);
struct plan_tensormap *plan_add_tensormap(struct arena *a, struct plan *p);
struct plan_step *plan_add_step(struct arena *a, struct plan *p);
void plan_add_arg(struct arena *a, struct plan_step *s, int arg);

// What a plan is read against: the problem's sizes and buffers, without the problem.
struct plan_context {
    const char *const *dim_names;
    const int64_t *dim_sizes;
    int n_dims;
    int n_threads;                      // THREADS
    const struct plan_buffer *buffers;  // the problem's inputs and outputs, in order
    int n_buffers;
    // A GPU's limits; is_gpu decides which launches are read.
    bool is_gpu;
    bool takes_calls;          // of libraries: the source comes from a kernel block
    int n_sms;                 // SMS
    int64_t shared_per_block;  // dynamic shared memory that a block can ask for
    int cluster_max;           // blocks in a cluster; 0: it has none (and no tensor maps)
};

// What a fill writes, eight bytes after eight: as many elements as these hold, each `value`.
uint64_t plan_fill_word(enum dtype type, double value);

// How the driver calls the elements of a tensor map: its number (CUtensorMapDataType) and the name
// that follows CU_TENSOR_MAP_DATA_TYPE_. NULL: there is none.
struct plan_map_type {
    const char *name;
    int number;
};
const struct plan_map_type *plan_map_type(enum dtype type);

// Read the `#pragma hone` lines of a source. A mistake is ERROR_PARSE with the line; no
// launch at all is one too, and so is an output that no step writes.
bool plan_parse(struct arena *a, const char *source, const struct plan_context *context,
                struct plan *plan, struct error *err);

// Does some step call a library?
bool plan_has_calls(const struct plan *p);
// Types of a call's arguments.
void plan_call_types(const struct plan *p, const struct plan_step *s, enum dtype *types);
// Why a call does not fit the buffers that it names; NULL: it does.
const char *plan_call_broken(const struct plan *p, const struct plan_step *s);

json_t *plan_to_json(const struct plan *p);
bool plan_from_json(struct arena *a, const json_t *json, struct plan *p, struct error *err);
