// Shared memory has 32 banks; threads of a warp that want different words of one bank wait for one
// another.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Passes that are there because of conflicts, of all. A few come with any transpose.
static const double TOLERATED = 0.1, BAD = 0.5;

static const struct action spread[] = {
    WORDS(
        "pad rows by one element (float tile[32][33]), or exchange bits of the address (swizzle), "
        "so that a column lies in different banks"),
    WORDS("read shared memory along rows, 16 bytes a thread"),
};

// What the code says of it where nobody counted: by the distance of a warp's addresses.
static bool examine_code(struct arena *a, const struct tool_subject *s, struct finding *f) {
    static const double SOME = 1.5, MANY = 4;
    double passes = subject_get(s, METRIC_CODE_SHARED_PASSES);
    if (!(passes > SOME))
        return false;
    f->severity = passes >= MANY ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = "accesses to shared memory conflict in its banks";
    f->evidence = arena_printf(
        a, "by the addresses in the code %.1f passes in the mean where one would do", passes);
    // Each pass takes the place of an instruction.
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS),
           shared =
               subject_get(s, METRIC_HOT_SHARED_LOADS) + subject_get(s, METRIC_HOT_SHARED_STORES);
    f->expected_gain = 1 + shared / all * (passes - 1);
    tool_add_number(f, METRIC_CODE_SHARED_PASSES, passes, SOME);
    tool_add_actions(f, s, spread, ARRAY_LEN(spread));
    return true;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    if (!metrics_has(s->metrics, METRIC_SHARED_WAVEFRONTS))
        return examine_code(a, s, f);
    double loads = subject_get(s, METRIC_SHARED_LOAD_CONFLICTS);
    double stores = subject_get(s, METRIC_SHARED_STORE_CONFLICTS);
    double passes = subject_get(s, METRIC_SHARED_WAVEFRONTS);
    double share = (loads + stores) / passes, busy = subject_get(s, METRIC_L1_BUSY);
    if (!(passes > 0) || !(share > TOLERATED) || isnan(busy))
        return false;
    share = share > 1 ? 1 : share;
    f->severity = busy < 0.3 ? SEVERITY_LOW : share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = arena_printf(a, "%s shared memory conflict in its banks",
                            loads >= stores ? "loads from" : "stores to");
    f->evidence =
        arena_printf(a, "%.0f%% of the passes through shared memory are repeats; it is %.0f%% busy",
                     100 * share, 100 * busy);
    f->expected_gain = 1 / (1 - share * busy);
    tool_add_number(f,
                    loads >= stores ? METRIC_SHARED_LOAD_CONFLICTS : METRIC_SHARED_STORE_CONFLICTS,
                    loads >= stores ? loads : stores, TOLERATED * passes);
    tool_add_number(f, METRIC_SHARED_WAVEFRONTS, passes, NAN);
    tool_add_actions(f, s, spread, ARRAY_LEN(spread));
    return true;
}

const struct tool tool_banks = {
    .name = "banks",
    .summary = "bank conflicts in shared memory",
    .devices = ON_GPU,
    .of_launches = true,
    .examine = examine,
};
