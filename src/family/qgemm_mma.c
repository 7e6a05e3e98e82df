// qgemm on tensor cores that a warp drives (mma.sync, sm_80 and later): a product of few rows with
// weights of 4 or 8 bits, which are read once, as they are stored, and widened in registers.
//
// Weights are the left operand of the instruction, so that eight tokens are enough to fill it. The
// depth of a product may be walked in any order as long as both operands have the same: a thread
// has 16 bytes of a row of weights, 32 numbers of 4 bits, and the same 32 columns of its tokens.
//
// Everybody reads all of x, and x from the second cache is what costs most after the weights (19 µs
// of 37 where each of 128 blocks read all 16 rows of 8192). So a block has a part of K only, two or
// more blocks of a cluster share a result, and what a block has of x is there for all its warps, in
// strips of columns that come along with those of the weights. Each warp has tiles of rows of its
// own; all sums of a result meet in memory and are added in a fixed order.
//
// Products of whole numbers with x are added up by tensor cores for a chunk (at most 128 terms, so
// that nothing of note is cut off), then multiplied by the group's scale and added up in f32.
#include "family/qgemm_mma.h"

#include <math.h>

#include "family/gemm_mma.h"
#include "family/gpu.h"
#include "family/knobs.h"

static const int rows_grid[] = {16, 32, 64, -1};
static const int tokens_grid[] = {8, 16, 32, 64, -1};
static const int down_grid[] = {1, 2, 4, 8, 16, -1};
static const int along_grid[] = {1, 2, 4, -1};
static const int strip_grid[] = {4, 8, 16, 32, -1};
static const int stages_grid[] = {2, 3, 4, 6, -1};
static const int split_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    KNOB_QGEMM_TILE(rows_grid, tokens_grid),
    KNOB_QGEMM_WARPS(down_grid, along_grid),
    {.name = "strip",
     .summary = "threads side by side that copy a row of weights",
     .n_parts = 1,
     .grid = {strip_grid}},
    {.name = "stages", .summary = "strips in shared memory", .n_parts = 1, .grid = {stages_grid}},
    KNOB_QGEMM_SPLIT(split_grid),
    {0},
};

// What the second cache gives a multiprocessor in a clock, of what all of them want at once.
enum { L2_BYTES = 10 };
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

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

struct qgemm_sizes qgemm_sizes(const struct qgemm_form *f, const struct kernel_stage *s, int sms) {
    struct qgemm_sizes z = {.rows = stage_number(s, "tile", 0),
                            .tokens = stage_number(s, "tile", 1),
                            .down = stage_number(s, "warps", 0),
                            .along = stage_number(s, "warps", 1),
                            .lanes = stage_number(s, "strip", 0),
                            .stages = stage_number(s, "stages", 0),
                            .split = stage_number(s, "split", 0),
                            .pieces = pieces_of(f)};
    z.warps = z.down * z.along;
    z.threads = GPU_WARP * z.warps;
    z.depth = LEAST_DEPTH * z.pieces;
    z.per_word = 32 / bits_of(f);
    z.words = 8 * z.pieces / z.per_word;
    z.strip = z.lanes / 4;
    z.chunks = f->k / z.depth;
    z.parts = (int64_t)z.split * z.along;
    z.strips = z.chunks / z.parts / z.strip;
    z.tiles = (f->n + z.rows - 1) / z.rows;
    z.tiles_m = (f->m + z.tokens - 1) / z.tokens;
    // All at once, where that goes: of clusters of more than two some multiprocessors have no
    // place.
    int64_t places = z.split > 2 ? sms / 11 * 10 : sms;
    z.blocks = smaller(places / (z.split * z.tiles_m), (z.tiles + z.down - 1) / z.down);
    z.blocks = z.blocks < 1 ? 1 : z.blocks;
    z.rounds = (z.tiles + z.blocks * z.down - 1) / (z.blocks * z.down);
    z.scales_groups = f->scales >= 0 && f->group < f->k;
    return z;
}

// Of one stage: weights of each warp, x of each part.
static int64_t stage_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z) {
    int64_t columns = (int64_t)z->strip * z->depth;
    return z->warps * z->rows * columns * bits_of(f) / 8 + z->along * z->tokens * columns * 2;
}

int64_t qgemm_part_chunks(const struct qgemm_sizes *z) {
    return z->strips * z->strip;
}

static int64_t scale_bytes(const struct qgemm_sizes *z) {
    return z->scales_groups ? 4 * z->warps * z->rows * (qgemm_part_chunks(z) + 1) : 0;
}

int64_t qgemm_shared_bytes(const struct qgemm_form *f, const struct qgemm_sizes *z) {
    return z->stages * stage_bytes(f, z) + scale_bytes(z);
}

// Words of a thread: sums and totals, weights as they are and widened, x, scales on their way.
static int64_t registers_of(const struct qgemm_sizes *z) {
    int64_t tiles = z->rows / 16, sums = tiles * (z->tokens / 8) * 4;
    return 2 * sums + tiles * 2 * z->words + 8 + z->tokens / 2 + (z->scales_groups ? 16 : 0);
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

static bool legal_parts(const struct qgemm_form *q, const struct qgemm_sizes *z,
                        const struct target *t, struct objection *why) {
    if (z->chunks % z->strip != 0)
        return objection(why, "strip",
                         "strips of %d columns do not divide %lld: the nearest is strip 4",
                         z->strip * z->depth, (long long)q->k);
    if (z->chunks / z->strip % z->along != 0)
        return objection(why, "warps",
                         "%lld strips of K do not make %d parts: the nearest is 1 along K",
                         (long long)(z->chunks / z->strip), z->along);
    if (z->chunks / z->strip % z->parts != 0)
        return objection(why, "split",
                         "%lld strips of K do not make %lld parts: the nearest is split 1",
                         (long long)(z->chunks / z->strip), (long long)z->parts);
    if (z->split > 1 && !target_has_clusters(t))
        return objection(why, "split", "%s has no clusters of blocks: the nearest is split 1",
                         target_kernel_name(t));
    return true;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct qgemm_sizes z = qgemm_sizes(f->qgemm, s, t->sms);
    struct gpu_demand demand = {"tile", z.threads, registers_of(&z), "half the tile"};
    if (z.threads > GPU_BLOCK_MAX)
        return objection(why, "warps", "%d threads, but a block has at most %d: the nearest is 8x4",
                         z.threads, GPU_BLOCK_MAX);
    double scratch = 4.0 * (double)z.parts * (double)f->qgemm->m * (double)f->qgemm->n;
    if (scratch > (double)((int64_t)4000 << 20))
        return objection(why, NULL,
                         "%lld sums of each of %lld x %lld results are more than there is scratch; "
                         "take nest",
                         (long long)z.parts, (long long)f->qgemm->m, (long long)f->qgemm->n);
    return legal_parts(f->qgemm, &z, t, why) && gpu_legal_registers(t, &demand, why) &&
           gpu_legal_shared(t, "stages", qgemm_shared_bytes(f->qgemm, &z),
                            "fewer stages, fewer warps or a shorter strip", why) &&
           gpu_legal_grid("tile", z.blocks * z.tiles_m * z.split, why);
}

// ---- estimates

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct qgemm_form *q = f->qgemm;
    struct qgemm_sizes z = qgemm_sizes(q, s, t->sms);
    double blocks = (double)z.blocks * (double)z.tiles_m * z.split;
    double waves = ceil(blocks / t->sms);
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    // Of one block: memory brings its weights, the second cache what it needs of x; what is under
    // way must cover some 1.5 us under load.
    double columns = (double)q->k / z.split;
    double weights = (double)z.rounds * z.rows * z.down * columns * bits_of(q) / 8;
    double x = 2.0 * z.tokens * columns * (double)z.rounds;
    double ahead = (double)(z.stages - 1) * (double)stage_bytes(q, &z);
    double brought =
        fmax(weights * fmin(blocks, t->sms) / gpu_bytes_per_s(t), (weights + x) * 1.5e-6 / ahead);
    // Pieces of 64 bytes of many rows are a little slower than longer ones.
    brought = fmax(brought, x / (L2_BYTES * clock)) * (z.lanes == 4 ? 1.15 : 1);
    // Shared memory: weights come and go, x goes to every warp; instructions of four schedulers:
    // some ten to widen what a product multiplies, then the products.
    double fragments = (double)z.rounds * z.rows / 16 * z.down * columns / 16;
    double shared =
        (2 * weights + x + fragments * 16 / (z.rows / 16.0) * 2 * z.tokens) / (128 * clock);
    double issued = fragments * (12 + 5.0 * z.tokens / 8) / 4 / clock;
    double busy = fmin(1, 0.1 + z.warps / 10.0) * fmin(1, 0.5 + z.rows * z.tokens / 1024.0);
    double results = (double)z.rounds * z.rows * z.down * z.tokens;
    double combined = 8.0 * results * (double)z.along / (30 * clock) + (z.split > 1 ? 1e-6 : 0);
    // Nothing is multiplied before the first stage has come, and the longest does not hide all of
    // the others.
    double filled = (double)stage_bytes(q, &z) * fmin(blocks, t->sms) / gpu_bytes_per_s(t);
    double longest = fmax(fmax(brought, shared), issued / busy);
    double tile = longest + 0.3 * (brought + shared + issued / busy - longest) + combined;
    return waves * (tile + filled) + 4e-6 + 0.05e-6 * (double)(z.rounds * z.strips);
}

struct choice {
    int rows, down, along, strip, stages, split;
};

static void set_knobs(struct kernel_stage *s, int tokens, const struct choice *c) {
    stage_set(s, "tile", 0, c->rows);
    stage_set(s, "tile", 1, tokens);
    stage_set(s, "warps", 0, c->down);
    stage_set(s, "warps", 1, c->along);
    stage_set(s, "strip", 0, c->strip);
    stage_set(s, "stages", 0, c->stages);
    stage_set(s, "split", 0, c->split);
}

// The legal one of some that should be fastest.
static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    static const int warps[][2] = {{8, 1}, {4, 2}, {2, 4}, {4, 1}, {2, 2}, {1, 1}};
    struct objection why;
    double least = INFINITY;
    struct choice best = {16, 1, 1, 4, 2, 1};
    int tokens = 8;
    while (tokens < 64 && tokens < f->qgemm->m)
        tokens *= 2;
    for (int i = 0; i < 3 * 6 * 4 * 3 * 3; i++) {
        const int *w = warps[i / 3 % 6];
        struct choice c = {16 << i % 3, w[0], w[1], 4 << i / 18 % 4, 2 + i / 72 % 3, 1 << i / 216};
        set_knobs(s, tokens, &c);
        double seconds = is_legal(f, t, s, &why) ? estimate(f, t, s) : INFINITY;
        if (seconds < least)
            least = seconds, best = c;
    }
    set_knobs(s, tokens, &best);
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
