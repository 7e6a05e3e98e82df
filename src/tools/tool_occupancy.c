// Too few warps on a multiprocessor to hide what each of them waits for, and what keeps more
// from fitting: registers, shared memory, or the number of blocks that it holds.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Streams from memory want half of the threads; arithmetic in registers hides its own latency
// with a quarter.
static const double MEMORY_ENOUGH = 0.5, COMPUTE_ENOUGH = 0.25, NEAR = 0.95;

// How a multiprocessor hands out what it has: registers by 256 to a warp, warps to four parts,
// and 1 KiB of shared memory to each block besides its own (compute capability 8.0 and later).
enum { WARP = 32, REGISTER_UNIT = 256, PARTS = 4, SHARED_RESERVED = 1024 };

// A block has at most half of the threads, so that its size alone is never in the way.
enum limiter { BY_REGISTERS, BY_SHARED, BY_SLOTS, LIMITERS };

static const struct action fewer_registers[] = {
    {"let the compiler use fewer registers", "minblocks", +1, NULL},
    {"fewer values per thread", "items", -1, NULL},
    {"a smaller tile per thread", "micro", -1, NULL},
    {"share a row among more threads", "threads", +1, NULL},
    {"keep the row in shared memory instead of registers", "keep", 0, "shared"},
    {"narrower vectors", "vec", -1, NULL},
    {"smaller blocks, which fit more evenly", "block", -1, NULL},
    {"hold fewer values per thread, or bound the registers (__launch_bounds__(threads, blocks))",
     NULL, 0, NULL},
};
static const struct action less_shared[] = {
    {"smaller tiles in shared memory", "tile", -1, NULL},
    {"fewer slices in shared memory", "stages", -1, NULL},
    {"keep the row in registers instead of shared memory", "keep", 0, "register"},
    {"fewer rows per block", "rows", -1, NULL},
    {"less shared memory a block: smaller tiles, fewer of them, or registers", NULL, 0, NULL},
};
static const struct action larger_blocks[] = {
    {"larger blocks: only so many fit at a time", "block", +1, NULL},
    {"more rows per block", "rows", +1, NULL},
    {"more results per block", "results", +1, NULL},
    {"more threads per row", "threads", +1, NULL},
    {"larger tiles", "tile", +1, NULL},
    {"more threads a block", NULL, 0, NULL},
};

static const struct {
    const char *name;
    const struct action *actions;
    int n_actions;
} limiters[LIMITERS] = {
    [BY_REGISTERS] = {"registers", fewer_registers, ARRAY_LEN(fewer_registers)},
    [BY_SHARED] = {"shared memory", less_shared, ARRAY_LEN(less_shared)},
    [BY_SLOTS] = {"the number of blocks it can hold", larger_blocks, ARRAY_LEN(larger_blocks)},
};

// Blocks that would fit on a multiprocessor if only this were in the way.
static double fits_by(enum limiter which, const struct target *t, const struct profile *p) {
    double warps = ceil(profile_get(p, METRIC_BLOCK_THREADS) / WARP);
    double per_warp = profile_get(p, METRIC_REGISTERS) * WARP;
    switch (which) {
    case BY_REGISTERS:
        per_warp = ceil(per_warp / REGISTER_UNIT) * REGISTER_UNIT;
        return floor(floor(t->registers_per_sm / per_warp / PARTS) * PARTS / warps);
    case BY_SHARED:
        return floor((double)t->shared_per_sm /
                     (profile_get(p, METRIC_SHARED_BYTES) + SHARED_RESERVED));
    default:
        return t->blocks_per_sm > 0 ? t->blocks_per_sm : INFINITY;
    }
}

static enum limiter find_limiter(const struct target *t, const struct profile *p) {
    enum limiter least = BY_REGISTERS;
    for (int i = 1; i < LIMITERS; i++)
        if (fits_by((enum limiter)i, t, p) < fits_by(least, t, p))
            least = (enum limiter)i;
    return least;
}

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    const struct profile *p = in->profile;
    double occupancy = profile_get(p, METRIC_OCCUPANCY),
           per_sm = profile_get(p, METRIC_BLOCKS_PER_SM);
    double enough = in->bound->side == BOUND_COMPUTE ? COMPUTE_ENOUGH : MEMORY_ENOUGH;
    double gap = profile_get(p, METRIC_TIME) / in->bound->reach_s;
    // Where the grid does not even fill what fits, more fitting is of no use.
    bool is_filled = profile_get(p, METRIC_BLOCKS) > per_sm * in->target->sms;
    if (room < 1 || !(occupancy < enough) || !is_filled || 1 / gap >= NEAR ||
        isnan(profile_get(p, METRIC_REGISTERS) + profile_get(p, METRIC_SHARED_BYTES)))
        return 0;
    enum limiter by = find_limiter(in->target, p);
    *out = (struct finding){
        .tool = "occupancy",
        .severity = occupancy < enough / 2 ? SEVERITY_HIGH : SEVERITY_MEDIUM,
        .cause = arena_printf(a, "%s keeps a multiprocessor from holding more threads",
                              limiters[by].name),
        .evidence = arena_printf(
            a,
            "occupancy %.0f%%: %.0f block%s of %.0f threads at a time; %.0f "
            "registers a thread, %.0f bytes of shared memory a block",
            100 * occupancy, per_sm, per_sm == 1 ? "" : "s", profile_get(p, METRIC_BLOCK_THREADS),
            profile_get(p, METRIC_REGISTERS), profile_get(p, METRIC_SHARED_BYTES)),
        .expected_gain = isfinite(gap) ? fmin(enough / occupancy, gap) : enough / occupancy,
    };
    tool_add_actions(out, in->candidate, limiters[by].actions, limiters[by].n_actions);
    return 1;
}

const struct tool tool_occupancy = {
    .name = "occupancy",
    .summary = "what keeps a multiprocessor from holding enough threads",
    .examine = examine,
};
