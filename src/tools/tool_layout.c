// A kernel that computes nothing: it moves data from one order to another for a kernel that wants
// them so.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the time; and how far what is read may be from what is written.
static const double WORTH = 0.1, BAD = 0.25, ALL = 0.97, SAME = 1.3;

static const struct action none[] = {
    MERGE("merge stages: read the other order where it is used"),
    TURN("pack", 0, "read the operand as it lies"),
    WORDS("read the data in the order that they have where they are used (tiles through shared "
          "memory make both orders fast), or have them written in the other order at once"),
    WORDS("where they do not change between calls, do it once"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double in = subject_get(s, METRIC_LOAD_SECTORS), out = subject_get(s, METRIC_STORE_SECTORS);
    double ratio = in > out ? in / out : out / in;
    if (!(s->share > WORTH && s->share < ALL) || !metrics_only_moves(s->metrics) ||
        !(ratio < SAME) || subject_is_near(s))
        return false;
    f->severity = s->share > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "a kernel only moves data: a copy, or another order of them";
    f->evidence = arena_printf(
        a, "%.0f%% of the time; no arithmetic, and as much is read as written", 100 * s->share);
    f->expected_gain = INFINITY;  // of this launch nothing need stay
    tool_add_number(f, METRIC_LOAD_SECTORS, in, NAN);
    tool_add_number(f, METRIC_STORE_SECTORS, out, NAN);
    tool_add_actions(f, s, none, ARRAY_LEN(none));
    return true;
}

const struct tool tool_layout = {
    .name = "layout",
    .summary = "kernels that only bring data into another order",
    .devices = ON_GPU,
    .of_several = true,
    .of_launches = true,
    .n_needs = 4,
    .needs = {METRIC_LOAD_SECTORS, METRIC_STORE_SECTORS, METRIC_HOT_FMA, METRIC_HOT_ADD_MUL},
    .examine = examine,
};
