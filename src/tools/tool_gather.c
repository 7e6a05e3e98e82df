// Gathers and scatters: an instruction, but as many accesses as it has lanes.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double TOLERATED = 0.1;

static const struct action side_by_side[] = {
    TURN("pack", 0, "lay the operand out in the order in which it is read"),
    WORDS("let the innermost loop run along the axis that lies side by side in memory; or copy a "
          "tile into that order first"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double gathers = subject_get(s, METRIC_HOT_GATHERS);
    double work = subject_get(s, METRIC_HOT_VECTOR) + subject_get(s, METRIC_HOT_SCALAR);
    double bytes = subject_get(s, METRIC_HOT_VECTOR_BYTES), share = gathers / fmax(work, 1);
    double lanes = (bytes > 0 ? bytes : s->target->vector_bytes) / 4.0;
    if (!(gathers > 0) || !(share > TOLERATED) || subject_is_near(s))
        return false;
    f->severity = share > 0.5 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the innermost loops gather elements from different places";
    f->evidence = arena_printf(
        a,
        "%.0f gather%s of about %.0f accesses each, for %.0f instruction%s of "
        "arithmetic",
        gathers, gathers == 1 ? " or scatter" : "s or scatters", lanes, work, work == 1 ? "" : "s");
    // An access for each element, against one for each vector.
    f->expected_gain = (gathers * lanes + work) / (gathers + work);
    tool_add_number(f, METRIC_HOT_GATHERS, gathers, TOLERATED * work);
    tool_add_actions(f, s, side_by_side, ARRAY_LEN(side_by_side));
    return true;
}

const struct tool tool_gather = {
    .name = "gather",
    .summary = "gathers and scatters in the innermost loops",
    .devices = ON_CPU,
    .n_needs = 3,
    .needs = {METRIC_HOT_GATHERS, METRIC_HOT_VECTOR, METRIC_HOT_SCALAR},
    .examine = examine,
};
