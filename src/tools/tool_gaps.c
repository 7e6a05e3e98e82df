// The card waits between kernels: launches come too slowly, or the host waits for each.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double BUSY = 0.9, BAD = 0.6;
// Of so many launches one pause (code that is loaded, a file that is read) is no way of launching.
enum { SEVERAL = 8 };

static const struct action closer[] = {
    WORDS("launch without waiting in between: no synchronisation or copy to the host within the "
          "loop, results read at its end"),
    WORDS("many short kernels as one CUDA graph, or fused into fewer"),
    WORDS("copies on a stream of their own, from page-locked memory, while kernels run"),
};

// Of the span without its longest pause, where that is most of the waiting; else of the whole.
static double typically_busy(const struct tool_subject *s, double busy, double span_s) {
    double longest_s = subject_get(s, METRIC_LONGEST_GAP);
    bool is_once =
        longest_s > (1 - busy) * span_s / 2 && subject_get(s, METRIC_LAUNCHES) >= SEVERAL;
    return is_once ? fmin(1, busy * span_s / (span_s - longest_s)) : busy;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double busy = subject_get(s, METRIC_DEVICE_BUSY), span_s = subject_get(s, METRIC_SPAN);
    double launches = subject_get(s, METRIC_LAUNCHES), copy = subject_get(s, METRIC_COPY_SHARE);
    // Copies in between are tool_copies' business.
    busy = typically_busy(s, busy, span_s);
    if (!(busy < BUSY) || !(launches > 1) || copy > (1 - busy) / 2)
        return false;
    double gap_s = (1 - busy) * span_s / (launches - 1);
    f->severity = busy < BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the card waits between kernels";
    f->evidence =
        arena_printf(a, "some kernel runs for %.0f%% of %.4g ms; %.3g us between launches%s",
                     100 * busy, span_s * 1e3, gap_s * 1e6,
                     copy > 0.1 ? arena_printf(a, "; copies take %.0f%%", 100 * copy) : "");
    f->expected_gain = 1 / busy;
    tool_add_number(f, METRIC_DEVICE_BUSY, busy, BUSY);
    tool_add_number(f, METRIC_LAUNCHES, launches, NAN);
    tool_add_number(f, METRIC_COPY_SHARE, copy, NAN);
    tool_add_actions(f, s, closer, ARRAY_LEN(closer));
    return true;
}

const struct tool tool_gaps = {
    .name = "gaps",
    .summary = "time between kernels in which the card waits",
    .devices = ON_GPU,
    .n_needs = 3,
    .needs = {METRIC_DEVICE_BUSY, METRIC_SPAN, METRIC_LAUNCHES},
    .examine = examine,
};
