// gemm on tensor cores that a warp drives (mma.sync, sm_80 and later), for operands of f16 and
// bf16, of f32 as tf32 or as parts of it, of i8, whose sums are whole numbers, and of f8 (sm_89 and
// later) where the problem admits sums of 14 digits (`accumulate f22`).
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
static const int depth_grid[] = {16, 32, 64, 128, -1};
static const int warps_grid[] = {1, 2, 4, 8, -1};
static const int stages_grid[] = {2, 3, 4, 5, 6, -1};
static const int group_grid[] = {1, 4, 8, 16, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

const struct knob mma_knobs[] = {
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

enum { PIECE_BYTES = 16, STEP_BYTES = 32, ROW_BYTES_MAX = 128 };
// Terms that are added before a sum is put aside. What is cut off grows as 1.2e-8 of the sum for
// every term where all have one sign, so after 128 the error is still that of f32 arithmetic; where
// the result is rounded to 16 bits, only elements near 0 show it: 30 units of honest rounding at
// worst after 16384 terms, of which a judge allows 64.
enum { CHUNK_WIDE = 128, CHUNK_NARROW = 16384 };
// Products of parts cut off three times, and twice as often.
enum { CHUNK_PARTS = 32 };
// Sums of 14 digits: what is cut off is half of what rounding to bf16 takes.
enum { CHUNK_F8 = 512 };

bool mma_runs_on(const struct target *t) {
    return t->is_gpu && t->isa && strncmp(t->isa, "sm_", 3) == 0 &&
           strtol(t->isa + 3, NULL, 10) >= 80;
}

// ---- what it takes

// The leaf under one operand, and which of its axes lies side by side.
static bool find_side(const struct form *f, bool is_lhs, struct mma_side *s,
                      struct objection *why) {
    const struct gemm_form *g = f->gemm;
    const char *name = is_lhs ? "left" : "right";
    if (!gemm_leaf(f->region, g, is_lhs, &s->leaf, &s->map))
        return objection(why, NULL,
                         "mma copies operands as they are, and the %s one of %s is computed on the "
                         "way; materialise it first, or take simt",
                         name, form_node(f, g->anchor)->name);
    int stays = is_lhs ? g->axis_m : g->axis_n, axes[2];
    gemm_last_axes(f->region, g, s->leaf, &s->map, axes);
    if (!map_is_plain(&s->map, form_node(f, s->leaf)->shape.rank) ||
        (axes[0] != g->axis_k && axes[0] != stays))
        return objection(why, NULL,
                         "mma copies rows that lie side by side along K or along rows and columns, "
                         "and those of the %s operand of %s do not; take simt",
                         name, form_node(f, g->anchor)->name);
    s->along_k = axes[0] == g->axis_k;
    s->size = is_lhs ? g->m : g->n;
    return true;
}

int mma_copy_bytes(int64_t row_bytes) {
    return row_bytes % 16 == 0 ? 16 : row_bytes % 8 == 0 ? 8 : row_bytes % 4 == 0 ? 4 : 0;
}

static int side_by_side_bytes(const struct gemm_form *g, const struct mma_side *s, int element) {
    return mma_copy_bytes((s->along_k ? g->k : s->size) * element);
}

// Which products the problem's precision and the stored types allow.
bool mma_find_kind(const struct form *f, enum dtype t, enum mma_kind *kind) {
    const struct precision *p = &f->region->problem->precision;
    bool narrower = p->operand == PRECISION_TYPE && p->type != t && p->type != DTYPE_F32;
    if (t == DTYPE_I8) {
        *kind = MMA_KIND_I8;
        return true;
    }
    if (t == DTYPE_F16 || t == DTYPE_BF16) {
        *kind = t == DTYPE_F16 ? MMA_KIND_F16 : MMA_KIND_BF16;
        return !narrower;
    }
    *kind = p->operand == PRECISION_TF32 ? MMA_KIND_TF32 : MMA_KIND_TF32X3;
    return t == DTYPE_F32 && !narrower && !p->is_exact;
}

static bool is_f8(enum mma_kind kind) {
    return kind == MMA_KIND_E4M3 || kind == MMA_KIND_E5M2;
}

static bool find_kind(const struct form *f, enum dtype t, enum mma_kind *kind) {
    if (t != DTYPE_F8E4M3 && t != DTYPE_F8E5M2)
        return mma_find_kind(f, t, kind);
    *kind = t == DTYPE_F8E4M3 ? MMA_KIND_E4M3 : MMA_KIND_E5M2;
    return f->region->problem->precision.short_sums;
}

// What lies side by side along K alone, and which card has it.
static bool accepts_bytes(const struct form *f, const struct target *t, enum mma_kind kind,
                          const struct mma_side side[2], struct objection *why) {
    const char *anchor = form_node(f, f->gemm->anchor)->name;
    const char *type = dtype_name(form_node(f, side[0].leaf)->dtype);
    for (int i = 0; i < 2; i++)
        if (!side[i].along_k)
            return objection(why, NULL,
                             "mma multiplies %s that lie side by side along K, and the %s operand "
                             "of %s does not; take nest",
                             type, i == 0 ? "left" : "right", anchor);
    if (is_f8(kind) && strtol(t->isa + 3, NULL, 10) < 89)
        return objection(why, NULL, "%s multiplies no %s, which sm_89 and later do; take nest",
                         t->isa, type);
    return true;
}

// Two operands that are copied as they are.
static bool find_stored(const struct form *f, const struct target *t, struct mma_side side[2],
                        struct objection *why) {
    const struct gemm_form *g = f->gemm;
    enum mma_kind kind;
    if (!gemm_moves_vectors(f, why))
        return false;
    if (!find_side(f, true, &side[0], why) || !find_side(f, false, &side[1], why))
        return false;
    enum dtype a = form_node(f, side[0].leaf)->dtype, b = form_node(f, side[1].leaf)->dtype;
    if (a != b || !find_kind(f, a, &kind) || g->is_whole != (kind == MMA_KIND_I8))
        return objection(
            why, NULL,
            "mma multiplies two operands of f16, of bf16, of i8, of f32 (not exactly), or of f8 "
            "('accumulate f22'), and those of %s are %s and %s%s; take simt",
            form_node(f, g->anchor)->name, dtype_name(a), dtype_name(b),
            f->region->problem->precision.is_exact ? " under 'f32 exact'" : "");
    if ((kind == MMA_KIND_I8 || is_f8(kind)) && !accepts_bytes(f, t, kind, side, why))
        return false;
    int element = (int)dtype_size(a, 1);
    for (int i = 0; i < 2; i++)
        if (!side_by_side_bytes(g, &side[i], element))
            return objection(why, NULL,
                             "mma copies four bytes at least, and the rows of the %s operand of %s "
                             "are no multiple of that; take simt",
                             i == 0 ? "left" : "right", form_node(f, g->anchor)->name);
    return true;
}

// The type that both operands are multiplied in where one of them at least is computed.
static bool find_storage(const struct form *f, enum dtype *t, struct objection *why) {
    const struct gemm_form *g = f->gemm;
    enum mma_kind kind;
    if (gemm_operands_narrow(f, t))
        return true;
    *t = DTYPE_F32;
    return mma_find_kind(f, DTYPE_F32, &kind) ||
           objection(why, NULL,
                     "mma multiplies what is computed on the way as f16, as bf16 or as parts of "
                     "f32, and the problem's precision admits none of them for %s; materialise the "
                     "operand first, or take simt",
                     form_node(f, g->anchor)->name);
}

// Two operands of which one at least is computed on its way: stored ones of the same type are
// copied as they are.
static bool find_computed(const struct form *f, struct mma_side side[2], enum dtype *storage,
                          struct objection *why) {
    const struct gemm_form *g = f->gemm;
    struct objection stored;
    if (g->is_conv || g->is_whole || g->is_f8)
        return objection(why, NULL,
                         "mma computes operands of floats on the way, and %s is %s; materialise "
                         "the operand first",
                         form_node(f, g->anchor)->name,
                         g->is_conv    ? "a convolution"
                         : g->is_whole ? "a sum of whole numbers"
                                       : "a product of f8");
    if (!find_storage(f, storage, why))
        return false;
    int element = (int)dtype_size(*storage, 1);
    for (int i = 0; i < 2; i++) {
        bool is_stored = find_side(f, i == 0, &side[i], &stored) &&
                         form_node(f, side[i].leaf)->dtype == *storage &&
                         side_by_side_bytes(g, &side[i], element);
        if (!is_stored)
            mma_find_computed(f, i == 0, *storage, &side[i]);
    }
    // An epilogue that vectors cannot follow is no reason to take a product apart.
    return side[0].is_computed || side[1].is_computed || gemm_moves_vectors(f, why);
}

// Are both stored as they are multiplied? Else at least one is computed on its way.
static bool find_operands(const struct form *f, const struct target *t, struct mma_side side[2],
                          enum dtype *storage, struct objection *why) {
    struct objection computed;
    if (find_stored(f, t, side, why)) {
        *storage = form_node(f, side[0].leaf)->dtype;
        return true;
    }
    if (find_computed(f, side, storage, &computed))
        return true;
    if (!f->gemm->has_vectors || !f->gemm->lhs_is_plain || !f->gemm->rhs_is_plain)
        *why = computed;
    return false;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    struct mma_side side[2] = {{0}};
    enum dtype storage;
    return find_operands(f, t, side, &storage, why);
}

// ---- sizes

static void set_side(struct mma_side *s, const struct mma_sizes *z) {
    s->own = s->width / s->warps;
    s->by_words = !s->along_k && z->element_bytes == 4;
    s->rows = s->along_k ? s->width : z->depth;
    s->length = s->along_k ? z->depth : s->width;
    s->copy_elements = s->copy_bytes / z->element_bytes;
    s->copies = s->length / s->copy_elements;
    s->items = ((int64_t)s->rows * s->copies + z->threads - 1) / z->threads;
    s->tile_bytes = (int64_t)s->rows * s->length * z->element_bytes;
    s->slots = z->stages;
    s->source_bytes = 0;
}

// Are all results rounded to 16 bits or less?
static bool is_narrow(const struct region *r) {
    for (int i = 0; i < r->n_values; i++)
        if (dtype_infos[r->graph->nodes[r->value[i]].dtype].bits > 16)
            return false;
    return true;
}

void mma_set_sizes(struct mma_sizes *z, const struct form *f, const struct kernel_stage *s) {
    find_kind(f, z->storage, &z->kind);
    z->element_bytes = (int)dtype_size(z->storage, 1);
    z->step = STEP_BYTES / z->element_bytes;
    z->depth = stage_number(s, "tile", 2);
    z->stages = stage_number(s, "stages", 0);
    z->group = stage_number(s, "group", 0);
    z->lhs.width = stage_number(s, "tile", 0);
    z->rhs.width = stage_number(s, "tile", 1);
    z->lhs.warps = stage_number(s, "warps", 0);
    z->rhs.warps = stage_number(s, "warps", 1);
    z->threads = GPU_WARP * z->lhs.warps * z->rhs.warps;
    set_side(&z->lhs, z);
    set_side(&z->rhs, z);
    mma_set_sources(z, f);
    z->slices = (z->k + z->depth - 1) / z->depth;
    int64_t terms = is_narrow(f->region) ? CHUNK_NARROW : CHUNK_WIDE;
    if (z->kind == MMA_KIND_TF32X3)
        terms = CHUNK_PARTS;
    if (is_f8(z->kind))
        terms = CHUNK_F8;
    // Sums of whole numbers are exact.
    if (z->k > terms && z->kind != MMA_KIND_I8)
        z->chunk = terms / z->depth;
}

static struct mma_sizes read_sizes(const struct form *f, const struct target *t,
                                   const struct kernel_stage *s) {
    const struct gemm_form *g = f->gemm;
    struct objection why;
    struct mma_sizes z = {.m = g->m, .n = g->n, .k = g->k, .batch = g->batch};
    struct mma_side side[2] = {{0}};
    find_operands(f, t, side, &z.storage, &why);
    int element = (int)dtype_size(z.storage, 1);
    for (int i = 0; i < 2; i++)
        if (!side[i].is_computed)
            side[i].copy_bytes = side_by_side_bytes(g, &side[i], element);
    z.lhs = side[0];
    z.rhs = side[1];
    mma_set_sizes(&z, f, s);
    return z;
}

int64_t mma_sums(const struct mma_sizes *z) {
    return (int64_t)z->lhs.own * z->rhs.own / GPU_WARP;
}

int64_t mma_registers(const struct mma_sizes *z) {
    // Two sets of fragments: 16 bytes of 8 rows are a word in each thread. What is put aside may
    // lie in memory while a chunk is walked: compilers keep what the inner loop uses.
    int64_t fragments = 2 * (z->lhs.own + z->rhs.own) * STEP_BYTES / PIECE_BYTES / 8;
    // High and low parts: all of the left, sixteen columns of the right.
    if (z->kind == MMA_KIND_TF32X3)
        fragments += z->lhs.own / 2 + 8;
    return mma_sums(z) + fragments + mma_prologue_registers(z);
}

int64_t mma_shared_bytes(const struct mma_sizes *z) {
    return z->lhs.slots * z->lhs.tile_bytes + z->rhs.slots * z->rhs.tile_bytes +
           z->stages * (z->lhs.source_bytes + z->rhs.source_bytes);
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
        int least = sides[i]->by_words ? ROW_BYTES_MAX : STEP_BYTES;
        if (bytes < least)
            return objection(why, "tile",
                             "rows of %d elements in shared memory have %d bytes: the nearest is "
                             "%d elements",
                             sides[i]->length, bytes, least / z->element_bytes);
    }
    return true;
}

bool mma_is_legal(const struct mma_sizes *sizes, const struct target *t,
                  const struct kernel_stage *s, struct objection *why) {
    struct mma_sizes z = *sizes;
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

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct mma_sizes z = read_sizes(f, t, s);
    return mma_is_legal(&z, t, s, why);
}

// ---- estimates

// What mma.sync reaches of the peak that the data sheet has: on later chips other instructions do.
static double rate_per_s(const struct target *t, enum mma_kind kind) {
    int sm = (int)strtol(t->isa + 3, NULL, 10);
    double share = sm >= 100 ? 0.3 : sm >= 90 ? 0.52 : 0.8;
    bool is_tf32 = kind == MMA_KIND_TF32 || kind == MMA_KIND_TF32X3;
    // f8 on sm_90 is unpacked and multiplied as f16.
    bool is_fast = is_f8(kind) && (sm == 89 || sm >= 100);
    double peak = t->peak_per_s[is_tf32               ? PIPE_TF32
                                : kind == MMA_KIND_I8 ? PIPE_I8
                                : is_fast             ? PIPE_F8
                                                      : PIPE_F16];
    // A card that nobody has described: 1024 operations per clock and multiprocessor.
    if (!(peak > 0))
        peak = 1024.0 * t->sms * t->top_clock_hz;
    // Splitting takes instructions too.
    return share * peak / (kind == MMA_KIND_TF32X3 ? 3.4 : 1);
}

static double count_tiles(const struct mma_sizes *z) {
    return (double)z->batch * ceil((double)z->m / z->lhs.width) * ceil((double)z->n / z->rhs.width);
}

// Blocks that a multiprocessor holds at once.
static double count_resident(const struct mma_sizes *z, const struct target *t) {
    double registers = (double)(mma_registers(z) + 40) * z->threads;
    double resident = fmin(fmin(t->registers_per_sm / registers,
                                (double)t->shared_per_sm / (double)(mma_shared_bytes(z) + 1024)),
                           (double)t->threads_per_sm / z->threads);
    return fmax(1, floor(resident));
}

// Beyond an edge nothing is copied.
static double slice_bytes_of(const struct mma_sizes *z) {
    return mma_brought_bytes(z, &z->lhs) * fmin(1, (double)z->m / z->lhs.width) +
           mma_brought_bytes(z, &z->rhs) * fmin(1, (double)z->n / z->rhs.width);
}

double mma_seconds(const struct mma_sizes *sizes, const struct target *t) {
    struct mma_sizes z = *sizes;
    double tiles = count_tiles(&z), resident = count_resident(&z, t);
    double per_sm = rate_per_s(t, z.kind) / t->sms;
    double depth = (double)(z.slices * z.depth);
    double products = 2.0 * z.lhs.width * z.rhs.width * depth / per_sm;
    // Fragments: 128 bytes per clock of shared memory; slices: what L2 gives a multiprocessor, and
    // what is under way for some 700 ns, in copies that take an instruction each.
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.5e9;
    double live = fmin(resident, fmax(1, tiles / t->sms));
    double read = (double)z.lhs.warps * z.rhs.warps * (z.lhs.own + z.rhs.own) * depth *
                  z.element_bytes / (128 * clock);
    double slice_bytes = slice_bytes_of(&z);
    double under_way = (z.stages - 1) * slice_bytes * live / 700e-9 / live;
    double brought = slice_bytes * (double)z.slices / fmin(42 * clock / live, under_way);
    double copies = (double)(z.lhs.items + z.rhs.items) * (double)z.slices * z.threads / 32;
    copies *= 4 / clock;
    // Sums that do not fit next to the totals go to memory and back with every chunk.
    bool spills = z.chunk && mma_registers(&z) + mma_sums(&z) > gpu_registers_for(t, z.threads);
    if (spills)
        brought += 8.0 * (double)mma_sums(&z) * z.threads * (double)(z.slices / z.chunk) /
                   (42 * clock / live);
    // A warp needs eight products side by side, and there are four places for warps.
    double side_by_side = (double)z.lhs.own * z.rhs.own / 128 * live * z.threads / GPU_WARP / 4;
    double busy = fmin(1, 0.25 + side_by_side / 12) * (z.stages == 2 ? 0.9 : 1);
    double slots = t->sms * resident;
    // Blocks that share a multiprocessor share its units; a last wave may be thinly filled.
    double waves = floor(tiles / slots) * resident + ceil(fmod(tiles, slots) / t->sms);
    double tile = fmax(fmax(products / busy, read), fmax(brought, copies));
    tile += 0.1 * (read + copies) + (spills ? 0.1 * brought : 0);
    // What is computed on the way takes the places of instructions, and nothing is multiplied
    // before it is there. Not measured.
    tile += (double)z.slices * mma_prologue_seconds(&z, t, live);
    return waves * (tile + 1.5e-6);
}

// Under load: 128 blocks with 41 KB each on their way got 3.1 TB/s of an H200.
#define MEMORY_LATENCY_S 2e-6

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct mma_sizes z = read_sizes(f, t, s);
    struct region_work w;
    region_count(f->region, &w);
    // What is under way must cover the latency of memory under load.
    double blocks = fmin(count_tiles(&z), t->sms * count_resident(&z, t));
    double all_under_way = (z.stages - 1) * slice_bytes_of(&z) * blocks;
    double memory = (w.bytes_read + w.bytes_written) /
                    fmin(gpu_bytes_per_s(t), all_under_way / MEMORY_LATENCY_S);
    double computed = mma_seconds(&z, t);
    // A block that is alone and has all of K in its ring copies, multiplies and stores one after
    // the other: 3.9 ms of an H200 for 1.5 of traffic, where two or three take turns 2.5.
    if (z.slices < z.stages && count_resident(&z, t) < 2)
        return computed + memory + 6.5e-6;
    // The longer of them does not hide all of the other.
    return fmax(computed, memory) + 0.15 * fmin(computed, memory) + 6.5e-6;
}

// ---- what a stage begins with: the legal one that should be fastest

static const struct shape_row {
    int tile[3], warps[2], stages;
} shapes[] = {
    {{128, 256, 64}, {2, 4}, 3}, {{128, 256, 32}, {2, 4}, 4}, {{256, 128, 64}, {4, 2}, 3},
    {{256, 128, 32}, {4, 2}, 4}, {{128, 128, 32}, {2, 4}, 3}, {{128, 128, 64}, {2, 4}, 3},
    {{128, 128, 32}, {2, 4}, 4}, {{128, 128, 32}, {2, 2}, 3}, {{128, 64, 64}, {2, 2}, 3},
    {{64, 128, 64}, {2, 2}, 3},  {{64, 64, 64}, {2, 2}, 4},   {{64, 64, 32}, {2, 2}, 4},
    {{32, 128, 64}, {1, 4}, 4},  {{16, 128, 64}, {1, 4}, 4},  {{32, 64, 64}, {1, 4}, 4},
    {{64, 64, 64}, {2, 2}, 5},   {{64, 32, 64}, {2, 1}, 5},   {{16, 32, 64}, {1, 2}, 6},
    {{32, 32, 32}, {1, 2}, 4},   {{16, 32, 32}, {1, 2}, 4},   {{128, 128, 32}, {4, 4}, 3},
};

// `deep`: elements of 8 bits, of which as many bytes are twice as many.
static void set_shape(struct kernel_stage *s, const struct shape_row *r, bool deep) {
    for (int i = 0; i < 3; i++)
        stage_set(s, "tile", i, r->tile[i] * (deep && i == 2 ? 2 : 1));
    for (int i = 0; i < 2; i++)
        stage_set(s, "warps", i, r->warps[i]);
    stage_set(s, "stages", 0, r->stages);
}

void mma_defaults(const struct emitter *e, const struct form *f, const struct target *t,
                  struct kernel_stage *s) {
    struct objection why;
    double least = INFINITY;
    const struct shape_row *best = NULL;
    bool deep = f->gemm && (f->gemm->is_whole || f->gemm->is_f8);
    stage_set(s, "group", 0, 8);
    stage_set(s, "minblocks", 0, 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        set_shape(s, &shapes[i], deep);
        if (!e->is_legal(f, t, s, &why))
            continue;
        double seconds = e->estimate(f, t, s);
        if (seconds < least)
            best = &shapes[i], least = seconds;
    }
    set_shape(s, best ? best : &shapes[0], deep);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    mma_defaults(&gemm_mma, f, t, s);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *s) {
    // Which card it is matters to numbers of 8 bits alone, and they were accepted.
    static const struct target any = {.isa = "sm_90"};
    mma_lower(l, f, s, read_sizes(f, &any, s));
}

const struct emitter gemm_mma = {
    .name = "mma",
    .summary = "a matrix product on tensor cores",
    .knobs = mma_knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
