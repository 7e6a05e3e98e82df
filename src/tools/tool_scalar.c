// Scalar code in the hot loop: the compiler did not vectorise, or a call breaks it up.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// A few scalar instructions (a loop's tail, an accumulator's end) are in every loop.
static const double TOLERATED = 0.25, MOST = 0.75;
// Of the turns of a row's loop: from here on the loop for what is left over is the hot one.
static const double REMAINDER = 0.1;

static const struct action actions[] = {
    TURN("vec", +1, "ask for vectors of more lanes"),
    TURN("unroll", +1, "unroll, so that tails weigh less"),
};

// Vectors wider than the machine's go to the stack and back: it says which it has.
static struct action by_hand(struct arena *a, int lanes) {
    const char *words = arena_printf(
        a,
        "write the innermost loops in vectors (f32x%d, hone_load%d and hone_store%d of "
        "hone_math.h); the compiler does not sum in another order by itself, nor "
        "vectorise around calls of the C library",
        lanes, lanes, lanes);
    return (struct action)WORDS(words);
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double scalar = subject_get(s, METRIC_HOT_SCALAR), vector = subject_get(s, METRIC_HOT_VECTOR);
    double share = scalar / (scalar + vector), lanes = s->target->vector_bytes / 4.0;
    int64_t row = 0;
    int vec = 0;
    // A block whose vectors leave elements over has a loop for them; `tail` speaks of that.
    if (!isfinite(share) || share <= TOLERATED || subject_remainder(s, &row, &vec) > REMAINDER)
        return false;
    f->severity = share > MOST ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = arena_printf(a, "%sinnermost loops compute one element at a time",
                            share > MOST ? "" : "some ");
    f->evidence = arena_printf(a, "%.0f of %.0f floating point instructions there are scalar",
                               scalar, scalar + vector);
    f->expected_gain = subject_width_gain(s, (scalar + vector) / (scalar / lanes + vector));
    tool_add_number(f, METRIC_HOT_SCALAR, scalar, TOLERATED * (scalar + vector));
    tool_add_number(f, METRIC_HOT_VECTOR, vector, NAN);
    tool_add_actions(f, s, actions, ARRAY_LEN(actions));
    struct action last = by_hand(a, lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4);
    tool_add_actions(f, s, &last, 1);
    return true;
}

const struct tool tool_scalar = {
    .name = "scalar",
    .summary = "scalar arithmetic where vectors could be",
    .devices = ON_CPU,
    .n_needs = 2,
    .needs = {METRIC_HOT_SCALAR, METRIC_HOT_VECTOR},
    .examine = examine,
};
