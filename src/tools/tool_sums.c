// Too few independent sums: a multiply-add takes four cycles and two can begin in each, so that
// eight must be under way. Where llvm-mca has looked at the loop, any chain is seen: it then takes
// more cycles than its instructions take of the units.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { ENOUGH = 8 };

static const struct action more[] = {
    TURN("micro", +1, "more independent sums per step"),
    TURN("unroll", +1, "more independent work per step"),
    WORDS("several sums in place of one, added at the end: eight keep the multiply-add units busy"),
};

// Cycles of a turn over those that units need.
static const double CHAINED = 1.5, BADLY = 3;

// A loop without multiply-adds, or with enough of them, may be a chain all the same. That of a
// scalar loop goes with vectors, which `scalar` asks for.
static bool find_chain(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double cycles = subject_get(s, METRIC_HOT_CYCLES);
    if (subject_get(s, METRIC_HOT_SCALAR) > subject_get(s, METRIC_HOT_VECTOR))
        return false;
    double units = subject_get(s, METRIC_HOT_UNIT_CYCLES), times = cycles / units;
    if (!(times > CHAINED) || s->analytic.kind != CLASS_COMPUTE || subject_is_near(s))
        return false;
    f->severity = times > BADLY ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "instructions of the hot loop wait for one another";
    f->evidence = arena_printf(a,
                               "%.1f cycles a turn by llvm-mca, %.1f by the units that its "
                               "instructions need",
                               cycles, units);
    f->expected_gain = times;
    tool_add_number(f, METRIC_HOT_CYCLES, cycles, CHAINED * units);
    tool_add_number(f, METRIC_HOT_UNIT_CYCLES, units, NAN);
    tool_add_actions(f, s, more, ARRAY_LEN(more));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double sums = subject_get(s, METRIC_HOT_SUMS), fused = subject_get(s, METRIC_HOT_FUSED);
    if (!(sums > 0 && sums < ENOUGH))
        return find_chain(a, s, f);
    if (s->analytic.kind != CLASS_COMPUTE || subject_is_near(s))
        return false;
    f->severity = sums <= ENOUGH / 4 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "too few sums are under way at once: each waits for the one before";
    f->evidence =
        fused > 0
            ? arena_printf(a, "%.0f multiply-add%s into %.0f register%s; %d keep the units busy",
                           fused, fused == 1 ? "" : "s", sums, sums == 1 ? "" : "s", ENOUGH)
            : arena_printf(a, "additions into %.0f register%s; %d keep the units busy", sums,
                           sums == 1 ? "" : "s", ENOUGH);
    // Units that are busy with loads in the same turn do not wait less.
    f->expected_gain = fmin(ENOUGH / sums, subject_get(s, METRIC_HOT_CYCLES) /
                                               subject_get(s, METRIC_HOT_UNIT_CYCLES));
    tool_add_number(f, METRIC_HOT_SUMS, sums, ENOUGH);
    tool_add_number(f, METRIC_HOT_FUSED, fused, NAN);
    tool_add_actions(f, s, more, ARRAY_LEN(more));
    return true;
}

const struct tool tool_sums = {
    .name = "sums",
    .summary = "too few independent sums for the latency of a multiply-add",
    .devices = ON_CPU,
    .n_needs = 1,
    .needs = {METRIC_HOT_FUSED},
    .examine = examine,
};
