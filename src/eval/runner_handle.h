// A runner as the judge sees it: start one for a candidate, command calls, read what it
// wrote, end it. The judge's clock stands here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/process.h"
#include "eval/control.h"
#include "record/verdict.h"

struct arena;
struct error;

// Memory that the judge shares with runners.
struct memory_file {
    int fd;            // ours
    int read_only_fd;  // a mapping of it can never be made writable
    char *bytes;
    int64_t size_bytes;
};

bool memory_file_open(struct memory_file *f, int64_t size_bytes, struct error *err);
void memory_file_close(struct memory_file *f);

struct runner_spec {
    const struct plan *plan;
    int n_slots, n_threads;
    const struct memory_file *inputs, *outputs;  // of all slots, as the layout has them
    const char *object;                          // path of the shared object
};

enum runner_status {
    RUNNER_OK,
    RUNNER_REFUSED,  // the object could not be loaded
    RUNNER_ENDED,    // crashed, or ended on its own
    RUNNER_TIMEOUT,
    RUNNER_BROKEN,  // not the candidate's fault
};

struct runner {
    struct process process;
    const struct plan *plan;
    struct layout layout;
    int n_threads;
    struct control *control;
    struct memory_file scratch;
    const struct memory_file *outputs;  // the judge's
    int control_fd;
    int stat_fds[THREADS_MAX];  // /proc/PID/task/TID/schedstat, -1 when it cannot be read
    int sandbox_level;
    bool is_loaded;
    int cpu_clock;                // clockid_t of the process
    int64_t cpu_ns;               // its processor time when the last call began
    double call_s;                // how long that call took
    int64_t ran_ns[THREADS_MAX];  // processor time of each thread when it began
    int64_t lingered_ns;  // of the call before it: the most that a thread ran longer than it took
    struct process_result end;  // once it has ended
};

// Start a runner and load the candidate. False only when we failed ourselves; whether the
// candidate could be loaded is in `status`. Close it in any case.
bool runner_open(struct runner *r, const struct runner_spec *spec, enum runner_status *status,
                 struct error *err);
void runner_close(struct runner *r);
bool runner_is_alive(struct runner *r);

struct call_result {
    enum runner_status status;
    double time_s;       // CPU: judge's clock, from the command to the answer; GPU: by events
    int64_t delayed_ns;  // the longest that one of its threads waited for a processor
    double thread_busy;  // as the runner tells it; NAN on a GPU
    bool fp_changed;
    int64_t clocks;  // GPU: why they are low, NVML's reasons; -1: not known
};

void runner_call(struct runner *r, int slot, int64_t timeout_ns, struct call_result *result);

// Processor time used since the last call began, beyond what its threads can have used during
// the call. Counts only what the kernel has booked so far: a thread that runs at this moment is
// booked at the next tick, so ask late. Never too much.
int64_t runner_excess_ns(const struct runner *r);

// An output or scratch buffer of one slot.
char *runner_bytes(const struct runner *r, int buffer, int slot);

// Fill outputs or scratch of a slot with the poison word (and the bytes around them).
void runner_poison(const struct runner *r, enum layout_file file, int slot, uint32_t poison);

// Are the bytes around the slot's buffers as poisoned? -1, or the buffer that was overrun.
int runner_find_overrun(const struct runner *r, int slot, uint32_t poison);

// Put what became of a runner that is not RUNNER_OK into words.
void runner_explain(struct arena *a, const struct runner *r, enum runner_status status,
                    struct verdict *v);
