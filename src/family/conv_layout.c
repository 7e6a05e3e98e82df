// Operands of a convolution on their way to tensor cores: channels side by side, padding and all.
//
// A tensor core reads 16 bytes along K, and K's innermost part are channels, which lie furthest
// apart in an image of [batch, channels, ...]. So the image is transposed once, through shared
// memory: a block reads some channels of neighbouring places, place by place, and writes them
// channel by channel. Borders become zeros here, so that the walk over taps asks for nothing. What
// is computed by element before the convolution is computed here, once per element.
#include "base/arena.h"
#include "family/access.h"
#include "family/conv_mma.h"
#include "family/gpu.h"
#include "family/nest_walk.h"

enum { THREADS = 256, TILE_ELEMENTS = 2048, TILE_CHANNELS = 32 };

struct copy {
    struct lowering *l;
    struct arena *a;
    const struct conv_form *f;
    const struct conv_sizes *z;
    const struct conv_class *class;  // of weights
    struct loop_buffer *to;
    struct loop_buffer *own;  // an element of each thread, on its way to be rounded
};

static const struct loop_expr *num(const struct copy *c, int64_t value) {
    return loop_int(c->a, value);
}

static const struct loop_expr *op(const struct copy *c, enum loop_op op, const struct loop_expr *x,
                                  int64_t y) {
    return loop_binary(c->a, op, x, num(c, y));
}

static struct loop_buffer *scratch(const struct copy *c, const char *name,
                                   const struct loop_size *shape) {
    return loop_global_of(c->l->program, name, LOOP_SCRATCH,
                          c->z->is_rounded ? DTYPE_I32 : c->z->storage, shape, 2);
}

// Element `from` of shared memory, rounded where products would have to.
static const struct loop_expr *copied(const struct copy *c, struct loop_builder *b,
                                      const struct loop_buffer *shared,
                                      const struct loop_expr *from) {
    if (!c->z->is_rounded)
        return loop_load(c->a, shared, from, 1, 1);
    struct loop_buffer *word = loop_register_of(c->l->program, "word", 1, 1, LOOP_I32);
    loop_intrinsic(b, INTRINSIC_WORD, (struct loop_operand[]){{word, num(c, 0)}, {shared, from}});
    loop_intrinsic(b, INTRINSIC_ROUND_TF32, (struct loop_operand[]){{word, num(c, 0)}});
    return loop_load(c->a, word, num(c, 0), 1, 1);
}

// ---- the image: a space of batch, groups, padded axes, channels

static const struct loop_expr *image_value(const struct copy *c, struct scope *s) {
    struct arena *a = c->l->region->arena;
    const struct conv_form *f = c->f;
    const struct shape *shape = &c->l->region->graph->nodes[f->x].shape;
    struct axis_map map = map_identity(0);
    struct guard guard[RANK_MAX];
    int n = 0;
    const struct index *channel = index_axis(a, 2 + f->n_axes, c->z->channels);
    access_guard(guard, &n, channel, 0, f->in - 1);
    channel = index_within(a, channel, 0, f->in - 1);
    const struct index *first = index_scale(a, index_axis(a, 1, f->groups), f->in);
    map_set(&map, shape, 0, index_axis(a, 0, f->batch));
    map_set(&map, shape, 1, index_add(a, first, channel));
    for (int i = 0; i < f->n_axes; i++) {
        const struct index *at = index_shift(a, index_axis(a, 2 + i, f->padded[i]), -f->low[i]);
        access_guard(guard, &n, at, 0, f->size[i] - 1);
        map_set(&map, shape, 2 + i, index_within(a, at, 0, f->size[i] - 1));
    }
    return point_padded(s, f->x, &map, guard, n);
}

// A block's part: `positions` places of one image and `channels` of one group.
struct part {
    int positions, channels;
    int64_t across;  // parts along positions, and along channels
    int64_t deep;
    int line;  // elements of a line of shared memory: lines begin in different banks
    struct loop_buffer *shared;
    const struct loop_expr *image, *group, *position, *channel;  // where it begins
};

static struct part plan_part(const struct copy *c) {
    struct part p = {.channels = 1};
    while (p.channels < TILE_CHANNELS && p.channels < c->z->channels)
        p.channels *= 2;
    p.positions = TILE_ELEMENTS / p.channels;
    p.across = (conv_positions(c->f) + p.positions - 1) / p.positions;
    p.deep = (c->z->channels + p.channels - 1) / p.channels;
    p.line = p.positions + TILE_CHANNELS / p.channels;
    return p;
}

// Element number `item` of a thread, where `inner` of them lie side by side.
static void find_item(const struct copy *c, const struct loop_expr *thread,
                      const struct loop_expr *item, int inner, const struct loop_expr **in,
                      const struct loop_expr **out) {
    const struct loop_expr *e = loop_binary(c->a, LOOP_ADD, op(c, LOOP_MUL, item, THREADS), thread);
    if (inner <= THREADS) {
        *in = op(c, LOOP_MOD, thread, inner);
        *out = loop_binary(c->a, LOOP_ADD, op(c, LOOP_MUL, item, THREADS / inner),
                           op(c, LOOP_DIV, thread, inner));
        return;
    }
    *in = op(c, LOOP_MOD, e, inner);
    *out = op(c, LOOP_DIV, e, inner);
}

static const struct loop_expr *shared_at(const struct copy *c, const struct part *p,
                                         const struct loop_expr *channel,
                                         const struct loop_expr *position) {
    return loop_binary(c->a, LOOP_ADD, op(c, LOOP_MUL, channel, p->line), position);
}

static void read_part(const struct copy *c, const struct part *p, struct loop_builder *b,
                      const struct loop_expr *thread) {
    struct loop_builder inner;
    struct loop_for items = {"item", num(c, 0), num(c, TILE_ELEMENTS / THREADS), 1, true};
    const struct loop_expr *item = loop_open_for(b, &items, &inner), *position, *channel;
    find_item(c, thread, item, p->positions, &position, &channel);
    const struct loop_expr *at = loop_binary(c->a, LOOP_ADD, p->position, position);
    const struct loop_expr *deep = loop_binary(c->a, LOOP_ADD, p->channel, channel);
    // Beyond the end it is some element, which nobody writes; where there is padding, the image's
    // bounds see to that.
    if (c->f->padded[0] - c->f->low[0] <= c->f->size[0])
        at = op(c, LOOP_MIN, at, conv_positions(c->f) - 1);
    if (c->z->channels == c->f->in)
        deep = op(c, LOOP_MIN, deep, c->z->channels - 1);
    struct scope s = {.lowering = c->l, .builder = &inner, .lane_group = -1, .lanes = 1};
    int last = 2 + c->f->n_axes;
    s.index[0] = p->image;
    s.index[1] = p->group;
    s.index[last] = deep;
    scope_split(&s, loop_let(&inner, "at", at), 2, last);
    loop_store(&inner, p->shared, shared_at(c, p, channel, position), image_value(c, &s), false);
    loop_close(b, &inner);
}

static void write_part(const struct copy *c, const struct part *p, struct loop_builder *b,
                       const struct loop_expr *thread) {
    struct loop_builder inner, some, few;
    struct loop_for items = {"item", num(c, 0), num(c, TILE_ELEMENTS / THREADS), 1, true};
    const struct loop_expr *item = loop_open_for(b, &items, &inner), *position, *channel;
    find_item(c, thread, item, p->channels, &channel, &position);
    const struct loop_expr *at = loop_binary(c->a, LOOP_ADD, p->position, position);
    const struct loop_expr *deep = loop_binary(c->a, LOOP_ADD, p->channel, channel);
    loop_open_if(&inner, at, num(c, conv_positions(c->f)), &some);
    loop_open_if(&some, deep, num(c, c->z->channels), &few);
    const struct loop_expr *to = op(c, LOOP_MUL, p->image, conv_positions(c->f));
    to = op(c, LOOP_MUL, loop_binary(c->a, LOOP_ADD, to, at), c->f->groups);
    to = op(c, LOOP_MUL, loop_binary(c->a, LOOP_ADD, to, p->group), c->z->channels);
    loop_store(&few, c->to, loop_binary(c->a, LOOP_ADD, to, deep),
               copied(c, &few, p->shared, shared_at(c, p, channel, position)), false);
    loop_close(&some, &few);
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

struct loop_buffer *conv_copy_image(struct lowering *l, const struct conv_form *f,
                                    const struct conv_sizes *z, const char *name) {
    struct copy c = {.l = l, .a = l->arena, .f = f, .z = z};
    struct part p = plan_part(&c);
    int64_t size[RANK_MAX] = {f->batch, f->groups};
    for (int i = 0; i < f->n_axes; i++)
        size[2 + i] = f->padded[i];
    size[2 + f->n_axes] = z->channels;
    space_of_sizes(l->arena, &l->space, size, 3 + f->n_axes);
    struct loop_size shape[] = {{f->batch * conv_positions(f), NULL},
                                {f->groups * z->channels, NULL}};
    c.to = scratch(&c, arena_printf(c.a, "%s_image", name), shape);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(c.a, "%s_copy_image", name),
                        num(&c, f->batch * f->groups * p.across * p.deep), THREADS, &b);
    struct loop_size lines[] = {{p.channels, NULL}, {p.line, NULL}};
    p.shared = loop_shared_of(l->program, "part", z->storage, lines, 2);
    const struct loop_expr *rest = k.block;
    p.channel =
        loop_let(&b, "channel", op(&c, LOOP_MUL, op(&c, LOOP_MOD, rest, p.deep), p.channels));
    rest = op(&c, LOOP_DIV, rest, p.deep);
    p.group = loop_let(&b, "group", op(&c, LOOP_MOD, rest, f->groups));
    rest = op(&c, LOOP_DIV, rest, f->groups);
    p.position =
        loop_let(&b, "position", op(&c, LOOP_MUL, op(&c, LOOP_MOD, rest, p.across), p.positions));
    p.image = loop_let(&b, "image", op(&c, LOOP_DIV, rest, p.across));
    read_part(&c, &p, &b, k.thread);
    loop_barrier(&b);
    write_part(&c, &p, &b, k.thread);
    return c.to;
}

// ---- weights: a space of groups, out channels, taps along each axis, channels

static void copy_weight(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct copy *c = ctx;
    const struct conv_form *f = c->f;
    struct arena *a = c->l->region->arena;
    const struct shape *shape = &c->l->region->graph->nodes[f->w].shape;
    struct scope s = {.lowering = c->l, .builder = b, .lane_group = -1, .lanes = 1};
    scope_split(&s, item, 0, c->l->space.n_groups);
    struct axis_map map = map_identity(0);
    struct guard guard[1];
    int n = 0;
    const struct index *channel = index_axis(a, 2 + f->n_axes, c->z->channels);
    access_guard(guard, &n, channel, 0, f->in - 1);
    channel = index_within(a, channel, 0, f->in - 1);
    const struct index *group = index_axis(a, 0, f->groups), *out = index_axis(a, 1, f->out);
    map_set(&map, shape, f->transposed ? 1 : 0,
            f->transposed ? out : index_add(a, index_scale(a, group, f->out), out));
    map_set(&map, shape, f->transposed ? 0 : 1,
            f->transposed ? index_add(a, index_scale(a, group, f->in), channel) : channel);
    for (int i = 0; i < f->n_axes; i++) {
        const struct conv_axis *x = &c->class->axis[i];
        const struct index *tap = index_scale(a, index_axis(a, 2 + i, x->taps), x->tap_step);
        map_set(&map, shape, 2 + i, index_shift(a, tap, x->tap_first));
    }
    const struct loop_expr *v = point_padded(&s, f->w, &map, guard, n);
    if (c->z->is_rounded) {
        const struct loop_expr *own = op(c, LOOP_MOD, item, THREADS);
        loop_store(b, c->own, own, v, false);
        v = copied(c, b, c->own, own);
    }
    loop_store(b, c->to, item, v, false);
}

struct loop_buffer *conv_copy_weights(struct lowering *l, const struct conv_form *f,
                                      const struct conv_sizes *z, const struct conv_class *class,
                                      const char *name) {
    struct copy c = {.l = l, .a = l->arena, .f = f, .z = z, .class = class};
    int64_t size[RANK_MAX] = {f->groups, f->out};
    for (int i = 0; i < f->n_axes; i++)
        size[2 + i] = class->axis[i].taps;
    size[2 + f->n_axes] = z->channels;
    space_of_sizes(l->arena, &l->space, size, 3 + f->n_axes);
    struct loop_size shape[] = {{f->groups * f->out, NULL}, {class->taps * z->channels, NULL}};
    c.to = scratch(&c, arena_printf(c.a, "%s_weights", name), shape);
    struct loop_size threads = {THREADS, NULL};
    if (z->is_rounded)
        c.own = loop_shared(l->program, "own", &threads, 1);
    struct nest_threads t = {.is_gpu = true, .per_block = THREADS};
    nest_kernel(l, arena_printf(c.a, "%s_copy_weights", name), &t, num(&c, c.to->count),
                copy_weight, &c);
    return c.to;
}
