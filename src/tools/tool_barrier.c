// Warps of a block that wait for one another.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.2, MOST = 0.5;

static const struct action fewer[] = {
    TURN("stages", +1, "more slices in shared memory: one barrier where there are two"),
    TURN("block", -1, "smaller blocks: fewer warps to wait for"),
    WORDS("fewer barriers: two buffers in turns, so that one barrier a slice is enough"),
    WORDS("smaller blocks, so that others work while one waits; or barriers of part of a block"),
    WORDS("the same work for each warp between two barriers"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double all = subject_stalls(s), cycles = subject_get(s, METRIC_STALL_BARRIER);
    double share = cycles / all;
    if (!(share > MUCH) || subject_is_full(s))
        return false;
    f->severity = share > MOST ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "warps wait for one another at barriers";
    f->evidence =
        arena_printf(a, "%.1f of %.1f cycles between two instructions of a warp", cycles, all);
    f->expected_gain = subject_cap_gain(s, 1 / (1 - share));
    tool_add_number(f, METRIC_STALL_BARRIER, cycles, MUCH * all);
    tool_add_number(f, METRIC_HOT_BARRIERS, subject_get(s, METRIC_HOT_BARRIERS), NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_barrier = {
    .name = "barrier",
    .summary = "time at barriers of the block",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 1,
    .needs = {METRIC_STALL_BARRIER},
    .examine = examine,
};
