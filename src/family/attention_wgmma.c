// attention on tensor cores that a warpgroup drives (wgmma, sm_90a), for f16 and bf16, with the
// softmax online: scores never leave registers.
//
// A block has 64 queries of one head for each of its warpgroups but one, which has the copy engine
// bring queries, keys and values to shared memory, some tiles ahead. The others multiply them as
// they lie there. While a warpgroup computes the exponentials of one tile of keys, tensor cores
// multiply those of the tile before with its values, and the products of the other warpgroups.
// Exponentials stay in registers as the left operand of the second product.
//
// As many blocks as there are multiprocessors walk over all tiles of queries, so that the queries,
// keys and values of the next are on their way while results are stored. Those of a causal mask
// that have most keys come first.
//
// Where the problem does not say that probabilities are rounded, each is split into parts of 16
// bits, as `mma` does it.
#include "family/attention_wgmma.h"

#include <math.h>
#include <string.h>

#include "family/gpu.h"

static const int rows_grid[] = {64, 128, 192, -1};
static const int keys_grid[] = {64, 128, 192, -1};
static const int stages_grid[] = {1, 2, 3, 4, 5, -1};
static const int turns_grid[] = {0, 1, -1};
static const int group_grid[] = {1, 2, 4, 8, 16, 32, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "queries of a block, 64 for each warpgroup that multiplies, and keys of one turn",
     .n_parts = 2,
     .grid = {rows_grid, keys_grid}},
    {.name = "stages",
     .summary = "tiles of keys and values in shared memory",
     .n_parts = 1,
     .grid = {stages_grid}},
    {.name = "turns",
     .summary = "1: several warpgroups multiply one after the other",
     .n_parts = 1,
     .grid = {turns_grid}},
    {.name = "group",
     .summary = "heads whose tiles of queries are walked together",
     .n_parts = 1,
     .grid = {group_grid}},
    {0},
};

// Registers of a thread that multiplies, by how many warpgroups do; those that it needs to get
// along; the longest row.
static const int registers_of[] = {0, 255, 240, 160};
enum { REGISTERS_ELSE = 30, WIDTH_MAX = 256 };

static bool runs_on(const struct target *t) {
    return t->is_gpu && t->isa && strcmp(t->isa, "sm_90a") == 0;
}

// ---- what it takes

bool attention_find_boxes(const struct form *f, const struct attention_side *s, int axis_row,
                          struct attention_boxes *boxes) {
    const struct shape *shape = &form_node(f, s->leaf)->shape;
    int last = shape->rank - 1;
    int64_t stride = shape->size[last];
    bool joins = false;
    *boxes = (struct attention_boxes){
        .rank = 2, .dims = {shape->size[last], 1}, .strides = {1, shape->size[last]}};
    for (int i = last - 1; i >= 0; stride *= shape->size[i], i--) {
        if (s->map.axis[i] == axis_row) {
            boxes->dims[1] = shape->size[i];
            boxes->strides[1] = stride;
            joins = false;
        } else if (joins) {
            boxes->dims[boxes->rank - 1] *= shape->size[i];
        } else if (shape->size[i] > 1) {
            if (boxes->rank == LOOP_MAP_RANK_MAX)
                return false;
            boxes->dims[boxes->rank] = shape->size[i];
            boxes->strides[boxes->rank++] = stride;
            joins = true;
        }
    }
    // Limits of a map: sizes of 32 bits, strides of 40.
    for (int i = 0; i < boxes->rank; i++)
        if (boxes->dims[i] > UINT32_MAX || 2 * boxes->strides[i] >= (int64_t)1 << 40)
            return false;
    return true;
}

static bool is_along(const struct form *f, const struct attention_side *s, int axis) {
    int rank = form_node(f, s->leaf)->shape.rank;
    return rank > 0 && s->map.axis[rank - 1] == axis;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct attention_form *a = f->attention;
    const char *result = form_node(f, a->result)->name;
    const struct precision *p = &f->region->problem->precision;
    bool narrower = p->operand == PRECISION_TYPE && p->type != a->storage && p->type != DTYPE_F32;
    if (form_node(f, a->k.leaf)->dtype != a->storage ||
        form_node(f, a->v.leaf)->dtype != a->storage ||
        (a->storage != DTYPE_F16 && a->storage != DTYPE_BF16) || narrower)
        return objection(why, NULL,
                         "wgmma takes queries, keys and values of f16 or all of bf16, and those of "
                         "%s are not; materialise %s first",
                         result, form_node(f, a->x)->name);
    struct attention_boxes boxes;
    if (!is_along(f, &a->q, a->axis_depth) || !is_along(f, &a->k, a->axis_depth) ||
        !is_along(f, &a->v, a->axis_width) || !attention_find_boxes(f, &a->q, a->axis_m, &boxes) ||
        !attention_find_boxes(f, &a->k, a->axis_n, &boxes) ||
        !attention_find_boxes(f, &a->v, a->axis_n, &boxes))
        return objection(why, NULL,
                         "wgmma takes queries, keys and values whose elements lie side by side, "
                         "as maps of five axes describe them; take mma");
    if (a->depth % 16 != 0 || a->width % 16 != 0 || a->depth > WIDTH_MAX || a->width > WIDTH_MAX)
        return objection(why, NULL,
                         "wgmma takes heads of 16, 32, 48 ... %d elements, and those of %s have "
                         "%lld and %lld; materialise %s first",
                         WIDTH_MAX, result, (long long)a->depth, (long long)a->width,
                         form_node(f, a->x)->name);
    return true;
}

// ---- sizes

static int64_t filled_up(int64_t width) {
    return (width + WGMMA_DEPTH - 1) / WGMMA_DEPTH * WGMMA_DEPTH;
}

struct attention_wgmma_sizes attention_wgmma_read_sizes(const struct form *f,
                                                        const struct kernel_stage *s) {
    const struct attention_form *a = f->attention;
    struct attention_wgmma_sizes w = {.stages = stage_number(s, "stages", 0),
                                      .group = stage_number(s, "group", 0)};
    w.z.rows = stage_number(s, "tile", 0);
    w.z.keys = stage_number(s, "tile", 1);
    w.z.parts = attention_parts(f);
    w.consumers = w.z.rows / WGMMA_ROWS;
    w.z.threads = WGMMA_GROUP * (w.consumers + 1);
    w.turns = w.consumers > 1 && stage_number(s, "turns", 0) != 0;
    w.depth = filled_up(a->depth);
    w.width = filled_up(a->width);
    w.down = (a->m + w.z.rows - 1) / w.z.rows;
    w.tiles = a->batch * w.down;
    return w;
}

// Tiles, and barriers: two for the queries and four for each slot.
static int64_t shared_bytes(const struct attention_wgmma_sizes *w) {
    int64_t slot = w->z.keys * (w->depth + w->width);
    return 2 * (w->z.rows * w->depth + w->stages * slot) + 16 * (2 + 4 * w->stages);
}

// Scores, probabilities, results.
static int64_t registers(const struct attention_wgmma_sizes *w) {
    return w->z.keys / 2 + w->z.parts * w->z.keys / 4 + w->width / 2;
}

// ---- rules

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct attention_form *a = f->attention;
    struct attention_wgmma_sizes w = attention_wgmma_read_sizes(f, s);
    int room = registers_of[w.consumers] - REGISTERS_ELSE;
    if (registers(&w) > room)
        return objection(why, "tile",
                         "scores, probabilities and results of a thread take %lld registers, above "
                         "%d: the nearest is fewer keys, or fewer rows",
                         (long long)registers(&w), room);
    if (!gpu_legal_shared(t, "stages", shared_bytes(&w), "fewer stages", why))
        return false;
    if (a->batch % w.group != 0)
        return objection(why, "group", "%lld heads are no multiple of %d: the nearest is %d",
                         (long long)a->batch, w.group, w.group / 2);
    if (w.tiles * ((a->n + w.z.keys - 1) / w.z.keys) > INT32_MAX)
        return objection(why, "tile", "%lld tiles are more than can be counted",
                         (long long)w.tiles);
    return true;
}

// ---- estimates

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct attention_form *a = f->attention;
    struct attention_wgmma_sizes w = attention_wgmma_read_sizes(f, s);
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.7e9;
    double peak = t->peak_per_s[PIPE_F16];
    if (!(peak > 0))
        peak = 4096.0 * t->sms * clock;
    double turns = ceil((double)a->n / w.z.keys), keys = turns * w.z.keys;
    if (a->is_causal)
        keys = keys * 0.5 + 0.5 * fmax(w.z.rows, w.z.keys);
    double products = 2.0 * w.z.rows * keys * (double)(a->depth + w.z.parts * w.width);
    products /= 0.72 * peak / t->sms;
    // Exponentials, 16 a clock, and half a dozen instructions around each.
    double softmax = w.z.rows * keys * (12 + 3 * (w.z.parts - 1)) / (128 * clock);
    // How much of the shorter the longer does not hide: one warpgroup alone waits for everything,
    // of several one computes while another multiplies. As measured on an H200, as are the factors.
    double rest = w.consumers == 1 ? 0.9 : w.consumers == 2 ? (w.turns ? 0.4 : 0.65) : 0.3;
    rest *= w.consumers == 3 && w.turns && w.z.keys >= 128 ? 0.9 : 1;
    double tile = fmax(products, softmax) + rest * fmin(products, softmax);
    tile *= w.z.keys < 128 ? 1.1 : w.z.keys > 128 ? 0.97 : 1;
    tile *= w.stages < 2 ? 1.4 : w.stages == 3 ? 1.03 : 1;
    double brought = 2.0 * keys * (double)(w.depth + w.width) / (44 * clock);
    tile = fmax(tile, brought) + 2.5e-6;
    double waves = (double)w.tiles / t->sms;
    waves = a->is_causal ? fmax(1, waves + 0.2) : ceil(waves);
    return waves * tile + 4e-6;
}

// ---- what a stage begins with: the legal one that should be fastest

static bool set_tile(const struct form *f, const struct target *t, struct kernel_stage *s, int rows,
                     int keys) {
    struct objection why;
    stage_set(s, "tile", 0, rows);
    stage_set(s, "tile", 1, keys);
    stage_set(s, "turns", 0, rows > WGMMA_ROWS);
    // Powers of two: slots are counted.
    for (int stages = keys < 128 ? 4 : 2; stages >= 1; stages /= 2) {
        stage_set(s, "stages", 0, stages);
        if (is_legal(f, t, s, &why))
            return true;
    }
    return false;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct attention_form *a = f->attention;
    double least = INFINITY;
    int rows = 64, keys = 64, group = 1;
    // As many heads at a time as leave keys and values in the cache.
    while (a->is_causal && group < 32 && a->batch % (2 * (int64_t)group) == 0 &&
           4.0 * group * (double)a->n * (double)(a->depth + a->width) < 20e6)
        group *= 2;
    stage_set(s, "group", 0, group);
    for (int r = 64; r <= 192; r += 64)
        for (int k = 64; k <= 192; k += 64) {
            double seconds = set_tile(f, t, s, r, k) ? estimate(f, t, s) : INFINITY;
            if (seconds < least) {
                least = seconds;
                rows = r;
                keys = k;
            }
        }
    set_tile(f, t, s, rows, keys);
}

const struct emitter attention_wgmma = {
    .name = "wgmma",
    .summary = "attention on tensor cores, copies and products by different warps",
    .knobs = knobs,
    .runs_on = runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = attention_wgmma_lower,
    .estimate = estimate,
};
