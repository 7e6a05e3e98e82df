// Loads that miss L1 although the data are few: every multiprocessor could fetch all that the
// launch can touch once, and still most loads would find it there. What is counted beyond that is
// room that L1 did not have, or a loop that comes back too late.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { SECTOR = 32 };
// Between what the pattern allows and what was counted.
static const double TOLERATED = 0.1, BAD = 0.25;

static const struct action room[] = {
    TURN("stages", -1, "less shared memory: the rest of it is L1"),
    TURN("tile", -1, "smaller tiles: what they leave of shared memory is L1"),
    WORDS("ask for no more shared memory than is used, and for a carve-out "
          "(cudaFuncAttributePreferredSharedMemoryCarveout) that leaves the rest to L1"),
    WORDS("or copy what all threads read into shared memory once, and read it there"),
};
static const struct action blocked[] = {
    TURN("tile", +1, "larger tiles: each value fetched is used more often"),
    TURN("micro", +1, "more results per thread for each value fetched"),
    WORDS("use what a block has fetched for all that needs it before going on: tiles in shared "
          "memory, loops cut so that a part of the data stays near"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double held = subject_get(s, METRIC_FOOTPRINT), hit = subject_get(s, METRIC_L1_HIT);
    double loaded = SECTOR * subject_get(s, METRIC_LOAD_SECTORS);
    double allowed = 1 - held * s->target->sms / loaded, spare = allowed - hit;
    double waits = subject_waiting(s, METRIC_STALL_LONG), l2 = subject_get(s, METRIC_L2_BUSY);
    double part = isfinite(waits) ? waits : l2;
    if (!(loaded > 0) || !(spare > TOLERATED) || !(part > 0.3) || subject_is_near(s))
        return false;
    double shared = subject_get(s, METRIC_SHARED_BYTES) * subject_get(s, METRIC_BLOCKS_PER_SM);
    double near = (double)s->target->l1_bytes;
    // What a program holds is known in steps of some megabytes: who takes the room says more.
    bool fits = held <= near || shared > near / 2;
    f->severity = spare > BAD && part > 0.5 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = fits ? "data that could stay in L1 are fetched from L2 again and again"
                    : "every multiprocessor fetches the same data from L2 again and again";
    f->evidence =
        arena_printf(a, "%.0f%% of the sectors are found in L1; with %s in all, %.0f%% could be",
                     100 * hit, bound_quantity(a, held, "B"), 100 * allowed);
    // Of the sectors that come from L2, those that need not.
    f->expected_gain = 1 / (1 - fmin(part, 0.95) * spare / (1 - hit));
    tool_add_number(f, METRIC_L1_HIT, hit, allowed);
    tool_add_number(f, METRIC_FOOTPRINT, held, NAN);
    tool_add_number(f, METRIC_SHARED_BYTES, subject_get(s, METRIC_SHARED_BYTES), NAN);
    if (fits)
        tool_add_actions(f, s, room, ARRAY_LEN(room));
    else
        tool_add_actions(f, s, blocked, ARRAY_LEN(blocked));
    return true;
}

const struct tool tool_hits = {
    .name = "hits",
    .summary = "loads that miss L1 although the data would allow hits",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_FOOTPRINT, METRIC_L1_HIT, METRIC_LOAD_SECTORS},
    .examine = examine,
};
