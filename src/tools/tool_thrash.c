// Data that leave L2 before they are used again: more is read from memory than the launch can touch
// in all, so some of it came twice, and all of it does not fit the cache.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Reads of everything that the launch can touch.
static const double TOLERATED = 1.3, BAD = 2;

static const struct action nearer[] = {
    TURN("group", 0, "another order of tiles, so that those that meet in time share data"),
    WORD("keep", "register", "keep the row in registers instead of reading it again"),
    TURN("tile", +1, "larger tiles: each operand is read less often"),
    MERGE("merge stages, so that no value goes to memory and back"),
    WORDS("cut the data into parts that fit the L2 cache, and do everything that needs a part "
          "before the next"),
    WORDS("an order of blocks in which those that run together read the same data"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double held = subject_get(s, METRIC_FOOTPRINT), busy = s->measured.memory_busy;
    double read = subject_get(s, METRIC_DRAM_READ_BYTES), times = read / held;
    double cache = (double)s->target->l2_bytes;
    if (!(times > TOLERATED) || !(held > cache) || !(cache > 0) || subject_is_near(s))
        return false;
    f->severity = times > BAD && busy > 0.5 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "data leave the L2 cache before they are used again";
    f->evidence = arena_printf(
        a, "%s read from memory, %.1f times all that the launch can touch (%s); L2 holds %s",
        bound_quantity(a, read, "B"), times, bound_quantity(a, held, "B"),
        bound_quantity(a, cache, "B"));
    // Memory's part of the time shrinks to one reading; L2 gives the rest several times as fast.
    f->expected_gain = 1 / (1 - fmin(isfinite(busy) ? busy : 1, 0.95) * (1 - 1 / times));
    tool_add_number(f, METRIC_DRAM_READ_BYTES, read, held);
    tool_add_number(f, METRIC_L2_HIT, subject_get(s, METRIC_L2_HIT), NAN);
    tool_add_actions(f, s, nearer, ARRAY_LEN(nearer));
    return true;
}

const struct tool tool_thrash = {
    .name = "thrash",
    .summary = "data that leave L2 before they are used again",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 2,
    .needs = {METRIC_FOOTPRINT, METRIC_DRAM_READ_BYTES},
    .examine = examine,
};
