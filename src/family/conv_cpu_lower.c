// The kernels of conv's `cpu` emitter (conv_cpu.h): for each class of results one that copies
// weights, and one that multiplies.
#include "family/conv_cpu.h"

#include "base/arena.h"
#include "family/access.h"
#include "family/sweep.h"

struct build {
    struct lowering *l;
    struct arena *a;
    const struct conv_form *f;
    const struct conv_class *class;
    struct conv_cpu_sizes z;
    struct loop_buffer *weights;       // [groups, panels, channels, taps, wide]
    struct loop_buffer *image, *tile;  // local: [depth, leads, rows, pitch], see tile_at
    struct loop_buffer *sum, *vector;  // registers
    // Of a block: where it begins, and how much of it is there.
    const struct loop_expr *batch, *group, *panel0, *panels, *plane, *row0, *rows, *column0;
    const struct loop_expr *channel0, *channels;  // of the image, in a turn
};

static const struct loop_expr *num(const struct build *x, int64_t v) {
    return loop_int(x->a, v);
}

static const struct loop_expr *add(const struct build *x, const struct loop_expr *p,
                                   const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_ADD, p, q);
}

static const struct loop_expr *op(const struct build *x, enum loop_op op, const struct loop_expr *p,
                                  int64_t q) {
    return loop_binary(x->a, op, p, num(x, q));
}

static const struct loop_expr *times(const struct build *x, const struct loop_expr *p, int64_t q) {
    return op(x, LOOP_MUL, p, q);
}

// A loop from 0 to `end`.
static const struct loop_expr *open_loop(struct loop_builder *b, const char *name,
                                         const struct loop_expr *end, int64_t step, bool unroll,
                                         struct loop_builder *inner) {
    struct loop_for f = {name, loop_int(b->program->arena, 0), end, step, unroll};
    return loop_open_for(b, &f, inner);
}

// The class' own axis, or one of a single element where the window has none.
static struct conv_axis axis_of(const struct build *x, int axis) {
    return axis >= 0 ? x->class->axis[axis]
                     : (struct conv_axis){.out = 1, .out_step = 1, .taps = 1, .in_tap = 1};
}

static struct conv_axis columns_of(const struct build *x) {
    return axis_of(x, conv_cpu_column_axis(x->f));
}

static struct conv_axis rows_of(const struct build *x) {
    return axis_of(x, conv_cpu_row_axis(x->f));
}

static struct conv_axis planes_of(const struct build *x) {
    return axis_of(x, conv_cpu_plane_axis(x->f));
}

// ---- weights

static const struct loop_expr *weight_value(const struct build *x, struct scope *s) {
    struct arena *a = x->l->region->arena;
    const struct conv_form *f = x->f;
    const struct shape *shape = &x->l->region->graph->nodes[f->w].shape;
    struct axis_map map = map_identity(0);
    const struct index *group = index_axis(a, 0, f->groups), *out = index_axis(a, 1, f->out);
    const struct index *channel = index_axis(a, 2 + f->n_axes, f->in);
    map_set(&map, shape, f->transposed ? 1 : 0,
            f->transposed ? out : index_add(a, index_scale(a, group, f->out), out));
    map_set(&map, shape, f->transposed ? 0 : 1,
            f->transposed ? index_add(a, index_scale(a, group, f->in), channel) : channel);
    for (int i = 0; i < f->n_axes; i++) {
        const struct conv_axis *k = &x->class->axis[i];
        const struct index *tap = index_scale(a, index_axis(a, 2 + i, k->taps), k->tap_step);
        map_set(&map, shape, 2 + i, index_shift(a, tap, k->tap_first));
    }
    return point_value(s, f->w, &map);
}

// One panel's weights of one channel of the image, by one block.
static void copy_weights(struct build *x, const char *name) {
    const struct conv_form *f = x->f;
    int64_t taps = x->class->taps, wide = x->z.wide;
    int64_t size[RANK_MAX + 1] = {f->groups, f->out};
    for (int i = 0; i < f->n_axes; i++)
        size[2 + i] = x->class->axis[i].taps;
    size[2 + f->n_axes] = f->in;
    space_of_sizes(x->a, &x->l->space, size, 3 + f->n_axes);
    struct loop_size shape[] = {{f->groups * x->z.panels_all, NULL}, {f->in * taps * wide, NULL}};
    x->weights = loop_global_of(x->l->program, arena_printf(x->a, "%s_weights", name), LOOP_SCRATCH,
                                DTYPE_F32, shape, 2);
    struct loop_builder b, by_lane, there, by_tap;
    struct loop_kernel *k =
        loop_kernel_new(x->l->program, arena_printf(x->a, "%s_copy_weights", name),
                        num(x, f->groups * x->z.panels_all * f->in), &b);
    const struct loop_expr *block = loop_ref(x->a, k->block);
    const struct loop_expr *panel = op(x, LOOP_DIV, block, f->in);
    const struct loop_expr *base = times(x, block, taps * wide);
    if (f->out % wide != 0) {
        struct loop_builder zeros;
        int lanes = wide % x->z.lanes == 0 ? x->z.lanes : 1;
        const struct loop_expr *i = open_loop(&b, "i", num(x, taps * wide), lanes, false, &zeros);
        loop_store(&zeros, x->weights, add(x, base, i),
                   loop_broadcast(x->a, loop_real(x->a, 0), lanes), false);
        loop_close(&b, &zeros);
    }
    const struct loop_expr *lane = open_loop(&b, "lane", num(x, wide), 1, false, &by_lane);
    const struct loop_expr *out = times(x, op(x, LOOP_MOD, panel, x->z.panels_all), wide);
    out = loop_let(&by_lane, "out", add(x, out, lane));
    loop_open_if(&by_lane, out, num(x, f->out), &there);
    const struct loop_expr *tap = open_loop(&there, "tap", num(x, taps), 1, false, &by_tap);
    struct scope s = {.lowering = x->l, .builder = &by_tap, .lane_group = -1, .lanes = 1};
    s.index[0] = op(x, LOOP_DIV, panel, x->z.panels_all);
    s.index[1] = out;
    s.index[2 + f->n_axes] = op(x, LOOP_MOD, block, f->in);
    scope_split(&s, tap, 2, 2 + f->n_axes);
    loop_store(&by_tap, x->weights, add(x, base, add(x, times(x, tap, wide), lane)),
               weight_value(x, &s), false);
    loop_close(&there, &by_tap);
    loop_close(&by_lane, &there);
    loop_close(&b, &by_lane);
}

// ---- the image

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return true;
}

// The space of the image's own elements; whether a row of them is read in vectors.
static bool build_image_space(struct build *x) {
    struct lowering *l = x->l;
    const struct shape *shape = &l->region->graph->nodes[x->f->x].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    struct axis_map map = map_identity(shape->rank);
    struct point_visit visit = {l->region, -1, cut_access, l};
    point_visit(&visit, x->f->x, &map);
    space_finish(x->a, &l->space);
    return space_lanes(&l->space, shape->rank - 1) != 1;
}

// Where position `from` of what a window's axis covers lies in the image, which begins `low`
// further on than its padding.
static const struct loop_expr *image_place(const struct build *x, int axis,
                                           const struct loop_expr *from) {
    return op(x, LOOP_SUB, from, x->f->low[axis]);
}

// Only inside 0 <= place < size.
static void open_inside(struct loop_builder *b, const struct loop_expr *place, int64_t size,
                        struct loop_builder inner[2]) {
    struct arena *a = b->program->arena;
    loop_open_if(b, loop_int(a, -1), place, &inner[0]);
    loop_open_if(&inner[0], place, loop_int(a, size), &inner[1]);
}

struct row_copy {
    struct build *x;
    const struct sweep *sweep;
    const struct loop_expr *to;  // where the row begins in the local array
};

static void copy_elements(void *ctx, struct scope *s, const struct loop_expr *copy) {
    const struct row_copy *r = ctx;
    const struct build *x = r->x;
    (void)copy;
    struct axis_map map = map_identity(x->l->region->graph->nodes[x->f->x].shape.rank);
    const struct loop_expr *v = point_value(s, x->f->x, &map);
    if (v->lanes != s->lanes)
        v = loop_broadcast(x->a, v, s->lanes);
    loop_store(s->builder, x->image, add(x, r->to, sweep_position(r->sweep, s)), v, false);
}

// The part of a row that lies in the image.
static void copy_row(struct build *x, struct scope *s, const struct loop_expr *to, bool vectors) {
    const struct conv_axis c = columns_of(x);
    int axis = conv_cpu_column_axis(x->f);
    const struct loop_expr *first =
        image_place(x, axis, op(x, LOOP_ADD, times(x, x->column0, c.in_step), c.in_first));
    const struct loop_expr *zero = num(x, 0);
    struct sweep w = {.name = "j", .group = 2 + axis, .multiple = 1, .unroll = 1};
    w.begin = loop_binary(x->a, LOOP_MAX, zero, loop_binary(x->a, LOOP_SUB, zero, first));
    w.end = loop_binary(x->a, LOOP_MIN, num(x, x->z.image_columns),
                        loop_binary(x->a, LOOP_SUB, num(x, x->f->size[axis]), first));
    w.offset = first;
    w.lanes = vectors ? x->z.lanes : 1;
    struct row_copy r = {x, &w, to};
    sweep_build(s, &w, copy_elements, &r);
}

// Zeros, and over them what lies in the image of the row that a plane's and a row's tap reach.
static void copy_line(struct build *x, struct loop_builder *b, const struct loop_expr *channel,
                      const struct loop_expr *lead, const struct loop_expr *row, bool vectors) {
    const struct conv_form *f = x->f;
    const struct conv_axis p = planes_of(x), r = rows_of(x);
    int plane_axis = conv_cpu_plane_axis(f), row_axis = conv_cpu_row_axis(f);
    const struct loop_expr *to = add(x, times(x, channel, x->z.leads), lead);
    to = add(x, times(x, to, x->z.image_rows), row);
    to = loop_let(b, "to", times(x, to, x->z.pitch));
    struct loop_builder zeros, planes[2], rows[2], *at = b;
    const struct loop_expr *i = open_loop(b, "i", num(x, x->z.pitch), x->z.lanes, false, &zeros);
    loop_store(&zeros, x->image, add(x, to, i),
               loop_broadcast(x->a, loop_real(x->a, 0), x->z.lanes), false);
    loop_close(b, &zeros);
    struct scope s = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    s.index[0] = x->batch;
    s.index[1] = add(x, times(x, x->group, f->in), add(x, x->channel0, channel));
    if (plane_axis >= 0) {
        const struct loop_expr *from = add(x, times(x, x->plane, p.in_step), num(x, p.in_first));
        from = add(x, from, times(x, lead, p.in_tap));
        s.index[2 + plane_axis] = loop_let(at, "z", image_place(x, plane_axis, from));
        open_inside(at, s.index[2 + plane_axis], f->size[plane_axis], planes);
        at = &planes[1];
    }
    if (row_axis >= 0) {
        const struct loop_expr *from = add(x, times(x, x->row0, r.in_step), num(x, r.in_first));
        s.index[2 + row_axis] = loop_let(at, "y", image_place(x, row_axis, add(x, from, row)));
        open_inside(at, s.index[2 + row_axis], f->size[row_axis], rows);
        at = &rows[1];
    }
    s.builder = at;
    copy_row(x, &s, to, vectors);
    if (row_axis >= 0) {
        loop_close(&rows[0], &rows[1]);
        loop_close(plane_axis >= 0 ? &planes[1] : b, &rows[0]);
    }
    if (plane_axis >= 0) {
        loop_close(&planes[0], &planes[1]);
        loop_close(b, &planes[0]);
    }
}

static void copy_image(struct build *x, struct loop_builder *b, bool vectors) {
    struct loop_builder by_channel, by_lead, by_row;
    const struct loop_expr *channel = open_loop(b, "c", x->channels, 1, false, &by_channel);
    const struct loop_expr *lead =
        open_loop(&by_channel, "lead", num(x, x->z.leads), 1, false, &by_lead);
    const struct loop_expr *row =
        open_loop(&by_lead, "r", num(x, x->z.image_rows), 1, false, &by_row);
    copy_line(x, &by_row, channel, lead, row, vectors);
    loop_close(&by_lead, &by_row);
    loop_close(&by_channel, &by_lead);
    loop_close(b, &by_channel);
}

// ---- products

// Where the micro-kernel stands: its panel, row of results and first column.
struct spot {
    const struct loop_expr *panel, *row, *column;
};

// Vector number `v` of what lies in lanes, and scalar number `i` of the other side; the sum of both
// is number i * n_vectors + v.
static const struct loop_expr *term_vector(const struct build *x, const struct loop_expr *weights,
                                           const struct loop_expr *image,
                                           const struct loop_expr *v) {
    int64_t step = columns_of(x).in_step;
    const struct loop_expr *lane = times(x, v, x->z.lanes);
    if (x->z.by_columns)
        return loop_load(x->a, x->image, add(x, image, times(x, lane, step)), x->z.lanes, step);
    return loop_load(x->a, x->weights, add(x, weights, lane), x->z.lanes, 1);
}

static const struct loop_expr *term_scalar(const struct build *x, const struct loop_expr *weights,
                                           const struct loop_expr *image,
                                           const struct loop_expr *i) {
    if (x->z.by_columns)
        return loop_load(x->a, x->weights, add(x, weights, i), 1, 1);
    return loop_load(x->a, x->image, add(x, image, times(x, i, columns_of(x).in_step)), 1, 1);
}

// One term of each sum.
static void add_term(const struct build *x, struct loop_builder *b, const struct loop_expr *weights,
                     const struct loop_expr *image) {
    const struct conv_cpu_sizes *z = &x->z;
    struct loop_builder by_vector, by_scalar, by_both;
    const struct loop_expr *v = open_loop(b, "v", num(x, z->n_vectors), 1, true, &by_vector);
    loop_store(&by_vector, x->vector, v, term_vector(x, weights, image, v), false);
    loop_close(b, &by_vector);
    const struct loop_expr *i =
        open_loop(b, "i", num(x, z->n_sums / z->n_vectors), 1, true, &by_scalar);
    const struct loop_expr *e = loop_let(&by_scalar, "e", term_scalar(x, weights, image, i));
    v = open_loop(&by_scalar, "v", num(x, z->n_vectors), 1, true, &by_both);
    const struct loop_expr *at = add(x, times(x, i, z->n_vectors), v);
    loop_store(&by_both, x->sum, at,
               loop_ternary(x->a, LOOP_FMA, e, loop_load(x->a, x->vector, v, z->lanes, 1),
                            loop_load(x->a, x->sum, at, z->lanes, 1)),
               false);
    loop_close(&by_scalar, &by_both);
    loop_close(b, &by_scalar);
}

static void add_terms(const struct build *x, struct loop_builder *b, const struct spot *at) {
    const struct conv_cpu_sizes *z = &x->z;
    const struct conv_axis r = rows_of(x), c = columns_of(x);
    struct loop_builder by_channel, by_lead, by_row, by_column;
    const struct loop_expr *panel = add(x, times(x, x->group, z->panels_all), x->panel0);
    panel = times(x, add(x, panel, at->panel), x->f->in);
    const struct loop_expr *channel = open_loop(b, "c", x->channels, 1, false, &by_channel);
    const struct loop_expr *weights = add(x, panel, add(x, x->channel0, channel));
    const struct loop_expr *lead =
        open_loop(&by_channel, "lead", num(x, z->leads), 1, false, &by_lead);
    const struct loop_expr *image = add(x, times(x, channel, z->leads), lead);
    const struct loop_expr *row = open_loop(&by_lead, "m", num(x, r.taps), 1, false, &by_row);
    const struct loop_expr *line = add(x, times(x, at->row, r.in_step), times(x, row, r.in_tap));
    image = times(x, add(x, times(x, image, z->image_rows), line), z->pitch);
    image = loop_let(&by_row, "line", add(x, image, times(x, at->column, c.in_step)));
    weights = add(x, times(x, weights, z->leads), lead);
    weights = add(x, times(x, weights, r.taps), row);
    weights = loop_let(&by_row, "first", times(x, weights, c.taps * z->wide));
    const struct loop_expr *tap = open_loop(&by_row, "n", num(x, c.taps), 1, false, &by_column);
    add_term(x, &by_column, add(x, weights, times(x, tap, z->wide)),
             add(x, image, times(x, tap, c.in_tap)));
    loop_close(&by_row, &by_column);
    loop_close(&by_lead, &by_row);
    loop_close(&by_channel, &by_lead);
    loop_close(b, &by_channel);
}

// The tile is [rows, columns, channels], or [channels, rows, columns] where lanes are columns.
static const struct loop_expr *tile_at(const struct build *x, const struct loop_expr *row,
                                       const struct loop_expr *column,
                                       const struct loop_expr *channel) {
    if (x->z.by_columns) {
        const struct loop_expr *line = add(x, times(x, channel, x->z.rows), row);
        return add(x, times(x, line, x->z.columns), column);
    }
    const struct loop_expr *result = add(x, times(x, row, x->z.columns), column);
    return add(x, times(x, result, x->z.panels * x->z.wide), channel);
}

// Where sum number i * n_vectors + v belongs in the tile.
static const struct loop_expr *sum_at(const struct build *x, const struct spot *at,
                                      const struct loop_expr *i, const struct loop_expr *v) {
    const struct loop_expr *panel = times(x, at->panel, x->z.wide);
    const struct loop_expr *lane = times(x, v, x->z.lanes);
    if (x->z.by_columns)
        return tile_at(x, at->row, add(x, at->column, lane), add(x, panel, i));
    return tile_at(x, at->row, add(x, at->column, i), add(x, panel, lane));
}

// Set the tile in the first turn, add to it in the others.
static void write_tile(const struct build *x, struct loop_builder *b, const struct spot *at) {
    const struct conv_cpu_sizes *z = &x->z;
    const struct loop_expr *zero = num(x, 0), *one = num(x, 1);
    for (int first = 1; first >= 0; first--) {
        struct loop_builder turn, by_scalar, by_vector;
        loop_open_if(b, first ? x->channel0 : zero, first ? one : x->channel0, &turn);
        const struct loop_expr *i =
            open_loop(&turn, "i", num(x, z->n_sums / z->n_vectors), 1, true, &by_scalar);
        const struct loop_expr *v =
            open_loop(&by_scalar, "v", num(x, z->n_vectors), 1, true, &by_vector);
        const struct loop_expr *to = sum_at(x, at, i, v);
        const struct loop_expr *e =
            loop_load(x->a, x->sum, add(x, times(x, i, z->n_vectors), v), z->lanes, 1);
        if (!first)
            e = loop_binary(x->a, LOOP_ADD, loop_load(x->a, x->tile, to, z->lanes, 1), e);
        loop_store(&by_vector, x->tile, to, e, false);
        loop_close(&by_scalar, &by_vector);
        loop_close(&turn, &by_scalar);
        loop_close(b, &turn);
    }
}

static void multiply(const struct build *x, struct loop_builder *b) {
    const struct conv_cpu_sizes *z = &x->z;
    struct loop_builder by_panel, by_row, by_column, clearing;
    struct spot at;
    at.panel = open_loop(b, "panel", x->panels, 1, false, &by_panel);
    at.row = open_loop(&by_panel, "row", x->rows, 1, false, &by_row);
    at.column = open_loop(&by_row, "column", num(x, z->columns), z->pixels, false, &by_column);
    const struct loop_expr *i =
        open_loop(&by_column, "i", num(x, x->sum->count), 1, true, &clearing);
    loop_store(&clearing, x->sum, i, loop_broadcast(x->a, loop_real(x->a, 0), z->lanes), false);
    loop_close(&by_column, &clearing);
    add_terms(x, &by_column, &at);
    write_tile(x, &by_column, &at);
    loop_close(&by_row, &by_column);
    loop_close(&by_panel, &by_row);
    loop_close(b, &by_panel);
}

// ---- results

// The space of results, every axis by itself; whether a row of them is stored in vectors.
static bool build_result_space(struct build *x) {
    struct lowering *l = x->l;
    const struct shape *shape = &l->region->graph->nodes[x->f->anchor].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    point_cut_epilogue(l, x->f->anchor);
    space_finish(x->a, &l->space);
    return columns_of(x).out_step == 1 && space_lanes(&l->space, shape->rank - 1) != 1;
}

struct epilogue {
    struct build *x;
    const struct sweep *sweep;
    const struct loop_expr *row, *channel;  // of the tile
};

static const struct loop_expr *result_place(const struct build *x, const struct conv_axis *c,
                                            const struct loop_expr *t) {
    return op(x, LOOP_ADD, times(x, t, c->out_step), c->out_first);
}

static void store_results(void *ctx, struct scope *s, const struct loop_expr *copy) {
    const struct epilogue *e = ctx;
    const struct build *x = e->x;
    const struct region *r = x->l->region;
    const struct node *n = &r->graph->nodes[x->f->anchor];
    const struct conv_axis c = columns_of(x);
    (void)copy;
    const struct loop_expr *at = tile_at(x, e->row, sweep_position(e->sweep, s), e->channel);
    s->index[e->sweep->group] = result_place(x, &c, s->index[e->sweep->group]);
    struct axis_map map = map_identity(n->shape.rank);
    point_define(s, x->f->anchor, &map,
                 loop_let(s->builder, n->name,
                          loop_load(x->a, x->tile, at, s->lanes,
                                    x->z.by_columns ? 1 : x->z.panels * x->z.wide)));
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

static void build_epilogue(struct build *x, struct loop_builder *b, bool vectors) {
    const struct conv_form *f = x->f;
    const struct conv_axis p = planes_of(x), r = rows_of(x), c = columns_of(x);
    int plane_axis = conv_cpu_plane_axis(f), row_axis = conv_cpu_row_axis(f);
    struct loop_builder by_channel, by_row;
    const struct loop_expr *begin = times(x, x->panel0, x->z.wide);
    const struct loop_expr *channels =
        loop_binary(x->a, LOOP_MIN, num(x, x->z.panels * x->z.wide),
                    loop_binary(x->a, LOOP_SUB, num(x, f->out), begin));
    const struct loop_expr *channel = open_loop(b, "o", channels, 1, false, &by_channel);
    const struct loop_expr *row = open_loop(&by_channel, "row", x->rows, 1, false, &by_row);
    struct scope outer = {.lowering = x->l, .builder = &by_channel, .lane_group = -1, .lanes = 1};
    outer.index[0] = x->batch;
    outer.index[1] = add(x, times(x, x->group, f->out), add(x, begin, channel));
    struct scope s = scope_inside(&outer, &by_row);
    if (plane_axis >= 0)
        s.index[2 + plane_axis] = result_place(x, &p, x->plane);
    if (row_axis >= 0)
        s.index[2 + row_axis] = result_place(x, &r, add(x, x->row0, row));
    struct sweep w = {.name = "j", .group = 2 + conv_cpu_column_axis(f), .begin = num(x, 0)};
    w.end = loop_binary(x->a, LOOP_MIN, num(x, x->z.columns),
                        loop_binary(x->a, LOOP_SUB, num(x, c.out), x->column0));
    w.offset = x->column0;
    w.multiple = sweep_multiple(c.out, x->z.columns);
    w.lanes = vectors ? x->z.lanes : 1;
    w.unroll = 1;
    struct epilogue e = {x, &w, row, channel};
    sweep_build(&s, &w, store_results, &e);
    loop_close(&by_channel, &by_row);
    loop_close(b, &by_channel);
}

// ---- the kernel

// Where block number `block` begins: neighbours share the image, then the weights.
static void place_block(struct build *x, struct loop_builder *b, const struct loop_expr *block) {
    const struct conv_cpu_sizes *z = &x->z;
    int64_t parts = (z->panels_all + z->panels - 1) / z->panels;
    struct {
        const char *name;
        int64_t count, each;
        const struct loop_expr **to;
    } axes[] = {
        {"panel0", parts, z->panels, &x->panel0},  {"column0", z->spans, z->columns, &x->column0},
        {"row0", z->row_tiles, z->rows, &x->row0}, {"plane", planes_of(x).out, 1, &x->plane},
        {"group", x->f->groups, 1, &x->group},     {"batch", x->f->batch, 1, &x->batch}};
    const struct loop_expr *rest = block;
    int n = (int)(sizeof axes / sizeof *axes);
    for (int i = 0; i < n; i++) {
        const struct loop_expr *at = i == n - 1 ? rest : op(x, LOOP_MOD, rest, axes[i].count);
        rest = op(x, LOOP_DIV, rest, axes[i].count);
        *axes[i].to = loop_let(b, axes[i].name, times(x, at, axes[i].each));
    }
    x->panels =
        loop_let(b, "panels",
                 loop_binary(x->a, LOOP_MIN, num(x, z->panels),
                             loop_binary(x->a, LOOP_SUB, num(x, z->panels_all), x->panel0)));
    x->rows = loop_let(b, "rows",
                       loop_binary(x->a, LOOP_MIN, num(x, z->rows),
                                   loop_binary(x->a, LOOP_SUB, num(x, rows_of(x).out), x->row0)));
}

static void make_buffers(struct build *x) {
    const struct conv_cpu_sizes *z = &x->z;
    struct loop_program *p = x->l->program;
    struct loop_size image[] = {{z->depth * z->leads, NULL}, {z->image_rows * z->pitch, NULL}};
    struct loop_size tile[] = {{z->rows * z->columns, NULL}, {z->panels * z->wide, NULL}};
    x->image = loop_local(p, "image", image, 2);
    x->tile = loop_local(p, "tile", tile, 2);
    x->sum = loop_register(p, "sum", z->n_sums, z->lanes);
    x->vector = loop_register(p, "vector", z->n_vectors, z->lanes);
}

static void build_class(struct build *x, const char *name) {
    const struct conv_cpu_sizes *z = &x->z;
    struct loop_builder b, turn;
    copy_weights(x, name);
    int64_t blocks = x->f->batch * x->f->groups * planes_of(x).out * z->row_tiles * z->spans *
                     ((z->panels_all + z->panels - 1) / z->panels);
    struct loop_kernel *k =
        loop_kernel_new(x->l->program, arena_printf(x->a, "%s_conv", name), num(x, blocks), &b);
    make_buffers(x);
    place_block(x, &b, loop_ref(x->a, k->block));
    struct loop_for f = {"c0", num(x, 0), num(x, x->f->in), z->depth, false};
    x->channel0 = loop_open_for(&b, &f, &turn);
    x->channels = loop_let(&turn, "channels",
                           loop_binary(x->a, LOOP_MIN, num(x, z->depth),
                                       loop_binary(x->a, LOOP_SUB, num(x, x->f->in), x->channel0)));
    copy_image(x, &turn, build_image_space(x));
    multiply(x, &turn);
    loop_close(&b, &turn);
    build_epilogue(x, &b, build_result_space(x));
}

void conv_cpu_lower(struct lowering *l, const struct form *form, const struct kernel_stage *s) {
    const struct conv_form *f = form->conv;
    for (int i = 0; i < f->n_classes; i++) {
        struct build x = {.l = l, .a = l->arena, .f = f, .class = &f->classes[i]};
        x.z = conv_cpu_sizes(f, x.class, s);
        build_class(&x, f->n_classes == 1 ? s->values[0]
                                          : arena_printf(l->arena, "%s_%d", s->values[0], i));
    }
}
