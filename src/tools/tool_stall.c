// What warps wait for most, and what helps against that. Barriers, fences, constants, the fetching
// of instructions and chains of them have tools of their own.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// A scheduler that issues in ISSUING of its cycles has nothing to wait for; a reason counts from
// MUCH of all waiting on. ncu's rule has the same lines.
static const double ISSUING = 0.8, MUCH = 0.3;
// Memory this busy is why warps wait for it.
static const double SATURATED = 0.8;

static const struct action more_under_way[] = {
    TURN("stages", +1, "load the next slice while this one is used"),
    TURN("items", +1, "more vectors per thread, so that more is under way"),
    TURN("minblocks", +1, "more blocks at a time"),
    WORDS("more loads before the first is used: several per thread, or asynchronous copies into "
          "shared memory"),
    WORDS("more warps: fewer registers or less shared memory each"),
};
static const struct action fewer_accesses[] = {
    TURN("vec", +1, "fewer and wider accesses"),
    WORDS("fewer and wider accesses (16 bytes a thread), or values kept in registers"),
};
static const struct action less_shared[] = {
    TURN("micro", +1, "more sums per thread for each value read from shared memory"),
    WORDS("more results per thread for each value read from shared memory; wider reads; no bank "
          "conflicts"),
    WORDS("fewer functions (exp, division, sqrt): their pipe is slow"),
};
static const struct action deeper_matrix[] = {
    TURN("stages", +1, "more slices on their way"),
    WORDS("more matrix instructions under way before waiting; a second group of warps that works "
          "while this one waits"),
};
static const struct action drain[] = {
    WORDS("stores earlier than at the very end, wider and side by side"),
};
static const struct action pipes[] = {
    WORDS("other arithmetic: fewer instructions for the pipe that is full"),
};

static const struct {
    enum metric_id id;
    const char *cause;
    const struct action *actions;
    int n_actions;
    bool is_memory;
} reasons[] = {
    {METRIC_STALL_LONG, "warps wait for global memory", more_under_way, ARRAY_LEN(more_under_way),
     true},
    {METRIC_STALL_LG_THROTTLE, "the queue of global accesses is full", fewer_accesses,
     ARRAY_LEN(fewer_accesses), true},
    {METRIC_STALL_SHORT, "warps wait for shared memory or functions", less_shared,
     ARRAY_LEN(less_shared), false},
    {METRIC_STALL_MIO_THROTTLE, "the queue of shared memory and functions is full", less_shared,
     ARRAY_LEN(less_shared), false},
    {METRIC_STALL_MATH, "an arithmetic pipe is full", pipes, ARRAY_LEN(pipes), false},
    {METRIC_STALL_GMMA, "warps wait for matrix units", deeper_matrix, ARRAY_LEN(deeper_matrix),
     false},
    {METRIC_STALL_DRAIN, "warps wait for their last stores", drain, ARRAY_LEN(drain), true},
};

// Loads of constants at an address of each thread go through the queue of shared memory:
// tool_constant speaks of those where there is nothing else in it.
static bool is_of_constants(const struct tool_subject *s, enum metric_id reason) {
    return (reason == METRIC_STALL_SHORT || reason == METRIC_STALL_MIO_THROTTLE) &&
           subject_get(s, METRIC_HOT_CONSTANTS) > 0 &&
           subject_get(s, METRIC_HOT_SHARED_LOADS) == 0 &&
           subject_get(s, METRIC_HOT_FUNCTIONS) == 0;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double all = subject_stalls(s), issue = subject_get(s, METRIC_ISSUE_BUSY);
    int most = 0;
    for (int i = 1; i < ARRAY_LEN(reasons); i++)
        if (subject_get(s, reasons[i].id) > subject_get(s, reasons[most].id) ||
            isnan(subject_get(s, reasons[most].id)))
            most = i;
    double cycles = subject_get(s, reasons[most].id), share = cycles / all;
    bool is_saturated =
        (reasons[most].is_memory && s->measured.memory_busy >= SATURATED) || subject_is_full(s);
    if (!(share > MUCH) || !(issue < ISSUING) || is_saturated ||
        is_of_constants(s, reasons[most].id))
        return false;
    f->severity = SEVERITY_MEDIUM;  // why they wait others say
    f->cause = reasons[most].cause;
    f->evidence = arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp; %s",
                               cycles, all, metric_table[reasons[most].id].meaning);
    // Nothing gains more than what is not yet issued, or than the memory side leaves.
    f->expected_gain = fmin(1 / (1 - share), 1 / fmax(issue, s->measured.memory_busy));
    tool_add_number(f, reasons[most].id, cycles, MUCH * all);
    tool_add_number(f, METRIC_ISSUE_BUSY, issue, ISSUING);
    tool_add_actions(f, s, reasons[most].actions, reasons[most].n_actions);
    return true;
}

const struct tool tool_stall = {
    .name = "stall",
    .summary = "what warps wait for most, and the remedy",
    .devices = ON_GPU,
    .of_launches = true,
    .is_symptom = true,
    .n_needs = 1,
    .needs = {METRIC_ISSUE_BUSY},
    .examine = examine,
};
