// Products and sums by two instructions where one does both, at the same rate. Some processors add
// in units of their own, in parallel to those that multiply: there two instructions take no longer
// than one (calibrate/cpu_costs.h), and it is no fault.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.3;
// Below this much more time for two instructions than for one there is nothing to gain.
static const double WORTH = 1.15, TWICE = 2;

static const struct action one[] = {
    WORDS("let the compiler contract a * b + c: the product and the sum in one expression, without "
          "a pragma or attribute that forbids it (FP_CONTRACT); or fmaf()"),
};

// Of the time of both instructions, over that of one: as measured, else as where they share units.
static double fuse_gain(const struct tool_subject *s) {
    const struct ceilings *c = &s->target->ceilings;
    return c->present && c->fuse_gain > 0 ? fmin(c->fuse_gain, TWICE) : TWICE;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double apart = subject_get(s, METRIC_HOT_UNFUSED), work = subject_get(s, METRIC_HOT_VECTOR);
    double share = apart / work;
    // A target without vectors of 32 bytes has no such instruction.
    if (!(share > MUCH) || subject_get(s, METRIC_HOT_FUSED) > 0 || s->target->vector_bytes < 32 ||
        s->analytic.kind != CLASS_COMPUTE || subject_is_near(s) || fuse_gain(s) < WORTH)
        return false;
    f->severity = SEVERITY_MEDIUM;
    f->cause = "products and sums are instructions of their own";
    f->evidence = arena_printf(a, "%.0f of each among %.0f, and no multiply-add", apart, work);
    double fewer = 1 / (1 - share);  // instructions, all of them alike
    f->expected_gain = subject_arithmetic_gain(s, 1 + (fewer - 1) * (fuse_gain(s) - 1));
    tool_add_number(f, METRIC_HOT_UNFUSED, apart, MUCH * work);
    tool_add_number(f, METRIC_HOT_FUSED, 0, 1);
    tool_add_actions(f, s, one, ARRAY_LEN(one));
    return true;
}

const struct tool tool_fused = {
    .name = "fused",
    .summary = "products and sums that are no multiply-adds",
    .devices = ON_CPU,
    .n_needs = 3,
    .needs = {METRIC_HOT_UNFUSED, METRIC_HOT_FUSED, METRIC_HOT_VECTOR},
    .examine = examine,
};
