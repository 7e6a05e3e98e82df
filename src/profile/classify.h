// What a launch is limited by: a class, and within it the part of the device.
//
// Twice: analytic, from the bound of the problem, which says what any kernel for it needs; and
// measured, from counters, which say what this kernel does. Where both are known and differ, that
// is a finding of its own (tools/tool_disagree.c): the kernel does not work on what the problem
// needs. Counters are shares of what a part can sustain; where the target has a measured ceiling,
// of that.
#pragma once

#include <stdbool.h>

#include "model/bound.h"
#include "model/target.h"
#include "record/profile.h"

struct arena;

enum class_kind {
    CLASS_UNKNOWN,  // no counters, or no bound
    CLASS_COMPUTE,  // some arithmetic pipe or the issue of instructions
    CLASS_MEMORY,   // memory, a cache or shared memory
    CLASS_LATENCY,  // nothing is busy: warps wait
    CLASS_MIXED,    // arithmetic and memory both
    CLASS_KINDS
};

// The part of the device that limits.
enum class_part {
    PART_NONE,
    PART_TENSOR,      // matrix units
    PART_ARITHMETIC,  // any other arithmetic pipe
    PART_ISSUE,
    PART_DRAM,
    PART_L2,
    PART_SHARED,  // shared memory: bank conflicts or plain traffic
    PART_LSU,     // L1 and the pipe of loads and stores
    PART_LAUNCH,  // the launch itself
    CLASS_PARTS
};

struct class_of {
    enum class_kind kind;
    enum class_part part;
    // How busy that part is; of CLASS_LATENCY the busiest part. NAN: by the bound, or unknown.
    double busy;
    double compute_busy, memory_busy;  // the busiest of either side; NAN where nothing is known
};

struct classes {
    struct class_of analytic;
    struct class_of measured;   // of the call: the class with most of the time
    double measured_share;      // of the time that is in launches of that class
    struct class_of *launches;  // measured, one for each launch of the profile
    double *shares;             // of each in the time; NAN where some was not timed
};

const char *class_name(enum class_kind k);       // "memory"
const char *class_part_name(enum class_part p);  // "L2 cache"; "" for PART_NONE

struct class_of classify_bound(const struct bound *b);
struct class_of classify_launch(const struct metrics *m, const struct target *t);
void classify(struct arena *a, const struct profile *p, const struct bound *b,
              const struct target *t, struct classes *out);
// The name of the class that a candidate is in: as measured, else by the bound of its problem.
const char *class_of_node(const struct profile *p, const struct bound *b, const struct target *t);
// Both known and not the same: memory against compute, or either against latency.
bool classes_disagree(const struct class_of *x, const struct class_of *y);
// "memory-bound (memory 93% of its ceiling busy, arithmetic 9%)".
const char *class_text(struct arena *a, const struct class_of *c);
