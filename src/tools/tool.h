// A micro-profiling tool: a pure function from a profile to a finding.
//
// To add one: write tools/tool_<name>.c, declare it below, name it in tools.c. It says for which
// classes it speaks and which metrics it needs; where one of those is absent it is not asked. A
// tool of launches is asked about each launch that takes a share of the time, the others about the
// call. Findings are then ranked, their actions reduced to legal moves of the candidate's block,
// and what contradicts a higher one is left out.
#pragma once

#include "family/moves.h"
#include "ir/problem.h"
#include "model/bound.h"
#include "model/target.h"
#include "profile/classify.h"
#include "record/candidate.h"
#include "record/finding.h"
#include "record/profile.h"

struct arena;

// What is to be explained. `problem` and `bound` may be NULL: of a program that somebody else
// wrote only its profile is known.
struct tool_input {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct candidate *candidate;
    const struct profile *profile;
};

// What a tool sees: one call, or one launch of it.
struct tool_subject {
    const struct tool_input *in;
    const struct target *target;
    const struct kernel *kernel;    // the candidate's block; NULL: it has none
    const struct metrics *metrics;  // of the launch where the tool is one of launches
    const char *launch;             // its name; NULL: the call
    double share;                   // of the launch in the time, 1 for the call
    struct class_of analytic, measured;
    // Time over reach: nothing gains more. NAN where either is unknown.
    double gap;
};

enum { CLASS_ANY = 0, ON_CPU = 1, ON_GPU = 2, NEEDS_MAX = 8 };
#define CLASS_BIT(kind) (1u << (kind))

struct tool {
    const char *name;
    const char *summary;
    unsigned devices;  // ON_CPU, ON_GPU
    unsigned classes;  // CLASS_BITs under which it speaks; CLASS_ANY: all
    bool of_launches;
    bool of_several;  // it compares launches with one another, and needs all of a profile
    bool
        is_symptom;  // it says that, not why: never of high severity, and behind a cause of its own
    int n_needs;
    enum metric_id needs[NEEDS_MAX];
    // Called when all that it needs is there; true: `f` holds what it found, with a gain on the
    // subject alone.
    bool (*examine)(struct arena *a, const struct tool_subject *s, struct finding *f);
};

extern const struct tool tool_reach;     // far from reach, and on which side
extern const struct tool tool_disagree;  // busy with something else than the problem needs
// On a CPU:
extern const struct tool tool_scalar;   // scalar code in the hot loop
extern const struct tool tool_idle;     // threads idle
extern const struct tool tool_width;    // narrow vectors
extern const struct tool tool_stack;    // vectors on the stack
extern const struct tool tool_gather;   // gathers
extern const struct tool tool_stride;   // loops across rows
extern const struct tool tool_fused;    // no multiply-adds
extern const struct tool tool_sums;     // too few sums under way
extern const struct tool tool_moved;    // bytes beyond the least
extern const struct tool tool_tail;     // remainder loops
extern const struct tool tool_faults;   // page faults
extern const struct tool tool_sharing;  // false sharing
// On a GPU:
extern const struct tool tool_occupancy;  // too few threads fit on a multiprocessor, and why
extern const struct tool tool_waves;      // multiprocessors without work
extern const struct tool tool_spill;      // values that do not stay in registers
extern const struct tool tool_narrow;     // narrow accesses to memory
extern const struct tool tool_launch;     // launching takes the time
// On a GPU, from machine code or counters:
extern const struct tool tool_coalesce;    // scattered global accesses
extern const struct tool tool_banks;       // conflicts in shared memory
extern const struct tool tool_flight;      // too few loads under way
extern const struct tool tool_reuse;       // too little arithmetic for each shared read
extern const struct tool tool_serial;      // products of warpgroups wait for one another
extern const struct tool tool_tensor;      // matrix units not used, not fully, or not fed
extern const struct tool tool_slow;        // divisions, functions, 64-bit indices
extern const struct tool tool_convert;     // conversions between types
extern const struct tool tool_atomics;     // atomics in the loop
extern const struct tool tool_barrier;     // time at barriers
extern const struct tool tool_divergence;  // warps that go different ways
extern const struct tool tool_stall;       // what warps wait for most
extern const struct tool tool_uneven;      // unequal work
extern const struct tool tool_reread;      // traffic beyond the least
extern const struct tool tool_gaps;        // the card waits between kernels
extern const struct tool tool_saturated;   // near the card's limit
extern const struct tool tool_starved;     // matrix units wait for data
extern const struct tool tool_path;        // matrix instructions of the slower kind
extern const struct tool tool_precision;   // f64 arithmetic on f32 data
extern const struct tool tool_chain;       // each instruction waits for the one before
extern const struct tool tool_fetch;       // instructions themselves come late
extern const struct tool tool_fence;       // memory fences
extern const struct tool tool_constant;    // constants that threads read at different addresses
extern const struct tool tool_host;        // memory of the host, over the bus
extern const struct tool tool_copies;      // copies between host and device
extern const struct tool tool_hits;        // misses of L1 that the data would not need
extern const struct tool tool_thrash;      // data that leave L2 too early
extern const struct tool tool_writes;      // partial writes, turns between reads and writes
extern const struct tool tool_cluster;     // tiles that a cluster could fetch once
extern const struct tool tool_stages;      // kernels that could be one
extern const struct tool tool_layout;      // kernels that only move data
extern const struct tool tool_clock;       // a clock below the card's

extern const struct tool *const tools[];  // NULL-terminated

// Run every tool, rank by severity and expected gain, keep at most `room`.
int tools_examine(struct arena *a, const struct tool_input *in, struct finding *out, int room);

// One tool, about the launch that it has most to say of; for tests.
bool tool_examine(struct arena *a, const struct tool *t, const struct tool_input *in,
                  struct finding *f);

// Which of two comes first: by severity, then causes before symptoms, then by gain.
bool finding_ranks_before(const struct finding *a, const struct finding *b);

// Is this move what the action means?
bool action_stands_for(const struct action *action, const struct move *m);
