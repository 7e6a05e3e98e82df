// Vectors narrower than the machine's, where arithmetic is in the way.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double ENOUGH = 0.75;

static const struct action wider[] = {
    TURN("vec", +1, "vectors of more lanes"),
    WORDS("vectors as wide as the machine's registers; the compiler takes narrower ones by itself "
          "(-mprefer-vector-width=512 where the processor has them)"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double bytes = subject_get(s, METRIC_HOT_VECTOR_BYTES), widest = s->target->vector_bytes;
    if (!(bytes < ENOUGH * widest) || subject_get(s, METRIC_HOT_VECTOR) < 4 || subject_is_near(s))
        return false;
    f->severity = s->analytic.kind == CLASS_COMPUTE ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = "vectors in the innermost loops are narrower than the machine's";
    f->evidence = arena_printf(a, "%.0f bytes on average; registers have %.0f", bytes, widest);
    f->expected_gain =
        s->analytic.kind == CLASS_COMPUTE ? subject_width_gain(s, widest / bytes) : NAN;
    tool_add_number(f, METRIC_HOT_VECTOR_BYTES, bytes, ENOUGH * widest);
    tool_add_actions(f, s, wider, ARRAY_LEN(wider));
    return true;
}

const struct tool tool_width = {
    .name = "width",
    .summary = "vectors narrower than the machine has",
    .devices = ON_CPU,
    .n_needs = 2,
    .needs = {METRIC_HOT_VECTOR_BYTES, METRIC_HOT_VECTOR},
    .examine = examine,
};
