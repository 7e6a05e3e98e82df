// gemm on tensor cores that a warpgroup drives (wgmma, sm_90a), for operands of f16 and bf16, of i8
// that lie along K, and for those of f32 as two parts of f16 each (gemm_wgmma_split.c). Those of f8
// are multiplied as they are where the problem says that sums may be as short as tensor cores make
// them then (`accumulate f22`) and both lie along K; else they become f16, which has them exactly.
//
// As many blocks as there are multiprocessors walk over tiles of the result. One warpgroup of a
// block has the copy engine fill a ring of slices in shared memory, the others multiply them as
// they lie there and keep the sums in registers; barriers in shared memory say which slots of the
// ring are full and which are empty, so that copies run ahead, also into the next tile while the
// last one is stored. Operands stay as they are stored: hardware reads those along K and those
// along rows or columns alike.
//
// Tensor cores cut off what does not fit a sum's last place, so errors grow with K instead of with
// its root: where results keep more than 16 bits, sums of a few slices are put aside and added in
// f32.
#include "family/gemm_wgmma.h"

#include <math.h>
#include <string.h>

#include "family/gpu.h"
#include "family/wgmma_knobs.h"

static const int split_grid[] = {1, 2, 4, 8, -1};
static const int boxes_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    WGMMA_KNOB_TILE,
    WGMMA_KNOB_WARPGROUPS,
    WGMMA_KNOB_STAGES,
    WGMMA_KNOB_GROUP,
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "blocks of a cluster that have the terms of a tile",
     .n_parts = 1,
     .grid = {split_grid}},
    WGMMA_KNOB_APART,
    WGMMA_KNOB_CLUSTER,
    {.name = "boxes",
     .summary = "boxes of results that a warp has on their way, at most",
     .n_parts = 1,
     .grid = {boxes_grid}},
    {0},
};

// Elements that are added before a sum is put aside, and what a thread has registers for besides
// what it needs to get along.
enum {
    CHUNK_TERMS = 128,
    CHUNK_TF32 = 512,
    CHUNK_F8 = 512,
    REGISTERS_OF_TWO = 240,
    REGISTERS_OF_ONE = 255,
    REGISTERS_ELSE = 48
};

// What a plan may have of scratch, less the factors.
#define SCRATCH_MAX ((int64_t)4000 << 20)

bool wgmma_runs_on(const struct target *t) {
    return t->is_gpu && t->isa && strcmp(t->isa, "sm_90a") == 0;
}

static bool is_f8(enum dtype t) {
    return t == DTYPE_F8E4M3 || t == DTYPE_F8E5M2;
}

// ---- sizes

// Are all results rounded to 16 bits or less?
bool wgmma_is_narrow(const struct region *r) {
    for (int i = 0; i < r->n_values; i++)
        if (dtype_infos[r->graph->nodes[r->value[i]].dtype].bits > 16)
            return false;
    return true;
}

// Slices whose sum is put aside: errors of sums stay below those of what is added.
int64_t wgmma_chunk_of(const struct wgmma_sizes *z, const struct region *r) {
    if (z->parts == 2)
        return 1;
    if (z->storage == DTYPE_I8)
        return 0;
    // Sums of 14 digits: what is cut off after 512 terms is half of what rounding to bf16 takes.
    if (is_f8(z->storage))
        return z->k <= 2 * CHUNK_F8 ? 0 : CHUNK_F8 / z->depth;
    int64_t terms = z->parts == 1 && !z->is_widened ? CHUNK_TF32 : CHUNK_TERMS;
    return wgmma_is_narrow(r) || z->k <= 2 * terms ? 0 : terms / z->depth;
}

void wgmma_set_chunk(struct wgmma_sizes *z, const struct region *r) {
    z->chunk = wgmma_chunk_of(z, r);
    z->halves = z->chunk && z->parts < 2 && z->own == WGMMA_ROWS && z->rhs.width == 256 ? 2 : 1;
    // A slice stays where it is until both halves are multiplied.
    if (z->halves > 1)
        z->chunk = 1;
}

struct wgmma_sizes wgmma_read_sizes(const struct form *f, const struct kernel_stage *s) {
    const struct gemm_form *g = f->gemm;
    struct wgmma_sizes z = {.m = g->m, .n = g->n, .k = g->k, .batch = g->batch};
    wgmma_find_sides(f, &z);
    z.element_bytes = (int)dtype_size(z.storage, 1);
    z.depth = WGMMA_ROW_BYTES / z.element_bytes;
    z.stages = stage_number(s, "stages", 0);
    z.group = stage_number(s, "group", 0);
    z.split = stage_has(s, "split") ? stage_number(s, "split", 0) : 1;
    z.consumers = stage_number(s, "warpgroups", 0);
    z.threads = WGMMA_GROUP * (z.consumers + 1);
    z.lhs.width = stage_number(s, "tile", 0);
    z.rhs.width = stage_number(s, "tile", 1);
    z.apart = stage_number(s, "apart", 0);
    z.cluster = stage_number(s, "cluster", 0);
    z.boxes = stage_has(s, "boxes") ? stage_number(s, "boxes", 0) : 0;
    z.own = z.lhs.width / (z.apart ? 1 : z.consumers);
    // Results of split operands may be stored a second time, which those that go on would undo.
    bool by_boxes = !z.parts && z.split == 1 && z.boxes && wgmma_set_boxes(&z, f->region, g);
    bool stores = g->results == f->region->value;
    if (!by_boxes)
        z.boxes = 0;
    for (int i = 0; i < f->region->n_values && !by_boxes && stores; i++)
        if (wgmma_is_staged(f->region, g, i) && z.split == 1)
            z.staged_bytes = (int64_t)z.consumers * 4 * WGMMA_STAGED * 2;
    z.slices = (z.k + z.depth - 1) / z.depth;
    wgmma_set_chunk(&z, f->region);
    return z;
}

// Results of 16 bits go by way of shared memory, 64 columns of a warp's 16 rows at a time: straight
// from registers they would be pieces of four bytes.
bool wgmma_is_staged(const struct region *r, const struct gemm_form *g, int value) {
    const struct node *n = &r->graph->nodes[r->value[value]];
    return dtype_infos[n->dtype].bits == 16 && g->n % 8 == 0 && g->has_pairs;
}

// As many as divide those of a tile, so that each box of a tile has a place of its own in every
// tile.
bool wgmma_set_boxes(struct wgmma_sizes *z, const struct region *r, const struct gemm_form *g) {
    enum dtype t = r->graph->nodes[r->value[0]].dtype;
    bool is_known = t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
    if (r->n_values != 1 || !is_known || g->n % 8 != 0 || !g->has_pairs)
        return false;
    int64_t boxes = z->rhs.width * dtype_size(t, 1) / 128 * (z->own / WGMMA_ROWS);
    while (boxes % z->boxes != 0)
        z->boxes--;
    z->staged_bytes = (int64_t)z->consumers * 4 * z->boxes * WGMMA_BOX_BYTES;
    return true;
}

int64_t wgmma_pairs(const struct wgmma_sizes *z) {
    return (int64_t)z->own * z->rhs.width / WGMMA_GROUP / 2;
}

int64_t wgmma_sums(const struct wgmma_sizes *z) {
    int64_t totals = 1 + (z->parts > 1) + (z->chunk > 0);
    return 2 * wgmma_pairs(z) * totals - (z->halves > 1 ? wgmma_pairs(z) : 0);
}

const struct wgmma_side *wgmma_shared(const struct wgmma_sizes *z) {
    bool is_row = z->m <= z->lhs.width, is_column = z->n <= z->rhs.width;
    return is_row || (!is_column && z->lhs.width > z->rhs.width) ? &z->lhs : &z->rhs;
}

int64_t wgmma_cluster_extent(const struct wgmma_sizes *z, const struct wgmma_side *s) {
    return (int64_t)s->width * (z->cluster > 1 && s != wgmma_shared(z) ? z->cluster : 1);
}

int64_t wgmma_tiles(const struct wgmma_sizes *z) {
    int64_t high = wgmma_cluster_extent(z, &z->lhs), wide = wgmma_cluster_extent(z, &z->rhs);
    return z->batch * ((z->m + high - 1) / high) * ((z->n + wide - 1) / wide) *
           (z->cluster > 1 ? z->cluster : 1);
}

int64_t wgmma_slices_each(const struct wgmma_sizes *z) {
    return (z->slices + z->split - 1) / z->split;
}

int wgmma_rings(const struct wgmma_sizes *z, const struct wgmma_side *s) {
    return z->parts > 1 ? 2 : s->is_computed ? s->operand.n_sources : 1;
}

// The ring, its barriers, and what it takes to begin where the swizzle does.
int64_t wgmma_shared_bytes(const struct wgmma_sizes *z) {
    int64_t slice = (int64_t)wgmma_rings(z, &z->lhs) * z->lhs.width * WGMMA_ROW_BYTES +
                    (int64_t)wgmma_rings(z, &z->rhs) * z->rhs.width * WGMMA_ROW_BYTES;
    return (int64_t)z->stages * (slice + (z->computes ? 24 : 16)) + z->staged_bytes + 48;
}

// Elements of an operand that is split, of all matrices.
static int64_t split_elements(const struct wgmma_sizes *z, const struct wgmma_side *s) {
    return (s->is_batch ? z->batch : 1) * (s->along_k ? s->size : z->k) * s->pitch;
}

// ---- rules

// Warps that compute take some of those of two.
int wgmma_registers(const struct wgmma_sizes *z) {
    if (z->consumers == 2)
        return z->computes ? 252 - WGMMA_COMPUTING / 2 : REGISTERS_OF_TWO;
    return REGISTERS_OF_ONE;
}

bool wgmma_legal_rows(const struct wgmma_sizes *z, struct objection *why) {
    int64_t sums = wgmma_sums(z);
    int room = wgmma_registers(z) - REGISTERS_ELSE;
    if (z->own < WGMMA_ROWS)
        return objection(why, "warpgroups",
                         "%d warpgroups have %d rows each, and a product has 64: the nearest is %d",
                         z->consumers, z->own, z->lhs.width / WGMMA_ROWS);
    if (sums > room)
        return objection(why, "tile",
                         "%lld sums for each thread%s are more than %d registers: the nearest is "
                         "half the columns",
                         (long long)sums, z->chunk ? ", with those put aside," : "", room);
    return true;
}

static bool legal_split(const struct wgmma_sizes *z, struct objection *why) {
    if (z->split > 1 && z->storage == DTYPE_I8)
        return objection(why, "split", "sums of whole numbers are not shared: the nearest is 1");
    if (z->split > 1 && (z->split - 1) * wgmma_slices_each(z) >= z->slices)
        return objection(why, "split",
                         "%lld slices of %d terms are too few for %d blocks: the "
                         "nearest is %d",
                         (long long)z->slices, z->depth, z->split, z->split / 2);
    if (z->split > 1 &&
        (double)wgmma_tiles(z) * z->split * z->lhs.width * z->rhs.width * 4 > (double)SCRATCH_MAX)
        return objection(why, "split",
                         "sums of %d blocks for each tile take more than %lld bytes of "
                         "scratch: the nearest is %d",
                         z->split, (long long)SCRATCH_MAX, z->split / 2);
    return true;
}

static bool legal_apart(const struct wgmma_sizes *z, const struct target *t,
                        struct objection *why) {
    if (z->apart && (z->consumers < 2 || z->split > 1 || z->parts > 1))
        return objection(why, "apart",
                         "it takes two warpgroups that multiply, all terms of a tile in one block, "
                         "and operands that are not split: the nearest is 0");
    if (z->apart && wgmma_sums(z) > wgmma_registers(z) - REGISTERS_ELSE)
        return objection(
            why, "apart",
            "%lld sums for each thread of a warpgroup that has the whole tile are more "
            "than %d registers: the nearest is 0, or half the tile",
            (long long)wgmma_sums(z), wgmma_registers(z) - REGISTERS_ELSE);
    if (z->apart && wgmma_tiles(z) <= t->sms)
        return objection(why, "apart",
                         "%lld tiles are one or none for each of %d multiprocessors: the nearest "
                         "is 0",
                         (long long)wgmma_tiles(z), t->sms);
    return true;
}

// Each block brings its part of the operand that is shared, and all of the other.
static bool legal_cluster(const struct wgmma_sizes *z, struct objection *why) {
    if (z->cluster == 1)
        return true;
    const struct wgmma_side *s = wgmma_shared(z);
    if (z->split > 1)
        return objection(why, "cluster",
                         "blocks that have terms of one tile share no operand: the nearest is 1");
    if (!s->along_k && s->width / z->cluster < 64)
        return objection(why, "cluster",
                         "a part of %d rows or columns for each of %d blocks is no box of an "
                         "operand that lies across: the nearest is %d",
                         s->width / z->cluster, z->cluster, s->width / 64);
    return true;
}

bool wgmma_is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                    struct objection *why) {
    struct wgmma_sizes z = wgmma_read_sizes(f, s);
    if (!legal_cluster(&z, why) || !legal_apart(&z, t, why) || !wgmma_legal_rows(&z, why) ||
        !legal_split(&z, why) ||
        !gpu_legal_shared(t, "stages", wgmma_shared_bytes(&z), "fewer stages", why))
        return false;
    int64_t bytes = 2 * z.parts * (split_elements(&z, &z.lhs) + split_elements(&z, &z.rhs));
    if (bytes > SCRATCH_MAX)
        return objection(why, NULL,
                         "the parts of both operands take %lld bytes of scratch, above %lld; take "
                         "mma or simt",
                         (long long)bytes, (long long)SCRATCH_MAX);
    if (wgmma_tiles(&z) * z.slices > INT32_MAX)
        return objection(why, "tile", "%lld tiles of %lld slices are more than can be counted",
                         (long long)wgmma_tiles(&z), (long long)z.slices);
    return true;
}

// ---- estimates

// What tensor cores sustain of their peak: power, not clocks, is short.
static double rate_per_s(const struct target *t, const struct wgmma_sizes *z) {
    double peak = t->peak_per_s[z->storage == DTYPE_I8 ? PIPE_I8
                                : is_f8(z->storage)    ? PIPE_F8
                                                       : PIPE_F16];
    if (!(peak > 0))
        peak = 8192.0 / z->element_bytes * t->sms * t->top_clock_hz;
    return 0.72 * peak;
}

// The passes that split operands of f32: each reads one and writes its parts.
static double split_seconds(const struct wgmma_sizes *z, const struct target *t) {
    if (!z->parts)
        return 0;
    double elements = (double)(split_elements(z, &z->lhs) + split_elements(z, &z->rhs));
    return (4.5 + 2 * z->parts) * elements / gpu_bytes_per_s(t) + 8e-6;
}

// The longer of two does not hide all of the other.
static double together(double a, double b) {
    return fmax(a, b) + 0.15 * fmin(a, b);
}

// What is computed for one element of K.
static double computed_seconds(const struct wgmma_side *s, const struct target *t) {
    return s->is_computed ? s->width * gemm_operand_seconds(&s->operand, t) : 0;
}

// One block's part of a tile: products, while slices are brought.
double wgmma_tile_seconds(const struct wgmma_sizes *z, const struct target *t) {
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.7e9;
    double depth = (double)wgmma_slices_each(z) * z->depth;
    double products = 2.0 * z->lhs.width * z->rhs.width * depth / (rate_per_s(t, z) / t->sms);
    // One warpgroup alone waits for its products; narrow ones read more of shared memory.
    if (z->consumers == 1)
        products *= 1.25;
    if (z->rhs.width < 128)
        products *= 1.25;
    if (z->stages < 3)
        products *= 1.2;
    // 192 columns had 0.94 of the rate of 256; where sums are put aside, 128 had 0.83 of that of
    // 192.
    if (z->rhs.width == 192)
        products *= 1.07;
    if (z->rhs.width == 128 && z->chunk && z->parts < 2)
        products *= 1.28;
    // Halves of 256: 0.88 of the rate of 192 in f8 (8192 cubed), 1.02 of f16's at 4096 cubed, where
    // these have another wave.
    if (z->halves > 1)
        products *= is_f8(z->storage) ? 1.21 : 1.17;
    // With tiles of their own warpgroups do not hide each other's additions: f8 at 2048 cubed 20.6
    // us, where 128x256 has 15.4 and 128x128 14.8.
    if (z->halves > 1 && z->apart)
        products *= 1.4;
    // Nothing is brought for what lies outside.
    double brought = fmin((double)z->m, z->lhs.width) * (z->computes ? wgmma_rings(z, &z->lhs) : 1);
    brought += fmin((double)z->n, z->rhs.width) * (z->computes ? wgmma_rings(z, &z->rhs) : 1);
    brought *= depth * z->element_bytes / (44 * clock);
    // Three warps compute while others multiply, and wait for each other's barriers; not measured.
    double computed = 1.6 * depth * (computed_seconds(&z->lhs, t) + computed_seconds(&z->rhs, t));
    if (computed > products)
        products = computed + 0.15 * products;
    else
        products += 0.15 * computed;
    // Three products, and slices whose sums are added by the way.
    if (z->parts > 1) {
        products *= 3 * 1.08;
        brought *= 2;
    }
    double stored = (double)z->lhs.width * z->rhs.width * 5e-11 + 0.7e-6;
    // The other warpgroup multiplies meanwhile, unless storing takes longer.
    if (z->apart)
        return fmax(together(products, brought) + 0.1 * stored, stored);
    return together(products, brought) + stored;
}

// Sums of a tile go to memory and back, and blocks wait for each other.
static double combine_seconds(const struct wgmma_sizes *z, const struct target *t) {
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.7e9;
    return z->split > 1 ? 8.0 * z->lhs.width * z->rhs.width / (30 * clock) + 5e-6 : 0;
}

// What one multiprocessor gets from memory, at most: 64 of an H200's got 52 GB/s each.
#define SM_BYTES_PER_S 52e9

double wgmma_estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct wgmma_sizes z = wgmma_read_sizes(f, s);
    double blocks = (double)wgmma_tiles(&z) * z.split;
    // Of clusters of four and eight some multiprocessors have no place: 120 of 132 do.
    double places = z.split > 2 ? floor(t->sms / 11.0) * 10 : t->sms;
    double waves = ceil(blocks / places);
    struct region_work w;
    region_count(f->region, &w);
    double rate = fmin(gpu_bytes_per_s(t), fmin(blocks, t->sms) * SM_BYTES_PER_S);
    double memory = (w.bytes_read + w.bytes_written) / rate;
    // Boxes that are mostly outside take as long as whole ones: 53 µs instead of 37 for 16 rows.
    if (z.m < WGMMA_ROWS)
        memory *= 1.5;
    return split_seconds(&z, t) + together(waves * wgmma_tile_seconds(&z, t), memory) +
           waves * combine_seconds(&z, t) + 5e-6;
}

// ---- what a stage begins with: the legal one that should be fastest

static const struct shape_row {
    int rows, columns, warpgroups, apart, cluster, boxes;
} shapes[] = {{128, 256, 2, 0, 1, 2}, {256, 128, 2, 0, 1, 2}, {128, 192, 2, 0, 1, 3},
              {128, 128, 2, 0, 1, 2}, {128, 64, 2, 0, 1, 2},  {64, 256, 2, 1, 1, 2},
              {64, 256, 1, 0, 1, 2},  {64, 128, 1, 0, 1, 2},  {64, 64, 1, 0, 1, 2}};

// Tiles that are worked on at a time shall be as high as they are wide together: then they read
// least. Of an H200 16 rows of 128x256 had 1.012 times the speed of 8.
static int group_for(const struct target *t, const struct shape_row *r) {
    int best = 1;
    double least = INFINITY;
    for (int group = 4; group <= 16; group *= 2) {
        double wide = ceil((double)(t->sms > 0 ? t->sms : 1) / group) * r->columns;
        double read = (double)group * r->rows * r->cluster + wide / r->cluster;
        if (read < least) {
            least = read;
            best = group;
        }
    }
    return best;
}

bool wgmma_fill_stages(const struct emitter *e, const struct form *f, const struct target *t,
                       struct kernel_stage *s, int most) {
    struct objection why;
    for (int stages = most; stages >= 2; stages--) {
        stage_set(s, "stages", 0, stages);
        if (e->is_legal(f, t, s, &why))
            return true;
    }
    return false;
}

static bool set_plain_shape(const struct emitter *e, const struct form *f, const struct target *t,
                            struct kernel_stage *s, const struct wgmma_shape *r) {
    stage_set(s, "tile", 0, r->rows);
    stage_set(s, "tile", 1, r->columns);
    stage_set(s, "warpgroups", 0, r->warpgroups);
    if (emitter_knob(e, "apart"))
        stage_set(s, "apart", 0, r->apart);
    return wgmma_fill_stages(e, f, t, s, 8);
}

void wgmma_choose_shape(const struct emitter *e, const struct form *f, const struct target *t,
                        struct kernel_stage *s, const struct wgmma_shape *candidates, int n) {
    const struct wgmma_shape *best = &candidates[n - 1];
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
        double seconds =
            set_plain_shape(e, f, t, s, &candidates[i]) ? e->estimate(f, t, s) : INFINITY;
        if (seconds < least) {
            least = seconds;
            best = &candidates[i];
        }
    }
    set_plain_shape(e, f, t, s, best);
}

static bool set_shape(const struct form *f, const struct target *t, struct kernel_stage *s,
                      const struct shape_row *r, int split) {
    stage_set(s, "tile", 0, r->rows);
    stage_set(s, "tile", 1, r->columns);
    stage_set(s, "group", 0, group_for(t, r));
    stage_set(s, "warpgroups", 0, r->warpgroups);
    stage_set(s, "split", 0, split);
    stage_set(s, "apart", 0, r->apart);
    stage_set(s, "cluster", 0, r->cluster);
    stage_set(s, "boxes", 0, r->boxes);
    return wgmma_fill_stages(&gemm_wgmma, f, t, s, 8);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct shape_row *best = &shapes[sizeof shapes / sizeof *shapes - 1];
    double least = INFINITY;
    int best_split = 1;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int split = 1; split <= 8; split *= 2) {
            double seconds =
                set_shape(f, t, s, &shapes[i], split) ? wgmma_estimate(f, t, s) : INFINITY;
            if (seconds < least) {
                least = seconds;
                best = &shapes[i];
                best_split = split;
            }
        }
    set_shape(f, t, s, best, best_split);
}

const struct emitter gemm_wgmma = {
    .name = "wgmma",
    .summary = "a matrix product on tensor cores, copies and products by different warps",
    .knobs = knobs,
    .runs_on = wgmma_runs_on,
    .accepts = wgmma_accepts,
    .defaults = defaults,
    .is_legal = wgmma_is_legal,
    .lower = wgmma_lower,
    .estimate = wgmma_estimate,
};
