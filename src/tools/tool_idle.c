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
    {"smaller blocks: less work per block", "grain", -1, NULL},
    {"smaller blocks: fewer rows each", "rows", -1, NULL},
    {"smaller tiles: more blocks", "tile", -1, NULL},
    {"a larger grid of smaller blocks, several for each thread", NULL, 0, NULL},
};

static const struct action larger[] = {
    {"larger blocks: fewer to hand out", "grain", +1, NULL},
    {"larger blocks: more rows each", "rows", +1, NULL},
    {"larger tiles: fewer blocks", "tile", +1, NULL},
    {"a smaller grid of larger blocks", NULL, 0, NULL},
};

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    double busy = profile_get(in->profile, METRIC_THREAD_BUSY);
    double blocks = profile_get(in->profile, METRIC_BLOCKS);
    double threads = profile_get(in->profile, METRIC_THREADS);
    double each = blocks / threads;
    if (room < 1 || !(busy > 0 && busy < BUSY) || !isfinite(each))
        return 0;
    bool few = each<FEW, many = each> MANY;
    *out = (struct finding){
        .tool = "idle",
        .severity = busy < 0.6 ? SEVERITY_HIGH : SEVERITY_MEDIUM,
        .cause = few    ? "threads wait at the end: too few blocks to share out"
                 : many ? "threads wait between blocks: so many small ones"
                        : "threads wait: blocks take unequal time, or the machine is shared",
        .evidence = arena_printf(a,
                                 "threads are busy %.0f%% of the time; %.0f blocks for %.0f "
                                 "threads",
                                 100 * busy, blocks, threads),
        .expected_gain = 1 / busy,
    };
    if (few)
        tool_add_actions(out, in->candidate, smaller, ARRAY_LEN(smaller));
    if (many)
        tool_add_actions(out, in->candidate, larger, ARRAY_LEN(larger));
    return 1;
}

const struct tool tool_idle = {
    .name = "idle",
    .summary = "threads that wait for others or for work",
    .examine = examine,
};
