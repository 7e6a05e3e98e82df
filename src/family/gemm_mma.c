// gemm on tensor cores that a warp drives (mma.sync, sm_80 and later), for operands of f16 and
// bf16, and of f32 where the problem multiplies tf32.
//
// A block computes a tile of the result. Slices of both operands come into a ring of shared memory
// by asynchronous copies, several slices ahead; each warp has a part of the tile in registers,
// reads fragments of the slice by ldmatrix one step ahead of the products, and there is one barrier
// per slice. Operands stay as they are stored: what lies along K is read as it is, what lies along
// rows or columns is transposed on the way into registers.
//
// Tensor cores cut off what does not fit a sum's last place, so errors grow with K instead of
// with its root: sums of many slices are put aside and added in f32.
#include "family/gemm_mma.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family/gpu.h"

static const int rows_grid[] = {16, 32, 64, 128, 256, -1};
static const int columns_grid[] = {16, 32, 64, 128, 256, -1};
static const int depth_grid[] = {16, 32, 64, -1};
static const int warps_grid[] = {1, 2, 4, 8, -1};
static const int stages_grid[] = {2, 3, 4, 5, 6, -1};
static const int group_grid[] = {1, 4, 8, 16, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "rows, columns and depth that a block works on",
     .n_parts = 3,
     .grid = {rows_grid, columns_grid, depth_grid}},
    {.name = "warps",
     .summary = "warps of a block along rows and columns",
     .n_parts = 2,
     .grid = {warps_grid, warps_grid}},
    {.name = "stages", .summary = "slices in shared memory", .n_parts = 1, .grid = {stages_grid}},
    {.name = "group",
     .summary = "rows of tiles that are walked together",
     .n_parts = 1,
     .grid = {group_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

// What a fragment is made of, and where its sums end. Elements added before a sum is put aside:
// measured, the error is then about that of f32 arithmetic (256), or a few times it where the
// result is rounded to 16 bits anyway.
enum { PIECE_BYTES = 16, STEP_BYTES = 32, ROW_BYTES_MAX = 128 };
enum { CHUNK_WIDE = 256, CHUNK_NARROW = 1024 };

static bool runs_on(const struct target *t) {
    return t->is_gpu && t->isa && strncmp(t->isa, "sm_", 3) == 0 &&
           strtol(t->isa + 3, NULL, 10) >= 80;
}

// ---- what it takes

static const struct node *node_of(const struct form *f, node_id n) {
    return &f->region->graph->nodes[n];
}

// The leaf under one operand, and which of its axes lies side by side.
static bool find_side(const struct form *f, bool is_lhs, struct mma_side *s,
                      struct objection *why) {
    const struct gemm_form *g = f->gemm;
    const char *name = is_lhs ? "left" : "right";
    if (!gemm_leaf(f->region, g, is_lhs, &s->leaf, &s->map))
        return objection(why, NULL,
                         "mma copies operands as they are, and the %s one of %s is computed on the "
                         "way; materialise it first, or take simt",
                         name, node_of(f, g->anchor)->name);
    const struct shape *shape = &node_of(f, s->leaf)->shape;
    int stays = is_lhs ? g->axis_k - 2 : g->axis_k - 1;
    int last = shape->rank > 0 ? s->map.axis[shape->rank - 1] : -1;
    if (!map_is_plain(&s->map, shape->rank) || (last != g->axis_k && last != stays))
        return objection(why, NULL,
                         "mma copies rows that lie side by side along K or along rows and columns, "
                         "and those of the %s operand of %s do not; take simt",
                         name, node_of(f, g->anchor)->name);
    s->along_k = last == g->axis_k;
    s->size = is_lhs ? g->m : g->n;
    return true;
}

static int side_by_side_bytes(const struct gemm_form *g, const struct mma_side *s, int element) {
    int64_t bytes = (s->along_k ? g->k : s->size) * element;
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 0;
}

// Which products the problem's precision and the stored types allow.
static bool find_kind(const struct form *f, enum dtype t, enum mma_kind *kind) {
    const struct precision *p = &f->region->problem->precision;
    bool narrower = p->operand == PRECISION_TYPE && p->type != t && p->type != DTYPE_F32;
    *kind = t == DTYPE_F16 ? MMA_KIND_F16 : t == DTYPE_BF16 ? MMA_KIND_BF16 : MMA_KIND_TF32;
    if (t == DTYPE_F16 || t == DTYPE_BF16)
        return !narrower;
    return t == DTYPE_F32 && p->operand == PRECISION_TF32;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct gemm_form *g = f->gemm;
    struct mma_side lhs, rhs;
    enum mma_kind kind;
    if (!find_side(f, true, &lhs, why) || !find_side(f, false, &rhs, why))
        return false;
    enum dtype a = node_of(f, lhs.leaf)->dtype, b = node_of(f, rhs.leaf)->dtype;
    if (a != b || !find_kind(f, a, &kind))
        return objection(why, NULL,
                         "mma multiplies two operands of f16, of bf16, or of f32 under 'precision "
                         "tf32', and those of %s are %s and %s; take simt",
                         node_of(f, g->anchor)->name, dtype_name(a), dtype_name(b));
    int element = (int)dtype_size(a, 1);
    for (int i = 0; i < 2; i++)
        if (!side_by_side_bytes(g, i == 0 ? &lhs : &rhs, element))
            return objection(why, NULL,
                             "mma copies four bytes at least, and the rows of the %s operand of %s "
                             "are no multiple of that; take simt",
                             i == 0 ? "left" : "right", node_of(f, g->anchor)->name);
    if (kind == MMA_KIND_TF32 && !(lhs.along_k && rhs.along_k))
        return objection(why, NULL,
                         "mma reads tf32 along K only, and an operand of %s lies along %s; "
                         "take simt",
                         node_of(f, g->anchor)->name, lhs.along_k ? "columns" : "rows");
    return true;
}

// ---- sizes

static void read_side(struct mma_side *s, const struct mma_sizes *z, const struct gemm_form *g) {
    s->own = s->width / s->warps;
    s->rows = s->along_k ? s->width : z->depth;
    s->length = s->along_k ? z->depth : s->width;
    s->copy_elements = side_by_side_bytes(g, s, z->element_bytes) / z->element_bytes;
    s->copies = s->length / s->copy_elements;
    s->items = ((int64_t)s->rows * s->copies + z->threads - 1) / z->threads;
    s->tile_bytes = (int64_t)s->rows * s->length * z->element_bytes;
}

// Are all results rounded to 16 bits or less?
static bool is_narrow(const struct region *r) {
    for (int i = 0; i < r->n_values; i++)
        if (dtype_infos[r->graph->nodes[r->value[i]].dtype].bits > 16)
            return false;
    return true;
}

struct mma_sizes mma_read_sizes(const struct form *f, const struct kernel_stage *s) {
    const struct gemm_form *g = f->gemm;
    struct objection why;
    struct mma_sizes z = {.m = g->m, .n = g->n, .k = g->k, .batch = g->batch};
    find_side(f, true, &z.lhs, &why);
    find_side(f, false, &z.rhs, &why);
    z.storage = node_of(f, z.lhs.leaf)->dtype;
    find_kind(f, z.storage, &z.kind);
    z.element_bytes = (int)dtype_size(z.storage, 1);
    z.step = STEP_BYTES / z.element_bytes;
    z.depth = stage_number(s, "tile", 2);
    z.stages = stage_number(s, "stages", 0);
    z.group = stage_number(s, "group", 0);
    z.lhs.width = stage_number(s, "tile", 0);
    z.rhs.width = stage_number(s, "tile", 1);
    z.lhs.warps = stage_number(s, "warps", 0);
    z.rhs.warps = stage_number(s, "warps", 1);
    z.threads = GPU_WARP * z.lhs.warps * z.rhs.warps;
    read_side(&z.lhs, &z, g);
    read_side(&z.rhs, &z, g);
    z.slices = (z.k + z.depth - 1) / z.depth;
    int64_t terms = is_narrow(f->region) ? CHUNK_NARROW : CHUNK_WIDE;
    if (z.k > 2 * terms)
        z.chunk = terms / z.depth;
    z.total_shared = z.chunk && mma_sums(&z) > 64;
    return z;
}

int64_t mma_sums(const struct mma_sizes *z) {
    return (int64_t)z->lhs.own * z->rhs.own / GPU_WARP;
}

int64_t mma_registers(const struct mma_sizes *z) {
    // Two sets of fragments: 16 bytes of 8 rows are a word in each thread.
    int64_t fragments = 2 * (z->lhs.own + z->rhs.own) * STEP_BYTES / PIECE_BYTES / 8;
    int64_t total = z->chunk && !z->total_shared ? mma_sums(z) : 0;
    return mma_sums(z) + total + fragments;
}

int64_t mma_shared_bytes(const struct mma_sizes *z) {
    int64_t total = z->total_shared ? 4 * mma_sums(z) * z->threads : 0;
    return z->stages * (z->lhs.tile_bytes + z->rhs.tile_bytes) + total;
}

// ---- rules

static bool legal_warps(const struct mma_sizes *z, struct objection *why) {
    const struct mma_side *sides[] = {&z->lhs, &z->rhs};
    for (int i = 0; i < 2; i++)
        if (sides[i]->own < 16)
            return objection(why, "warps",
                             "%d warps along %d %s leave each fewer than 16: the nearest is %d",
                             sides[i]->warps, sides[i]->width, i == 0 ? "rows" : "columns",
                             sides[i]->width / 16);
    if (z->threads > GPU_BLOCK_MAX)
        return objection(why, "warps", "%d threads, but a block has at most %d: the nearest is 4x4",
                         z->threads, GPU_BLOCK_MAX);
    return true;
}

static bool legal_rows(const struct mma_sizes *z, struct objection *why) {
    if (z->depth < 2 * z->step)
        return objection(why, "tile",
                         "a depth of %d is one product deep, and the next is read while one is "
                         "computed: the nearest is %d",
                         z->depth, 2 * z->step);
    const struct mma_side *sides[] = {&z->lhs, &z->rhs};
    for (int i = 0; i < 2; i++) {
        int bytes = sides[i]->length * z->element_bytes;
        if (sides[i]->along_k && bytes > ROW_BYTES_MAX)
            return objection(why, "tile",
                             "a depth of %d is %d bytes, but a row of a tile has at most %d: the "
                             "nearest is %d",
                             z->depth, bytes, ROW_BYTES_MAX, ROW_BYTES_MAX / z->element_bytes);
        if (bytes < STEP_BYTES)
            return objection(why, "tile", "rows of %d bytes in shared memory: the nearest is %d",
                             bytes, STEP_BYTES);
    }
    return true;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct mma_sizes z = mma_read_sizes(f, s);
    int resident = stage_number(s, "minblocks", 0);
    struct gpu_demand demand = {"warps", z.threads, mma_registers(&z),
                                "more warps, or half the tile"};
    double tiles =
        (double)z.batch * ceil((double)z.m / z.lhs.width) * ceil((double)z.n / z.rhs.width);
    if (!legal_warps(&z, why) || !legal_rows(&z, why) || !gpu_legal_registers(t, &demand, why) ||
        !gpu_legal_shared(t, "tile", mma_shared_bytes(&z), "fewer stages, or half the depth",
                          why) ||
        !gpu_legal_grid("tile", (int64_t)fmin(tiles, 1e18), why))
        return false;
    if (resident > 1 && (resident * z.threads > t->threads_per_sm ||
                         resident * (mma_shared_bytes(&z) + 1024) > t->shared_per_sm ||
                         (mma_registers(&z) + 40) * z.threads * resident > t->registers_per_sm))
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks %d",
                         resident, resident - 1);
    return true;
}

// ---- estimates

// What mma.sync reaches of the peak that the data sheet has: on later chips other instructions do.
static double rate_per_s(const struct target *t, enum mma_kind kind) {
    int sm = (int)strtol(t->isa + 3, NULL, 10);
    double share = sm >= 100 ? 0.35 : sm >= 90 ? 0.62 : 0.9;
    double peak = t->peak_per_s[kind == MMA_KIND_TF32 ? PIPE_TF32 : PIPE_F16];
    // A card that nobody has described: 1024 operations per clock and multiprocessor.
    if (!(peak > 0))
        peak = 1024.0 * t->sms * t->top_clock_hz;
    return share * peak;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct mma_sizes z = mma_read_sizes(f, s);
    double tiles =
        (double)z.batch * ceil((double)z.m / z.lhs.width) * ceil((double)z.n / z.rhs.width);
    double registers = (double)(mma_registers(&z) + 40) * z.threads;
    double resident = fmin(fmin(t->registers_per_sm / registers,
                                (double)t->shared_per_sm / (double)(mma_shared_bytes(&z) + 1024)),
                           (double)t->threads_per_sm / z.threads);
    resident = fmax(1, floor(resident));
    double per_sm = rate_per_s(t, z.kind) / t->sms;
    double depth = (double)(z.slices * z.depth);
    double products = 2.0 * z.lhs.width * z.rhs.width * depth / per_sm;
    // Fragments: 128 bytes per clock of shared memory; and slices: what L2 gives one SM.
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    double read = (double)z.lhs.warps * z.rhs.warps * (z.lhs.own + z.rhs.own) * depth *
                  z.element_bytes / (128 * clock);
    double brought = (double)(z.lhs.width + z.rhs.width) * depth * z.element_bytes / (42 * clock);
    // A warp needs eight products side by side, and there are four places for warps.
    double side_by_side = (double)z.lhs.own * z.rhs.own / 128 * resident * z.threads / GPU_WARP / 4;
    double busy = fmin(1, 0.25 + side_by_side / 12) * (z.stages == 2 ? 0.9 : 1);
    double slots = t->sms * resident;
    // Blocks that share a multiprocessor share its units; a last wave may be thinly filled.
    double waves = floor(tiles / slots) * resident + ceil(fmod(tiles, slots) / t->sms);
    double tile = fmax(fmax(products / busy, read), brought) + 0.15 * fmin(products, read);
    struct region_work w;
    region_count(f->region, &w);
    double memory = (w.bytes_read + w.bytes_written) / gpu_bytes_per_s(t);
    return fmax(waves * (tile + 1.5e-6), memory) + 3e-6;
}

// ---- what a stage begins with: the legal one that should be fastest

static const struct shape_row {
    int tile[3], warps[2], stages;
} shapes[] = {
    {{128, 256, 64}, {2, 4}, 3}, {{128, 256, 32}, {2, 4}, 4}, {{256, 128, 64}, {4, 2}, 3},
    {{256, 128, 32}, {4, 2}, 4}, {{128, 128, 64}, {2, 4}, 3}, {{128, 128, 32}, {2, 4}, 4},
    {{128, 128, 32}, {2, 2}, 3}, {{128, 64, 64}, {2, 2}, 3},  {{64, 128, 64}, {2, 2}, 3},
    {{64, 64, 64}, {2, 2}, 4},   {{64, 64, 32}, {2, 2}, 4},   {{32, 128, 64}, {1, 4}, 4},
    {{16, 128, 64}, {1, 4}, 4},  {{32, 64, 64}, {1, 4}, 4},   {{32, 32, 32}, {1, 2}, 4},
    {{16, 32, 32}, {1, 2}, 4},
};

static void set_shape(struct kernel_stage *s, const struct shape_row *r) {
    for (int i = 0; i < 3; i++)
        stage_set(s, "tile", i, r->tile[i]);
    for (int i = 0; i < 2; i++)
        stage_set(s, "warps", i, r->warps[i]);
    stage_set(s, "stages", 0, r->stages);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct objection why;
    double least = INFINITY;
    const struct shape_row *best = NULL;
    stage_set(s, "group", 0, 8);
    stage_set(s, "minblocks", 0, 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        set_shape(s, &shapes[i]);
        if (!is_legal(f, t, s, &why))
            continue;
        double seconds = estimate(f, t, s);
        if (seconds < least)
            best = &shapes[i], least = seconds;
    }
    set_shape(s, best ? best : &shapes[sizeof shapes / sizeof *shapes - 1]);
}

const struct emitter gemm_mma = {
    .name = "mma",
    .summary = "a matrix product on tensor cores",
    .knobs = knobs,
    .runs_on = runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = mma_lower,
    .estimate = estimate,
};
