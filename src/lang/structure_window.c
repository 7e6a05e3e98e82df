// Convolutions and pooling: windows that slide over the last one, two or three axes.
#include <string.h>

#include "base/arena.h"
#include "lang/structure.h"

static const char *const axis_text[SPATIAL_MAX] = {"length", "height, width",
                                                   "depth, height, width"};

static const char *shape_text(const struct structure_call *c, const struct shape *s) {
    return shape_print(c->builder->arena, c->builder->graph, s);
}

static void read_positive(const struct structure_call *c, const char *param, int n, int64_t least,
                          int64_t *out) {
    for (int i = 0; i < n; i++)
        // The limit keeps every position of a window within 63 bits.
        if (out[i] < least || out[i] > 1 << 24)
            structure_fail(c, structure_given(c, param),
                           "%s is from %lld to 2^24, and this is %lld", param, (long long)least,
                           (long long)out[i]);
}

static void read_list(const struct structure_call *c, const char *param, int n, int64_t least,
                      int64_t *out) {
    structure_list(c, param, n, least, out);
    read_positive(c, param, n, least, out);
}

// ---- convolutions

// padding="same" keeps the size at stride 1, the odd element behind; "valid" is none.
static void read_padding(const struct structure_call *c, struct window *w, int64_t *after) {
    const struct expr *e = structure_given(c, "padding");
    if (!e || e->kind != EXPR_STRING) {
        read_list(c, "padding", w->n_axes, 0, w->before);
        memcpy(after, w->before, sizeof *after * (size_t)w->n_axes);
        return;
    }
    bool same = strcmp(e->text, "same") == 0;
    if (!same && strcmp(e->text, "valid") != 0)
        structure_fail(c, e, "padding is whole numbers, \"same\" or \"valid\"");
    for (int i = 0; i < w->n_axes; i++) {
        int64_t total = same ? w->dilation[i] * (w->size[i] - 1) : 0;
        if (same && w->stride[i] != 1)
            structure_fail(c, e, "padding=\"same\" needs stride 1");
        w->before[i] = total / 2;
        after[i] = total - total / 2;
    }
}

static void check_ranks(const struct structure_call *c, int n_axes) {
    for (int i = 0; i < 2; i++) {
        struct shape s = structure_shape_of(c, i);
        structure_need_number(c, i);
        if (s.rank != n_axes + 2)
            structure_fail(c, c->given[i], "%s() takes %s of shape [%s, %s], and this is %s",
                           c->expr->text, i ? "weights" : "a value",
                           i ? "out channels, channels / groups" : "batch, channels",
                           axis_text[n_axes - 1], shape_text(c, &s));
    }
}

static void check_channels(const struct structure_call *c, const struct window *w,
                           bool transposed) {
    struct shape x = structure_shape_of(c, 0), k = structure_shape_of(c, 1);
    if (w->groups < 1 || x.size[1] % w->groups != 0)
        structure_fail(c, structure_given(c, "groups"),
                       "groups must divide the %lld channels, and %lld does not",
                       (long long)x.size[1], (long long)w->groups);
    int64_t wanted = transposed ? x.size[1] : x.size[1] / w->groups;
    if (k.size[transposed ? 0 : 1] != wanted)
        structure_fail(c, c->given[1],
                       "weights of shape %s take %lld channels%s, and the value %s has %lld%s",
                       shape_text(c, &k), (long long)k.size[transposed ? 0 : 1],
                       transposed ? "" : " per group", shape_text(c, &x), (long long)wanted,
                       transposed ? "" : " per group");
    if (!transposed && k.size[0] % w->groups != 0)
        structure_fail(c, structure_given(c, "groups"),
                       "groups must divide the %lld out channels, and %lld does not",
                       (long long)k.size[0], (long long)w->groups);
}

// The sizes of the result's spatial axes.
static void conv_sizes(const struct structure_call *c, const struct window *w, const int64_t *after,
                       struct shape *to) {
    struct shape x = structure_shape_of(c, 0);
    for (int i = 0; i < w->n_axes; i++) {
        int64_t span = w->dilation[i] * (w->size[i] - 1) + 1;
        int64_t room = x.size[2 + i] + w->before[i] + after[i] - span;
        if (room < 0)
            structure_fail(c, NULL,
                           "a window of %lld does not fit an axis of %lld with its padding",
                           (long long)span, (long long)(room + span));
        to->size[2 + i] = room / w->stride[i] + 1;
        to->dim[2 + i] = to->size[2 + i] == x.size[2 + i] ? x.dim[2 + i] : -1;
    }
}

static void transposed_sizes(const struct structure_call *c, const struct window *w,
                             struct shape *to) {
    struct shape x = structure_shape_of(c, 0);
    int64_t extra[SPATIAL_MAX];
    read_list(c, "output_padding", w->n_axes, 0, extra);
    for (int i = 0; i < w->n_axes; i++) {
        if (extra[i] >= w->stride[i] && extra[i] >= w->dilation[i])
            structure_fail(c, structure_given(c, "output_padding"),
                           "output_padding must be less than stride or dilation");
        int64_t span = w->dilation[i] * (w->size[i] - 1) + 1;
        int64_t size = (x.size[2 + i] - 1) * w->stride[i] - 2 * w->before[i] + span + extra[i];
        if (size < 1)
            structure_fail(c, structure_given(c, "padding"), "this padding leaves nothing");
        to->size[2 + i] = size;
        to->dim[2 + i] = size == x.size[2 + i] ? x.dim[2 + i] : -1;
    }
}

// bias[O] along the channels of a value of rank n + 2.
static node_id channel_bias(const struct structure_call *c, const struct shape *like) {
    struct shape s = structure_shape_of(c, 2), wide = {.rank = like->rank};
    int view[RANK_MAX];
    if (s.rank != 1 || s.size[0] != like->size[1])
        structure_fail(c, c->given[2], "a bias has one number for each of %lld out channels",
                       (long long)like->size[1]);
    for (int i = 0; i < wide.rank; i++) {
        view[i] = i == 1 ? 0 : -1;
        wide.size[i] = i == 1 ? s.size[0] : 1;
        wide.dim[i] = i == 1 ? s.dim[0] : -1;
    }
    struct label l = structure_label(c, "");
    return build_view(c->builder, &l, c->values[2], &wide, view).node;
}

static struct operand build_conv(struct structure_call *c, int n_axes, bool transposed) {
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    struct window *w = &d->window;
    int64_t after[SPATIAL_MAX];
    check_ranks(c, n_axes);
    struct shape x = structure_shape_of(c, 0), k = structure_shape_of(c, 1);
    w->n_axes = n_axes;
    memcpy(w->size, k.size + 2, sizeof *w->size * (size_t)n_axes);
    read_list(c, "stride", n_axes, 1, w->stride);
    read_list(c, "dilation", n_axes, 1, w->dilation);
    if (transposed)
        read_list(c, "padding", n_axes, 0, w->before);
    else
        read_padding(c, w, after);
    w->groups = structure_whole(c, "groups", 1);
    check_channels(c, w, transposed);
    struct node n = {.op = transposed ? OP_CONV_T : OP_CONV, .shape = x, .detail = d};
    n.arg[0] = c->values[0];
    n.arg[1] = c->values[1];
    n.dtype = structure_promote(c, 0, 1);
    n.shape.size[1] = transposed ? k.size[1] * w->groups : k.size[0];
    n.shape.dim[1] = transposed && w->groups > 1 ? -1 : k.dim[transposed ? 1 : 0];
    if (transposed)
        transposed_sizes(c, w, &n.shape);
    else
        conv_sizes(c, w, after, &n.shape);
    if (c->values[2] < 0)
        return structure_add(c, NULL, &n);
    c->label.composite = c->expr->text;
    struct operand args[2] = {structure_add(c, "conv", &n), {.node = channel_bias(c, &n.shape)}};
    return build_elementwise(c->builder, &c->label, OP_ADD, args);
}

struct operand build_conv1d(struct structure_call *c) {
    return build_conv(c, 1, false);
}

struct operand build_conv2d(struct structure_call *c) {
    return build_conv(c, 2, false);
}

struct operand build_conv3d(struct structure_call *c) {
    return build_conv(c, 3, false);
}

struct operand build_conv_transpose1d(struct structure_call *c) {
    return build_conv(c, 1, true);
}

struct operand build_conv_transpose2d(struct structure_call *c) {
    return build_conv(c, 2, true);
}

struct operand build_conv_transpose3d(struct structure_call *c) {
    return build_conv(c, 3, true);
}

// ---- pools

// Sizes of the last axes after pooling; as PyTorch: with ceil_mode a last window may hang over the
// end, but must begin inside the value or its padding before.
static void pool_sizes(const struct structure_call *c, const struct window *w, bool ceil_mode,
                       struct shape *s) {
    for (int i = 0; i < w->n_axes; i++) {
        int at = s->rank - w->n_axes + i;
        int64_t span = w->dilation[i] * (w->size[i] - 1) + 1;
        int64_t room = s->size[at] + 2 * w->before[i] - span;
        if (2 * w->before[i] > w->size[i])
            structure_fail(c, structure_given(c, "padding"),
                           "padding of a pool is at most half its kernel");
        if (room < 0)
            structure_fail(c, structure_given(c, "kernel"),
                           "a window of %lld does not fit an axis of %lld with its padding",
                           (long long)span, (long long)(room + span));
        int64_t size = (room + (ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
        if (ceil_mode && (size - 1) * w->stride[i] >= s->size[at] + w->before[i])
            size--;
        s->dim[at] = size == s->size[at] ? s->dim[at] : -1;
        s->size[at] = size;
    }
}

static struct node pool_node(const struct structure_call *c, enum op op, int n_axes) {
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    struct window *w = &d->window;
    struct node n = {.op = op, .shape = structure_shape_of(c, 0), .detail = d};
    structure_need_number(c, 0);
    if (n.shape.rank < n_axes)
        structure_fail(c, c->given[0], "%s() takes a value with %d axes or more", c->expr->text,
                       n_axes);
    w->n_axes = n_axes;
    w->groups = 1;
    read_list(c, "kernel", n_axes, 1, w->size);
    structure_list(c, "stride", n_axes, 0, w->stride);
    if (!structure_given(c, "stride"))
        memcpy(w->stride, w->size, sizeof w->stride);
    read_positive(c, "stride", n_axes, 1, w->stride);
    read_list(c, "padding", n_axes, 0, w->before);
    read_list(c, "dilation", n_axes, 1, w->dilation);
    pool_sizes(c, w, structure_bool(c, "ceil_mode", false), &n.shape);
    n.arg[0] = c->values[0];
    n.dtype = structure_promote(c, 0, 0);
    return n;
}

// How many elements each window has, as a value of the windows' shape: ones are pooled like the
// value. Where padding counts, it is filled with ones too.
static node_id window_counts(const struct structure_call *c, const struct node *pool,
                             bool include_pad) {
    struct builder *b = c->builder;
    struct shape s = structure_shape_of(c, 0);
    const struct window *w = &pool->detail->window;
    struct node_detail *d = arena_new(b->arena, struct node_detail);
    struct node n = *pool;
    *d = *pool->detail;
    for (int i = 0; i < s.rank; i++) {
        int spatial = i - (s.rank - w->n_axes);
        if (spatial < 0) {
            s.size[i] = n.shape.size[i] = 1;
            s.dim[i] = n.shape.dim[i] = -1;
        } else if (include_pad) {
            s.size[i] += 2 * w->before[spatial];
            s.dim[i] = -1;
            d->window.before[spatial] = 0;
        }
    }
    struct label l = structure_label(c, "");
    node_id one = build_node(b, &l, (struct operand){.is_number = true, .number = 1});
    int view[RANK_MAX];
    for (int i = 0; i < RANK_MAX; i++)
        view[i] = -1;
    n.arg[0] = build_view(b, &l, one, &s, view).node;
    n.dtype = build_get(b, one)->dtype;
    n.detail = d;
    return structure_add(c, "count", &n).node;
}

static struct operand average(struct structure_call *c, struct node *pool, bool ceil_mode,
                              bool include_pad) {
    const struct window *w = &pool->detail->window;
    int64_t count = 1;
    bool has_padding = false;
    for (int i = 0; i < w->n_axes; i++) {
        count *= w->size[i];
        has_padding |= w->before[i] > 0;
    }
    c->label.composite = c->expr->text;
    struct operand args[2] = {structure_add(c, "sum", pool),
                              {.is_number = true, .number = (double)count}};
    if (ceil_mode || (has_padding && !include_pad))
        args[1] = (struct operand){.node = window_counts(c, pool, include_pad)};
    return build_elementwise(c->builder, &c->label, OP_DIV, args);
}

static struct operand build_avg_pool(struct structure_call *c, int n_axes) {
    struct node n = pool_node(c, OP_POOL_SUM, n_axes);
    return average(c, &n, structure_bool(c, "ceil_mode", false),
                   structure_bool(c, "count_include_pad", true));
}

static struct operand build_max_pool(struct structure_call *c, int n_axes) {
    struct node n = pool_node(c, OP_POOL_MAX, n_axes);
    return structure_add(c, NULL, &n);
}

struct operand build_max_pool1d(struct structure_call *c) {
    return build_max_pool(c, 1);
}

struct operand build_max_pool2d(struct structure_call *c) {
    return build_max_pool(c, 2);
}

struct operand build_max_pool3d(struct structure_call *c) {
    return build_max_pool(c, 3);
}

struct operand build_avg_pool1d(struct structure_call *c) {
    return build_avg_pool(c, 1);
}

struct operand build_avg_pool2d(struct structure_call *c) {
    return build_avg_pool(c, 2);
}

struct operand build_avg_pool3d(struct structure_call *c) {
    return build_avg_pool(c, 3);
}

// A window as large as the axes is a mean: a reduction, for which there are better kernels.
static struct operand mean_of_all(struct structure_call *c, const struct node *pool) {
    struct builder *b = c->builder;
    const struct window *w = &pool->detail->window;
    struct label part = c->label;
    unsigned axes = 0;
    double count = 1;
    for (int i = 0; i < w->n_axes; i++) {
        axes |= 1u << (pool->shape.rank - w->n_axes + i);
        count *= (double)w->size[i];
    }
    c->label.composite = part.composite = c->expr->text;
    part.name = arena_printf(b->arena, "%s.sum", c->label.name);
    struct operand args[2] = {build_reduce(b, &part, OP_RSUM, pool->arg[0], axes),
                              {.is_number = true, .number = count}};
    part.name = arena_printf(b->arena, "%s.mean", c->label.name);
    struct operand mean = build_elementwise(b, &part, OP_DIV, args);
    return build_unreduce(b, &c->label, mean.node, &pool->shape, axes);
}

// To a given size, which must divide: then all windows are equal.
static struct operand build_adaptive(struct structure_call *c, int n_axes) {
    struct node_detail *d = arena_new(c->builder->arena, struct node_detail);
    struct window *w = &d->window;
    struct node n = {.op = OP_POOL_SUM, .shape = structure_shape_of(c, 0), .detail = d};
    int64_t size[SPATIAL_MAX];
    structure_need_number(c, 0);
    if (n.shape.rank < n_axes)
        structure_fail(c, c->given[0], "%s() takes a value with %d axes or more", c->expr->text,
                       n_axes);
    w->n_axes = n_axes;
    w->groups = 1;
    read_list(c, "size", n_axes, 1, size);
    for (int i = 0; i < n_axes; i++) {
        int at = n.shape.rank - n_axes + i;
        if (n.shape.size[at] % size[i] != 0)
            structure_fail(c, structure_given(c, "size"),
                           "%lld does not divide the axis of %lld; only equal windows are known",
                           (long long)size[i], (long long)n.shape.size[at]);
        w->size[i] = w->stride[i] = n.shape.size[at] / size[i];
        w->dilation[i] = 1;
        n.shape.dim[at] = size[i] == n.shape.size[at] ? n.shape.dim[at] : -1;
        n.shape.size[at] = size[i];
    }
    n.arg[0] = c->values[0];
    n.dtype = structure_promote(c, 0, 0);
    bool is_one = true;
    for (int i = 0; i < n_axes; i++)
        is_one = is_one && size[i] == 1;
    return is_one ? mean_of_all(c, &n) : average(c, &n, false, true);
}

struct operand build_adaptive_avg_pool1d(struct structure_call *c) {
    return build_adaptive(c, 1);
}

struct operand build_adaptive_avg_pool2d(struct structure_call *c) {
    return build_adaptive(c, 2);
}

struct operand build_adaptive_avg_pool3d(struct structure_call *c) {
    return build_adaptive(c, 3);
}
