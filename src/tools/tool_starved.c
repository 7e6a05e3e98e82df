// Matrix units that wait for data: the slices come too late, or too few are on their way.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double STARVED = 0.5;

static const struct action feed[] = {
    TURN("stages", +1, "more slices on their way"),
    TURN("tile", +1, "larger tiles: more products for each value loaded"),
    WORDS("more slices in shared memory, loaded by asynchronous copies or a warp that does nothing "
          "else"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double busy = subject_get(s, METRIC_PIPE_TENSOR_BUSY);
    bool has_some =
        subject_get(s, METRIC_CODE_TENSOR) > 0 || subject_get(s, METRIC_CODE_TENSOR_GROUP) > 0;
    if (!has_some || !(busy < STARVED) || s->measured.kind != CLASS_LATENCY)
        return false;
    f->severity = busy < STARVED / 2 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the matrix units wait for data";
    f->evidence =
        arena_printf(a, "they are busy %.0f%% of the time, and nothing else is either", 100 * busy);
    f->expected_gain = STARVED / busy;
    tool_add_number(f, METRIC_PIPE_TENSOR_BUSY, busy, STARVED);
    tool_add_actions(f, s, feed, ARRAY_LEN(feed));
    return true;
}

const struct tool tool_starved = {
    .name = "starved",
    .summary = "matrix units that wait for data",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 3,
    .needs = {METRIC_CODE_TENSOR, METRIC_CODE_TENSOR_GROUP, METRIC_PIPE_TENSOR_BUSY},
    .examine = examine,
};
