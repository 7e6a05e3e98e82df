// Threads idle: too few blocks to share out evenly, or blocks so small that handing them
// out is the work.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Below BUSY of the time in blocks there is something to gain. With fewer than FEW blocks per
// thread the last ones leave threads waiting; with more than MANY the handing out shows.
static const double BUSY = 0.9, FEW = 8, MANY = 64;

static const struct action smaller[] = {
    TURN("grain", -1, "smaller blocks: less work per block"),
    TURN("rows", -1, "smaller blocks: fewer rows each"),
    TURN("tile", -1, "smaller tiles: more blocks"),
    WORDS("a larger grid of smaller blocks, several for each thread"),
};

static const struct action even[] = {
    TURN("grain", -1, "smaller blocks: one that ends late holds less"),
    TURN("rows", -1, "smaller blocks: fewer rows each"),
    WORDS("equal work for each block, or more and smaller ones: they are handed out one by one"),
};

static const struct action larger[] = {
    TURN("grain", +1, "larger blocks: fewer to hand out"),
    TURN("rows", +1, "larger blocks: more rows each"),
    TURN("tile", +1, "larger tiles: fewer blocks"),
    WORDS("a smaller grid of larger blocks"),
};

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double busy = subject_get(s, METRIC_THREAD_BUSY), blocks = subject_get(s, METRIC_BLOCKS);
    double threads = subject_get(s, METRIC_THREADS), each = blocks / threads;
    if (!(busy > 0 && busy < BUSY) || !isfinite(each))
        return false;
    bool is_few = each<FEW, is_many = each> MANY;
    // One thread waits for no other.
    if (!(threads > 1) && !is_many)
        return false;
    bool is_shared = subject_is_disturbed(s);
    f->severity = is_shared ? SEVERITY_LOW : busy < 0.6 ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = is_shared ? "threads wait, and other work takes the processors: measure again alone"
               : is_few  ? "threads wait at the end: too few blocks to share out"
               : is_many ? "threads wait between blocks: so many small ones"
                         : "threads wait: blocks take unequal time";
    f->evidence =
        arena_printf(a, "threads are busy %.0f%% of the time; %.0f block%s for %.0f thread%s",
                     100 * busy, blocks, blocks == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
    f->expected_gain = 1 / busy;
    tool_add_number(f, METRIC_THREAD_BUSY, busy, BUSY);
    tool_add_number(f, METRIC_BLOCKS, blocks, NAN);
    if (is_shared)
        return true;  // first it has to be measured
    if (is_few)
        tool_add_actions(f, s, smaller, ARRAY_LEN(smaller));
    else if (is_many)
        tool_add_actions(f, s, larger, ARRAY_LEN(larger));
    else
        tool_add_actions(f, s, even, ARRAY_LEN(even));
    return true;
}

const struct tool tool_idle = {
    .name = "idle",
    .summary = "threads that wait for others or for work",
    .devices = ON_CPU,
    .n_needs = 3,
    .needs = {METRIC_THREAD_BUSY, METRIC_BLOCKS, METRIC_THREADS},
    .examine = examine,
};
