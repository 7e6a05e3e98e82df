// A micro-profiling tool: a pure function from a profile to findings.
//
// To add one: write tools/tool_<name>.c, declare it below, name it in tools.c.
// A tool stays silent when a metric that it needs is absent.
#pragma once

#include "ir/problem.h"
#include "model/bound.h"
#include "model/target.h"
#include "record/candidate.h"
#include "record/finding.h"
#include "record/profile.h"

struct arena;

struct tool_input {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct candidate *candidate;
    const struct profile *profile;
};

struct tool {
    const char *name;
    const char *summary;
    // Called for every measured candidate; writes at most `room` findings to `out` and
    // returns how many.
    int (*examine)(struct arena *a, const struct tool_input *in, struct finding *out, int room);
};

extern const struct tool tool_reach;   // far from reach, and on which side
extern const struct tool tool_scalar;  // scalar code in the hot loop
extern const struct tool tool_idle;    // threads idle
// On a GPU:
extern const struct tool tool_occupancy;  // too few threads fit on a multiprocessor, and why
extern const struct tool tool_waves;      // multiprocessors without work
extern const struct tool tool_spill;      // values that do not stay in registers
extern const struct tool tool_narrow;     // narrow accesses to memory
extern const struct tool tool_launch;     // launching takes the time

extern const struct tool *const tools[];  // NULL-terminated

// Run every tool, rank by severity and expected gain, keep at most `room`.
int tools_examine(struct arena *a, const struct tool_input *in, struct finding *out, int room);
