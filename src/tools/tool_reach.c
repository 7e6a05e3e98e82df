// Far from reach, and on which side. The side is the bound's, not a counter's: it says
// what the problem needs, whatever this candidate happens to do.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// Where words change. Nearer than NEAR_REACH the rest is noise.
static const double MEDIUM = 0.8;
// Arithmetic hides its own latency with this share of a multiprocessor's threads.
static const double CROWDED = 0.25;

static const struct action memory_actions[] = {
    WORD("store", "stream", "write past the caches: the result is not read again"),
    TURN("vec", +1, "load and store wider vectors"),
    WORD("keep", "local", "keep the row close instead of reading it again"),
    WORD("overlap", "rows", "compute on one row while the next arrives"),
    TURN("ahead", +1, "fetch rows before they are needed"),
    TURN("rows", +1, "larger blocks, so that fetching ahead is not cut short"),
    TURN("unroll", +1, "keep more loads in flight"),
    MERGE("merge stages, so that no value goes to memory and back"),
    WORD("divide", "reciprocal", "multiply by a reciprocal instead of dividing"),
    WORDS(
        "count the bytes that the source moves: everything read twice, and every line of an output "
        "that is read before it is written, is more than the least"),
    WORDS("bring loops over the same data together, and keep what is read again in a local array "
          "that fits the first caches"),
    WORDS("write results past the caches (hone_stream16)"),
    WORDS("fetch ahead (__builtin_prefetch), and keep arithmetic from waiting for it"),
};

static const struct action compute_actions[] = {
    TURN("vec", +1, "use wider vectors"),
    TURN("micro", +1, "more independent sums per step"),
    TURN("tile", +1, "work on larger tiles, so that data are used more often while they are near"),
    TURN("unroll", +1, "more independent work per step"),
    WORDS("more independent sums in the innermost loop: enough of them to cover the latency of a "
          "multiply-add"),
};

// Only products read operands so often that it pays to keep them near, or to copy them.
static const struct action product_actions[] = {
    WORDS("use what is loaded into registers more often before the next load"),
    WORDS("block the loops so that what is read again lies in the nearest cache that holds it"),
    TURN("pack", 0, "lay the operand out in the order in which it is read"),
    WORDS("pack operands once into the order in which they are read, in scratch"),
};

// On a GPU knobs have other names, and other things are in the way.
static const struct action gpu_memory_actions[] = {
    TURN("vec", +1, "load and store wider vectors"),
    WORD("keep", "register", "keep the row in registers instead of reading it again"),
    TURN("items", +1, "more vectors per thread, so that more is under way"),
    MERGE("merge stages, so that no value goes to memory and back"),
    WORD("store", "stream", "write past the caches: the result is not read again"),
    TURN("threads", +1, "more threads per row, so that more is under way"),
    TURN("rows", +1, "more rows per block"),
    TURN("split", +1, "split each result over more blocks"),
    TURN("block", +1, "larger blocks"),
    WORD("divide", "reciprocal", "multiply by a reciprocal instead of dividing"),
    WORDS("count the bytes that the source moves: what is read twice is more than the least; keep "
          "it in "
          "registers or shared memory"),
    WORDS("move 16 bytes at a time and thread (float4), neighbours by neighbours"),
    WORDS("more loads under way before the first is used: several per thread, or asynchronous "
          "copies"),
    WORDS("fewer launches: what one writes and the next reads goes through memory"),
};

static const struct action gpu_compute_actions[] = {
    TURN("stages", +1, "load the next slice while this one is used"),
    TURN("micro", +1, "more independent sums per thread"),
    TURN("tile", +1, "larger tiles, so that data are used more often while they are near"),
    TURN("vec", +1, "load wider vectors"),
    TURN("minblocks", +1, "more blocks at a time"),
    WORDS("load the next tile (asynchronous copies) while this one is used"),
    WORDS("more sums per thread for each value read from shared memory"),
    WORDS("read shared memory 16 bytes at a time, without conflicts between its banks"),
    WORDS("use the matrix units, where the precision that the problem asks for allows it"),
};

// Put before those where what is held per thread and block is already too much.
static const struct action smaller_tiles[] = {
    TURN("tile", -1, "smaller tiles, so that they stay in the near caches"),
};
static const struct action gpu_crowded_actions[] = {
    TURN("minblocks", +1, "more blocks at a time"),
    TURN("tile", -1, "smaller tiles, so that more blocks fit"),
    TURN("micro", -1, "a smaller tile per thread, so that more threads fit"),
};

static const struct action launch_actions[] = {
    TURN("grain", +1, "larger blocks: fewer to hand out"),
    TURN("rows", +1, "larger blocks: more rows each"),
    MERGE("merge stages: fewer launches"),
    WORDS("fewer launches, and fewer blocks to hand out"),
};

static const struct action chain_actions[] = {
    WORDS("all steps in one launch, the state in registers or shared memory"),
    WORDS("what a step does not need the state for before the loop, for all steps at once"),
    WORDS("weights that every step reads kept on the chip"),
};

// Do the two operand slices of some tile no longer fit the second cache, which one thread has to
// itself?
static bool tiles_overflow(const struct tool_subject *s) {
    for (int i = 0; s->kernel && i < s->kernel->n_stages; i++) {
        const struct kernel_stage *stage = s->kernel->stages[i];
        for (int k = 0; k < stage->n_knobs; k++) {
            const int *part = stage->knobs[k].part;
            bool is_tile =
                strcmp(stage->knobs[k].name, "tile") == 0 && stage->knobs[k].n_parts == 3;
            double bytes = 4.0 * ((double)part[0] + part[1]) * part[2];
            if (is_tile && s->target->l2_bytes > 0 && bytes > (double)s->target->l2_bytes)
                return true;
        }
    }
    return false;
}

static void add_compute_actions(const struct tool_subject *s, struct finding *f) {
    if (!s->target->is_gpu) {
        if (tiles_overflow(s))
            tool_add_actions(f, s, smaller_tiles, ARRAY_LEN(smaller_tiles));
        tool_add_actions(f, s, compute_actions, ARRAY_LEN(compute_actions));
        if (s->in->bound->work.contract_flops > 0)
            tool_add_actions(f, s, product_actions, ARRAY_LEN(product_actions));
        return;
    }
    if (subject_get(s, METRIC_OCCUPANCY) < CROWDED)
        tool_add_actions(f, s, gpu_crowded_actions, ARRAY_LEN(gpu_crowded_actions));
    tool_add_actions(f, s, gpu_compute_actions, ARRAY_LEN(gpu_compute_actions));
}

static void add_actions(const struct tool_subject *s, struct finding *f) {
    switch (s->in->bound->side) {
    case BOUND_MEMORY:
        if (s->target->is_gpu)
            tool_add_actions(f, s, gpu_memory_actions, ARRAY_LEN(gpu_memory_actions));
        else
            tool_add_actions(f, s, memory_actions, ARRAY_LEN(memory_actions));
        break;
    case BOUND_COMPUTE:
        add_compute_actions(s, f);
        break;
    case BOUND_LAUNCH:
        tool_add_actions(f, s, launch_actions, ARRAY_LEN(launch_actions));
        break;
    case BOUND_CHAIN:
        tool_add_actions(f, s, chain_actions, ARRAY_LEN(chain_actions));
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

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double fraction = 1 / s->gap;
    if (!isfinite(fraction) || fraction >= NEAR_REACH)
        return false;
    f->severity = fraction < MEDIUM ? SEVERITY_MEDIUM : SEVERITY_LOW;
    f->cause = arena_printf(a, "%s-bound, at %s of what this machine reaches",
                            bound_side_name(s->in->bound->side), str_percent(a, fraction));
    f->evidence = arena_printf(
        a, "%s%s", evidence(a, s->in->bound, subject_get(s, METRIC_TIME)),
        subject_is_disturbed(s) ? "; other work took the processors: measure again alone" : "");
    f->expected_gain = s->gap;
    tool_add_number(f, METRIC_TIME, subject_get(s, METRIC_TIME), s->in->bound->reach_s);
    add_actions(s, f);
    return true;
}

const struct tool tool_reach = {
    .name = "reach",
    .summary = "how far from reach, and whether memory or arithmetic is in the way",
    .devices = ON_CPU | ON_GPU,
    .n_needs = 1,
    .needs = {METRIC_TIME},
    .is_symptom = true,
    .examine = examine,
};
