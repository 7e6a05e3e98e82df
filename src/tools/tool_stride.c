// Loops that run down the columns of what lies in rows: each turn touches another line of the
// caches and uses one element of it. It is also why the compiler makes no vectors of them.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { LINE = 64, ELEMENT = 4 };
// Accesses for each instruction of arithmetic; and of reach.
static const double TOLERATED = 0.25, FAR = 0.5;

static const struct action along[] = {
    EMITTER("tiles", "go over tiles, through a local copy"),
    TURN("pack", 0, "lay the operand out in the order in which it is read"),
    WORDS("exchange the loops, so that the innermost one runs along the last axis; where the other "
          "order is needed, go over tiles that fit the first cache"),
};

bool subject_is_strided(const struct tool_subject *s) {
    double work = subject_get(s, METRIC_HOT_SCALAR) + subject_get(s, METRIC_HOT_VECTOR);
    return subject_get(s, METRIC_HOT_STRIDED) > TOLERATED * work;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double strided = subject_get(s, METRIC_HOT_STRIDED);
    double work = subject_get(s, METRIC_HOT_SCALAR) + subject_get(s, METRIC_HOT_VECTOR);
    if (!subject_is_strided(s) || subject_is_near(s))
        return false;
    f->severity = 1 / s->gap < FAR ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the innermost loops run across rows: each turn touches other lines of the caches";
    f->evidence = arena_printf(
        a,
        "%.0f load%s and stores go on by 1 KiB or more in each turn, and use one element of a "
        "line of %d bytes; %.0f instruction%s of arithmetic",
        strided, strided == 1 ? "" : "s", LINE, work, work == 1 ? "" : "s");
    // Between a line for each element and none more, where the caches hold all of them.
    f->expected_gain = sqrt(LINE / ELEMENT);
    tool_add_number(f, METRIC_HOT_STRIDED, strided, TOLERATED * work);
    tool_add_actions(f, s, along, ARRAY_LEN(along));
    return true;
}

const struct tool tool_stride = {
    .name = "stride",
    .summary = "innermost loops that run across rows",
    .devices = ON_CPU,
    .n_needs = 3,
    .needs = {METRIC_HOT_STRIDED, METRIC_HOT_SCALAR, METRIC_HOT_VECTOR},
    .examine = examine,
};
