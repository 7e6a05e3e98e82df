// A runner on a GPU as the judge sees it: a process that stays warm from candidate to candidate,
// and the device memory that it shares.
#pragma once

#include "base/process.h"
#include "eval/gpu_layout.h"
#include "eval/runner_handle.h"
#include "gpu/mapping.h"
#include "oracle/gpu_bench.h"

struct metrics;
struct profile;

// The problem's buffers in every slot. The first runner makes them; the judge and every other
// runner open the same memory, so that subject and baseline work in the same place.
struct gpu_memory {
    const struct plan *problem;  // its buffers alone
    int n_slots;
    struct cuda_mapping slots[GPU_SLOTS_MAX];  // in the judge's addresses
    int fds[GPU_SLOTS_MAX];
    bool is_there;
};

void gpu_memory_reset(struct gpu_memory *m, struct gpu_bench *b);

struct gpu_runner_spec {
    struct gpu_bench *bench;
    struct gpu_memory *memory;
    int ordinal;
    int64_t flush_bytes;
    const char *cubin;  // of runtime/judge.cu
    size_t cubin_len;
};

struct gpu_runner {
    struct process process;
    struct gpu_bench *bench;
    struct gpu_memory *memory;
    struct cuda_mapping scratch[GPU_SLOTS_MAX];  // of the candidate that it has loaded
    bool is_open, is_taken;
    double overhead_s;  // of a call by the judge's clock, beyond what the events say
    int code;           // of the driver, when it failed
    char name[64], what[1024];
};

// Start the process and have it make its context, without waiting for that. Not needed before
// gpu_runner_open, which otherwise does it.
bool gpu_runner_start(struct gpu_runner *r, int ordinal, struct error *err);
bool gpu_runner_open(struct gpu_runner *r, const struct gpu_runner_spec *spec, struct error *err);
void gpu_runner_close(struct gpu_runner *r);
bool gpu_runner_is_alive(struct gpu_runner *r);

// Shape of a step of the plan and what the driver told of it (gpu_program_facts).
void gpu_launch_metrics(const struct plan_step *s, const json_t *told, int64_t threads_per_sm,
                        struct metrics *m);

// Load a candidate. False only when the judge itself failed; whether it could be loaded is in
// `status` (and in the runner, for gpu_runner_explain). Facts of its launches go to `p`.
struct gpu_load_spec {
    struct arena *arena;  // for the profile's launches
    const struct plan *plan;
    const char *cubin;
    size_t cubin_len;
    int64_t threads_per_sm;
};
bool gpu_runner_load(struct gpu_runner *r, const struct gpu_load_spec *load, struct profile *p,
                     enum runner_status *status, struct error *err);
void gpu_runner_unload(struct gpu_runner *r);

struct gpu_call {
    enum runner_status status;
    double event_s;  // as the runner reports it
    double host_s;   // by the judge's clock, with everything around it
};
void gpu_runner_call(struct gpu_runner *r, int slot, int64_t timeout_ns, struct gpu_call *call);

// One more call, step by step: the time of each step of the plan, as the runner reports it. False:
// it could not, and is not used again.
bool gpu_runner_steps(struct gpu_runner *r, int slot, int64_t timeout_ns, double *steps_s, int n);

// Ask for so many calls back to back, from a slot on, without waiting for them: the next may be
// asked for before, so that there is no pause between. Then wait for the first that was asked for;
// `meanwhile` is called about every millisecond. False: it could not, and is not used again
// (gpu_runner_explain).
struct gpu_repeat {
    int slot;
    int64_t n_calls, timeout_ns;
    void (*meanwhile)(void *ctx);
    void *ctx;
};
void gpu_runner_repeat(struct gpu_runner *r, const struct gpu_repeat *repeat);
bool gpu_runner_await(struct gpu_runner *r, const struct gpu_repeat *repeat,
                      enum runner_status *status);

// Measure `overhead_s` (again). Done by gpu_runner_open before any candidate is there.
bool gpu_runner_measure_overhead(struct gpu_runner *r, struct error *err);

void gpu_runner_explain(struct arena *a, const struct gpu_runner *r, enum runner_status status,
                        struct verdict *v);
