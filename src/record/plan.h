// A plan: the launches of a candidate, declared in its source.
//
//     #pragma hone scratch packed f32[K, N]
//     #pragma hone launch pack grid(ceildiv(N, 64)) args(w, packed)
//     #pragma hone launch rows grid(M) args(x, packed, y)
//
// For tier C, `launch F grid(e)` names `void F(long block, <args>)`, which the
// runner's thread pool calls once for every block in [0, e). Steps run in order, each to
// its end before the next begins. Expressions: integers, dims, THREADS, + - * / %,
// min max ceildiv, parentheses; they are evaluated here, once, when the plan is parsed.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

enum { PLAN_STEPS_MAX = 32, PLAN_ARGS_MAX = 24, PLAN_BUFFERS_MAX = 40 };

enum buffer_role { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_SCRATCH };

struct plan_buffer {
    const char *name;
    enum buffer_role role;
    int64_t size_bytes;
    bool is_zeroed;  // scratch declared with `= 0`: cleared before every call, inside the window
};

enum step_kind { STEP_LAUNCH, STEP_FILL };

struct plan_step {
    enum step_kind kind;
    const char *function;     // STEP_LAUNCH
    int64_t grid;             // STEP_LAUNCH: number of blocks
    int args[PLAN_ARGS_MAX];  // indices into buffers
    int n_args;
    int fill_buffer;  // STEP_FILL
    double fill_value;
};

struct plan {
    struct plan_buffer buffers[PLAN_BUFFERS_MAX];  // inputs, outputs, then scratch
    int n_buffers;
    struct plan_step steps[PLAN_STEPS_MAX];
    int n_steps;
};

// What a plan is read against: the problem's sizes and buffers, without the problem.
struct plan_context {
    const char *const *dim_names;
    const int64_t *dim_sizes;
    int n_dims;
    int n_threads;                      // THREADS
    const struct plan_buffer *buffers;  // the problem's inputs and outputs, in order
    int n_buffers;
};

// Read the `#pragma hone` lines of a source. A mistake is ERROR_PARSE with the line; no
// launch at all is one too, and so is an output that no step writes.
bool plan_parse(struct arena *a, const char *source, const struct plan_context *context,
                struct plan *plan, struct error *err);

json_t *plan_to_json(const struct plan *p);
bool plan_from_json(struct arena *a, const json_t *json, struct plan *p, struct error *err);
