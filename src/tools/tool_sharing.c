// False sharing: blocks that write less than a line of the caches, next to one another. Threads
// then take the same line from each other for every block.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

enum { LINE = 64 };
static const double WORTH = 0.05, BAD = 0.3;

static const struct action apart[] = {
    TURN("grain", +1, "larger blocks: each writes whole lines"),
    TURN("rows", +1, "larger blocks: more rows each"),
    WORDS("a larger piece of the result for each block, whole lines of 64 bytes"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double bytes = subject_get(s, METRIC_BLOCK_WRITES), blocks = subject_get(s, METRIC_BLOCKS);
    double threads = subject_get(s, METRIC_THREADS), time_s = subject_get(s, METRIC_TIME);
    double line_s = s->target->ceilings.line_s, part = blocks * line_s / threads / time_s;
    if (!s->target->ceilings.present || !(bytes < LINE) || !(threads > 1) || !(blocks > threads) ||
        !(part > WORTH))
        return false;
    f->severity = part > BAD ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = "blocks of different threads write into the same lines";
    f->evidence =
        arena_printf(a,
                     "%.0f blocks write %.3g bytes each, a line has %d and takes %.0f ns from "
                     "another processor",
                     blocks, bytes, LINE, line_s * 1e9);
    f->expected_gain = 1 / (1 - fmin(part, 0.9));
    tool_add_number(f, METRIC_BLOCK_WRITES, bytes, LINE);
    tool_add_number(f, METRIC_BLOCKS, blocks, NAN);
    tool_add_actions(f, s, apart, ARRAY_LEN(apart));
    return true;
}

const struct tool tool_sharing = {
    .name = "sharing",
    .summary = "blocks of different threads that write into the same lines",
    .devices = ON_CPU,
    .n_needs = 4,
    .needs = {METRIC_BLOCK_WRITES, METRIC_BLOCKS, METRIC_THREADS, METRIC_TIME},
    .examine = examine,
};
