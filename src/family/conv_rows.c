// Operands of conv's `wgmma` emitter: the image as rows (conv_wgmma.h), weights in the same order
// of K, both as they are multiplied.
//
// A tensor core reads along K, and K's innermost part are channels, which lie furthest apart in an
// image of [batch, channels, ...]. So the image is transposed once, through shared memory: a block
// reads some elements of neighbouring rows, place by place, and writes them row by row. Borders
// become zeros here. What is computed by element before the convolution is computed here.
#include "base/arena.h"
#include "family/access.h"
#include "family/conv_wgmma.h"
#include "family/gpu.h"
#include "family/nest_walk.h"

enum { THREADS = 256, PART_ELEMENTS = 4096, PART_BYTES = 128 };

struct copy {
    struct lowering *l;
    struct arena *a;
    const struct conv_form *f;
    const struct conv_wgmma_sizes *z;
    const struct conv_class *class;
    struct loop_buffer *to[2];
    struct loop_buffer *own;  // an element of each thread, on its way to be words
    struct loop_buffer *word, *part[2];
};

static const struct loop_expr *num(const struct copy *c, int64_t value) {
    return loop_int(c->a, value);
}

static const struct loop_expr *op(const struct copy *c, enum loop_op op, const struct loop_expr *x,
                                  int64_t y) {
    return loop_binary(c->a, op, x, num(c, y));
}

static const struct loop_expr *add(const struct copy *c, const struct loop_expr *x,
                                   const struct loop_expr *y) {
    return loop_binary(c->a, LOOP_ADD, x, y);
}

static bool is_words(const struct copy *c) {
    return c->z->storage == DTYPE_I32;
}

// Where the copies go: one buffer, or two where f32 is split.
static void make_targets(struct copy *c, const char *name, int64_t rows, int64_t length) {
    static const char *const names[] = {"", "_low"};
    struct loop_size shape[] = {{rows, NULL}, {length, NULL}};
    for (int i = 0; i < c->z->parts; i++)
        c->to[i] = loop_global_of(c->l->program, arena_printf(c->a, "%s%s", name, names[i]),
                                  LOOP_SCRATCH, c->z->storage, shape, 2);
    if (is_words(c))
        c->word = loop_register_of(c->l->program, "word", 1, 1, LOOP_I32);
    if (c->z->parts > 1)
        for (int i = 0; i < 2; i++)
            c->part[i] =
                loop_register_of(c->l->program, i ? "low_word" : "high_word", 1, 1, LOOP_I32);
}

// Element `at` of the copies from element `from` of shared memory, as words of tf32.
static void store_words(const struct copy *c, struct loop_builder *b,
                        const struct loop_buffer *shared, const struct loop_expr *from,
                        const struct loop_expr *at) {
    const struct loop_expr *zero = num(c, 0);
    loop_intrinsic(b, INTRINSIC_WORD, (struct loop_operand[]){{c->word, zero}, {shared, from}});
    if (c->z->parts == 1) {
        loop_intrinsic(b, INTRINSIC_ROUND_TF32, (struct loop_operand[]){{c->word, zero}});
        loop_store(b, c->to[0], at, loop_load(c->a, c->word, zero, 1, 1), false);
        return;
    }
    loop_intrinsic(
        b, INTRINSIC_PART_TF32,
        (struct loop_operand[]){{c->part[0], zero}, {c->part[1], zero}, {c->word, zero}});
    for (int i = 0; i < 2; i++)
        loop_store(b, c->to[i], at, loop_load(c->a, c->part[i], zero, 1, 1), false);
}

// ---- the image: a space of batch, groups, places, elements of a row

// Places along an axis that are walked: all of them, or where taps lie in rows, those of windows.
static int64_t walked(const struct copy *c, int axis) {
    return c->z->grid[axis] * c->z->phases[axis];
}

// The tap along `axis` and the channel that an element of a row belongs to.
static const struct index *element_tap(const struct copy *c, const struct index *element,
                                       int axis) {
    struct arena *a = c->l->region->arena;
    int64_t inner = c->f->in;
    for (int i = axis + 1; i < c->f->n_axes; i++)
        inner *= c->class->axis[i].taps;
    return index_remainder(a, index_quotient(a, element, inner), c->class->axis[axis].taps);
}

// Elements of a row that are some place's channels; the others are zeros.
static int64_t used_elements(const struct copy *c) {
    int64_t n = c->f->in;
    for (int i = c->z->pack; i < c->f->n_axes; i++)
        n *= c->class->axis[i].taps;
    return n;
}

static const struct loop_expr *image_value(const struct copy *c, struct scope *s) {
    struct arena *a = c->l->region->arena;
    const struct conv_form *f = c->f;
    const struct shape *shape = &c->l->region->graph->nodes[f->x].shape;
    struct axis_map map = map_identity(0);
    struct guard guard[RANK_MAX];
    int n = 0;
    int64_t used = used_elements(c);
    const struct index *element = index_axis(a, 2 + f->n_axes, c->z->row);
    access_guard(guard, &n, element, 0, used - 1);
    element = index_within(a, element, 0, used - 1);
    const struct index *first = index_scale(a, index_axis(a, 1, f->groups), f->in);
    map_set(&map, shape, 0, index_axis(a, 0, f->batch));
    map_set(&map, shape, 1, index_add(a, first, index_remainder(a, element, f->in)));
    for (int i = 0; i < f->n_axes; i++) {
        const struct conv_axis *x = &c->class->axis[i];
        const struct index *at = index_axis(a, 2 + i, walked(c, i));
        if (i >= c->z->pack) {
            at = index_shift(a, index_scale(a, at, x->in_step), x->in_first);
            at = index_add(a, at, index_scale(a, element_tap(c, element, i), x->in_tap));
        }
        at = index_shift(a, at, -f->low[i]);
        access_guard(guard, &n, at, 0, f->size[i] - 1);
        map_set(&map, shape, 2 + i, index_within(a, at, 0, f->size[i] - 1));
    }
    return point_padded(s, f->x, &map, guard, n);
}

// A block's part: some elements of some rows of one image and group.
struct part {
    int places, elements;
    int64_t all, across, deep;  // places of an image; parts along places, and along a row
    int line;                   // of shared memory: odd, so that lines begin in different banks
    int vec;                    // elements that are written at once
    struct loop_buffer *shared;
    const struct loop_expr *image, *group, *place, *element;  // where it begins
};

static struct part plan_part(const struct copy *c) {
    struct part p = {.elements = 8, .all = 1, .vec = 1};
    for (int i = 0; i < c->f->n_axes; i++)
        p.all *= walked(c, i);
    while (p.elements * c->z->element_bytes < PART_BYTES && p.elements < c->z->row)
        p.elements *= 2;
    p.places = PART_ELEMENTS / p.elements;
    p.across = (p.all + p.places - 1) / p.places;
    p.deep = (c->z->row + p.elements - 1) / p.elements;
    p.line = p.places + 1;
    if (!is_words(c))
        p.vec = 8;
    return p;
}

// Thing number `item` of a thread, where `inner` of them lie side by side.
static void find_item(const struct copy *c, const struct loop_expr *thread,
                      const struct loop_expr *item, int inner, const struct loop_expr **in,
                      const struct loop_expr **out) {
    const struct loop_expr *e = add(c, op(c, LOOP_MUL, item, THREADS), thread);
    *in = op(c, LOOP_MOD, inner <= THREADS ? thread : e, inner);
    *out = inner <= THREADS
               ? add(c, op(c, LOOP_MUL, item, THREADS / inner), op(c, LOOP_DIV, thread, inner))
               : op(c, LOOP_DIV, e, inner);
}

static const struct loop_expr *shared_at(const struct copy *c, const struct part *p,
                                         const struct loop_expr *element,
                                         const struct loop_expr *place) {
    return add(c, op(c, LOOP_MUL, element, p->line), place);
}

// Would a place beyond the last one be read outside of the image? Not where borders are guarded.
static bool leaves_image(const struct copy *c) {
    const struct conv_axis *x = &c->class->axis[0];
    int64_t last = walked(c, 0) - 1;
    if (c->z->pack == 0)
        last = last * x->in_step + x->in_first + (x->taps - 1) * x->in_tap;
    return last - c->f->low[0] < c->f->size[0];
}

static void read_part(const struct copy *c, const struct part *p, struct loop_builder *b,
                      const struct loop_expr *thread) {
    struct loop_builder inner;
    struct loop_for items = {"item", num(c, 0), num(c, PART_ELEMENTS / THREADS), 1, true};
    const struct loop_expr *item = loop_open_for(b, &items, &inner), *place, *element;
    find_item(c, thread, item, p->places, &place, &element);
    const struct loop_expr *at = add(c, p->place, place), *deep = add(c, p->element, element);
    // Beyond the end it is some element, which nobody writes.
    if (leaves_image(c))
        at = op(c, LOOP_MIN, at, p->all - 1);
    if (used_elements(c) == c->z->row)
        deep = op(c, LOOP_MIN, deep, c->z->row - 1);
    struct scope s = {.lowering = c->l, .builder = &inner, .lane_group = -1, .lanes = 1};
    int last = 2 + c->f->n_axes;
    s.index[0] = p->image;
    s.index[1] = p->group;
    s.index[last] = deep;
    scope_split(&s, loop_let(&inner, "at", at), 2, last);
    loop_store(&inner, p->shared, shared_at(c, p, element, place), image_value(c, &s), false);
    loop_close(b, &inner);
}

// The row that a place belongs to: its phase, then its image, then its cell.
static const struct loop_expr *row_of(const struct copy *c, const struct part *p,
                                      const struct loop_expr *at) {
    const struct loop_expr *phase = num(c, 0), *cell = at, *place[SPATIAL_MAX];
    int64_t n_phases = 1;
    for (int i = c->f->n_axes - 1; i >= 0; i--) {
        place[i] = i == 0 ? at : op(c, LOOP_MOD, at, walked(c, i));
        at = op(c, LOOP_DIV, at, walked(c, i));
        n_phases *= c->z->phases[i];
    }
    for (int i = 0; i < c->f->n_axes && n_phases > 1; i++) {
        cell = i == 0 ? num(c, 0) : cell;
        phase = add(c, op(c, LOOP_MUL, phase, c->z->phases[i]),
                    op(c, LOOP_MOD, place[i], c->z->phases[i]));
        cell = add(c, op(c, LOOP_MUL, cell, c->z->grid[i]),
                   op(c, LOOP_DIV, place[i], c->z->phases[i]));
    }
    const struct loop_expr *row = add(c, op(c, LOOP_MUL, p->group, n_phases), phase);
    row = add(c, op(c, LOOP_MUL, row, c->f->batch), p->image);
    return add(c, op(c, LOOP_MUL, row, c->z->cells), cell);
}

static void write_part(const struct copy *c, const struct part *p, struct loop_builder *b,
                       const struct loop_expr *thread) {
    struct loop_builder inner, some, few;
    struct loop_for items = {"item", num(c, 0), num(c, PART_ELEMENTS / THREADS / p->vec), 1, true};
    const struct loop_expr *item = loop_open_for(b, &items, &inner), *place, *element;
    find_item(c, thread, item, p->elements / p->vec, &element, &place);
    element = op(c, LOOP_MUL, element, p->vec);
    const struct loop_expr *at = add(c, p->place, place), *deep = add(c, p->element, element);
    loop_open_if(&inner, at, num(c, p->all), &some);
    loop_open_if(&some, deep, num(c, c->z->row), &few);
    const struct loop_expr *to = add(c, op(c, LOOP_MUL, row_of(c, p, at), c->z->row), deep);
    const struct loop_expr *from = shared_at(c, p, element, place);
    if (is_words(c))
        store_words(c, &few, p->shared, from, to);
    else
        loop_store(&few, c->to[0], to, loop_load(c->a, p->shared, from, p->vec, p->line), false);
    loop_close(&some, &few);
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

void conv_copy_rows(struct lowering *l, const struct conv_form *f, const struct conv_wgmma_sizes *z,
                    const char *name, struct loop_buffer *to[2]) {
    struct copy c = {.l = l, .a = l->arena, .f = f, .z = z, .class = &f->classes[0]};
    struct part p = plan_part(&c);
    int64_t size[RANK_MAX + 1] = {f->batch, f->groups};
    for (int i = 0; i < f->n_axes; i++)
        size[2 + i] = walked(&c, i);
    size[2 + f->n_axes] = z->row;
    space_of_sizes(l->arena, &l->space, size, 3 + f->n_axes);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(c.a, "%s_copy_image", name),
                        num(&c, f->batch * f->groups * p.across * p.deep), THREADS, &b);
    make_targets(&c, arena_printf(c.a, "%s_image", name), f->groups * z->rows, z->row);
    struct loop_size lines[] = {{p.elements, NULL}, {p.line, NULL}};
    enum dtype from = l->region->graph->nodes[f->x].dtype;
    p.shared = loop_shared_of(l->program, "part", from, lines, 2);
    const struct loop_expr *rest = k.block;
    p.element =
        loop_let(&b, "element", op(&c, LOOP_MUL, op(&c, LOOP_MOD, rest, p.deep), p.elements));
    rest = op(&c, LOOP_DIV, rest, p.deep);
    p.place = loop_let(&b, "place", op(&c, LOOP_MUL, op(&c, LOOP_MOD, rest, p.across), p.places));
    rest = op(&c, LOOP_DIV, rest, p.across);
    p.group = loop_let(&b, "group", op(&c, LOOP_MOD, rest, f->groups));
    p.image = loop_let(&b, "image", op(&c, LOOP_DIV, rest, f->groups));
    read_part(&c, &p, &b, k.thread);
    loop_barrier(&b);
    write_part(&c, &p, &b, k.thread);
    to[0] = c.to[0];
    to[1] = c.to[1];
}

// ---- weights: a space of rows of all groups, outer taps, elements of their slices

// Tap number `flat` of the axes from `first` to `end`, along `axis`.
static const struct index *tap_along(const struct copy *c, const struct index *flat, int axis,
                                     int end) {
    struct arena *a = c->l->region->arena;
    int64_t inner = 1;
    for (int i = axis + 1; i < end; i++)
        inner *= c->class->axis[i].taps;
    return index_remainder(a, index_quotient(a, flat, inner), c->class->axis[axis].taps);
}

static void copy_weight(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct copy *c = ctx;
    const struct conv_form *f = c->f;
    const struct conv_wgmma_sizes *z = c->z;
    struct arena *a = c->l->region->arena;
    const struct shape *shape = &c->l->region->graph->nodes[f->w].shape;
    struct scope s = {.lowering = c->l, .builder = b, .lane_group = -1, .lanes = 1};
    scope_split(&s, item, 0, c->l->space.n_groups);
    int inner = z->overlaps ? f->n_axes - 1 : z->pack;  // axes whose taps are inside a run
    int64_t each = z->overlaps ? z->channels : f->in, inside = 1;
    for (int i = inner; i < f->n_axes; i++)
        inside *= c->class->axis[i].taps;
    struct axis_map map = map_identity(0);
    struct guard guard[2];
    int n = 0;
    const struct index *row = index_axis(a, 0, f->groups * f->out);
    const struct index *outer = index_axis(a, 1, z->outer);
    const struct index *element = index_axis(a, 2, z->subs * conv_slice(z));
    access_guard(guard, &n, element, 0, each * inside - 1);
    element = index_within(a, element, 0, each * inside - 1);
    const struct index *channel = index_remainder(a, element, each);
    access_guard(guard, &n, channel, 0, f->in - 1);
    channel = index_within(a, channel, 0, f->in - 1);
    const struct index *tap = index_quotient(a, element, each);
    if (f->transposed) {
        const struct index *group = index_quotient(a, row, f->out);
        map_set(&map, shape, 0, index_add(a, index_scale(a, group, f->in), channel));
        map_set(&map, shape, 1, index_remainder(a, row, f->out));
    } else {
        map_set(&map, shape, 0, row);
        map_set(&map, shape, 1, channel);
    }
    for (int i = 0; i < f->n_axes; i++) {
        const struct conv_axis *x = &c->class->axis[i];
        const struct index *m =
            i < inner ? tap_along(c, outer, i, inner) : tap_along(c, tap, i, f->n_axes);
        map_set(&map, shape, 2 + i, index_shift(a, index_scale(a, m, x->tap_step), x->tap_first));
    }
    const struct loop_expr *v = point_padded(&s, f->w, &map, guard, n);
    if (!is_words(c)) {
        loop_store(b, c->to[0], item, v, false);
        return;
    }
    const struct loop_expr *own = op(c, LOOP_MOD, item, THREADS);
    loop_store(b, c->own, own, v, false);
    store_words(c, b, c->own, own, item);
}

void conv_copy_row_weights(struct lowering *l, const struct conv_form *f,
                           const struct conv_wgmma_sizes *z, const struct conv_class *class,
                           const char *name, struct loop_buffer *to[2]) {
    struct copy c = {.l = l, .a = l->arena, .f = f, .z = z, .class = class};
    int64_t size[] = {f->groups * f->out, z->outer, z->subs * conv_slice(z)};
    space_of_sizes(l->arena, &l->space, size, 3);
    make_targets(&c, arena_printf(c.a, "%s_weights", name), size[0], size[1] * size[2]);
    struct loop_size threads = {THREADS, NULL};
    if (is_words(&c))
        c.own = loop_shared(l->program, "own", &threads, 1);
    struct nest_threads t = {.is_gpu = true, .per_block = THREADS};
    nest_kernel(l, arena_printf(c.a, "%s_copy_weights", name), &t, num(&c, c.to[0]->count),
                copy_weight, &c);
    to[0] = c.to[0];
    to[1] = c.to[1];
}
