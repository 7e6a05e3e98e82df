// Chains: each instruction needs the result of the one before, and there are too few warps to fill
// the cycles in between.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.3, ISSUING = 0.8;

static const struct action wider[] = {
    TURN("micro", +1, "more independent sums per thread"),
    TURN("unroll", +1, "more independent work per step"),
    TURN("minblocks", +1, "more blocks at a time"),
    WORDS(
        "several sums in place of one, brought together at the end; unroll over independent work"),
    WORDS("more warps on a multiprocessor: more or larger blocks"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double cycles = subject_get(s, METRIC_STALL_WAIT), all = subject_stalls(s);
    double share = cycles / all, issue = subject_get(s, METRIC_ISSUE_BUSY);
    if (!(share > MUCH) || subject_get(s, METRIC_ISSUE_BUSY) > ISSUING ||
        !(subject_waiting(s, METRIC_STALL_WAIT) > 0.5))
        return false;
    f->severity = share > 0.5 && !(issue > 0.4) ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "warps wait for the result of the instruction before";
    f->evidence =
        arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp", cycles, all);
    f->expected_gain = fmin(1 / (1 - fmin(share, 0.95)), 1 / fmax(issue, 0.05));
    tool_add_number(f, METRIC_STALL_WAIT, cycles, MUCH * all);
    tool_add_number(f, METRIC_ISSUE_BUSY, issue, NAN);
    tool_add_actions(f, s, wider, ARRAY_LEN(wider));
    return true;
}

const struct tool tool_chain = {
    .name = "chain",
    .summary = "chains of instructions that wait for one another",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 2,
    .needs = {METRIC_STALL_WAIT, METRIC_ISSUE_BUSY},
    .examine = examine,
};
