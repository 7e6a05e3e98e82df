// Conversions between types in the hot loop, at a quarter of the rate of arithmetic.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.15;

static const struct action fewer[] = {
    WORDS("convert once: keep values in the type in which they are computed, convert pairs at a "
          "time (half2), constants in the right type (1.5f)"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS);
    double conversions = subject_get(s, METRIC_HOT_CONVERSIONS) -
                         2 * subject_get(s, METRIC_HOT_DIVISIONS);  // those have some within
    // With f64 among it they are tool_precision's.
    if (!(conversions > MUCH * all) || s->measured.kind == CLASS_MEMORY ||
        subject_get(s, METRIC_HOT_F64) > conversions / 4)
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = "the hot loop converts between types";
    f->evidence = arena_printf(a, "%.0f conversions of %.0f instructions", conversions, all);
    f->expected_gain = s->measured.kind == CLASS_COMPUTE ? all / (all - conversions / 2) : NAN;
    tool_add_number(f, METRIC_HOT_CONVERSIONS, conversions, MUCH * all);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_convert = {
    .name = "convert",
    .summary = "conversions between types in the hot loop",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_HOT_INSTRUCTIONS, METRIC_HOT_CONVERSIONS, METRIC_HOT_DIVISIONS},
    .examine = examine,
};
