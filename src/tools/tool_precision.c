// f64 arithmetic on f32 data: a constant without an f, or a function of double, makes a whole
// expression double, with a conversion on the way in and out. Conversions go through the slowest
// pipe.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Of the instructions of the hot loop.
static const double SOME = 0.05;
// Conversions for each f64 instruction from which on the data are f32.
static const double AROUND = 0.1;
enum { MOST_GAIN = 8 };

static const struct action single[] = {
    WORDS(
        "constants with an f (0.5f), functions of float (sqrtf, expf): one double makes the whole "
        "expression double"),
    WORDS("where double is meant: sums in double only, or two floats in place of one double"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS), wide = subject_get(s, METRIC_HOT_F64);
    double conversions = subject_get(s, METRIC_HOT_CONVERSIONS);
    double pipe = fmax(subject_get(s, METRIC_PIPE_XU_BUSY), subject_get(s, METRIC_PIPE_FP64_BUSY));
    if (!(wide > SOME * all) || !(conversions > AROUND * wide) || s->measured.kind == CLASS_MEMORY)
        return false;
    f->severity = pipe < 0.3 ? SEVERITY_MEDIUM : SEVERITY_HIGH;
    f->cause = "f64 arithmetic on f32 data";
    f->evidence =
        arena_printf(a, "of %.0f instructions of the hot loop %.0f are f64 and %.0f convert", all,
                     wide, conversions);
    // What goes are the conversions, which fill a pipe, and most of what f64 needs more.
    double fewer = all / fmax(all - wide - conversions, all / MOST_GAIN);
    if (isfinite(pipe))
        f->expected_gain = fmin(
            MOST_GAIN,
            fmax(fewer, pipe / fmax(subject_get(s, METRIC_ISSUE_BUSY) * (1 - conversions / all),
                                    pipe / MOST_GAIN)));
    tool_add_number(f, METRIC_HOT_F64, wide, SOME * all);
    tool_add_number(f, METRIC_HOT_CONVERSIONS, conversions, NAN);
    tool_add_number(f, METRIC_PIPE_XU_BUSY, subject_get(s, METRIC_PIPE_XU_BUSY), NAN);
    tool_add_actions(f, s, single, ARRAY_LEN(single));
    return true;
}

const struct tool tool_precision = {
    .name = "precision",
    .summary = "f64 arithmetic on f32 data",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_HOT_INSTRUCTIONS, METRIC_HOT_F64, METRIC_HOT_CONVERSIONS},
    .examine = examine,
};
