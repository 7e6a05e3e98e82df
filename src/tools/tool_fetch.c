// Instructions that come late: code that is longer than the cache for it, or jumps about.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.3;

static const struct action shorter[] = {
    TURN("unroll", -1, "unroll less: the code does not fit the instruction cache"),
    WORDS("less code: unroll less, __noinline__ for what is rare, no branches between far parts"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double cycles =
               fmax(subject_get(s, METRIC_STALL_NO_INSTRUCTION), 0) +
               (metrics_has(s->metrics, METRIC_STALL_BRANCH) ? subject_get(s, METRIC_STALL_BRANCH)
                                                             : 0),
           all = subject_stalls(s);
    double share = cycles / all, issue = subject_get(s, METRIC_ISSUE_BUSY);
    if (!(share > MUCH) || subject_get(s, METRIC_ISSUE_BUSY) > 0.8)
        return false;
    f->severity = share > 0.5 && !(issue > 0.4) ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "warps wait for instructions to be fetched";
    f->evidence =
        arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp", cycles, all);
    // No more than what is not yet issued.
    f->expected_gain =
        subject_cap_gain(s, fmin(1 / (1 - fmin(share, 0.95)), issue > 0 ? 1 / issue : INFINITY));
    tool_add_number(f, METRIC_STALL_NO_INSTRUCTION, cycles, MUCH * all);
    tool_add_number(f, METRIC_ISSUE_BUSY, issue, NAN);
    tool_add_actions(f, s, shorter, ARRAY_LEN(shorter));
    return true;
}

const struct tool tool_fetch = {
    .name = "fetch",
    .summary = "instructions that come late",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 1,
    .needs = {METRIC_STALL_NO_INSTRUCTION},
    .examine = examine,
};
