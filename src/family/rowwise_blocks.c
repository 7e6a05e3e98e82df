// rowwise on a GPU, rows of any axes and any length: one block for a row, or several that meet.
//
// A row is read from memory once when it fits on the chip: in the registers or the shared memory of
// its blocks. A cluster of up to 16 blocks has 3.5 MB of shared memory; beyond it a block group of
// blocks that are all resident (a cooperative launch) takes rows one after the other, and several
// block groups have a row each, so that one computes while another waits. What fits nowhere is read
// again, from the second cache where the rows under way fit into it.
//
// Rows need not begin or end at a multiple of a vector: blocks_lower.c takes the edges one by one.
#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "family/blocks_lower.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/rows_keep.h"

static const int threads_grid[] = {32, 64, 128, 256, 512, 1024, -1};
// Powers of two, and what divides the multiprocessors of cards (108, 114, 132, 144, 148).
static const int blocks_grid[] = {1,  2,  4,  8,   16,  27,  33,  37,  54,  57,
                                  66, 72, 74, 108, 114, 132, 144, 148, 264, -1};
static const int rows_grid[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, -1};
static const int minblocks_grid[] = {1, 2, 3, 4, -1};
static const int vec_grid[] = {1, 2, 4, 8, -1};
static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const char *const meet_words[] = {"none", "cluster", "grid", NULL};
static const char *const stats_words[] = {"levels", "once", NULL};

static const struct knob knobs[] = {
    {.name = "threads", .summary = "threads of a block", .n_parts = 1, .grid = {threads_grid}},
    {.name = "blocks",
     .change = CHANGE_COMBINE,
     .summary = "blocks per row",
     .n_parts = 1,
     .grid = {blocks_grid}},
    {.name = "meet",
     .change = CHANGE_COMBINE,
     .summary = "how the blocks of a row meet",
     .words = meet_words},
    {.name = "rows", .summary = "rows at a time (meet grid)", .n_parts = 1, .grid = {rows_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {minblocks_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "unroll",
     .summary = "vectors of a thread under way together (not keep register)",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "stats",
     .change = CHANGE_LAW,
     .summary = "a meeting for each level of reductions, or one for both",
     .words = stats_words},
    {.name = "keep",
     .summary = "where a row stays between its walks",
     .words = knob_keep_shared_words},
    KNOB_DIVIDE,
    KNOB_GPU_STORE,
    {0},
};

enum {
    CLUSTER_MAX = 16,
    PARTIAL_BYTES = 2048,   // at most, of what warps exchange
    RESERVED_BYTES = 1024,  // of shared memory, by the hardware, for each block
    REGISTERS_BASE = 32,    // addresses, indices, temporaries
    KEPT_MAX = 128,         // floats in a thread's registers: with more the compiler spills
};

// What legality and estimates need to know of a form, found once.
struct figures {
    int64_t n_rows, n_columns, lanes;
    int64_t kept_bytes[2];  // of an element in shared memory; [1]: stats once
    int n_slots[2], n_levels;
    bool has_once, has_variance;        // two levels can be one
    bool has_edges, has_full, is_half;  // is_half: rows are 16-bit floats
    double bytes_read, bytes_written, compute_s;
};

static struct figures find_figures(const struct form *form, const struct target *t) {
    struct arena scratch = {0};
    struct rows_keep keep, leaves;
    struct region_work w;
    struct law_match once;
    const struct rows_form *rows = form->rows;
    rows_plan_keep(rows, &scratch, false, &keep);
    rows_plan_keep(rows, &scratch, true, &leaves);
    region_count(form->region, &w);
    bool has_once = blocks_find_once(rows, &once);
    struct figures f = {.n_rows = rows->n_rows,
                        .n_columns = rows->n_columns,
                        .lanes = form->lanes,
                        .kept_bytes = {rows_keep_bytes(&keep), rows_keep_bytes(&leaves)},
                        .n_slots = {keep.n_slots, leaves.n_slots},
                        .has_once = has_once,
                        .has_variance = has_once && blocks_is_variance(&once),
                        .n_levels = keep.walks.n_levels,
                        .has_edges = blocks_have_edges(rows),
                        .has_full = rows_any_full_value(rows),
                        .is_half = rows_are_half(rows),
                        .bytes_read = w.bytes_read,
                        .bytes_written = w.bytes_written};
    // Of 16-bit rows exp is quick (point.h).
    double slow = f.is_half ? 6 : 16;
    f.compute_s = (w.flops + slow * w.slow_flops) / (0.5 * gpu_flops_per_s(t));
    arena_reset(&scratch);
    return f;
}

// A stage's knobs.
struct choice {
    int threads, blocks, rows, minblocks, vec, unroll;
    bool is_grid, is_cluster, in_registers, in_shared, is_once;
};

static struct choice read_choice(const struct kernel_stage *s) {
    return (struct choice){.threads = stage_number(s, "threads", 0),
                           .blocks = stage_number(s, "blocks", 0),
                           .rows = stage_number(s, "rows", 0),
                           .minblocks = stage_number(s, "minblocks", 0),
                           .vec = stage_number(s, "vec", 0),
                           .unroll = stage_number(s, "unroll", 0),
                           .is_grid = stage_word_is(s, "meet", "grid"),
                           .is_cluster = stage_word_is(s, "meet", "cluster"),
                           .in_registers = stage_word_is(s, "keep", "register"),
                           .in_shared = stage_word_is(s, "keep", "shared"),
                           .is_once = stage_word_is(s, "stats", "once")};
}

// Elements of a row that one block has.
static int64_t span_of(const struct figures *f, const struct choice *c) {
    return (f->n_columns / c->vec + c->blocks - 1) / c->blocks * c->vec;
}

static int64_t items_of(const struct figures *f, const struct choice *c) {
    return gpu_walk_steps(span_of(f, c), c->vec, c->threads);
}

static int64_t shared_bytes(const struct figures *f, const struct choice *c) {
    return (c->in_shared ? f->kept_bytes[c->is_once] * span_of(f, c) : 0) + PARTIAL_BYTES;
}

// Floats of a thread: what is kept, at most one generation more while it changes, and what is on
// its way.
static int64_t floats_of(const struct figures *f, const struct choice *c) {
    if (c->in_registers)
        return f->n_slots[c->is_once] * items_of(f, c) * c->vec + 2 * c->vec;
    return (int64_t)c->unroll * c->vec;
}

static int64_t registers_of(const struct figures *f, const struct choice *c) {
    return c->in_registers ? REGISTERS_BASE + floats_of(f, c) * 5 / 4 : 24 + floats_of(f, c);
}

// Blocks that a multiprocessor holds at once.
static int64_t resident(const struct target *t, const struct figures *f, const struct choice *c) {
    int64_t n = t->threads_per_sm / c->threads;
    int64_t by_shared = t->shared_per_sm / (shared_bytes(f, c) + RESERVED_BYTES);
    int64_t by_registers = t->registers_per_sm / (c->threads * registers_of(f, c));
    n = by_shared < n ? by_shared : n;
    return by_registers < n ? by_registers : n;
}

static bool legal_vec(const struct figures *f, const struct choice *c, struct objection *why) {
    if (f->lanes % c->vec == 0)
        return true;
    if (f->has_edges && f->n_columns >= 4 * c->vec)
        return true;
    int nearest = c->vec;
    while (f->lanes % nearest != 0)
        nearest /= 2;
    return objection(why, "vec",
                     "vec %d needs rows of a multiple of %d elements, or that all lies in memory "
                     "as they do: the nearest is vec %d",
                     c->vec, c->vec, nearest);
}

static bool legal_meet(const struct target *t, const struct figures *f, const struct choice *c,
                       struct objection *why) {
    if ((c->blocks == 1) != (!c->is_grid && !c->is_cluster))
        return objection(why, "meet", "%d blocks per row: the nearest is meet %s", c->blocks,
                         c->blocks == 1           ? "none"
                         : target_has_clusters(t) ? "cluster"
                                                  : "grid");
    if (c->is_cluster && !target_has_clusters(t))
        return objection(why, "meet",
                         "this architecture has no clusters: the nearest is meet grid");
    if (c->is_cluster && (c->blocks > CLUSTER_MAX || (c->blocks & (c->blocks - 1)) != 0))
        return objection(why, "blocks",
                         "a cluster has at most %d blocks: the nearest is blocks 16, or meet grid",
                         CLUSTER_MAX);
    if (!c->is_grid && c->rows > 1)
        return objection(why, "rows", "rows at a time are for meet grid: the nearest is rows 1");
    if (c->is_grid && c->rows > f->n_rows)
        return objection(why, "rows", "there are %lld rows: the nearest is rows 1",
                         (long long)f->n_rows);
    // Who has come is counted in 32 bits.
    if (c->is_grid && f->n_rows / c->rows > INT32_MAX / c->blocks / 8)
        return objection(why, "meet",
                         "%lld rows are too many for blocks that meet for each: the "
                         "nearest is blocks 1",
                         (long long)f->n_rows);
    int64_t room = (int64_t)t->sms * c->minblocks;
    if (c->is_grid && (int64_t)c->blocks * c->rows > room)
        return objection(why, "blocks",
                         "%d blocks for each of %d rows cannot all be resident: there is room for "
                         "%d on each of %d multiprocessors; the nearest is fewer rows",
                         c->blocks, c->rows, c->minblocks, t->sms);
    return true;
}

static bool legal_keep(const struct target *t, const struct figures *f, const struct choice *c,
                       struct objection *why) {
    if ((c->in_registers || c->in_shared) && f->n_slots[c->is_once] == 0)
        return objection(why, "keep",
                         "nothing of a row is needed twice: the nearest is keep reread");
    int64_t kept = f->n_slots[c->is_once] * items_of(f, c) * c->vec;
    if (c->in_registers && kept > KEPT_MAX)
        return objection(
            why, "keep",
            "%lld floats in registers of a thread, above %d: the nearest is keep shared",
            (long long)kept, KEPT_MAX);
    if (c->in_registers && c->unroll != 1)
        return objection(why, "unroll", "keep register unrolls all: the nearest is unroll 1");
    int64_t bytes = shared_bytes(f, c);
    struct gpu_demand demand = {"keep", c->threads * c->minblocks, floats_of(f, c), "keep shared"};
    if (!gpu_legal_registers(t, &demand, why) ||
        !gpu_legal_shared(t, "keep", bytes, "keep reread", why))
        return false;
    if (c->threads * c->minblocks > t->threads_per_sm ||
        c->minblocks * (bytes + RESERVED_BYTES) > t->shared_per_sm)
        return objection(why, "minblocks",
                         "%d blocks of %d threads and %lld bytes do not fit a multiprocessor: the "
                         "nearest is minblocks 1",
                         c->minblocks, c->threads, (long long)bytes);
    return true;
}

static bool is_legal_choice(const struct target *t, const struct figures *f, const struct choice *c,
                            struct objection *why) {
    if (!legal_vec(f, c, why) || !legal_meet(t, f, c, why) || !legal_keep(t, f, c, why))
        return false;
    if (c->blocks > 1 && f->n_columns / c->vec < (int64_t)c->blocks * GPU_WARP)
        return objection(why, "blocks",
                         "a row of %lld elements is too short for %d blocks: the "
                         "nearest is fewer blocks",
                         (long long)f->n_columns, c->blocks);
    // Fewer meetings are a gain, and for a variance that is read again one walk less.
    bool is_kept = c->in_registers || c->in_shared;
    bool may = f->has_once && (c->blocks > 1 || (f->has_variance && !is_kept));
    int64_t filled = span_of(f, c) * (c->blocks - 1);
    if (c->is_once && (!may || filled + 2 * c->vec > f->n_columns))
        return objection(why, "stats",
                         "no softmax or variance whose blocks could finish their parts alone: the "
                         "nearest is stats levels");
    return gpu_legal_grid("blocks", f->n_rows * c->blocks, why);
}

static bool accepts(const struct form *form, const struct target *t, struct objection *why) {
    (void)t;
    return form->rows->is_along ||
           objection(why, NULL, "elements of a row are not neighbours in memory");
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct figures f = find_figures(form, t);
    struct choice c = read_choice(s);
    return is_legal_choice(t, &f, &c, why);
}

// A meeting with its exchange, and the beginning and end of a block's traffic: fitted to 40 kernels
// on an H200.
#define CLUSTER_S 2e-6
#define GRID_S 2.5e-6  // and so much for each block:
#define GRID_BLOCK_S 0.05e-6
#define RAMP_S 1.5e-6

// Seconds. A block reads its part, waits, and writes: others on the same multiprocessor fill the
// wait, if there are any.
struct traffic {
    double bytes, at_once, n_resident;
    bool is_kept;
    double walks;
};

static struct traffic find_traffic(const struct target *t, const struct figures *f,
                                   const struct choice *c) {
    struct traffic r = {.is_kept = c->in_registers || c->in_shared};
    double blocks = c->is_grid ? (double)c->blocks * c->rows : (double)f->n_rows * c->blocks;
    r.walks = (c->is_once && f->has_variance && !r.is_kept ? 1 : f->n_levels) + f->has_full;
    r.is_kept |= r.walks == 1;
    r.at_once = fmin(blocks, fmax(1, (double)resident(t, f, c)) * t->sms);
    r.n_resident = fmax(1, r.at_once / t->sms);
    // Read again: from the second cache, if what is under way fits there.
    double under_way = r.at_once / c->blocks * f->bytes_read / (double)f->n_rows;
    bool fits = under_way < 0.5 * (double)t->l2_bytes;
    double again = r.is_kept ? 0 : (r.walks - 1) * (fits ? 0.4 : 1);
    r.bytes = f->bytes_read * (1 + again) + f->bytes_written;
    return r;
}

// The share of the time in which a multiprocessor has a block that is not waiting.
static double busy_share(const struct target *t, const struct figures *f, const struct choice *c,
                         const struct traffic *r) {
    double levels = c->is_once ? 1 : f->n_levels;
    double part_s = r->bytes / (double)f->n_rows / c->blocks / (gpu_bytes_per_s(t) / t->sms);
    double meeting_s = c->is_cluster ? CLUSTER_S : 0.3e-6;
    if (c->is_grid)
        meeting_s = GRID_S + GRID_BLOCK_S * c->blocks;
    double wait_s = RAMP_S + levels * meeting_s;
    return 1 - pow(wait_s / (part_s + wait_s), fmin(5, r->n_resident));
}

static double seconds_of(const struct target *t, const struct figures *f, const struct choice *c) {
    double rate = gpu_bytes_per_s(t);
    struct traffic r = find_traffic(t, f, c);
    // Little's law; latency of loads that come in bursts, as an H200 has it.
    double size = f->is_half ? 2 : 4;
    double in_flight = c->in_registers ? fmin(8, (double)items_of(f, c)) : c->unroll;
    double share = 1 - exp(-r.at_once * c->threads * in_flight * c->vec * size / (rate * 0.6e-6));
    double turns =
        c->is_grid ? (double)f->n_rows / c->rows : (double)f->n_rows * c->blocks / r.at_once;
    double tail = turns > 1 ? ceil(turns) / turns : 1;
    if (c->is_grid)
        tail *= fmax(1, t->sms / ((double)c->blocks * c->rows));
    double memory = r.bytes / (rate * share * busy_share(t, f, c, &r)) * (1 + 0.3 * (tail - 1));
    memory *= 1 + 0.1 * fmax(0, (f->is_half ? 8.0 : 4.0) / c->vec - 1);
    double compute = f->compute_s * (r.is_kept ? (c->is_once ? 1.5 : 1) : r.walks * 0.6);
    // Half the bytes leave half the time for as many instructions: what hides their latency is
    // other warps (softmax of bf16 76% of reach with 512 threads, 67% with 256, on an H200).
    if (f->is_half)
        compute /= fmin(1, r.n_resident * c->threads / 1536);
    double seconds = fmax(memory, compute) + 0.2 * fmin(memory, compute);
    // Blocks of a grid wait for the slowest of many.
    seconds *= c->is_grid ? 1.3 : 1;
    return seconds * (1 + 0.02 * c->threads / 256) + (c->is_grid ? 5e-6 : 3e-6);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    struct figures f = find_figures(form, t);
    struct choice c = read_choice(s);
    return seconds_of(t, &f, &c);
}

static void write_choice(const struct choice *c, struct kernel_stage *s) {
    stage_set(s, "threads", 0, c->threads);
    stage_set(s, "blocks", 0, c->blocks);
    stage_set(s, "rows", 0, c->rows);
    stage_set(s, "minblocks", 0, c->minblocks);
    stage_set(s, "vec", 0, c->vec);
    stage_set(s, "unroll", 0, c->unroll);
    stage_set_word(s, "meet", c->is_grid ? "grid" : c->is_cluster ? "cluster" : "none");
    stage_set_word(s, "stats", c->is_once ? "once" : "levels");
    stage_set_word(s, "keep", c->in_registers ? "register" : c->in_shared ? "shared" : "reread");
}

// The rest of a choice whose threads, blocks and place are given: as many rows at a time, and
// blocks on a multiprocessor, as there is room for.
static void try_choice(const struct target *t, const struct figures *f, struct choice c,
                       struct choice *best, double *least) {
    struct objection why;
    // A vector of 16-bit floats is eight registers: fewer under way leave room for more blocks.
    c.unroll = c.in_registers ? 1 : f->is_half && c.vec == 8 ? 2 : 4;
    for (c.minblocks = 1; c.minblocks <= (c.is_grid ? 4 : 1); c.minblocks++) {
        c.rows = 1;
        for (int r = 0; c.is_grid && rows_grid[r] > 0; r++)
            if (rows_grid[r] <= f->n_rows &&
                (int64_t)rows_grid[r] * c.blocks <= (int64_t)t->sms * c.minblocks)
                c.rows = rows_grid[r];
        if (!is_legal_choice(t, f, &c, &why))
            continue;
        double seconds = seconds_of(t, f, &c);
        if (seconds < *least) {
            *least = seconds;
            *best = c;
        }
    }
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct figures f = find_figures(form, t);
    struct objection why;
    struct choice c = {.minblocks = 1, .rows = 1, .blocks = 1, .unroll = 1, .threads = 256};
    c.vec = f.is_half ? 8 : 4;
    while (c.vec > 1 && !legal_vec(&f, &c, &why))
        c.vec /= 2;
    struct choice best = c;
    double least = INFINITY;
    for (int i = 0; blocks_grid[i] > 0; i++)
        for (c.threads = 128; c.threads <= 1024; c.threads *= 2)
            for (int way = 0; way < (f.has_once ? 12 : 6); way++) {
                c.blocks = blocks_grid[i];
                c.is_once = way >= 6;
                c.is_grid = c.blocks > 1 && way % 2;
                c.is_cluster = c.blocks > 1 && !c.is_grid;
                c.in_registers = way / 2 % 3 == 1;
                c.in_shared = way / 2 % 3 == 2;
                try_choice(t, &f, c, &best, &least);
            }
    write_choice(&best, s);
    if (f.is_half)
        stage_set_word(s, "divide", "reciprocal");
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    blocks_lower(l, form, stage);
}

const struct emitter rowwise_blocks = {
    .name = "blocks",
    .summary = "rows of any axes and length, each by one block or by several that meet",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
