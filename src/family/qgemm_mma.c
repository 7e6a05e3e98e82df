// qgemm on tensor cores that a warp drives (mma.sync, sm_80 and later): a product of few rows with
// weights of 4 or 8 bits, which are read once, as they are stored, and widened in registers.
//
// Weights are the left operand of the instruction, so that eight tokens are enough to fill it. The
// depth of a product may be walked in any order as long as both operands have the same: a thread
// has 16 bytes of a row of weights, 32 numbers of 4 bits, and the same 32 columns of its tokens.
//
// A block has some rows of weights and all of K, dealt to its warps chunk by chunk, so that what
// they read lies side by side. Each warp has a ring of chunks of its own in shared memory, filled
// by asynchronous copies; no barrier is needed along K. Products of whole numbers with x are added
// up by tensor cores for a chunk (at most 128 terms, so that nothing of note is cut off), then
// multiplied by the group's scale and added up in f32. At the end the warps' sums are added in
// their order, always the same.
#include "family/qgemm_mma.h"

#include <math.h>

#include "family/gemm_mma.h"
#include "family/gpu.h"

static const int rows_grid[] = {16, 32, 64, 128, -1};
static const int tokens_grid[] = {8, 16, 32, 64, -1};
static const int warps_grid[] = {1, 2, 4, 8, 16, -1};
static const int stages_grid[] = {2, 3, 4, 6, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "rows of weights and rows of x that a block works on",
     .n_parts = 2,
     .grid = {rows_grid, tokens_grid}},
    {.name = "warps",
     .summary = "warps of a block, which share K",
     .n_parts = 1,
     .grid = {warps_grid}},
    {.name = "stages", .summary = "chunks of a warp's ring", .n_parts = 1, .grid = {stages_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

// What the second cache gives a multiprocessor in a clock.
enum { L2_BYTES = 42 };
enum { LEAST_DEPTH = 32, MOST_PIECES = 4 };

// ---- sizes

static int bits_of(const struct qgemm_form *f) {
    return dtype_infos[f->of_w].bits;
}

// The deepest chunk that lies within a group and divides K, 16 bytes of a row for each of four
// threads at most.
static int pieces_of(const struct qgemm_form *f) {
    int n = f->of_w == DTYPE_I4 ? MOST_PIECES : MOST_PIECES / 2;
    while (n > 1 && (f->group % (LEAST_DEPTH * n) != 0 || f->k % (LEAST_DEPTH * n) != 0))
        n /= 2;
    return n;
}

struct qgemm_sizes qgemm_sizes(const struct qgemm_form *f, const struct kernel_stage *s) {
    struct qgemm_sizes z = {.rows = stage_number(s, "tile", 0),
                            .tokens = stage_number(s, "tile", 1),
                            .warps = stage_number(s, "warps", 0),
                            .stages = stage_number(s, "stages", 0),
                            .resident = stage_number(s, "minblocks", 0),
                            .pieces = pieces_of(f)};
    z.depth = LEAST_DEPTH * z.pieces;
    z.per_word = 32 / bits_of(f);
    z.words = 8 * z.pieces / z.per_word;
    z.chunks = f->k / z.depth;
    z.rounds = (z.chunks + z.warps - 1) / z.warps;
    z.tiles_n = (f->n + z.rows - 1) / z.rows;
    z.tiles_m = (f->m + z.tokens - 1) / z.tokens;
    z.scales_groups = f->scales >= 0 && f->group < f->k;
    return z;
}

int64_t qgemm_chunk_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z) {
    return (int64_t)z->rows * z->depth * bits_of(f) / 8 + (int64_t)z->tokens * z->depth * 2;
}

static int64_t partial_bytes(const struct qgemm_sizes *z) {
    return (int64_t)4 * z->warps * z->tokens * (z->rows + QGEMM_PAD);
}

int64_t qgemm_shared_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z) {
    return z->stages * z->warps * qgemm_chunk_bytes(f, z) + partial_bytes(z);
}

// Words of a thread: sums and totals, weights as they are and widened, x, scales and the next.
static int64_t registers_of(const struct qgemm_sizes *z) {
    int64_t tiles = z->rows / 16, sums = tiles * (z->tokens / 8) * 4;
    return 2 * sums + tiles * 2 * z->words + 8 + z->tokens / 2 + (z->scales_groups ? 4 * tiles : 0);
}

// ---- rules

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct qgemm_form *q = f->qgemm;
    const char *name = f->region->graph->nodes[q->anchor].name;
    enum mma_kind kind;
    if (!mma_find_kind(f, q->of_x, &kind))
        return objection(why, NULL, "mma multiplies %s as it is, and the precision of %s is less",
                         dtype_name(q->of_x), name);
    if (q->k % LEAST_DEPTH != 0 || q->group % LEAST_DEPTH != 0)
        return objection(why, NULL,
                         "mma takes %d columns of weights at a time, and %s has %lld in groups of "
                         "%lld; take nest",
                         LEAST_DEPTH, name, (long long)q->k, (long long)q->group);
    return true;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct qgemm_sizes z = qgemm_sizes(f->qgemm, s);
    int threads = GPU_WARP * z.warps;
    int64_t shared = qgemm_shared_bytes(f->qgemm, &z);
    struct gpu_demand demand = {"tile", threads, registers_of(&z), "half the tile, or fewer warps"};
    if (!gpu_legal_registers(t, &demand, why) ||
        !gpu_legal_shared(t, "stages", shared, "fewer stages, fewer warps or half the tile", why) ||
        !gpu_legal_grid("tile", z.tiles_n * z.tiles_m, why))
        return false;
    if (z.resident > 1 && (z.resident * threads > t->threads_per_sm ||
                           z.resident * (shared + 1024) > t->shared_per_sm ||
                           (registers_of(&z) + 40) * threads * z.resident > t->registers_per_sm))
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks %d",
                         z.resident, z.resident - 1);
    return true;
}

// ---- estimates

// Blocks that a multiprocessor holds at once.
static double count_resident(const struct form *f, const struct qgemm_sizes *z,
                             const struct target *t) {
    int threads = GPU_WARP * z->warps;
    double shared = (double)(qgemm_shared_bytes(f->qgemm, z) + 1024);
    double registers = (double)(registers_of(z) + 40) * threads;
    double n = fmin(fmin((double)t->shared_per_sm / shared, t->registers_per_sm / registers),
                    (double)t->threads_per_sm / threads);
    return fmax(1, floor(n));
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct qgemm_form *q = f->qgemm;
    struct qgemm_sizes z = qgemm_sizes(q, s);
    double blocks = (double)z.tiles_n * (double)z.tiles_m, each = ceil(blocks / t->sms);
    double live = fmin(count_resident(f, &z, t), each);
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    // Of one block: memory and L2 bring its weights and its rows of x; what is under way must cover
    // some 1.5 us under load.
    double weights = (double)z.rows * (double)q->k * bits_of(q) / 8;
    double x = 2.0 * z.tokens * (double)q->k;
    double rate = fmin(gpu_bytes_per_s(t) / fmin(blocks, t->sms), L2_BYTES * clock);
    double ahead =
        fmin((double)z.rounds, z.stages - 1) * z.warps * (double)qgemm_chunk_bytes(q, &z);
    double brought = weights / rate + x / (L2_BYTES * clock);
    brought = fmax(brought, (weights + x) * 1.5e-6 / (ahead * live));
    // Instructions of four schedulers, which need two warps each: some ten to widen what a product
    // multiplies, then the products.
    double fragments = (double)z.rows / 16 * (double)q->k / 16;
    double issued = fragments * (10 + 5.0 * z.tokens / 8) / 4 / clock;
    double busy = fmin(1, 0.1 + z.warps * live / 9);
    double combined = (double)partial_bytes(&z) / (64 * clock);
    double tile = fmax(brought, issued / busy) + 0.1 * issued + combined;
    return each * tile + 4.5e-6;
}

static void set_knobs(struct kernel_stage *s, int rows, int tokens, int warps, int stages) {
    stage_set(s, "tile", 0, rows);
    stage_set(s, "tile", 1, tokens);
    stage_set(s, "warps", 0, warps);
    stage_set(s, "stages", 0, stages);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    static const int tries[][2] = {{8, 3}, {8, 2}, {4, 4}, {4, 3}, {4, 2}, {2, 4}, {1, 2}};
    struct objection why;
    double least = INFINITY;
    int best[4] = {16, 8, 1, 2}, tokens = 8;
    stage_set(s, "minblocks", 0, 1);
    while (tokens < 64 && tokens < f->qgemm->m)
        tokens *= 2;
    for (int rows = 16; rows <= 128; rows *= 2)
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            set_knobs(s, rows, tokens, tries[i][0], tries[i][1]);
            if (!is_legal(f, t, s, &why))
                continue;
            double seconds = estimate(f, t, s);
            if (seconds < least) {
                least = seconds;
                best[0] = rows, best[1] = tokens, best[2] = tries[i][0], best[3] = tries[i][1];
            }
        }
    set_knobs(s, best[0], best[1], best[2], best[3]);
}

const struct emitter qgemm_mma = {
    .name = "mma",
    .summary = "a product with weights of 4 or 8 bits on tensor cores",
    .knobs = knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = qgemm_lower,
    .estimate = estimate,
};
