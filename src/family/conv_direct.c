// conv of groups with few channels, as in depthwise convolutions, on any GPU: bound by memory, so
// that nothing is copied before and every element of the image is read by few threads.
//
// Threads of a block lie along the last axis, so neighbours read neighbours. A thread has `items`
// results of one channel, one below the other along the axis before it: it goes through the rows
// that their windows cover, reads a row's part once for every tap along the last axis, and adds it
// to each result whose window has that row. All of it is written out without loops, and conditions
// (padding) are there only where they can fail.
#include <math.h>

#include "base/arena.h"
#include "family/access.h"
#include "family/conv_form.h"
#include "family/gpu.h"
#include "family/knobs.h"

static const int threads_grid[] = {32, 64, 128, 256, 512, -1};
static const int lines_grid[] = {1, 2, 4, 8, -1};
static const int items_grid[] = {1, 2, 4, 8, 16, -1};

static const struct knob knobs[] = {
    KNOB_THREADS_ALONG(threads_grid),
    KNOB_LINES(lines_grid),
    {.name = "items", .summary = "results of a thread", .n_parts = 1, .grid = {items_grid}},
    {0},
};

// Terms of a result, and loads of a thread: all are written out.
enum { TERMS_MAX = 64, LOADS_MAX = 256, ITEMS_MAX = 16 };

struct choice {
    int threads, lines, items;
};

static struct choice read_choice(const struct kernel_stage *s) {
    return (struct choice){stage_number(s, "threads", 0), stage_number(s, "lines", 0),
                           stage_number(s, "items", 0)};
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct conv_form *c = f->conv;
    const struct node *n = &f->region->graph->nodes[c->anchor];
    int64_t terms = c->in * c->classes[0].taps;
    if (c->transposed || terms > TERMS_MAX)
        return objection(why, NULL,
                         "direct writes out all terms of a result, at most %d, and %s has %lld%s; "
                         "take mma or nest",
                         TERMS_MAX, n->name, (long long)terms,
                         c->transposed ? " and is transposed" : "");
    enum dtype a = f->region->graph->nodes[c->x].dtype, b = f->region->graph->nodes[c->w].dtype;
    if (loop_arithmetic(a) != LOOP_F32 || loop_arithmetic(b) != LOOP_F32)
        return objection(why, NULL,
                         "direct adds up in f32, and operands of %s are %s and %s; take "
                         "nest",
                         n->name, dtype_name(a), dtype_name(b));
    return true;
}

// ---- how results are shared out

// Results along the axis before the last one; 1: windows have one axis.
static int64_t down(const struct conv_form *c) {
    return c->n_axes > 1 ? c->classes[0].axis[c->n_axes - 2].out : 1;
}

static int64_t across(const struct conv_form *c) {
    return c->classes[0].axis[c->n_axes - 1].out;
}

static int64_t groups_down(const struct conv_form *c, const struct choice *k) {
    return (down(c) + k->items - 1) / k->items;
}

static int64_t spans(const struct conv_form *c, const struct choice *k) {
    return (across(c) + k->threads - 1) / k->threads;
}

static int64_t lines_of(const struct conv_form *c, const struct choice *k) {
    int64_t planes = c->batch * c->groups * c->out;
    for (int i = 0; i + 2 < c->n_axes; i++)
        planes *= c->classes[0].axis[i].out;
    return planes * groups_down(c, k);
}

static int64_t blocks_of(const struct conv_form *c, const struct choice *k) {
    return (lines_of(c, k) + k->lines - 1) / k->lines * spans(c, k);
}

// As which tap row number `row` of what the thread reads belongs to the window of `item`; -1: none.
static int64_t tap_of(const struct conv_axis *x, int item, int64_t row) {
    int64_t at = row - item * x->in_step;
    return at >= 0 && at % x->in_tap == 0 && at / x->in_tap < x->taps ? at / x->in_tap : -1;
}

static int64_t n_rows(const struct conv_form *c, int items) {
    if (c->n_axes == 1)
        return 1;
    const struct conv_axis *x = &c->classes[0].axis[c->n_axes - 2];
    return (items - 1) * x->in_step + (x->taps - 1) * x->in_tap + 1;
}

static bool is_row_used(const struct conv_form *c, int items, int64_t row) {
    for (int i = 0; i < items && c->n_axes > 1; i++)
        if (tap_of(&c->classes[0].axis[c->n_axes - 2], i, row) >= 0)
            return true;
    return c->n_axes == 1;
}

// Loads of a thread.
static int64_t n_loads(const struct conv_form *c, int items) {
    const struct conv_class *k = &c->classes[0];
    int64_t rows = 0, per_row = c->in * k->axis[c->n_axes - 1].taps;
    for (int64_t row = 0; row < n_rows(c, items); row++)
        rows += is_row_used(c, items, row);
    for (int i = 0; i + 2 < c->n_axes; i++)
        per_row *= k->axis[i].taps;
    return rows * per_row;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    (void)t;
    const struct conv_form *c = f->conv;
    struct choice k = read_choice(s);
    if (k.threads * k.lines > GPU_BLOCK_MAX)
        return objection(why, "lines",
                         "%d lines of %d threads are %d threads a block, above %d: the nearest is "
                         "lines %d",
                         k.lines, k.threads, k.threads * k.lines, GPU_BLOCK_MAX,
                         GPU_BLOCK_MAX / k.threads);
    if (k.items > 1 && (c->n_axes == 1 || n_loads(c, k.items) > LOADS_MAX))
        return objection(why, "items", "%lld loads of a thread, above %d: the nearest is items %d",
                         (long long)n_loads(c, k.items), LOADS_MAX, k.items / 2);
    return gpu_legal_grid("threads", blocks_of(c, &k), why);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    struct choice k = {.threads = gpu_threads_along(across(c), 32, 256), .lines = 1, .items = 16};
    if (c->n_axes == 1)
        k.items = 1;
    while (k.items > 1 && (n_loads(c, k.items) > LOADS_MAX / 2 || k.items / 2 >= down(c) ||
                           blocks_of(c, &k) * k.threads < 1024LL * t->sms))
        k.items /= 2;
    k.lines = k.threads < 256 ? 256 / k.threads : 1;
    stage_set(s, "threads", 0, k.threads);
    stage_set(s, "lines", 0, k.lines);
    stage_set(s, "items", 0, k.items);
}

// Instructions, or memory, whichever takes longer.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct conv_form *c = f->conv;
    struct choice k = read_choice(s);
    struct region_work w;
    region_count(f->region, &w);
    double threads = (double)blocks_of(c, &k) * k.threads * k.lines;
    double terms = (double)c->in * (double)c->classes[0].taps * k.items;
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.7e9;
    double issue = threads * (terms + 6.0 * (double)n_loads(c, k.items) + 40) / (100.0 * t->sms);
    struct gpu_traffic traffic = {w.bytes_read + w.bytes_written, (double)blocks_of(c, &k),
                                  k.threads * k.lines, 8.0 * k.items};
    return fmax(issue / clock, gpu_estimate_traffic(t, &traffic)) + 3e-6;
}

// ---- the kernel

struct build {
    struct lowering *l;
    const struct form *form;
    const struct conv_form *f;
    struct choice c;
    const struct loop_expr *sum[ITEMS_MAX];
};

static const struct loop_expr *num(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op(const struct build *x, enum loop_op op, const struct loop_expr *p,
                                  int64_t q) {
    return loop_binary(x->l->arena, op, p, num(x, q));
}

// Which channel of the group, tap of the leading axes and of the last one, and row of the thread's.
struct term {
    int64_t channel, lead, tap, row;
};

// Tap of a leading axis, of which all but the last two are counted together.
static int64_t lead_tap(const struct build *x, int64_t lead, int axis) {
    for (int i = x->f->n_axes - 3; i > axis; i--)
        lead /= x->f->classes[0].axis[i].taps;
    return lead % x->f->classes[0].axis[axis].taps;
}

static const struct index *group_channel(const struct build *x, int64_t channel) {
    struct arena *a = x->l->region->arena;
    const struct index *out = index_axis(a, 1, x->f->groups * x->f->out);
    return index_shift(a, index_scale(a, index_quotient(a, out, x->f->out), x->f->in), channel);
}

// An element of the image, or 0 outside; the scope is at the first result of the thread.
static const struct loop_expr *image_value(const struct build *x, struct scope *s,
                                           const struct term *t) {
    struct arena *a = x->l->region->arena;
    const struct conv_form *f = x->f;
    const struct node *n = &x->l->region->graph->nodes[f->x];
    struct axis_map map = map_identity(0);
    struct guard guard[RANK_MAX];
    int n_guards = 0;
    map_set(&map, &n->shape, 0, index_axis(a, 0, f->batch));
    map_set(&map, &n->shape, 1, group_channel(x, t->channel));
    for (int i = 0; i < f->n_axes; i++) {
        const struct conv_axis *axis = &f->classes[0].axis[i];
        int64_t tap = i == f->n_axes - 1   ? t->tap * axis->in_tap
                      : i == f->n_axes - 2 ? t->row
                                           : lead_tap(x, t->lead, i) * axis->in_tap;
        const struct index *at = index_scale(a, index_axis(a, 2 + i, axis->out), axis->in_step);
        at = index_shift(a, at, axis->in_first - f->low[i] + tap);
        access_guard(guard, &n_guards, at, 0, f->size[i] - 1);
        map_set(&map, &n->shape, 2 + i, index_within(a, at, 0, f->size[i] - 1));
    }
    return point_padded(s, f->x, &map, guard, n_guards);
}

static const struct loop_expr *weight(const struct build *x, struct scope *s, const struct term *t,
                                      int64_t tap_down) {
    struct arena *a = x->l->region->arena;
    const struct shape *shape = &x->l->region->graph->nodes[x->f->w].shape;
    struct axis_map map = map_identity(0);
    map_set(&map, shape, 0, index_axis(a, 1, x->f->groups * x->f->out));
    map_set(&map, shape, 1, index_number(a, t->channel));
    for (int i = 0; i < x->f->n_axes; i++)
        map_set(&map, shape, 2 + i,
                index_number(a, i == x->f->n_axes - 1   ? t->tap
                                : i == x->f->n_axes - 2 ? tap_down
                                                        : lead_tap(x, t->lead, i)));
    return point_value(s, x->f->w, &map);
}

// One element of the image goes to every result whose window has it.
static void add_term(struct build *x, struct scope *s, const struct term *t) {
    struct arena *a = x->l->arena;
    const struct loop_expr *v = loop_let(s->builder, "v", image_value(x, s, t));
    for (int item = 0; item < x->c.items; item++) {
        int64_t tap = 0;
        if (x->f->n_axes > 1)
            tap = tap_of(&x->f->classes[0].axis[x->f->n_axes - 2], item, t->row);
        if (tap < 0)
            continue;
        const struct loop_expr *w = weight(x, s, t, tap), *sum = x->sum[item];
        x->sum[item] =
            loop_let(s->builder, "sum",
                     sum ? loop_ternary(a, LOOP_FMA, v, w, sum) : loop_binary(a, LOOP_MUL, v, w));
    }
}

static void add_terms(struct build *x, struct scope *s) {
    const struct conv_class *c = &x->f->classes[0];
    struct term t;
    int64_t leads = 1;
    for (int i = 0; i + 2 < x->f->n_axes; i++)
        leads *= c->axis[i].taps;
    for (t.channel = 0; t.channel < x->f->in; t.channel++)
        for (t.lead = 0; t.lead < leads; t.lead++)
            for (t.row = 0; t.row < n_rows(x->f, x->c.items); t.row++)
                for (t.tap = 0; t.tap < c->axis[x->f->n_axes - 1].taps; t.tap++)
                    if (is_row_used(x->f, x->c.items, t.row))
                        add_term(x, s, &t);
}

// `outer` does not fix the row: what it fixes is the same for all results of a thread.
static void store_item(struct build *x, struct scope *outer, const struct loop_expr *first,
                       int item) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[x->f->anchor].shape.rank);
    struct loop_builder guard;
    int row = x->l->space.group[x->f->n_axes];
    const struct loop_expr *at = num(x, 0);
    if (x->f->n_axes > 1)
        at = op(x, LOOP_ADD, first, item);
    loop_open_if(outer->builder, at, num(x, down(x->f)), &guard);
    struct scope s = scope_inside(outer, &guard);
    if (x->f->n_axes > 1)
        s.index[row] = at;
    point_define(&s, x->f->anchor, &map,
                 loop_let(&guard, r->graph->nodes[x->f->anchor].name, x->sum[item]));
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(outer->builder, &guard);
}

// The space of results: every axis by itself.
static void build_space(struct lowering *l, const struct conv_form *f) {
    const struct shape *shape = &l->region->graph->nodes[f->anchor].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_finish(l->arena, &l->space);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .form = f, .f = f->conv, .c = read_choice(stage)};
    build_space(l, x.f);
    struct loop_builder b, some, inside;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(l->arena, "%s_conv", stage->values[0]),
                        num(&x, blocks_of(x.f, &x.c)), x.c.threads * x.c.lines, &b);
    int64_t n_spans = spans(x.f, &x.c);
    const struct loop_expr *line = loop_binary(
        l->arena, LOOP_ADD, op(&x, LOOP_MUL, op(&x, LOOP_DIV, k.block, n_spans), x.c.lines),
        op(&x, LOOP_DIV, k.thread, x.c.threads));
    const struct loop_expr *column =
        loop_let(&b, "column",
                 loop_binary(l->arena, LOOP_ADD,
                             op(&x, LOOP_MUL, op(&x, LOOP_MOD, k.block, n_spans), x.c.threads),
                             op(&x, LOOP_MOD, k.thread, x.c.threads)));
    line = loop_let(&b, "line", line);
    loop_open_if(&b, line, num(&x, lines_of(x.f, &x.c)), &some);
    loop_open_if(&some, column, num(&x, across(x.f)), &inside);
    struct scope s = {.lowering = l, .builder = &inside, .lane_group = -1, .lanes = 1};
    int last = 1 + x.f->n_axes;
    s.index[last] = column;
    const struct loop_expr *rest = line;
    for (int i = last - 1; i >= 0; i--) {
        int64_t size =
            i == last - 1 && x.f->n_axes > 1 ? groups_down(x.f, &x.c) : l->space.count[i];
        const struct loop_expr *at = i == 0 ? rest : op(&x, LOOP_MOD, rest, size);
        rest = op(&x, LOOP_DIV, rest, size);
        if (i == last - 1 && x.f->n_axes > 1)
            at = op(&x, LOOP_MUL, at, x.c.items);
        s.index[i] = loop_let(&inside, "i", at);
    }
    struct scope first = s;
    if (x.f->n_axes > 1)
        s.index[last - 1] = NULL;
    add_terms(&x, &first);
    for (int i = 0; i < x.c.items; i++)
        store_item(&x, &s, first.index[last - 1], i);
    loop_close(&some, &inside);
    loop_close(&b, &some);
}

const struct emitter conv_direct = {
    .name = "direct",
    .summary = "a convolution of few channels, every term written out",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
