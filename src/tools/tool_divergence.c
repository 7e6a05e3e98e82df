// Threads of a warp that go different ways: an instruction then serves only some of them.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { WARP = 32 };
static const double FULL = 24, BAD = 16;  // ncu draws the line at 24

static const struct action together[] = {
    WORDS("let whole warps take one way: sort or group the work, decide by warp and not by thread"),
    WORDS("short branches by selection (c ? a : b) instead of jumps"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double active = subject_get(s, METRIC_THREADS_PER_INSTRUCTION);
    double block = subject_get(s, METRIC_BLOCK_THREADS);
    double busy = fmax(s->measured.compute_busy, subject_get(s, METRIC_ISSUE_BUSY));
    // A block of less than a warp is no divergence: tool_occupancy and tool_waves speak of blocks.
    if (!(active > 0 && active < FULL) || block < WARP)
        return false;
    f->severity = active < BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "threads of a warp go different ways";
    f->evidence = arena_printf(a, "an instruction serves %.1f of %d threads", active, WARP);
    f->expected_gain = isfinite(busy) ? 1 / (1 - busy * (1 - active / WARP)) : NAN;
    tool_add_number(f, METRIC_THREADS_PER_INSTRUCTION, active, FULL);
    tool_add_actions(f, s, together, ARRAY_LEN(together));
    return true;
}

const struct tool tool_divergence = {
    .name = "divergence",
    .summary = "instructions that serve only part of a warp",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 1,
    .needs = {METRIC_THREADS_PER_INSTRUCTION},
    .examine = examine,
};
