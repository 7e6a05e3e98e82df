// Messages between the judge and a runner on a GPU (`hone _gpu_runner`), frames over descriptor 3
// of the runner. Every question gets one answer, or hone.gpu_failed/1
// {"code": 700, "name": "CUDA_ERROR_ILLEGAL_ADDRESS", "what": "run the kernels"}.
//
//   -> hone.gpu_start/1  {"ordinal": 0}; no answer: what goes wrong is told to the next question
//   -> hone.gpu_open/1   {"slots": 8, "flush_bytes", "plan": hone.plan/1 with the problem's
//                        buffers alone}, a memory file with our own kernels, and the memory of
//                        every slot where another runner has made it
//   <- hone.gpu_memory/1 and a descriptor per slot, when it has made it
//   -> hone.gpu_load/1   {"plan"} and a memory file with the cubin
//   <- hone.gpu_memory/1 {"launches": [{"function", "registers", "static_shared", "local",
//                        "blocks_per_sm"}]} and, if the plan has scratch, a descriptor per slot
//   -> hone.gpu_call/1   {"slot": 3}; -1: nothing but what goes around every call
//   <- hone.gpu_called/1 {"time_s"}
//   -> hone.gpu_steps/1  {"slot": 3}: a call that counts for nothing, with events between its steps
//   <- hone.gpu_stepped/1 {"steps_s": [...]}, those of the plan
//   -> hone.gpu_repeat/1 {"slot": 3, "calls": 60}: so many, back to back, each on the slot after
//   the
//                        one before, with nothing in between; answered when the last has ended
//   <- hone.gpu_repeated/1
//   -> hone.gpu_unload/1
//   <- hone.gpu_unloaded/1
//
// The runner holds inputs, outputs, scratch and the candidate: no seed, no expected value, and it
// does not know which call counts. The candidate's code can read and perhaps write all its
// memory, so the judge believes nothing of what it says without a check: outputs are compared
// by the judge, and the time is checked against the judge's own clock.
#pragma once

#include "gpu/cuda.h"
#include "library/gpu_calls.h"
#include "record/plan.h"

// gpu_graph.c: the plan as a graph of one slot.
struct gpu_program {
    const struct cuda *cu;
    const struct plan *plan;
    cuda_function functions[PLAN_STEPS_MAX];  // by step
    struct gpu_calls *calls;                  // of libraries; NULL: none
};

// Find the plan's kernels in a module and make them ready. False: `code` is the driver's, `err`
// has the words.
bool gpu_program_open(struct gpu_program *p, const struct cuda *cu, cuda_module module,
                      const struct plan *plan, cuda_result *code, struct error *err);

// What the driver says of a launch: registers, static_shared, local, blocks_per_sm; what it does
// not tell is absent.
json_t *gpu_program_facts(const struct gpu_program *p, int step);

void gpu_program_close(struct gpu_program *p);

// Let libraries choose their algorithms, by trying them on these buffers, before the first call.
bool gpu_program_tune(struct gpu_program *p, cuda_stream stream, const cuda_pointer *buffers,
                      cuda_result *code, struct error *err);

// Put one call on these buffers (by number in the plan) into a stream. `marks`: n_steps + 1 events
// around the plan's steps, what is cleared before them left out; NULL: none. `refused`: the tensor
// map that the driver did not take, NULL when it was something else or nothing.
cuda_result gpu_program_issue(const struct gpu_program *p, cuda_stream stream,
                              const cuda_pointer *buffers, const cuda_event *marks,
                              const struct plan_tensormap **refused);

// Capture one call on these buffers (by number in the plan).
bool gpu_program_capture(const struct gpu_program *p, cuda_stream stream,
                         const cuda_pointer *buffers, cuda_graph_exec *exec, cuda_result *code,
                         struct error *err);
