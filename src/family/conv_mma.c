// conv on tensor cores: an implicit product over the loops of gemm's `mma` emitter, for f16, bf16,
// tf32, and f32 by three products of tf32 parts; one to three axes, strides, dilation, padding,
// groups, transposed or not (conv_form.h says how).
//
// Rows are the out channels of a group, columns are results of all images, and K is taps, channels
// innermost. Weights and image are copied before (conv_layout.c), so that every copy of 16 bytes to
// shared memory lies side by side and within one tap, wherever the window stands. A convolution of
// windows of one element is a product as it stands, and is read where it is.
#include "family/conv_mma.h"
#include <assert.h>

#include <math.h>

#include "base/arena.h"
#include "family/gemm_mma_build.h"
#include "family/gpu.h"

// ---- what it takes

bool conv_accepts(const struct form *f, const struct conv_products *p, struct objection *why) {
    const struct conv_form *c = f->conv;
    const char *name = form_node(f, c->anchor)->name;
    enum dtype a = form_node(f, c->x)->dtype, b = form_node(f, c->w)->dtype;
    enum mma_kind kind;
    if (a != b || !mma_find_kind(f, a, &kind))
        return objection(why, NULL,
                         "%s multiplies an image and weights of f16, of bf16, or of f32 (not "
                         "exactly), and those of %s are %s and %s%s; take nest",
                         p->name, name, dtype_name(a), dtype_name(b),
                         f->region->problem->precision.is_exact ? " under 'f32 exact'" : "");
    if (c->out < p->least)
        return objection(why, NULL,
                         "%s multiplies %d channels at a time, and a group of %s has %lld; take %s",
                         p->name, p->rows, name, (long long)c->out, p->fewer);
    return true;
}

// Fewer out channels of a group leave most of a product of 16 rows empty.
static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    return conv_accepts(f, &(struct conv_products){"mma", 16, 4, "nest"}, why);
}

// ---- sizes

struct conv_sizes conv_read_sizes(const struct form *f) {
    const struct conv_form *c = f->conv;
    struct conv_sizes z = {.storage = form_node(f, c->x)->dtype};
    int64_t element = dtype_size(z.storage, 1), each = 16 / element;
    z.channels = (c->in + each - 1) / each * each;
    z.is_direct = c->is_pointwise && mma_copy_bytes(c->in * element) > 0 &&
                  mma_copy_bytes(c->classes[0].places * element) > 0;
    if (z.is_direct)
        z.channels = c->in;
    enum mma_kind kind = MMA_KIND_F16;
    mma_find_kind(f, z.storage, &kind);
    z.is_rounded = kind == MMA_KIND_TF32 && !z.is_direct;
    return z;
}

static struct mma_sizes class_sizes(const struct form *f, const struct conv_class *class,
                                    const struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    struct conv_sizes own = conv_read_sizes(f);
    int64_t element = dtype_size(own.storage, 1);
    struct mma_sizes z = {.storage = own.storage,
                          .is_rounded = own.is_rounded,
                          .m = c->out,
                          .n = c->batch * class->places,
                          .k = class->taps * own.channels,
                          .batch = c->groups};
    z.lhs.size = z.m;
    z.rhs.size = z.n;
    z.lhs.along_k = true;
    z.rhs.along_k = !own.is_direct;
    z.lhs.copy_bytes = mma_copy_bytes(own.channels * element);
    z.rhs.copy_bytes = own.is_direct ? mma_copy_bytes(class->places * element) : 16;
    mma_set_sizes(&z, f, s);
    return z;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    for (int i = 0; i < f->conv->n_classes; i++) {
        struct mma_sizes z = class_sizes(f, &f->conv->classes[i], s);
        if (!mma_is_legal(&z, t, s, why))
            return false;
    }
    return true;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    struct conv_sizes own = conv_read_sizes(f);
    struct region_work w;
    region_count(f->region, &w);
    double seconds = 0, image = 0, rate = gpu_bytes_per_s(t);
    for (int i = 0; i < c->n_classes; i++) {
        struct mma_sizes z = class_sizes(f, &c->classes[i], s);
        seconds += mma_seconds(&z, t) + 3e-6;
    }
    double memory = (w.bytes_read + w.bytes_written) / rate;
    seconds = fmax(seconds, memory) + 0.15 * fmin(seconds, memory);
    if (!own.is_direct)
        image = (double)c->batch * (double)c->groups *
                (double)(conv_positions(c) * own.channels * dtype_size(own.storage, 1));
    // Read and written before, at less than the full rate.
    return seconds + (own.is_direct ? 0 : 2 * image / (0.7 * rate) + 6e-6);
}

// ---- what a stage begins with

// Walks along K are short, so that several blocks on a multiprocessor are worth more than large
// tiles: one begins or stores while others multiply. `cost` is what a row of the result takes, in
// rows of the largest tile.
enum { PARTS = 1 << MMA_KIND_TF32X3, TF32 = 1 << MMA_KIND_TF32 };
enum { HALVES = 1 << MMA_KIND_F16 | 1 << MMA_KIND_BF16, ALL = PARTS | TF32 | HALVES };
static const struct shape_row {
    int rows, columns, warps[2], stages, resident;
    double cost;
    int kinds;  // of products
} shapes[] = {
    {128, 64, {2, 2}, 3, 3, 1.0, HALVES},
    {128, 64, {2, 2}, 3, 2, 1.0, PARTS | HALVES},
    {128, 128, {2, 4}, 3, 1, 1.02, ALL},
    {64, 64, {2, 2}, 4, 2, 1.05, PARTS},
    {64, 128, {2, 2}, 3, 2, 1.05, TF32 | HALVES},
    {64, 64, {2, 2}, 3, 1, 1.1, ALL},
    {32, 128, {1, 4}, 3, 3, 1.15, ALL},
    {32, 64, {1, 2}, 3, 1, 1.2, ALL},
    {16, 64, {1, 2}, 3, 4, 1.6, ALL},
    {16, 64, {1, 2}, 3, 1, 1.65, ALL},
};

static void set_shape(struct kernel_stage *s, const struct shape_row *r, int depth) {
    int tile[] = {r->rows, r->columns, depth};
    for (int i = 0; i < 3; i++)
        stage_set(s, "tile", i, tile[i]);
    for (int i = 0; i < 2; i++)
        stage_set(s, "warps", i, r->warps[i]);
    stage_set(s, "stages", 0, r->stages);
    stage_set(s, "minblocks", 0, r->resident);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    const struct shape_row *best = NULL;
    struct objection why;
    double least = INFINITY;
    int depth = dtype_size(form_node(f, c->x)->dtype, 1) == 2 ? 64 : 32;
    enum mma_kind kind = MMA_KIND_F16;
    mma_find_kind(f, form_node(f, c->x)->dtype, &kind);
    if (kind == MMA_KIND_TF32 && conv_read_sizes(f).is_direct) {
        mma_defaults(&conv_mma, f, t, s);
        return;
    }
    stage_set(s, "group", 0, 8);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape_row *r = &shapes[i];
        if (!(r->kinds >> kind & 1))
            continue;
        double padded = ceil((double)c->out / r->rows) * r->rows / (double)c->out * r->cost;
        double blocks = (double)(c->groups * c->batch * c->classes[0].places) / r->columns *
                        ceil((double)c->out / r->rows);
        set_shape(s, r, depth);
        if (blocks >= 2 * t->sms && padded < least && is_legal(f, t, s, &why))
            best = r, least = padded;
    }
    if (best)
        set_shape(s, best, depth);
    else
        mma_defaults(&conv_mma, f, t, s);
}

// ---- operands

struct build {
    const struct conv_form *f;
    const struct conv_sizes *own;
    const struct conv_class *class;
    const struct loop_expr *group;
    int first_group;  // of the space: of the window's axes
};

// Place of a column in its image, along every axis of the window.
static void split_places(const struct mma_build *x, const struct build *c,
                         const struct loop_expr *column, const struct loop_expr **image,
                         const struct loop_expr **at) {
    const struct loop_expr *flat = rest(x, column, c->class->places);
    *image = quotient(x, column, c->class->places);
    for (int i = c->f->n_axes - 1; i >= 0; i--) {
        at[i] = i == 0 ? flat : rest(x, flat, c->class->axis[i].out);
        flat = quotient(x, flat, c->class->axis[i].out);
    }
}

// What the padded image has between two neighbours along an axis.
static int64_t stride_of(const struct build *c, int axis) {
    int64_t n = c->f->groups * c->own->channels;
    assert(c->f->n_axes <= SPATIAL_MAX);
    for (int i = axis + 1; i < c->f->n_axes; i++)
        n *= c->f->padded[i];
    return n;
}

// What is added to a column's place along K. Taps of the last axis that are neighbours are one run
// together with their channels.
static const struct loop_expr *tap_offset(const struct mma_build *x, const struct build *c,
                                          const struct loop_expr *slice,
                                          const struct loop_expr *inside) {
    int n_axes = c->f->n_axes, depth = x->z.depth;
    const struct conv_axis *axis = c->class->axis;
    int64_t run = c->own->channels;
    if (c->f->groups == 1 && axis[n_axes - 1].in_tap == 1)
        run *= axis[--n_axes].taps;
    const struct loop_expr *tap, *offset;
    if (run % depth == 0) {
        tap = quotient(x, slice, run / depth);
        offset = add(x, times(x, rest(x, slice, run / depth), depth), inside);
    } else {
        const struct loop_expr *k = add(x, times(x, slice, depth), inside);
        tap = quotient(x, k, run);
        offset = rest(x, k, run);
    }
    for (int i = n_axes - 1; i >= 0; i--) {
        const struct loop_expr *m = i == 0 ? tap : rest(x, tap, axis[i].taps);
        offset = add(x, offset, times(x, m, axis[i].in_tap * stride_of(c, i)));
        tap = quotient(x, tap, axis[i].taps);
    }
    return offset;
}

static const struct loop_expr *weight_at(const struct mma_build *x, const struct build *c,
                                         const struct loop_expr *row, const struct loop_expr *k) {
    return add(x, times(x, add(x, times(x, c->group, x->z.m), row), x->z.k), k);
}

static const struct loop_expr *image_at(const struct mma_build *x, const struct build *c,
                                        const struct loop_expr *column,
                                        const struct loop_expr *slice,
                                        const struct loop_expr *inside) {
    const struct loop_expr *image, *at[SPATIAL_MAX];
    split_places(x, c, column, &image, at);
    const struct loop_expr *k = add(x, times(x, slice, x->z.depth), inside);
    if (c->own->is_direct) {
        k = add(x, times(x, add(x, times(x, image, c->f->groups), c->group), x->z.k), k);
        return add(x, times(x, k, c->class->places), rest(x, column, c->class->places));
    }
    const struct loop_expr *place = times(x, image, conv_positions(c->f) * stride_of(c, 2));
    for (int i = 0; i < c->f->n_axes; i++) {
        const struct conv_axis *axis = &c->class->axis[i];
        const struct loop_expr *first =
            add(x, times(x, at[i], axis->in_step), num(x, axis->in_first));
        place = add(x, place, times(x, first, stride_of(c, i)));
    }
    place = add(x, place, times(x, c->group, c->own->channels));
    return add(x, place, tap_offset(x, c, slice, inside));
}

static const struct loop_expr *source(const struct mma_build *x, const struct mma_tile *t,
                                      struct loop_builder *b, const struct mma_at *at) {
    const struct build *c = x->ctx;
    (void)b;
    if (t->is_lhs)
        return weight_at(x, c, at->stay, add(x, times(x, at->slice, x->z.depth), at->inside));
    return image_at(x, c, at->stay, at->slice, at->inside);
}

static void find_term(const struct mma_build *x, struct loop_builder *b,
                      const struct loop_expr *row, const struct loop_expr *column,
                      const struct loop_expr *k, const struct loop_expr *factor[2]) {
    const struct build *c = x->ctx;
    const struct loop_expr *at =
        image_at(x, c, column, quotient(x, k, x->z.depth), rest(x, k, x->z.depth));
    factor[0] = loop_let(b, "left", loop_load(x->a, x->lhs.from, weight_at(x, c, row, k), 1, 1));
    factor[1] = loop_let(b, "right", loop_load(x->a, x->rhs.from, at, 1, 1));
}

static void place_result(const struct mma_build *x, struct scope *s, const struct loop_expr *row,
                         const struct loop_expr *column, int lanes) {
    const struct build *c = x->ctx;
    const struct loop_expr *image, *at[SPATIAL_MAX];
    const struct space *space = &x->l->space;
    split_places(x, c, column, &image, at);
    s->index[space->group[0]] = image;
    s->index[space->group[1]] = add(x, times(x, c->group, x->z.m), row);
    if (!c->f->is_strided)
        scope_split(s, rest(x, column, c->class->places), c->first_group, space->n_groups);
    for (int i = 0; i < c->f->n_axes && c->f->is_strided; i++) {
        const struct conv_axis *axis = &c->class->axis[i];
        s->index[space->group[2 + i]] =
            add(x, times(x, at[i], axis->out_step), num(x, axis->out_first));
    }
    s->lane_group = lanes > 1 ? space->n_groups - 1 : s->lane_group;
    s->lanes = lanes;
}

// ---- the kernels

static void lower_class(struct lowering *l, const struct form *f, const struct kernel_stage *stage,
                        const struct build *c, struct loop_buffer *operand[2]) {
    static const struct mma_operands operands = {source, find_term, place_result};
    struct mma_build x = {.l = l, .a = l->arena, .operands = &operands, .anchor = f->anchor};
    struct build own = *c;
    x.ctx = &own;
    x.z = class_sizes(f, c->class, stage);
    own.first_group = conv_build_space(l, c->f);
    x.at = map_identity(form_node(f, f->anchor)->shape.rank);
    x.pair = !c->f->is_strided && space_lanes(&l->space, l->space.n_groups - 1) % 2 == 0 ? 2 : 1;
    x.lhs.extent = num(&x, x.z.m);
    x.rhs.extent = num(&x, x.z.n);
    x.extent_k = num(&x, x.z.k);
    const struct loop_expr *tiles = mma_tiles(&x);
    struct loop_builder b;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(x.a, "%s_conv", stage->values[0]),
                                          times(&x, tiles, c->f->groups), x.z.threads, &b);
    k.kernel->min_blocks = stage_number(stage, "minblocks", 0);
    mma_make_buffers(&x, operand[0], operand[1]);
    struct scope top = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    x.outer = &top;
    own.group = loop_let(&b, "group", loop_binary(x.a, LOOP_DIV, k.block, tiles));
    mma_build_tile(&x, &b, &k, loop_binary(x.a, LOOP_MOD, k.block, tiles));
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct conv_sizes own = conv_read_sizes(f);
    struct build c = {.f = f->conv, .own = &own};
    struct loop_buffer *operand[2] = {l->buffer[f->conv->w], l->buffer[f->conv->x]};
    if (!own.is_direct)
        operand[1] = conv_copy_image(l, f->conv, &own, stage->values[0]);
    for (int i = 0; i < f->conv->n_classes; i++) {
        c.class = &f->conv->classes[i];
        if (!own.is_direct)
            operand[0] = conv_copy_weights(l, f->conv, &own, c.class, stage->values[0]);
        lower_class(l, f, stage, &c, operand);
    }
}

const struct emitter conv_mma = {
    .name = "mma",
    .summary = "a convolution on tensor cores",
    .knobs = mma_knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
