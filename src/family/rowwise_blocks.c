// rowwise on a GPU, rows of any axes and any length: one block for a row, or several that meet.
//
// A row is read from memory once when it fits on the chip: in the registers or the shared memory of
// its blocks. A cluster of up to 16 blocks has 3.5 MB of shared memory; beyond it a gang of blocks
// that are all resident (a cooperative launch) takes rows one after the other, and several gangs
// have a row each, so that one computes while another waits. What fits nowhere is read again, from
// the second cache where the rows under way fit into it.
//
// Rows need not begin or end at a multiple of a vector: blocks_lower.c takes the edges one by one.
#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "family/blocks_lower.h"
#include "family/gpu.h"
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
static const char *const keep_words[] = {"reread", "register", "shared", NULL};
static const char *const divide_words[] = {"exact", "reciprocal", NULL};
static const char *const store_words[] = {"cached", "stream", NULL};

static const struct knob knobs[] = {
    {.name = "threads", .summary = "threads of a block", .n_parts = 1, .grid = {threads_grid}},
    {.name = "blocks", .summary = "blocks per row", .n_parts = 1, .grid = {blocks_grid}},
    {.name = "meet", .summary = "how the blocks of a row meet", .words = meet_words},
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
    {.name = "keep", .summary = "where a row stays between its walks", .words = keep_words},
    {.name = "divide",
     .summary = "by a row's own value, or multiply by its reciprocal",
     .words = divide_words},
    {.name = "store", .summary = "keep results in the caches or not", .words = store_words},
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
    int64_t kept_bytes;  // of an element in shared memory
    int n_slots, n_levels;
    bool has_edges, has_full, is_half;  // is_half: nothing but 16-bit floats is read and written
    double bytes_read, bytes_written, compute_s;
};

static bool is_half(const struct region *r) {
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        bool is_memory = r->is_leaf[n] || region_is_value(r, n);
        if (is_memory && shape_count(&r->graph->nodes[n].shape) > 1 &&
            dtype_infos[r->graph->nodes[n].dtype].bits != 16)
            return false;
    }
    return true;
}

static struct figures find_figures(const struct form *form, const struct target *t) {
    struct arena scratch = {0};
    struct rows_keep keep;
    struct region_work w;
    const struct rows_form *rows = form->rows;
    rows_plan_keep(rows, &scratch, &keep);
    region_count(form->region, &w);
    struct figures f = {.n_rows = rows->n_rows,
                        .n_columns = rows->n_columns,
                        .lanes = form->lanes,
                        .kept_bytes = rows_keep_bytes(&keep),
                        .n_slots = keep.n_slots,
                        .n_levels = keep.walks.n_levels,
                        .has_edges = blocks_have_edges(rows),
                        .has_full = rows_any_full_value(rows),
                        .is_half = is_half(form->region),
                        .bytes_read = w.bytes_read,
                        .bytes_written = w.bytes_written};
    f.compute_s = (w.flops + 16 * w.slow_flops) / (0.5 * gpu_flops_per_s(t));
    arena_reset(&scratch);
    return f;
}

// A stage's knobs.
struct choice {
    int threads, blocks, rows, minblocks, vec, unroll;
    bool is_grid, is_cluster, in_registers, in_shared;
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
                           .in_shared = stage_word_is(s, "keep", "shared")};
}

// Elements of a row that one block has.
static int64_t span_of(const struct figures *f, const struct choice *c) {
    return (f->n_columns / c->vec + c->blocks - 1) / c->blocks * c->vec;
}

static int64_t items_of(const struct figures *f, const struct choice *c) {
    return gpu_walk_steps(span_of(f, c), c->vec, c->threads);
}

static int64_t shared_bytes(const struct figures *f, const struct choice *c) {
    return (c->in_shared ? f->kept_bytes * span_of(f, c) : 0) + PARTIAL_BYTES;
}

// Floats of a thread: what is kept, at most one generation more while it changes, and what is on
// its way.
static int64_t floats_of(const struct figures *f, const struct choice *c) {
    if (c->in_registers)
        return f->n_slots * items_of(f, c) * c->vec + 2 * c->vec;
    return (int64_t)c->unroll * c->vec;
}

static int64_t registers_of(const struct figures *f, const struct choice *c) {
    return REGISTERS_BASE + floats_of(f, c) * 5 / 4;
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
    if ((c->in_registers || c->in_shared) && f->n_slots == 0)
        return objection(why, "keep",
                         "nothing of a row is needed twice: the nearest is keep reread");
    int64_t kept = f->n_slots * items_of(f, c) * c->vec;
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
#define GRID_S 4.1e-6
#define RAMP_S 1.5e-6

// Seconds. A block reads its part, waits, and writes: others on the same multiprocessor fill the
// wait, if there are any.
static double seconds_of(const struct target *t, const struct figures *f, const struct choice *c) {
    double rate = gpu_bytes_per_s(t), per_row = 1.0 / (double)f->n_rows;
    double walks = f->n_levels + f->has_full, read = f->bytes_read;
    double n_resident = fmax(1, (double)resident(t, f, c));
    double blocks = c->is_grid ? (double)c->blocks * c->rows : (double)f->n_rows * c->blocks;
    double at_once = fmin(blocks, n_resident * t->sms);
    n_resident = fmax(1, at_once / t->sms);
    bool kept = c->in_registers || c->in_shared || walks == 1;
    // Read again: from the second cache, if what is under way fits there.
    double under_way = at_once / c->blocks * f->bytes_read * per_row;
    bool fits = under_way < 0.5 * (double)t->l2_bytes;
    if (!kept)
        read *= 1 + (walks - 1) * (fits ? 0.4 : 1);
    double bytes = read + f->bytes_written;
    // Little's law; latency of loads that come in bursts, as an H200 has it.
    double size = f->is_half ? 2 : 4;
    double in_flight = c->in_registers ? fmin(8, (double)items_of(f, c)) : c->unroll;
    double share = 1 - exp(-at_once * c->threads * in_flight * c->vec * size / (rate * 0.6e-6));
    // Alone a block is busy part_s of part_s + wait_s; the multiprocessor is idle when all wait.
    double part_s = bytes * per_row / c->blocks / (rate / t->sms);
    double wait_s = RAMP_S + f->n_levels * (c->is_grid      ? GRID_S
                                            : c->is_cluster ? CLUSTER_S
                                                            : 0.3e-6);
    double overlap = 1 - pow(wait_s / (part_s + wait_s), fmin(5, n_resident));
    double waves = blocks / (n_resident * t->sms);
    double tail = !c->is_grid && waves > 1 ? ceil(waves) / waves : 1;
    if (c->is_grid) {
        double turns = (double)f->n_rows / c->rows;
        tail = ceil(turns) / turns * fmax(1, (double)t->sms / blocks);
    }
    double memory = bytes / (rate * share * overlap) * (1 + 0.3 * (tail - 1));
    memory *= 1 + 0.1 * (f->is_half ? 8.0 / c->vec - 1 : fmax(0, 4.0 / c->vec - 1));
    double compute = f->compute_s * (kept ? 1 : walks * 0.6);
    double seconds = memory > compute ? memory + 0.2 * compute : compute + 0.2 * memory;
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
    stage_set_word(s, "keep", c->in_registers ? "register" : c->in_shared ? "shared" : "reread");
}

// The rest of a choice whose threads, blocks and place are given: as many rows at a time, and
// blocks on a multiprocessor, as there is room for.
static void try_choice(const struct target *t, const struct figures *f, struct choice c,
                       struct choice *best, double *least) {
    struct objection why;
    c.unroll = c.in_registers ? 1 : 4;
    for (c.minblocks = 1; c.minblocks <= 4; c.minblocks++)
        for (int r = 0; rows_grid[r] > 0; r++) {
            c.rows = rows_grid[r];
            if (!c.is_grid && (c.rows > 1 || c.minblocks > 1))
                return;
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
            for (int way = 0; way < 6; way++) {
                c.blocks = blocks_grid[i];
                c.is_grid = c.blocks > 1 && way % 2;
                c.is_cluster = c.blocks > 1 && !c.is_grid;
                c.in_registers = way / 2 == 1;
                c.in_shared = way / 2 == 2;
                try_choice(t, &f, c, &best, &least);
            }
    write_choice(&best, s);
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
