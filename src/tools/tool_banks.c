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

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double loads = subject_get(s, METRIC_SHARED_LOAD_CONFLICTS);
    double stores = subject_get(s, METRIC_SHARED_STORE_CONFLICTS);
    double passes = subject_get(s, METRIC_SHARED_WAVEFRONTS);
    double share = (loads + stores) / passes, busy = subject_get(s, METRIC_L1_BUSY);
    if (!(passes > 0) || !(share > TOLERATED))
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
    .n_needs = 4,
    .needs = {METRIC_SHARED_LOAD_CONFLICTS, METRIC_SHARED_STORE_CONFLICTS, METRIC_SHARED_WAVEFRONTS,
              METRIC_L1_BUSY},
    .examine = examine,
};
