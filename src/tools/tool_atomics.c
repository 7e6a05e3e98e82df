// Atomics on memory in the loop, where one at its end would do.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of all instructions, executed or in the loop.
static const double MANY = 0.02, BAD = 0.1;

static const struct action fewer[] = {
    TURN("combine", 0, "bring results together another way"),
    WORDS("sum in registers first, then in the warp (shuffles) and the block (shared memory); one "
          "atomic for a block"),
    WORDS("spread atomics over several addresses, and sum those in a second launch"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double executed =
        (subject_get(s, METRIC_ATOMIC_REQUESTS) + subject_get(s, METRIC_REDUCTION_REQUESTS)) /
        subject_get(s, METRIC_INSTRUCTIONS);
    double hot = subject_get(s, METRIC_HOT_ATOMICS);
    double code =
        subject_get(s, METRIC_CODE_LOOPS) > 0 ? hot / subject_get(s, METRIC_HOT_INSTRUCTIONS) : 0;
    double share = isfinite(executed) ? executed : code;
    if (!(share > MANY))
        return false;
    f->severity = share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "atomics on memory are a good part of the work";
    f->evidence = isfinite(executed)
                      ? arena_printf(a, "%.1f%% of the instructions are atomics", 100 * share)
                      : arena_printf(a, "%.0f of %.0f instructions of the hot loop", hot,
                                     subject_get(s, METRIC_HOT_INSTRUCTIONS));
    tool_add_number(f, METRIC_HOT_ATOMICS, hot, 0);
    tool_add_number(f, METRIC_REDUCTION_REQUESTS, subject_get(s, METRIC_REDUCTION_REQUESTS), NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_atomics = {
    .name = "atomics",
    .summary = "atomics on memory in the hot loop",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
