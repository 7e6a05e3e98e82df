// Scalar code in the hot loop: the compiler did not vectorise, or a call breaks it up.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// A few scalar instructions (a loop's tail, an accumulator's end) are in every loop.
static const double TOLERATED = 0.25, MOST = 0.75;

static const struct action actions[] = {
    {"ask for vectors of more lanes", "vec", +1, NULL},
    {"unroll, so that tails weigh less", "unroll", +1, NULL},
    {"write the innermost loops in vectors (f32x16 of hone_math.h); the compiler does not sum in "
     "another order by itself, nor vectorise around calls of the C library",
     NULL, 0, NULL},
};

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    double scalar = profile_get(in->profile, METRIC_HOT_SCALAR);
    double vector = profile_get(in->profile, METRIC_HOT_VECTOR);
    double share = scalar / (scalar + vector);
    if (room < 1 || !isfinite(share) || share <= TOLERATED)
        return 0;
    double lanes = in->target->vector_bytes / 4.0;
    *out = (struct finding){
        .tool = "scalar",
        .severity = share > MOST ? SEVERITY_HIGH : SEVERITY_MEDIUM,
        .cause = "innermost loops compute one element at a time",
        .evidence = arena_printf(a, "%.0f of %.0f floating point instructions there are scalar",
                                 scalar, scalar + vector),
        .expected_gain = (scalar + vector) / (scalar / lanes + vector),
    };
    tool_add_actions(out, in->candidate, actions, ARRAY_LEN(actions));
    return 1;
}

const struct tool tool_scalar = {
    .name = "scalar",
    .summary = "scalar arithmetic where vectors could be",
    .examine = examine,
};
