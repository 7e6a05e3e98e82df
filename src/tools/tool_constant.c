// Constants: threads of a warp that read different addresses of constant memory go one after
// another, and what the small cache does not hold comes from afar.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.2;

static const struct action other[] = {
    WORDS("an index that is the same for all threads of a warp; or the table in shared memory, or "
          "read through const __restrict__ pointers"),
};

// Loads at an address of each thread go through the queue of shared memory, and there one after
// another; others are part of an instruction, which then comes late.
static double cycles_of(const struct tool_subject *s) {
    double queue = subject_get(s, METRIC_STALL_MIO_THROTTLE) + subject_get(s, METRIC_STALL_SHORT);
    bool is_indexed = subject_get(s, METRIC_HOT_CONSTANTS) > 0 &&
                      subject_get(s, METRIC_HOT_SHARED_LOADS) == 0 &&
                      subject_get(s, METRIC_HOT_FUNCTIONS) == 0;
    return subject_get(s, METRIC_STALL_IMC) + (is_indexed && isfinite(queue) ? queue : 0);
}

// What the code says of it where nobody counted: addresses that are not the same for a warp.
static bool examine_code(struct arena *a, const struct tool_subject *s, struct finding *f) {
    static const double MANY = 0.05;  // of the instructions
    double loads = subject_get(s, METRIC_HOT_CONSTANTS);
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS);
    if (!(loads > MANY * all))
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = "threads of a warp read constants at addresses of their own, one after the other";
    f->evidence = arena_printf(a, "%.0f of %.0f instructions of the hot part", loads, all);
    tool_add_number(f, METRIC_HOT_CONSTANTS, loads, MANY * all);
    tool_add_actions(f, s, other, ARRAY_LEN(other));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    if (!metrics_has(s->metrics, METRIC_STALL_IMC))
        return examine_code(a, s, f);
    double cycles = cycles_of(s), all = subject_stalls(s);
    double share = cycles / all, issue = subject_get(s, METRIC_ISSUE_BUSY);
    if (!(share > MUCH))
        return false;
    f->severity = share > 0.5 && !(issue > 0.4) ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "warps wait for constants";
    f->evidence =
        arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp", cycles, all);
    f->expected_gain = subject_cap_gain(s, 1 / (1 - fmin(share, 0.95)));
    tool_add_number(f, METRIC_STALL_IMC, subject_get(s, METRIC_STALL_IMC), MUCH * all);
    tool_add_number(f, METRIC_HOT_CONSTANTS, subject_get(s, METRIC_HOT_CONSTANTS), NAN);
    tool_add_actions(f, s, other, ARRAY_LEN(other));
    return true;
}

const struct tool tool_constant = {
    .name = "constant",
    .summary = "time that constants take to come",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
