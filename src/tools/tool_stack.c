// Vectors that do not stay in registers: the innermost loop holds more of them than there are.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the arithmetic in the loops.
static const double TOLERATED = 0.2, BAD = 0.6;

static const struct action fewer[] = {
    TURN("micro", -1, "a smaller tile: fewer sums held in registers"),
    TURN("unroll", -1, "unroll less: fewer values held at once"),
    WORDS("fewer sums and operands at once: with 16 or 32 registers, a tile of 6 by 2 or 14 by 2 "
          "vectors leaves some for what is loaded"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double stack = subject_get(s, METRIC_HOT_STACK), work = subject_get(s, METRIC_HOT_VECTOR);
    double share = stack / work;
    if (!(share > TOLERATED) || subject_is_near(s))
        return false;
    f->severity = share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "vectors go to the stack and back in the innermost loops";
    f->evidence =
        arena_printf(a, "%.0f such moves for %.0f vector instructions of arithmetic", stack, work);
    f->expected_gain = s->analytic.kind == CLASS_COMPUTE ? 1 + share / 2 : NAN;
    tool_add_number(f, METRIC_HOT_STACK, stack, TOLERATED * work);
    tool_add_number(f, METRIC_HOT_VECTOR, work, NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_stack = {
    .name = "stack",
    .summary = "vectors that do not stay in registers",
    .devices = ON_CPU,
    .n_needs = 2,
    .needs = {METRIC_HOT_STACK, METRIC_HOT_VECTOR},
    .examine = examine,
};
