// A clock below what the card can do, while it works: too hot, at its power limit, or set so.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double FULL = 0.85;
// Shorter kernels end before the clock has risen.
static const double LEAST_S = 200e-6;

static const struct action faster[] = {
    WORDS("nvidia-smi -q -d PERFORMANCE,CLOCK says why: heat, the power limit, or clocks that "
          "somebody has set"),
    WORDS("at the power limit fewer bytes and instructions make it faster, not more at once"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double hz = subject_get(s, METRIC_SM_HZ), top = s->target->top_clock_hz, share = hz / top;
    if (!(top > 0) || !(share < FULL) || !(subject_get(s, METRIC_TIME) > LEAST_S))
        return false;
    f->severity = s->measured.kind == CLASS_COMPUTE ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = "the clock is below what this card can do";
    f->evidence = arena_printf(a, "%.0f MHz of %.0f", hz * 1e-6, top * 1e-6);
    f->expected_gain = 1 / share;
    tool_add_number(f, METRIC_SM_HZ, hz, FULL * top);
    tool_add_actions(f, s, faster, ARRAY_LEN(faster));
    return true;
}

const struct tool tool_clock = {
    .name = "clock",
    .summary = "a clock below what the card can do",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 2,
    .needs = {METRIC_SM_HZ, METRIC_TIME},
    .examine = examine,
};
