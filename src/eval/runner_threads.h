// The runner's threads: ours, pinned, asleep between calls. They hand out the blocks
// of each step among themselves; the candidate makes no threads.
#pragma once

#include <stdbool.h>

#include "eval/control.h"

struct blas;
struct runner_threads;
struct error;

// What a step runs for each block: a candidate's function over pointers, or (NULL) our
// own fill of one buffer.
typedef void (*block_fn)(void);

struct runner_threads_plan {
    const struct plan *plan;
    const struct blas *blas;             // for steps that call it
    block_fn functions[PLAN_STEPS_MAX];  // filled in after the threads were made
};

// Start `n_threads` threads that wait for calls on the control page. They read `plan` and
// the bases on the page only when a call comes.
//
// Their stacks are in the memory file `stacks`, which the judge has too: it takes away what a call
// left there.
struct runner_threads_spec {
    struct control *control;
    const struct runner_threads_plan *plan;
    const struct layout *layout;
    int n_threads;
    int stacks;  // descriptor
};
bool runner_threads_start(struct runner_threads **out, const struct runner_threads_spec *spec,
                          struct error *err);

// What one thread has in their file, guard and stack for signals included: where it begins and
// ends.
int64_t runner_threads_stack_begin(int thread);
int64_t runner_threads_stack_end(int thread);

// Address space that so many threads take, and the size of that file.
int64_t runner_threads_address_bytes(int n_threads);

// Does this address lie at the end of a thread's stack?
bool runner_threads_is_stack_overflow(const struct runner_threads *crew, const void *address);
