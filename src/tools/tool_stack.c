// Vectors that do not stay in registers: the innermost loop holds more of them than there are.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the arithmetic in the loops.
static const double TOLERATED = 0.2, BAD = 0.6;
// Loops with fewer vector instructions are no arithmetic that spills could slow down: `scalar` has
// them.
enum { LEAST = 4 };

static const struct action fewer[] = {
    TURN("micro", -1, "a smaller tile: fewer sums held in registers"),
    TURN("unroll", -1, "unroll less: fewer values held at once"),
};

// As many as the machine has, less those for what is loaded.
static struct action by_hand(struct arena *a, double vector_bytes) {
    int registers = vector_bytes >= 64 ? 32 : 16, rows = vector_bytes >= 64 ? 14 : 6;
    const char *words = arena_printf(
        a,
        "hold fewer vectors at once: this machine has %d registers for them, so at most %d "
        "independent sums (%d by 2), and the rest for what is loaded",
        registers, 2 * rows, rows);
    return (struct action)WORDS(words);
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double stack = subject_get(s, METRIC_HOT_STACK), work = subject_get(s, METRIC_HOT_VECTOR);
    double share = stack / work;
    if (!(work >= LEAST) || !(share > TOLERATED) || subject_is_near(s))
        return false;
    f->severity = share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "vectors spill: the innermost loops hold more of them than there are registers";
    f->evidence = arena_printf(
        a, "%.0f moves of vectors to or from the stack for %.0f vector instructions of arithmetic",
        stack, work);
    f->expected_gain = s->analytic.kind == CLASS_COMPUTE ? 1 + share / 2 : NAN;
    tool_add_number(f, METRIC_HOT_STACK, stack, TOLERATED * work);
    tool_add_number(f, METRIC_HOT_VECTOR, work, NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    struct action last = by_hand(a, s->target->vector_bytes);
    tool_add_actions(f, s, &last, 1);
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
