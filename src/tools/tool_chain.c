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

// Warps of a scheduler, by the launch.
static double warps_of(const struct tool_subject *s) {
    enum { WARP = 32, SCHEDULERS = 4 };
    double each = ceil(subject_get(s, METRIC_BLOCK_THREADS) / WARP) / SCHEDULERS;
    double blocks = subject_get(s, METRIC_BLOCKS) / s->target->sms;
    return each * fmin(ceil(blocks), subject_get(s, METRIC_BLOCKS_PER_SM));
}

// What code and launch say of it where nobody counted: the compiler wrote how long each instruction
// is waited for. Loads and functions take as long as they take, so that nothing is said where the
// hot part has any.
static bool examine_code(struct arena *a, const struct tool_subject *s, struct finding *f) {
    static const enum metric_id others[] = {METRIC_HOT_LOADS,   METRIC_HOT_SHARED_LOADS,
                                            METRIC_HOT_LOCAL,   METRIC_HOT_FUNCTIONS,
                                            METRIC_HOT_ATOMICS, METRIC_HOT_BARRIERS};
    static const double FULL = 0.6;
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS), warps = warps_of(s);
    double cycles = subject_get(s, METRIC_HOT_ISSUE_CYCLES), issue = warps * all / cycles;
    for (int i = 0; i < ARRAY_LEN(others); i++)
        if (subject_get(s, others[i]) > 0)
            return false;
    if (!(subject_get(s, METRIC_CODE_LOOPS) > 0) || !(warps > 0) || !(issue < FULL))
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = "warps wait for the result of the instruction before";
    f->evidence = arena_printf(a,
                               "%.0f instructions of the hot loop take a warp %.0f cycles, and a "
                               "scheduler has %.3g warp%s",
                               all, cycles, warps, warps == 1 ? "" : "s");
    f->expected_gain = fmin(1 / issue, cycles / all);
    tool_add_number(f, METRIC_HOT_ISSUE_CYCLES, cycles, warps * all / FULL);
    tool_add_number(f, METRIC_BLOCKS_PER_SM, subject_get(s, METRIC_BLOCKS_PER_SM), NAN);
    tool_add_actions(f, s, wider, ARRAY_LEN(wider));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    if (!metrics_has(s->metrics, METRIC_STALL_WAIT))
        return examine_code(a, s, f);
    double cycles = subject_get(s, METRIC_STALL_WAIT), all = subject_stalls(s);
    double share = cycles / all, issue = subject_get(s, METRIC_ISSUE_BUSY);
    if (!(share > MUCH) || !(issue <= ISSUING) || !(subject_waiting(s, METRIC_STALL_WAIT) > 0.5))
        return false;
    if (s->measured.kind == CLASS_MEMORY)  // that is what it waits for in the end
        return false;
    f->severity = share > 0.5 && !(issue > 0.4) ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "warps wait for the result of the instruction before";
    f->evidence =
        arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp", cycles, all);
    f->expected_gain =
        subject_cap_gain(s, fmin(1 / (1 - fmin(share, 0.95)), 1 / fmax(issue, 0.05)));
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
    .examine = examine,
};
