// A runner as the judge sees it: start one for a candidate, command calls, read what it
// wrote, end it. The judge's clock stands here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/process.h"
#include "eval/control.h"
#include "eval/memory_file.h"
#include "profile/perf.h"
#include "record/verdict.h"

struct arena;
struct error;

struct runner_spec {
    const struct plan *plan;
    int n_slots, n_threads;
    const struct memory_file *inputs, *outputs;  // of all slots, as the layout has them
    int made_fd;  // a page maker's: the runner waits for it before it maps; -1: it does not
    bool bypasses_caches;  // runner_poison() does: calls shall find the caches cold
};

enum runner_status {
    RUNNER_OK,
    RUNNER_REFUSED,  // the object could not be loaded
    RUNNER_ENDED,    // crashed, or ended on its own
    RUNNER_TIMEOUT,
    RUNNER_BROKEN,  // not the candidate's fault
};

// The wait that a thread sleeps in (/proc/PID/task/TID/syscall).
struct thread_place {
    unsigned long long call, word, operation, timeout, stack, code;
};

struct runner {
    struct process process;
    const struct plan *plan;
    struct arena arena;  // of the layout
    struct layout layout;
    int n_threads;
    bool bypasses_caches;
    struct control *control;
    struct memory_file scratch, stacks;
    struct control *loaded;             // the page as it was once the candidate was loaded
    const struct memory_file *outputs;  // the judge's
    int control_fd;
    // /proc/PID/task/TID/schedstat, -1 when it cannot be read; the last is the first thread's,
    // which only waits.
    int stat_fds[THREADS_MAX + 1];
    int state_fds[THREADS_MAX + 1];               // the same of .../stat
    int place_fds[THREADS_MAX + 1];               // the same of .../syscall
    struct thread_place places[THREADS_MAX + 1];  // before it was called; all 0: not known
    int n_pinned;  // of its threads: those that may run on one processor alone
    bool is_paused;
    bool is_loaded;  // there is a candidate in it
    int sandbox_level;
    int64_t ran_ns[THREADS_MAX + 1];  // processor time of each thread when the last call began
    // How a call's time divides between its steps, as the runner reports it; of late calls mostly.
    double step_share[CONTROL_STEPS_MAX];
    bool has_shares;
    int64_t faults;        // of all its threads, when the last call ended; 0: not read
    double faults_a_call;  // page faults of a call, the fewest; NAN: not known
    struct perf_thread counters[THREADS_MAX + 1];  // as state_fds
    double counted[PERF_EVENTS_MAX];               // of all threads, when the last call ended
    double counts_a_call[PERF_EVENTS_MAX];  // of the call with the fewest cycles; NAN: not known
    struct process_result end;              // once it has ended
};

// Start a runner: it maps its buffers while we do something else, such as compiling. False only
// when we failed ourselves. Close it in any case.
bool runner_begin(struct runner *r, const struct runner_spec *spec, struct error *err);

// Load the candidate from the shared object at this path and wait until it can be called; whether
// it could be loaded is in `status`.
bool runner_load(struct runner *r, const char *object, enum runner_status *status,
                 struct error *err);

// End it without waiting for its end, which takes a while when much is mapped; close it later.
void runner_kill(struct runner *r);
void runner_close(struct runner *r);
bool runner_is_alive(struct runner *r);

struct call_result {
    enum runner_status status;
    double time_s;       // CPU: judge's clock, from the command to the answer; GPU: by events
    double outside_s;    // CPU: what a thread ran longer than it took, beyond going to sleep
    int64_t delayed_ns;  // the longest that one of its threads waited for a processor
    double thread_busy;  // as the runner reports it; NAN on a GPU
    bool fp_changed;
    bool was_idle;    // it ran out of time, and its threads were idle for most of it
    bool was_nudged;  // the runner woke the judge before it had an answer
    int64_t clocks;   // GPU: why they are low, NVML's reasons; -1: not known
};

// Stop all of its threads, wherever they are, and let them go on. Both do nothing when it is so
// already. A call needs it to run.
void runner_pause(struct runner *r);
void runner_resume(struct runner *r);

void runner_call(struct runner *r, int slot, int64_t timeout_ns, struct call_result *result);

// Called when the results of a call have been looked at: wait until all threads wait for the next
// one where they did before there was a candidate, so that no code of the candidate's can run until
// then. The most that one of them ran longer than the call took is in `lingered_ns`. False: one
// does not come back.
bool runner_settle(struct runner *r, const struct call_result *call, int64_t *lingered_ns);

// An output or scratch buffer of one slot.
char *runner_bytes(const struct runner *r, int buffer, int slot);

// Fill outputs or scratch of a slot with the poison word (and the bytes around them).
void runner_poison(const struct runner *r, enum layout_file file, int slot, uint32_t poison);

// Are the bytes around the slot's buffers as poisoned? -1, or the buffer that was overrun.
int runner_find_overrun(const struct runner *r, int slot, uint32_t poison);

// Put what became of a runner that is not RUNNER_OK into words.
void runner_explain(struct arena *a, const struct runner *r, enum runner_status status,
                    struct verdict *v);
