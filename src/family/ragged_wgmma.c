// Products over groups of rows on tensor cores that a warpgroup drives (sm_90a), by the loops of
// gemm's `wgmma` emitter: one warpgroup of a block has the copy engine fill a ring of slices, the
// others multiply.
//
// ragged_matmul: a tile has rows of one group. ragged_outer: a tile is of one group's matrix, and K
// is its rows. Either way a block walks over all groups and takes every so-manieth tile, counted
// through all of them (ragged_wgmma_lower.c). Groups begin and end anywhere: the copy engine is
// told where rows end, and brings zeros for what lies behind.
#include "family/ragged_wgmma.h"

#include <math.h>

#include "family/gpu.h"
#include "family/wgmma_knobs.h"

static const int aside_grid[] = {0, 1, -1};

static const struct knob knobs[] = {
    WGMMA_KNOB_TILE,
    WGMMA_KNOB_WARPGROUPS,
    WGMMA_KNOB_STAGES,
    WGMMA_KNOB_GROUP,
    {.name = "aside",
     .change = CHANGE_LAW,
     .summary = "0: all rows of a group are one sum, as libraries have it",
     .n_parts = 1,
     .grid = {aside_grid}},
    {0},
};

// ---- what it takes

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct ragged_form *r = f->ragged;
    const struct precision *p = &f->region->problem->precision;
    const char *name = form_node(f, r->anchor)->name;
    enum dtype a = form_node(f, r->x)->dtype, b = form_node(f, r->w)->dtype;
    bool narrower = p->operand == PRECISION_TYPE && p->type != a && p->type != DTYPE_F32;
    if (a != b || narrower || !(a == DTYPE_F16 || a == DTYPE_BF16))
        return objection(why, NULL,
                         "wgmma multiplies groups of f16 or of bf16, and those of %s are %s and "
                         "%s; take mma or nest",
                         name, dtype_name(a), dtype_name(b));
    if (r->in % 8 != 0 || r->out % 8 != 0)
        return objection(why, NULL,
                         "the copy engine needs rows of a multiple of 16 bytes, and those of the "
                         "operands of %s have %lld and %lld; take mma or nest",
                         name, (long long)r->in * 2, (long long)r->out * 2);
    if (r->rows >= WGMMA_CUT_ROWS)
        return objection(why, NULL, "%s has more rows than can be counted; take nest", name);
    return true;
}

// ---- sizes

struct gemm_form ragged_as_gemm(const struct form *f) {
    const struct ragged_form *r = f->ragged;
    int rank = form_node(f, r->anchor)->shape.rank;
    return (struct gemm_form){.anchor = r->anchor,
                              .at = map_identity(rank),
                              .m = r->is_outer ? r->in : r->rows,
                              .n = r->out,
                              .k = r->is_outer ? r->rows : r->in,
                              .batch = r->is_outer ? r->groups : 1,
                              .has_pairs = r->has_pairs,
                              .group_m = rank - 2,
                              .group_n = rank - 1};
}

struct wgmma_sizes ragged_wgmma_sizes(const struct form *f, const struct kernel_stage *s) {
    const struct ragged_form *r = f->ragged;
    struct gemm_form g = ragged_as_gemm(f);
    struct wgmma_sizes z = {
        .m = g.m, .n = g.n, .k = g.k, .batch = g.batch, .split = 1, .cluster = 1, .boxes = 3};
    z.storage = form_node(f, r->x)->dtype;
    z.element_bytes = 2;
    z.depth = WGMMA_ROW_BYTES / z.element_bytes;
    z.stages = stage_number(s, "stages", 0);
    z.group = stage_number(s, "group", 0);
    z.consumers = stage_number(s, "warpgroups", 0);
    z.threads = WGMMA_GROUP * (z.consumers + 1);
    z.lhs = (struct wgmma_side){.leaf = r->x, .size = g.m, .pitch = r->in, .is_cut = true};
    z.rhs = (struct wgmma_side){.leaf = r->w, .size = g.n, .pitch = r->out};
    z.lhs.along_k = !r->is_outer;
    z.rhs.is_cut = r->is_outer;
    z.rhs.is_batch = !r->is_outer;
    z.lhs.width = stage_number(s, "tile", 0);
    z.rhs.width = stage_number(s, "tile", 1);
    z.own = z.lhs.width / z.consumers;
    bool by_boxes = wgmma_set_boxes(&z, f->region, &g);
    if (!by_boxes)
        z.boxes = 0;
    for (int i = 0; i < f->region->n_values && !by_boxes; i++)
        if (wgmma_is_staged(f->region, &g, i))
            z.staged_bytes = (int64_t)z.consumers * 4 * WGMMA_STAGED * 2;
    z.slices = (z.k + z.depth - 1) / z.depth;
    z.halves = 1;
    if (stage_number(s, "aside", 0))
        wgmma_set_chunk(&z, f->region);
    return z;
}

double ragged_wgmma_tiles(const struct ragged_form *r, const struct wgmma_sizes *z) {
    double right = ceil((double)z->n / z->rhs.width);
    if (r->is_outer)
        return r->groups * ceil((double)z->m / z->lhs.width) * right;
    // Those before the first group and behind the last are such, too.
    return (floor((double)r->rows / z->lhs.width) + (double)r->groups + 2) * right;
}

// ---- rules

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct wgmma_sizes z = ragged_wgmma_sizes(f, s);
    if (!wgmma_legal_rows(&z, why) ||
        !gpu_legal_shared(t, "stages", wgmma_shared_bytes(&z), "fewer stages", why))
        return false;
    double tiles = ragged_wgmma_tiles(f->ragged, &z);
    if (tiles * (double)(z.slices + 1) > INT32_MAX)
        return objection(why, "tile", "%.0f tiles of %lld slices are more than can be counted",
                         tiles, (long long)z.slices);
    return true;
}

// ---- estimates

// As if groups were equally long.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct ragged_form *r = f->ragged;
    struct wgmma_sizes z = ragged_wgmma_sizes(f, s);
    double each = (double)r->rows / (double)r->groups, right = ceil((double)z.n / z.rhs.width);
    double tiles = ragged_wgmma_tiles(r, &z);
    if (r->is_outer) {
        z.slices = (int64_t)each / z.depth + 1;
        z.k = z.slices * z.depth;
    } else {
        // All tiles take as long: the last round counts in full.
        tiles = (double)r->groups * (each / z.lhs.width + 0.5) * right;
        tiles = ceil(tiles / t->sms) * t->sms;
    }
    struct region_work w;
    region_count(f->region, &w);
    double memory = (w.bytes_read + w.bytes_written) / gpu_bytes_per_s(t);
    double computed = fmax(tiles / t->sms, 1) * wgmma_tile_seconds(&z, t);
    return fmax(computed, memory) + 0.15 * fmin(computed, memory) + 7e-6;
}

// ---- what a stage begins with: the legal one that should be fastest

static const struct wgmma_shape shapes[] = {{128, 256, 2, 0}, {128, 192, 2, 0}, {128, 128, 2, 0},
                                            {128, 64, 2, 0},  {64, 256, 1, 0},  {64, 128, 1, 0},
                                            {64, 64, 1, 0}};

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    stage_set(s, "group", 0, 8);
    stage_set(s, "aside", 0, 1);
    wgmma_choose_shape(&ragged_wgmma, f, t, s, shapes, sizeof shapes / sizeof *shapes);
}

const struct emitter ragged_wgmma = {
    .name = "wgmma",
    .summary = "a product over groups of rows on tensor cores, copies and products by different "
               "warps",
    .knobs = knobs,
    .runs_on = wgmma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = ragged_wgmma_lower,
    .estimate = estimate,
};
