// Page faults within calls: memory that the candidate touches for the first time again in every
// call. What the judge gives it was touched before.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double WORTH = 0.05, BAD = 0.3;

static const struct action none[] = {
    WORD("keep", "reread", "do not keep the row in a local array"),
    WORDS(
        "declare scratch (#pragma hone scratch) instead of large local arrays: it is touched once, "
        "before the first call"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double faults = subject_get(s, METRIC_FAULTS), time_s = subject_get(s, METRIC_TIME);
    double threads = subject_get(s, METRIC_THREADS), fault_s = s->target->ceilings.fault_s;
    double part = faults * fault_s / (threads >= 1 ? threads : 1) / time_s;
    if (!s->target->ceilings.present || !(part > WORTH))
        return false;
    f->severity = part > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "every call touches pages for the first time";
    f->evidence = arena_printf(a, "%.0f page faults in a call of %.3g us; one takes %.2g us here",
                               faults, time_s * 1e6, fault_s * 1e6);
    f->expected_gain = 1 / (1 - fmin(part, 0.9));
    tool_add_number(f, METRIC_FAULTS, faults, WORTH * time_s / fault_s);
    tool_add_actions(f, s, none, ARRAY_LEN(none));
    return true;
}

const struct tool tool_faults = {
    .name = "faults",
    .summary = "page faults within calls",
    .devices = ON_CPU,
    .n_needs = 2,
    .needs = {METRIC_FAULTS, METRIC_TIME},
    .examine = examine,
};
