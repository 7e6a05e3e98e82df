// Counters of the processor, read of the threads of another process where the kernel allows it
// (perf_event_open). Where it does not, or the machine has none, that is said and nothing else
// changes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/metrics.h"

struct arena;

// The events of metrics.def that a thread is counted by; the first must be there, the others may
// be absent.
struct perf_event {
    uint32_t type;
    uint64_t config;
    enum metric_id id;
};
enum { PERF_EVENTS_MAX = 4 };
extern const struct perf_event perf_events[PERF_EVENTS_MAX];

struct perf_thread {
    int fds[PERF_EVENTS_MAX];  // of those that could be opened, the first of them leads; -1: none
    int events[PERF_EVENTS_MAX];
    int n;  // 0: it is not counted
};

// Count what this thread does in user mode from now on. False: errno says why not.
bool perf_open(pid_t tid, const struct perf_event *events, int n_events, struct perf_thread *t);
// Since it was opened, by event, scaled where the processor counted only part of the time; absent
// events stay as they are. False: there is nothing.
bool perf_read(const struct perf_thread *t, double *values);
void perf_close(struct perf_thread *t);

// In words: why a machine or a kernel does not count.
const char *perf_error_text(struct arena *a, int error);
