// Products over groups of rows on tensor cores, by the loops of gemm's `mma` emitter.
//
// ragged_matmul: a tile has rows of one group. Which ones is found when it runs: a block walks over
// the offsets and counts tiles until it has come to its own, so there are as many blocks as groups
// could need at most, and those that are left over end at once. Rows before the first group and
// behind the last are groups as well, whose rows are not read: their results are 0.
//
// ragged_outer: each group has all tiles of its matrix, and K is its rows. What lies beyond the
// group's end is not read and counts as zeros in both operands.
#include <math.h>

#include "base/arena.h"
#include "family/gemm_mma_build.h"
#include "family/gpu.h"
#include "family/ragged_form.h"

// ---- what it takes

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct ragged_form *r = f->ragged;
    const char *name = form_node(f, r->anchor)->name;
    enum dtype a = form_node(f, r->x)->dtype, b = form_node(f, r->w)->dtype;
    enum mma_kind kind;
    if (a != b || !mma_find_kind(f, a, &kind) || kind == MMA_KIND_TF32X3 || kind == MMA_KIND_I8)
        return objection(why, NULL,
                         "mma multiplies groups of f16, of bf16, or of f32 as tf32, and those of "
                         "%s are %s and %s; take nest",
                         name, dtype_name(a), dtype_name(b));
    int64_t element = dtype_size(a, 1);
    if (!mma_copy_bytes(r->in * element) || !mma_copy_bytes(r->out * element))
        return objection(why, NULL,
                         "mma copies four bytes at least, and rows of an operand of %s are no "
                         "multiple of that; take nest",
                         name);
    if (r->rows >= INT32_MAX / 2)
        return objection(why, NULL, "%s has more rows than can be counted; take nest", name);
    return true;
}

// ---- sizes

static struct mma_sizes read_sizes(const struct form *f, const struct kernel_stage *s) {
    const struct ragged_form *r = f->ragged;
    struct mma_sizes z = {.storage = form_node(f, r->x)->dtype, .n = r->out};
    int64_t element = dtype_size(z.storage, 1);
    z.m = r->is_outer ? r->in : r->rows;
    z.k = r->is_outer ? r->rows : r->in;
    z.batch = r->is_outer ? r->groups : 1;
    z.lhs.size = z.m;
    z.rhs.size = z.n;
    z.lhs.along_k = !r->is_outer;
    z.lhs.is_cut = !r->is_outer;
    z.lhs.copy_bytes = mma_copy_bytes(r->in * element);
    z.rhs.copy_bytes = mma_copy_bytes(r->out * element);
    mma_set_sizes(&z, f, s);
    return z;
}

// Tiles of rows that groups may need at most; with those before the first and behind the last.
static int64_t tiles_of_rows(const struct ragged_form *r, const struct mma_sizes *z) {
    return r->rows / z->lhs.width + r->groups + 2;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct mma_sizes z = read_sizes(f, s);
    double columns = ceil((double)z.n / z.rhs.width);
    return mma_is_legal(&z, t, s, why) &&
           (f->ragged->is_outer ||
            gpu_legal_grid("tile", (int64_t)((double)tiles_of_rows(f->ragged, &z) * columns), why));
}

// As if groups were equally long.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct ragged_form *r = f->ragged;
    struct mma_sizes z = read_sizes(f, s);
    struct region_work w;
    region_count(f->region, &w);
    if (r->is_outer)
        z.slices = (r->rows / r->groups + z.depth - 1) / z.depth + 1;
    else
        z.m += r->groups * z.lhs.width / 2;
    double memory = (w.bytes_read + w.bytes_written) / gpu_bytes_per_s(t);
    double computed = mma_seconds(&z, t);
    return fmax(computed, memory) + 0.15 * fmin(computed, memory) + 7e-6;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct objection why;
    mma_defaults(&ragged_mma, f, t, s);
    // Three deep slices were faster than four of half the depth: 2.7 ms instead of 3.3.
    if (stage_number(s, "tile", 2) != 32 || stage_number(s, "stages", 0) != 4)
        return;
    struct kernel_stage deep = *s;
    stage_set(&deep, "tile", 2, 64);
    stage_set(&deep, "stages", 0, 3);
    if (is_legal(f, t, &deep, &why))
        *s = deep;
}

// ---- operands

struct build {
    const struct ragged_form *f;
    const struct loop_expr *group;
};

static const struct loop_expr *source(const struct mma_build *x, const struct mma_tile *t,
                                      struct loop_builder *b, const struct mma_at *at) {
    const struct build *c = x->ctx;
    (void)b;
    const struct loop_expr *k = add(x, times(x, at->slice, x->z.depth), at->inside);
    if (x->first_k)
        return add(x, times(x, add(x, x->first_k, k), t->is_lhs ? c->f->in : c->f->out), at->stay);
    if (t->is_lhs)
        return add(x, times(x, at->stay, c->f->in), k);
    return add(x, times(x, add(x, times(x, c->group, c->f->in), k), c->f->out), at->stay);
}

static void place_result(const struct mma_build *x, struct scope *s, const struct loop_expr *row,
                         const struct loop_expr *column, int lanes) {
    const struct build *c = x->ctx;
    const struct space *space = &x->l->space;
    int last = space->n_axes - 1;
    if (c->f->is_outer)
        s->index[space->group[0]] = c->group;
    s->index[space->group[last - 1]] = row;
    s->index[space->group[last]] = column;
    s->lane_group = lanes > 1 ? space->group[last] : s->lane_group;
    s->lanes = lanes;
}

// ---- which rows

static const struct loop_expr *offset_at(const struct mma_build *x, const struct build *c,
                                         struct loop_builder *b, const char *name,
                                         const struct loop_expr *at) {
    const struct loop_expr *v = loop_load(x->a, x->l->buffer[c->f->offsets], at, 1, 1);
    return loop_let(b, name, loop_to_index(x->a, v, 0, c->f->rows));
}

// Numbers that the walk over groups keeps: tiles and rows before, and of the tile its group, first
// row and end.
enum { BEFORE, ABOVE, GROUP, FIRST, END, NUMBERS };

struct finder {
    const struct mma_build *x;
    struct loop_buffer *number;
    const struct loop_expr *tile;  // of rows, counted through all groups
};

static const struct loop_expr *get(const struct finder *d, int which) {
    return loop_load(d->x->a, d->number, num(d->x, which), 1, 1);
}

static void put(const struct finder *d, struct loop_builder *b, int which,
                const struct loop_expr *v) {
    loop_store(b, d->number, num(d->x, which), v, false);
}

static const struct loop_expr *whole(const struct finder *d, int64_t v) {
    return loop_whole(d->x->a, LOOP_I32, v);
}

// One group, of rows from where the last one ended up to `end`.
static void pass_group(const struct finder *d, struct loop_builder *b,
                       const struct loop_expr *group, const struct loop_expr *end) {
    struct arena *a = d->x->a;
    int shift = 0;
    while (1 << shift < d->x->z.lhs.width)
        shift++;
    const struct loop_expr *above = loop_let(b, "begin", get(d, ABOVE));
    const struct loop_expr *before = loop_let(b, "before", get(d, BEFORE));
    const struct loop_expr *rows = loop_binary(a, LOOP_SUB, end, above);
    rows = loop_binary(a, LOOP_MAX, rows, whole(d, 0));
    rows = loop_binary(a, LOOP_ADD, rows, whole(d, d->x->z.lhs.width - 1));
    const struct loop_expr *tiles =
        loop_let(b, "tiles", loop_binary(a, LOOP_SHR, rows, whole(d, shift)));
    const struct loop_expr *inside = loop_let(b, "part", loop_binary(a, LOOP_SUB, d->tile, before));
    const struct loop_expr *is_own =
        loop_binary(a, LOOP_AND, loop_binary(a, LOOP_LE, whole(d, 0), inside),
                    loop_binary(a, LOOP_LT, inside, tiles));
    is_own = loop_let(b, "is_own", is_own);
    const struct loop_expr *first = loop_binary(
        a, LOOP_ADD, above, loop_binary(a, LOOP_MUL, inside, whole(d, d->x->z.lhs.width)));
    put(d, b, GROUP, loop_ternary(a, LOOP_SELECT, is_own, group, get(d, GROUP)));
    put(d, b, FIRST, loop_ternary(a, LOOP_SELECT, is_own, first, get(d, FIRST)));
    put(d, b, END, loop_ternary(a, LOOP_SELECT, is_own, end, get(d, END)));
    put(d, b, BEFORE, loop_binary(a, LOOP_ADD, before, tiles));
    put(d, b, ABOVE, loop_binary(a, LOOP_MAX, above, end));
}

// The group of the block's tile, its rows, and how far they are read.
static void find_rows(struct mma_build *x, struct build *c, struct loop_builder *b,
                      const struct loop_expr *tile) {
    struct arena *a = x->a;
    struct finder d = {x, loop_register_of(x->l->program, "number", NUMBERS, 1, LOOP_I32), NULL};
    int64_t groups = c->f->groups, rows = c->f->rows;
    d.tile = loop_let(b, "own", loop_cast(a, tile, LOOP_I32));
    for (int i = 0; i < NUMBERS; i++)
        put(&d, b, i, whole(&d, i == GROUP ? -1 : 0));
    struct loop_builder inner;
    struct loop_for f = {"e", num(x, 0), num(x, groups + 1), 1, false};
    const struct loop_expr *e = loop_open_for(b, &f, &inner);
    const struct loop_expr *end = loop_cast(a, offset_at(x, c, &inner, "offset", e), LOOP_I32);
    const struct loop_expr *group =
        loop_binary(a, LOOP_SUB, loop_cast(a, e, LOOP_I32), whole(&d, 1));
    pass_group(&d, &inner, loop_let(&inner, "group", group), loop_let(&inner, "end", end));
    loop_close(b, &inner);
    pass_group(&d, b, whole(&d, -1), whole(&d, rows));
    c->group = loop_let(b, "group", loop_to_index(a, get(&d, GROUP), 0, groups - 1));
    x->lhs.first = loop_let(b, "row0", loop_to_index(a, get(&d, FIRST), 0, rows));
    x->lhs.extent = loop_let(b, "rows_end", loop_to_index(a, get(&d, END), 0, rows));
    const struct loop_expr *none =
        loop_binary(a, LOOP_LT, loop_let(b, "found", get(&d, GROUP)), whole(&d, 0));
    none = loop_let(b, "is_none", none);
    const struct loop_expr *end_read =
        loop_ternary(a, LOOP_SELECT, none, whole(&d, 0), get(&d, END));
    x->lhs.end = loop_let(b, "read_end", loop_to_index(a, end_read, 0, rows));
}

// ---- the kernel

static void lower_rows(struct mma_build *x, struct build *c, struct loop_builder *b,
                       const struct gpu_kernel *k) {
    struct loop_builder some;
    int64_t columns = (x->z.n + x->z.rhs.width - 1) / x->z.rhs.width;
    find_rows(x, c, b, quotient(x, k->block, columns));
    x->rhs.first = loop_let(b, "column0", times(x, rest(x, k->block, columns), x->z.rhs.width));
    loop_open_if(b, x->lhs.first, x->lhs.extent, &some);
    mma_build_placed(x, &some, k);
    loop_close(b, &some);
}

static void lower_groups(struct mma_build *x, struct build *c, struct loop_builder *b,
                         const struct gpu_kernel *k) {
    const struct loop_expr *tiles = mma_tiles(x);
    c->group = loop_let(b, "group", loop_binary(x->a, LOOP_DIV, k->block, tiles));
    x->first_k = offset_at(x, c, b, "begin", c->group);
    x->extent_k = offset_at(x, c, b, "end", add(x, c->group, num(x, 1)));
    // One slice at least, of zeros where a group has no rows.
    const struct loop_expr *rows = loop_binary(x->a, LOOP_SUB, x->extent_k, x->first_k);
    rows = loop_binary(x->a, LOOP_MAX, rows, num(x, 1));
    x->slices = loop_let(b, "slices", loop_ceildiv(x->a, rows, x->z.depth));
    mma_build_tile(x, b, k, loop_binary(x->a, LOOP_MOD, k->block, tiles));
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    static const struct mma_operands operands = {source, NULL, place_result};
    const struct ragged_form *r = f->ragged;
    struct build c = {.f = r};
    struct mma_build x = {.l = l, .a = l->arena, .operands = &operands, .ctx = &c};
    x.anchor = r->anchor;
    x.z = read_sizes(f, stage);
    ragged_build_space(l, r);
    x.at = map_identity(l->space.n_axes);
    x.pair = r->has_pairs ? 2 : 1;
    x.lhs.extent = num(&x, x.z.m);
    x.rhs.extent = num(&x, x.z.n);
    x.extent_k = num(&x, x.z.k);
    int64_t columns = (x.z.n + x.z.rhs.width - 1) / x.z.rhs.width;
    const struct loop_expr *grid = r->is_outer ? times(&x, mma_tiles(&x), r->groups)
                                               : num(&x, tiles_of_rows(r, &x.z) * columns);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_groups", stage->values[0]), grid, x.z.threads, &b);
    k.kernel->min_blocks = stage_number(stage, "minblocks", 0);
    mma_make_buffers(&x, l->buffer[r->x], l->buffer[r->w]);
    struct scope top = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    x.outer = &top;
    if (r->is_outer)
        lower_groups(&x, &c, &b, &k);
    else
        lower_rows(&x, &c, &b, &k);
}

const struct emitter ragged_mma = {
    .name = "mma",
    .summary = "a product over groups of rows on tensor cores",
    .knobs = mma_knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
