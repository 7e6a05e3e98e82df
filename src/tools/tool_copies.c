// Copies between host and device while no kernel runs.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

static const double MUCH = 0.15, BAD = 0.4;

static const struct action fewer[] = {
    WORDS("leave data on the device between kernels; copy only what has changed"),
    WORDS("page-locked memory (cudaMallocHost), which copies two to five times as fast and at all "
          "times"),
    WORDS("copies on a stream of their own, piece by piece, while kernels work on what has come"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double share = subject_get(s, METRIC_COPY_SHARE), busy = subject_get(s, METRIC_DEVICE_BUSY);
    double bytes = subject_get(s, METRIC_COPY_BYTES), span_s = subject_get(s, METRIC_SPAN);
    double pageable = subject_get(s, METRIC_COPY_PAGEABLE);
    // What runs in parallel to kernels costs nothing.
    double lost = fmin(share, 1 - busy);
    if (!(lost > MUCH))
        return false;
    f->severity = lost > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "the card waits for copies between host and device";
    f->evidence =
        arena_printf(a, "%.4g MB, %.0f%% of %.4g ms%s", bytes * 1e-6, 100 * share, span_s * 1e3,
                     pageable > 0.5 ? "; most of it from or to pageable memory" : "");
    f->expected_gain = 1 / (1 - fmin(lost, 0.999));
    tool_add_number(f, METRIC_COPY_SHARE, share, MUCH);
    tool_add_number(f, METRIC_DEVICE_BUSY, busy, NAN);
    tool_add_number(f, METRIC_COPY_PAGEABLE, pageable, NAN);
    tool_add_actions(f, s, fewer, ARRAY_LEN(fewer));
    return true;
}

const struct tool tool_copies = {
    .name = "copies",
    .summary = "copies between host and device that kernels wait for",
    .devices = ON_GPU,

    .n_needs = 4,
    .needs = {METRIC_COPY_SHARE, METRIC_COPY_BYTES, METRIC_DEVICE_BUSY, METRIC_SPAN},
    .examine = examine,
};
