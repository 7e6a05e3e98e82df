// qgemm whose weights go straight from memory to the threads that multiply them, some chunks of K
// ahead: no barrier and no shared memory is between them.
//
// A warp has one or two strips of sixteen rows and walks along its part of K, 16 bytes of a row for
// each thread at a time. What its block needs of x is in shared memory, as the threads read it; it
// comes in groups along K, so that the first products begin before all of x is there. Warps and
// blocks of a cluster share K; their sums meet in shared and then in global memory.
//
// Against `mma`, which has slices of both operands in a ring of shared memory and a barrier for
// each, on an H200 with 8192 x 8192 weights: 80 us instead of 112 for 64 rows of x and 4 bits, 36
// instead of 46 for 16 rows and 8 bits, but 27 instead of 25 for 16 rows and 4 bits and 31 instead
// of 17 for one row.
#include "family/qgemm_stream.h"

#include <math.h>

#include "family/gemm_mma.h"
#include "family/gpu.h"
#include "family/knobs.h"

static const int rows_grid[] = {16, 32, -1};
static const int tokens_grid[] = {8, 16, 32, 64, -1};
static const int down_grid[] = {1, 2, 4, 8, -1};
static const int along_grid[] = {1, 2, 4, 8, -1};
static const int ahead_grid[] = {1, 2, 4, 8, -1};
static const int split_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    KNOB_QGEMM_TILE(rows_grid, tokens_grid),
    KNOB_QGEMM_WARPS(down_grid, along_grid),
    {.name = "ahead",
     .summary = "chunks of K of a row on their way to a thread",
     .n_parts = 1,
     .grid = {ahead_grid}},
    KNOB_QGEMM_SPLIT(split_grid),
    {0},
};

enum { STRIP = 16, OWN_BYTES = 16 };

// ---- sizes

static int bits_of(const struct qgemm_form *f) {
    return dtype_infos[f->of_w].bits;
}

struct stream_sizes stream_sizes(const struct qgemm_form *f, const struct kernel_stage *s,
                                 int sms) {
    struct stream_sizes z = {.tall = stage_number(s, "tile", 0) / STRIP,
                             .tokens = stage_number(s, "tile", 1),
                             .down = stage_number(s, "warps", 0),
                             .along = stage_number(s, "warps", 1),
                             .ahead = stage_number(s, "ahead", 0),
                             .split = stage_number(s, "split", 0)};
    (void)sms;
    z.warps = z.down * z.along;
    z.threads = GPU_WARP * z.warps;
    z.own = 8 * OWN_BYTES / bits_of(f);
    z.depth = 4 * z.own;
    z.chunks = f->k / ((int64_t)z.split * z.along * z.depth);
    z.strips = (f->n + STRIP - 1) / STRIP;
    z.strips_block = (int64_t)z.down * z.tall;
    z.tiles_m = (f->m + z.tokens - 1) / z.tokens;
    z.blocks = (z.strips + z.strips_block - 1) / z.strips_block;
    z.groups = f->scales >= 0 && f->group < f->k ? f->k / z.split / f->group : 0;
    z.entries = (int64_t)z.tokens / 8 * 2 * GPU_WARP;
    return z;
}

// As many as there are and sixteen more, so that neighbouring rows lie in other banks.
int64_t stream_scale_bytes(const struct qgemm_form *f, const struct stream_sizes *z) {
    return (z->groups * f->scale_bytes + 15) / 16 * 16 + 16;
}

int64_t stream_shared_bytes(const struct qgemm_form *f, const struct stream_sizes *z) {
    int64_t scales = z->groups ? z->strips_block * STRIP * stream_scale_bytes(f, z) : 0;
    return z->tokens * (f->k / z->split) * 2 + z->strips_block * z->along * z->entries * 8 + scales;
}

// Words of a thread: weights on their way and widened, x, sums and totals.
static int64_t registers_of(const struct stream_sizes *z) {
    int64_t tiles = z->tokens / 8;
    return (int64_t)z->ahead * z->tall * 8 + 8 + 4 * tiles + 8 * tiles * z->tall;
}

// ---- rules

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why);

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    const struct qgemm_form *q = f->qgemm;
    const char *name = f->region->graph->nodes[q->anchor].name;
    int depth = 4 * 8 * OWN_BYTES / bits_of(q);
    enum mma_kind kind;
    if (!mma_find_kind(f, q->of_x, &kind))
        return objection(why, NULL,
                         "stream multiplies %s as it is, and the precision of %s is less",
                         dtype_name(q->of_x), name);
    if (q->k % depth != 0 || q->group % depth != 0)
        return objection(why, NULL,
                         "stream takes %d columns of weights at a time, and %s has %lld in groups "
                         "of %lld; take mma or nest",
                         depth, name, (long long)q->k, (long long)q->group);
    struct kernel_stage first = {.values = {"?"}, .n_values = 1, .family = "qgemm"};
    emitter_complete(&qgemm_stream, f, t, &first);
    if (!is_legal(f, t, &first, why))
        return objection(why, NULL,
                         "rows of x with %lld columns of %s do not fit the shared memory of blocks "
                         "that share them; take mma or nest",
                         (long long)q->k, name);
    return true;
}

static bool legal_parts(const struct qgemm_form *q, const struct stream_sizes *z,
                        const struct target *t, struct objection *why) {
    int64_t chunks = q->k / z->depth;
    if (chunks % z->along != 0)
        return objection(why, "warps",
                         "%lld pieces of %d columns do not make %d parts: the nearest is 1 along K",
                         (long long)chunks, z->depth, z->along);
    if (chunks % ((int64_t)z->along * z->split) != 0)
        return objection(why, "split",
                         "%lld pieces of %d columns do not make %d parts: the nearest is split 1",
                         (long long)chunks, z->depth, z->along * z->split);
    if (z->chunks % z->ahead != 0)
        return objection(why, "ahead", "%lld chunks are no multiple of %d: the nearest is 1",
                         (long long)z->chunks, z->ahead);
    if (z->groups && q->k / z->split % q->group != 0)
        return objection(why, "split",
                         "a block has a part of a group of %lld columns: the nearest is split %d",
                         (long long)q->group, z->split / 2);
    if (z->split > 1 && !target_has_clusters(t))
        return objection(why, "split", "%s has no clusters of blocks: the nearest is split 1",
                         target_kernel_name(t));
    return true;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct stream_sizes z = stream_sizes(f->qgemm, s, t->sms);
    struct gpu_demand demand = {"tile", z.threads, registers_of(&z),
                                "fewer ahead, or half the tile"};
    if (z.threads > GPU_BLOCK_MAX)
        return objection(why, "warps", "%d threads, but a block has at most %d: the nearest is 4x8",
                         z.threads, GPU_BLOCK_MAX);
    return legal_parts(f->qgemm, &z, t, why) && gpu_legal_registers(t, &demand, why) &&
           gpu_legal_shared(t, "tile", stream_shared_bytes(f->qgemm, &z),
                            "fewer rows of x, or more blocks that share K", why) &&
           gpu_legal_grid("tile", z.blocks * z.tiles_m * z.split, why);
}

// ---- estimates

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct qgemm_form *q = f->qgemm;
    struct stream_sizes z = stream_sizes(q, s, t->sms);
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    double blocks = (double)z.blocks * (double)z.tiles_m * z.split;
    // Of clusters of more than two some multiprocessors have no place.
    double places = z.split > 2 ? floor(t->sms / 11.0) * 10 : t->sms;
    double shared = (double)stream_shared_bytes(q, &z);
    double resident = fmax(1, fmin(floor((double)t->shared_per_sm / (shared + 1024)),
                                   floor((double)t->threads_per_sm / z.threads)));
    double waves = ceil(blocks / (places * resident)), live = fmin(resident, ceil(blocks / places));
    double columns = (double)q->k / z.split, rows = (double)z.strips_block * STRIP;
    double weights = rows * columns * bits_of(q) / 8, x = 2.0 * z.tokens * columns;
    double ahead = (double)z.ahead / (double)(z.chunks * 1.0) * weights;
    double per_sm = gpu_bytes_per_s(t) / fmin(blocks, t->sms);
    double brought = live * fmax((weights + 0.3 * x) / per_sm, weights * 1.3e-6 / ahead / live);
    // Instructions of four schedulers: widening, the order of x, products; few warps wait.
    double fragments = rows / STRIP * columns / 16;
    double issued = fragments * (10 + (2.5 + 4.0 / z.tall) * z.tokens / 8) / 4 / clock * live;
    issued /= fmin(1, 0.2 + live * z.warps / 10.0);
    double read = live * fragments * 16 * 2 * z.tokens / z.tall / (128 * clock);
    double longest = fmax(brought, fmax(issued, read));
    double tile = longest + 0.25 * (brought + issued + read - longest);
    // Measured are 27 us for 16 rows of 8192 x 8192 weights of 4 bits, whose bytes take 10.
    return waves * tile + (z.split > 1 ? 1.2e-6 : 0) + 11e-6;
}

static void set_knobs(struct kernel_stage *s, const int *of) {
    stage_set(s, "tile", 0, of[0]);
    stage_set(s, "tile", 1, of[1]);
    stage_set(s, "warps", 0, of[2]);
    stage_set(s, "warps", 1, of[3]);
    stage_set(s, "ahead", 0, of[4]);
    stage_set(s, "split", 0, of[5]);
}

// The legal one that should be fastest.
static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct objection why;
    double least = INFINITY;
    int tokens = 8, best[6] = {16, 8, 1, 1, 1, 1};
    while (tokens < 64 && tokens < f->qgemm->m)
        tokens *= 2;
    for (int i = 0; i < 2 * 4 * 4 * 4 * 4 * 4; i++) {
        int of[] = {16 << i % 2,    tokens >> i / 512 % 4, 1 << i / 2 % 4,
                    1 << i / 8 % 4, 1 << i / 32 % 4,       1 << i / 128 % 4};
        if (of[1] < 8)
            continue;
        set_knobs(s, of);
        double seconds = is_legal(f, t, s, &why) ? estimate(f, t, s) : INFINITY;
        if (seconds < least) {
            least = seconds;
            for (int k = 0; k < 6; k++)
                best[k] = of[k];
        }
    }
    set_knobs(s, best);
}

const struct emitter qgemm_stream = {
    .name = "stream",
    .summary = "a product with weights of 4 or 8 bits that go straight to registers",
    .knobs = knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = stream_lower,
    .estimate = estimate,
};
