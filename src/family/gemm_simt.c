// gemm on a GPU with ordinary multiply-adds. A block computes a tile of the result and walks
// along K in steps of the tile's depth: its threads copy a slice of both operands into shared
// memory, [depth][rows] and [depth][columns], and each thread adds up a small tile of its own
// in registers. With two stages the next slice is on its way, through registers, while this one is
// used. With three or more it comes by asynchronous copies, which need no registers, and as many as
// fit are on their way: operands must be stored values of f32 for that, since nothing is computed
// between. What lies along K is copied element by element, which turns it: neighbouring threads
// copy neighbours along K.
//
// A thread's own tile is made of groups of four rows and four columns, spread over the block's
// tile, so that neighbouring threads read neighbouring banks of shared memory.
//
// Rows and columns beyond the edge follow the last one there is and are not stored; depth
// beyond the edge is filled with zeros. Sums longer than SIMT_CHUNK_TERMS are put aside in shared
// memory, where each thread has a place of its own, and many of those by a cascade.
#include <math.h>
#include <stdio.h>

#include "family/gemm_simt.h"
#include "family/gpu.h"

static const int tile_grid[] = {16, 32, 64, 128, 256, -1};
static const int depth_grid[] = {4, 8, 16, 32, -1};
static const int micro_grid[] = {1, 2, 4, 8, 16, -1};
static const int vec_grid[] = {1, 2, 4, -1};
static const int stages_grid[] = {1, 2, 3, 4, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "rows, columns and depth that a block works on",
     .n_parts = 3,
     .grid = {tile_grid, tile_grid, depth_grid}},
    {.name = "micro",
     .summary = "rows and columns of one thread",
     .n_parts = 2,
     .grid = {micro_grid, micro_grid}},
    {.name = "stages",
     .summary = "slices in shared memory; three or more by asynchronous copies",
     .n_parts = 1,
     .grid = {stages_grid}},
    {.name = "vec", .summary = "elements loaded at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

enum { PAD = 4 };
// Each level takes shared memory: as few of them as precision allows.
enum { CHUNK_RADIX = 32 };

static int at_most(int a, int b) {
    return a < b ? a : b;
}

static void read_side(struct simt_side *s, const struct kernel_stage *stage, int part) {
    s->width = stage_number(stage, "tile", part);
    s->micro = stage_number(stage, "micro", part);
    s->lanes = at_most(s->micro, 4);
    s->chunks = s->micro / s->lanes;
    s->pad = s->along_k ? PAD : 0;
}

static void deal_side(struct simt_side *s, const struct simt_sizes *z) {
    s->vec = z->is_ring && s->along_k ? 1 : z->vec;
    s->n_vectors = (int64_t)s->width * z->depth / s->vec;
    s->items = s->n_vectors / z->threads;
}

static struct simt_sizes read_sizes(const struct gemm_form *f, const struct kernel_stage *s) {
    struct simt_sizes z = {.m = f->m, .n = f->n, .k = f->k, .batch = f->batch};
    z.lhs = (struct simt_side){.node = f->lhs, .map = &f->lhs_map, .name = "lhs", .size = f->m};
    z.rhs = (struct simt_side){.node = f->rhs, .map = &f->rhs_map, .name = "rhs", .size = f->n};
    z.lhs.along_k = f->lhs_is_along_k;
    z.rhs.along_k = !f->rhs_is_contiguous;
    read_side(&z.lhs, s, 0);
    read_side(&z.rhs, s, 1);
    z.depth = stage_number(s, "tile", 2);
    z.stages = stage_number(s, "stages", 0);
    z.vec = stage_number(s, "vec", 0);
    z.min_blocks = stage_number(s, "minblocks", 0);
    z.threads = z.lhs.width / at_most(z.lhs.micro, z.lhs.width) * z.rhs.width /
                at_most(z.rhs.micro, z.rhs.width);
    z.is_ring = z.stages > 2;
    deal_side(&z.lhs, &z);
    deal_side(&z.rhs, &z);
    if (z.k > SIMT_CHUNK_TERMS)
        z.n_chunk_floats = (int64_t)z.lhs.micro * z.rhs.micro * z.threads;
    z.cascade = cascade_for((z.k + SIMT_CHUNK_TERMS - 1) / SIMT_CHUNK_TERMS, CHUNK_RADIX);
    return z;
}

static int64_t register_floats(const struct simt_sizes *z) {
    return (int64_t)z->lhs.micro * z->rhs.micro + z->lhs.micro + z->rhs.micro +
           (z->is_ring ? 0 : (z->lhs.items + z->rhs.items) * z->vec);
}

// The nearest micro tile whose threads make a block and whose sums fit the registers.
static const char *nearest_micro(const struct target *t, const struct simt_sizes *z,
                                 char text[32]) {
    double least = INFINITY;
    snprintf(text, 32, "a tile of half the size");
    for (int i = 0; micro_grid[i] > 0; i++)
        for (int j = 0; micro_grid[j] > 0; j++) {
            int m = micro_grid[i], n = micro_grid[j];
            if (m > z->lhs.width || n > z->rhs.width)
                continue;
            int threads = z->lhs.width / m * (z->rhs.width / n);
            double distance =
                fabs(log2((double)m / z->lhs.micro)) + fabs(log2((double)n / z->rhs.micro));
            if (threads < GPU_WARP || threads > GPU_BLOCK_MAX || distance >= least ||
                m * n + 2 * (m + n) > gpu_registers_for(t, threads))
                continue;
            least = distance;
            snprintf(text, 32, "micro %dx%d", m, n);
        }
    return text;
}

static bool legal_micro(const struct target *t, const struct simt_sizes *z, struct objection *why) {
    const struct simt_side *l = &z->lhs, *r = &z->rhs;
    char nearest[32];
    if (l->micro > l->width || r->micro > r->width)
        return objection(why, "micro", "micro %dx%d is larger than the tile: the nearest is %s",
                         l->micro, r->micro, nearest_micro(t, z, nearest));
    if (z->threads > GPU_BLOCK_MAX || z->threads < GPU_WARP)
        return objection(why, "micro",
                         "tile %dx%d by micro %dx%d makes %d threads, not %d to %d: the nearest is "
                         "%s",
                         l->width, r->width, l->micro, r->micro, z->threads, GPU_WARP,
                         GPU_BLOCK_MAX, nearest_micro(t, z, nearest));
    struct gpu_demand demand = {"micro", z->threads, register_floats(z),
                                nearest_micro(t, z, nearest)};
    return gpu_legal_registers(t, &demand, why);
}

static bool legal_loads(const struct simt_sizes *z, struct objection *why) {
    const struct simt_side *sides[] = {&z->lhs, &z->rhs};
    for (int i = 0; i < 2; i++) {
        int64_t along = sides[i]->along_k ? z->k : sides[i]->size;
        int vec = sides[i]->vec;
        if (along % vec != 0)
            return objection(why, "vec",
                             "vec %d needs a multiple of %d elements side by side, but the %s "
                             "operand has %lld: the nearest is vec %d",
                             vec, vec, i == 0 ? "left" : "right", (long long)along,
                             at_most(vec / 2, gpu_largest_vec(along)));
        if (sides[i]->n_vectors % z->threads != 0)
            return objection(why, "tile",
                             "a slice of %dx%d in vectors of %d does not fall to %d threads "
                             "evenly: the nearest is a depth of %lld, or vec %d",
                             sides[i]->width, z->depth, vec, z->threads,
                             (long long)z->threads * vec / sides[i]->width, vec > 1 ? vec / 2 : 1);
    }
    return true;
}

// The stored value that is copied as one operand of a ring.
static bool find_leaf(const struct form *f, bool is_lhs, struct simt_side *s,
                      struct objection *why) {
    const struct gemm_form *g = f->gemm;
    const struct graph *graph = f->region->graph;
    int stays = is_lhs ? g->axis_m : g->axis_n, axes[2] = {-1, -1};
    bool ok = gemm_leaf(f->region, g, is_lhs, &s->leaf, &s->leaf_map);
    if (ok)
        gemm_last_axes(f->region, g, s->leaf, &s->leaf_map, axes);
    return (ok && graph->nodes[s->leaf].dtype == DTYPE_F32 &&
            map_is_plain(&s->leaf_map, graph->nodes[s->leaf].shape.rank) &&
            axes[0] == (s->along_k ? g->axis_k : stays)) ||
           objection(why, "stages",
                     "three slices or more are copied as they are, and the %s operand of %s is no "
                     "stored matrix of f32: the nearest is stages 2",
                     is_lhs ? "left" : "right", graph->nodes[g->anchor].name);
}

static bool find_leaves(const struct form *f, struct simt_sizes *z, struct objection *why) {
    return !z->is_ring || (find_leaf(f, true, &z->lhs, why) && find_leaf(f, false, &z->rhs, why));
}

static int64_t shared_bytes(const struct simt_sizes *z) {
    int64_t rows = (int64_t)z->stages * z->depth;
    return 4 * (rows * (z->lhs.width + z->lhs.pad + z->rhs.width + z->rhs.pad) +
                z->n_chunk_floats * z->cascade.n_levels);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct simt_sizes z = read_sizes(f->gemm, s);
    int resident = z.min_blocks;
    if (!find_leaves(f, &z, why) || !legal_micro(t, &z, why) || !legal_loads(&z, why) ||
        !gpu_legal_shared(t, "tile", shared_bytes(&z), "half the depth", why))
        return false;
    if (resident > 1 && (resident * z.threads > t->threads_per_sm ||
                         resident * shared_bytes(&z) > t->shared_per_sm ||
                         (register_floats(&z) + 24) * z.threads * resident > t->registers_per_sm))
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks %d",
                         resident, resident - 1);
    return true;
}

static void set_tile(struct kernel_stage *s, const int *tile, int micro) {
    for (int i = 0; i < 3; i++)
        stage_set(s, "tile", i, tile[i]);
    // Twice as many columns where there are registers for it: a quarter less is read from shared
    // memory, 0.943 of cuBLAS instead of 0.928 (f32 exact, 4096^3, an H200).
    stage_set(s, "micro", 0, micro);
    stage_set(s, "micro", 1, micro == 8 ? 2 * micro : micro);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    static const int large[] = {128, 128, 8}, small[] = {64, 64, 16}, tiny[] = {32, 32, 32};
    const struct gemm_form *f = form->gemm;
    struct objection why;
    // As large as leaves every multiprocessor a tile.
    double tiles = (double)f->batch * (double)f->m * (double)f->n / (128 * 128);
    bool is_large = tiles >= t->sms, is_small = tiles * 4 >= t->sms;
    set_tile(s, is_large ? large : is_small ? small : tiny, is_large ? 8 : is_small ? 4 : 2);
    stage_set(s, "stages", 0, 2);
    int vec = 4;
    for (; vec > 1; vec /= 2) {
        stage_set(s, "vec", 0, vec);
        if (is_legal(form, t, s, &why))
            break;
    }
    stage_set(s, "vec", 0, vec);
    // Two blocks hide each other's barriers, where both fit.
    stage_set(s, "minblocks", 0, 2);
    if (!is_legal(form, t, s, &why))
        stage_set(s, "minblocks", 0, 1);
    if (!is_legal(form, t, s, &why))
        set_tile(s, tiny, 2);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *s) {
    struct simt_sizes z = read_sizes(f->gemm, s);
    struct objection why;
    find_leaves(f, &z, &why);
    simt_lower(l, f, s, z);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct gemm_form *f = form->gemm;
    struct simt_sizes z = read_sizes(f, s);
    double tiles =
        (double)f->batch * ceil((double)f->m / z.lhs.width) * ceil((double)f->n / z.rhs.width);
    double registers = (double)(register_floats(&z) + 40) * z.threads;
    double resident = fmin(
        fmin(t->registers_per_sm / registers, (double)t->shared_per_sm / (double)shared_bytes(&z)),
        (double)t->threads_per_sm / z.threads);
    resident = fmax(1, floor(resident));
    double flops = 2.0 * z.lhs.width * z.rhs.width * (double)f->k;
    // Multiply-adds against reads of shared memory; few threads cannot hide their latency.
    double useful = 1 / (1 + 1.2 / z.lhs.micro + 1.2 / z.rhs.micro);
    double hidden = fmin(1, 0.4 + resident * z.threads / 640) * (z.stages >= 2 ? 1 : 0.85);
    double per_sm = gpu_flops_per_s(t) / t->sms * useful * hidden;
    double waves = ceil(tiles / (t->sms * resident)) * resident;
    double narrow = 1 + 0.1 * (4.0 / z.vec - 1);
    return waves * flops / per_sm * narrow + 3e-6;
}

const struct emitter gemm_simt = {
    .name = "simt",
    .summary = "a matrix product with elementwise work before and after",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = gemm_sums_floats,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
