// attention on tensor cores that a warp drives (mma.sync, sm_80 and later), for f16 and bf16, with
// the softmax online: scores never leave registers.
//
// A block has some queries of one head, 16 for each warp, and walks over keys and values, a tile at
// a time. Of the scores of a tile a warp takes the largest of each row so far, their exponentials
// less that, and adds the products with the values to its results, which are scaled down whenever a
// row's largest grew; at the end they are divided by the sum of the exponentials.
//
// Where the problem does not say that probabilities are rounded, each is split into parts of 16
// bits, two of f16 or three of bf16, and multiplied by parts: as good as f32.
#include "family/attention_mma.h"

#include <math.h>

#include "family/gemm_mma.h"
#include "family/gpu.h"

static const int rows_grid[] = {16, 32, 64, 128, -1};
static const int keys_grid[] = {16, 32, 64, 128, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "queries of a block, and keys of one turn",
     .n_parts = 2,
     .grid = {rows_grid, keys_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

enum { WIDTH_MAX = 128 };

static bool is_along(const struct form *f, const struct attention_side *s, int axis) {
    int rank = form_node(f, s->leaf)->shape.rank;
    return rank > 0 && s->map.axis[rank - 1] == axis;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct attention_form *a = f->attention;
    enum mma_kind kind;
    if (form_node(f, a->k.leaf)->dtype != a->storage ||
        form_node(f, a->v.leaf)->dtype != a->storage || !mma_find_kind(f, a->storage, &kind) ||
        (kind != MMA_KIND_F16 && kind != MMA_KIND_BF16))
        return objection(why, NULL,
                         "mma takes queries, keys and values of f16 or all of bf16, and those of "
                         "%s are not; materialise %s first",
                         form_node(f, a->result)->name, form_node(f, a->x)->name);
    if (!is_along(f, &a->q, a->axis_depth) || !is_along(f, &a->k, a->axis_depth) ||
        !is_along(f, &a->v, a->axis_width))
        return objection(why, NULL,
                         "mma takes queries, keys and values whose elements lie side by side; "
                         "materialise %s first",
                         form_node(f, a->x)->name);
    if (a->depth % 16 != 0 || a->width % 16 != 0 || a->depth > WIDTH_MAX || a->width > WIDTH_MAX)
        return objection(why, NULL,
                         "mma takes heads of 16, 32, 48 ... %d elements, and those of %s have %lld "
                         "and %lld; materialise %s first",
                         WIDTH_MAX, form_node(f, a->result)->name, (long long)a->depth,
                         (long long)a->width, form_node(f, a->x)->name);
    return true;
}

int attention_parts(const struct form *f) {
    const struct attention_form *a = f->attention;
    const struct precision *p = &f->region->problem->precision;
    bool rounds = a->is_rounded || (p->operand == PRECISION_TYPE && p->type == a->storage);
    return rounds ? 1 : a->storage == DTYPE_F16 ? 2 : 3;
}

struct attention_sizes attention_read_sizes(const struct form *f, const struct kernel_stage *s) {
    struct attention_sizes z = {.rows = stage_number(s, "tile", 0),
                                .keys = stage_number(s, "tile", 1)};
    z.threads = z.rows / 16 * GPU_WARP;
    z.parts = attention_parts(f);
    return z;
}

static int64_t row_elements(int64_t width) {
    return width <= 16 ? 16 : width <= 32 ? 32 : (width + 63) / 64 * 64;
}

static int64_t shared_bytes(const struct attention_form *a, const struct attention_sizes *z) {
    int64_t keys = 2 * z->keys * (row_elements(a->depth) + row_elements(a->width));
    return 2 * (keys + z->rows * row_elements(a->depth));
}

// Scores, results, queries, probabilities.
static int64_t registers(const struct attention_form *a, const struct attention_sizes *z) {
    return z->keys / 2 + a->width / 2 + a->depth / 4 + z->parts * z->keys / 4;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct attention_form *a = f->attention;
    struct attention_sizes z = attention_read_sizes(f, s);
    struct gpu_demand demand = {"tile", z.threads, registers(a, &z), "fewer keys, or fewer rows"};
    int resident = stage_number(s, "minblocks", 0);
    if (!gpu_legal_registers(t, &demand, why) ||
        !gpu_legal_shared(t, "tile", shared_bytes(a, &z), "fewer keys, or fewer rows", why) ||
        !gpu_legal_grid("tile", a->batch * ((a->m + z.rows - 1) / z.rows), why))
        return false;
    if (resident > 1 && (resident * z.threads > t->threads_per_sm ||
                         resident * (shared_bytes(a, &z) + 1024) > t->shared_per_sm ||
                         (registers(a, &z) + 40) * z.threads * resident > t->registers_per_sm))
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks %d",
                         resident, resident - 1);
    return true;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct attention_form *a = f->attention;
    struct attention_sizes z = attention_read_sizes(f, s);
    double peak =
        t->peak_per_s[PIPE_F16] > 0 ? t->peak_per_s[PIPE_F16] : 1024.0 * t->sms * t->top_clock_hz;
    double blocks = (double)a->batch * ceil((double)a->m / z.rows);
    double keys = ceil((double)a->n / z.keys) * z.keys * (a->is_causal ? 0.55 : 1);
    double products = 2.0 * z.rows * keys * (double)(a->depth + z.parts * a->width);
    // Every warp reads all keys and values from shared memory; an exponential takes a dozen
    // instructions.
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    double read = 2.0 * z.rows / 16 * keys * (double)(a->depth + a->width) / (128 * clock);
    double softmax = z.rows * keys * 20 / (128 * clock);
    double resident = fmax(
        1, floor(fmin((double)t->registers_per_sm / (double)((registers(a, &z) + 40) * z.threads),
                      (double)t->shared_per_sm / (double)(shared_bytes(a, &z) + 1024))));
    double busy = fmin(1, 0.4 + 0.15 * resident * z.threads / 128);
    double block = (fmax(products / (0.5 * peak / t->sms), read) + softmax) / busy;
    double waves = floor(blocks / (t->sms * resident)) * resident +
                   ceil(fmod(blocks, t->sms * resident) / t->sms);
    return waves * (block + 1e-6) + 3e-6;
}

// The first that is legal and gives every multiprocessor something to do, or the one that comes
// nearest to it. Measured on an H200: 64x64 is best or within 2% of it for heads of 64 and 128.
static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    static const int tiles[][3] = {{64, 64, 2}, {64, 64, 1}, {64, 32, 2}, {64, 32, 1},
                                   {32, 64, 2}, {32, 32, 1}, {16, 64, 1}, {16, 32, 1}};
    const struct attention_form *a = f->attention;
    struct objection why;
    const int *best = NULL;
    int64_t most = 0;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles && most < t->sms; i++) {
        stage_set(s, "tile", 0, tiles[i][0]);
        stage_set(s, "tile", 1, tiles[i][1]);
        stage_set(s, "minblocks", 0, tiles[i][2]);
        int64_t blocks = a->batch * ((a->m + tiles[i][0] - 1) / tiles[i][0]);
        if (blocks > most && is_legal(f, t, s, &why)) {
            most = blocks;
            best = tiles[i];
        }
    }
    best = best ? best : tiles[7];
    stage_set(s, "tile", 0, best[0]);
    stage_set(s, "tile", 1, best[1]);
    stage_set(s, "minblocks", 0, best[2]);
}

const struct emitter attention_mma = {
    .name = "mma",
    .summary = "attention on tensor cores",
    .knobs = knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = attention_lower,
    .estimate = estimate,
};
