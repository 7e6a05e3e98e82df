// Far from reach, and on which side. The side is the bound's, not a counter's: it says
// what the problem needs, whatever this candidate happens to do.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Nearer than this the rest is noise; the other two are where words change.
static const double NEAR = 0.95, MEDIUM = 0.8, FAR = 0.5;

static const struct action memory_actions[] = {
    {"write past the caches: the result is not read again", "store", 0, "stream"},
    {"load and store wider vectors", "vec", +1, NULL},
    {"keep the row close instead of reading it again", "keep", 0, "local"},
    {"compute on one row while the next arrives", "overlap", 0, "rows"},
    {"fetch rows before they are needed", "ahead", +1, NULL},
    {"larger blocks, so that fetching ahead is not cut short", "rows", +1, NULL},
    {"keep more loads in flight", "unroll", +1, NULL},
    {"merge stages, so that no value goes to memory and back", "merge", 0, NULL},
    {"multiply by a reciprocal instead of dividing", "divide", 0, "reciprocal"},
    {"count the bytes that the source moves: everything read twice, and every line of an output "
     "that is read before it is written, is more than the least",
     NULL, 0, NULL},
    {"bring loops over the same data together, and keep what is read again in a local array that "
     "fits the first caches",
     NULL, 0, NULL},
    {"write results past the caches (hone_stream16)", NULL, 0, NULL},
    {"fetch ahead (__builtin_prefetch), and keep arithmetic from waiting for it", NULL, 0, NULL},
};

static const struct action compute_actions[] = {
    {"use wider vectors", "vec", +1, NULL},
    {"more independent sums per step", "micro", +1, NULL},
    {"work on larger tiles, so that data are used more often while they are near", "tile", +1,
     NULL},
    {"smaller tiles, so that they stay in the near caches", "tile", -1, NULL},
    {"lay the operand out in the order in which it is read", "pack", 0, NULL},
    {"more independent work per step", "unroll", +1, NULL},
    {"more independent sums in the innermost loop: enough of them to cover the latency of a "
     "multiply-add",
     NULL, 0, NULL},
    {"use what is loaded into registers more often before the next load", NULL, 0, NULL},
    {"pack operands once into the order in which they are read, in scratch", NULL, 0, NULL},
    {"block the loops so that what is read again lies in the nearest cache that holds it", NULL, 0,
     NULL},
};

// On a GPU knobs have other names, and other things are in the way.
static const struct action gpu_memory_actions[] = {
    {"load and store wider vectors", "vec", +1, NULL},
    {"keep the row in registers instead of reading it again", "keep", 0, "register"},
    {"more vectors per thread, so that more is under way", "items", +1, NULL},
    {"merge stages, so that no value goes to memory and back", "merge", 0, NULL},
    {"write past the caches: the result is not read again", "store", 0, "stream"},
    {"more threads per row, so that more is under way", "threads", +1, NULL},
    {"more rows per block", "rows", +1, NULL},
    {"split each result over more blocks", "split", +1, NULL},
    {"larger blocks", "block", +1, NULL},
    {"multiply by a reciprocal instead of dividing", "divide", 0, "reciprocal"},
    {"count the bytes that the source moves: what is read twice is more than the least; keep it in "
     "registers or shared memory",
     NULL, 0, NULL},
    {"move 16 bytes at a time and thread (float4), neighbours by neighbours", NULL, 0, NULL},
    {"more loads under way before the first is used: several per thread, or asynchronous copies",
     NULL, 0, NULL},
    {"fewer launches: what one writes and the next reads goes through memory", NULL, 0, NULL},
};

static const struct action gpu_compute_actions[] = {
    {"load the next slice while this one is used", "stages", +1, NULL},
    {"more independent sums per thread", "micro", +1, NULL},
    {"larger tiles, so that data are used more often while they are near", "tile", +1, NULL},
    {"load wider vectors", "vec", +1, NULL},
    {"more blocks at a time", "minblocks", +1, NULL},
    {"smaller tiles, so that more blocks fit", "tile", -1, NULL},
    {"a smaller tile per thread, so that more threads fit", "micro", -1, NULL},
    {"load the next tile (asynchronous copies) while this one is used", NULL, 0, NULL},
    {"more sums per thread for each value read from shared memory", NULL, 0, NULL},
    {"read shared memory 16 bytes at a time, without conflicts between its banks", NULL, 0, NULL},
    {"use the matrix units, where the precision that the problem asks for allows it", NULL, 0,
     NULL},
};

static const struct action launch_actions[] = {
    {"larger blocks: fewer to hand out", "grain", +1, NULL},
    {"larger blocks: more rows each", "rows", +1, NULL},
    {"merge stages: fewer launches", "merge", 0, NULL},
    {"fewer launches, and fewer blocks to hand out", NULL, 0, NULL},
};

static const struct action chain_actions[] = {
    {"all steps in one launch, the state in registers or shared memory", NULL, 0, NULL},
    {"what a step does not need the state for before the loop, for all steps at once", NULL, 0,
     NULL},
    {"weights that every step reads kept on the chip", NULL, 0, NULL},
};

static void add_actions(const struct tool_input *in, struct finding *f) {
    bool gpu = in->target->is_gpu;
    switch (in->bound->side) {
    case BOUND_MEMORY:
        tool_add_actions(f, in->candidate, gpu ? gpu_memory_actions : memory_actions,
                         gpu ? ARRAY_LEN(gpu_memory_actions) : ARRAY_LEN(memory_actions));
        break;
    case BOUND_COMPUTE:
        tool_add_actions(f, in->candidate, gpu ? gpu_compute_actions : compute_actions,
                         gpu ? ARRAY_LEN(gpu_compute_actions) : ARRAY_LEN(compute_actions));
        break;
    case BOUND_LAUNCH:
        tool_add_actions(f, in->candidate, launch_actions, ARRAY_LEN(launch_actions));
        break;
    case BOUND_CHAIN:
        tool_add_actions(f, in->candidate, chain_actions, ARRAY_LEN(chain_actions));
        break;
    }
}

static const char *evidence(struct arena *a, const struct bound *b, double time_s) {
    double bytes = b->work.bytes_read + b->work.bytes_written;
    const char *head = arena_printf(a, "%.4g ms, reach %.4g ms (%.0f%%)", time_s * 1e3,
                                    b->reach_s * 1e3, 100 * b->reach_s / time_s);
    if (b->side == BOUND_MEMORY)
        return arena_printf(a, "%s; least traffic at %.1f GB/s, measured ceiling %.1f GB/s", head,
                            bytes / time_s / 1e9, bytes / b->reach_memory_s / 1e9);
    if (b->side == BOUND_COMPUTE)
        return arena_printf(a, "%s; %.1f GFLOP/s, ceiling for this work %.1f GFLOP/s", head,
                            b->work.flops / time_s / 1e9, b->work.flops / b->reach_compute_s / 1e9);
    if (b->side == BOUND_CHAIN)
        return arena_printf(a, "%s; %.3g operations wait for one another, %.3g ns each", head,
                            b->work.chain_ops, time_s * 1e9 / b->work.chain_ops);
    return arena_printf(a, "%s; a launch costs %.3g us", head, b->reach_fixed_s * 1e6);
}

static int examine(struct arena *a, const struct tool_input *in, struct finding *out, int room) {
    double time_s = profile_get(in->profile, METRIC_TIME);
    double fraction = in->bound->reach_s / time_s;
    if (room < 1 || !isfinite(fraction) || fraction >= NEAR)
        return 0;
    *out = (struct finding){
        .tool = "reach",
        .severity = fraction < FAR      ? SEVERITY_HIGH
                    : fraction < MEDIUM ? SEVERITY_MEDIUM
                                        : SEVERITY_LOW,
        .cause = arena_printf(a, "%s-bound, at %.0f%% of what this machine reaches",
                              bound_side_name(in->bound->side), 100 * fraction),
        .evidence = evidence(a, in->bound, time_s),
        .expected_gain = 1 / fraction,
    };
    add_actions(in, out);
    return 1;
}

const struct tool tool_reach = {
    .name = "reach",
    .summary = "how far from reach, and whether memory or arithmetic is in the way",
    .examine = examine,
};
