// Time: a monotonic clock in nanoseconds for measuring, wall time for records,
// and the flag that Ctrl-C sets.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;

int64_t clock_now_ns(void);  // CLOCK_MONOTONIC_RAW: never adjusted

// Wall time as "2026-11-15T04:05:06Z".
const char *clock_timestamp(struct arena *a);

// A duration as a person says it: "4.2 µs", "1.53 ms", "12 s".
const char *clock_duration(struct arena *a, double ns);

// Install handlers for SIGINT and SIGTERM that only set a flag, and ignore SIGPIPE. A second
// Ctrl-C ends the process at once with status 130.
void interrupt_init(void);
bool interrupt_seen(void);
// Is that a second Ctrl-C, and not the first one twice? (timeout(1) signals us and then our group.)
bool interrupt_is_second(int64_t before_ns, int64_t now_ns);
