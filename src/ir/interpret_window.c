// Convolutions and pools.
//
// A convolution is a matrix product per image and group: weights [out channels, taps] times the
// elements under the taps [taps, positions], copied together for some hundred positions at a time.
// A transposed one is the same for each residue class of the stride: the results of one class see
// the same taps, and every tap of theirs falls on an element. Direct loops would be as short, but
// would need the three readings a second time.
#include <assert.h>
#include <stdlib.h>

#include "ir/structural.h"

// At most so many elements are copied together, and at least so many positions.
enum { COPIED_MAX = 1 << 20, POSITIONS_MIN = 128 };

// One spatial axis: positions first, first + apart, ... of the result read elements
// j advance + offset[t] of the argument under tap t.
struct span {
    int64_t first, apart, n;        // positions
    int64_t advance, n_taps, size;  // size: of the argument's axis
    int64_t *tap, *offset;
};

struct conv {
    struct structural *s;
    struct span span[SPATIAL_MAX];
    int64_t m, channels, n_taps, k;  // of a group; k = channels * n_taps
    int64_t out_size[SPATIAL_MAX], window[SPATIAL_MAX];
    struct reading left;
    bool is_finite;  // are all weights of the group?
};

// Axes that are not there have one position and one tap.
static int64_t spatial(const struct shape *s, int n_axes, int i) {
    int axis = i - (SPATIAL_MAX - n_axes);
    return axis < 0 ? 1 : s->size[s->rank - n_axes + axis];
}

static int64_t window_at(const int64_t *values, int n_axes, int i, int64_t otherwise) {
    int axis = i - (SPATIAL_MAX - n_axes);
    return axis < 0 ? otherwise : values[axis];
}

// Positions of `residue` modulo the stride (0 for a plain convolution, where all are alike).
static void set_span(struct conv *c, int i, int64_t residue) {
    const struct window *w = &c->s->node->detail->window;
    struct span *p = &c->span[i];
    int64_t stride = window_at(w->stride, w->n_axes, i, 1);
    int64_t dilation = window_at(w->dilation, w->n_axes, i, 1);
    int64_t before = window_at(w->before, w->n_axes, i, 0);
    bool transposed = c->s->node->op == OP_CONV_T;
    p->first = residue;
    p->apart = transposed ? stride : 1;
    p->advance = transposed ? 1 : stride;
    p->n = c->out_size[i] <= residue ? 0 : (c->out_size[i] - residue + p->apart - 1) / p->apart;
    p->n_taps = 0;
    for (int64_t t = 0; t < c->window[i]; t++) {
        int64_t offset = t * dilation - before;
        if (transposed) {
            // Element e of the argument lands on e stride + t dilation - before.
            int64_t distance = residue + before - t * dilation;
            if (distance % stride != 0)
                continue;
            offset = distance / stride;
        }
        p->tap[p->n_taps] = t;
        p->offset[p->n_taps++] = offset;
    }
}

// Weights of a group as [m, channels, taps of this class].
static void pack_weights(struct conv *c, int64_t group) {
    const struct structural *s = c->s;
    const struct reading *w = &s->args[1];
    bool transposed = s->node->op == OP_CONV_T;
    int64_t area = c->window[0] * c->window[1] * c->window[2], to = 0;
    for (int64_t m = 0; m < c->m; m++)
        for (int64_t ch = 0; ch < c->channels; ch++) {
            int64_t at = transposed ? (group * c->channels + ch) * c->m + m
                                    : (group * c->m + m) * c->channels + ch;
            for (int64_t t = 0; t < c->n_taps; t++, to++) {
                const struct span *p = c->span;
                int64_t t2 = t % p[2].n_taps, t1 = t / p[2].n_taps % p[1].n_taps;
                int64_t t0 = t / p[2].n_taps / p[1].n_taps;
                int64_t tap =
                    (p[0].tap[t0] * c->window[1] + p[1].tap[t1]) * c->window[2] + p[2].tap[t2];
                struct reading one = structural_at(&c->left, to);
                struct reading from = structural_at(w, at * area + tap);
                structural_copy(&one, &from, 1, 1);
            }
        }
}

static bool all_finite(const double *v, int64_t n) {
    bool is_finite = true;
    for (int64_t i = 0; i < n; i++)
        is_finite &= v[i] - v[i] == 0;
    return is_finite;
}

static void zero(const struct reading *out, int64_t n) {
    memset(out->value, 0, sizeof(double) * (size_t)n);
    if (out->variance)
        memset(out->variance, 0, sizeof(double) * (size_t)n);
    if (out->honest)
        memset(out->honest, 0, sizeof(float) * (size_t)n);
    if (out->wide)
        memset(out->wide, 0, sizeof(double) * (size_t)n);
}

// Some positions that are handled together: whole rows of the last axis, or a part of one.
struct patch {
    int64_t row, n_rows;        // rows count positions of the first two axes
    int64_t column, n_columns;  // of the last
};

// One row of positions under one tap.
static void copy_row(const struct conv *c, const struct patch *p, int64_t base, int64_t offset,
                     struct reading out) {
    const struct span *last = &c->span[2];
    int64_t begin = p->column, end = p->column + p->n_columns;
    // Positions j whose element j advance + offset exists.
    int64_t first = offset >= 0 ? 0 : (-offset + last->advance - 1) / last->advance;
    int64_t limit = last->size <= offset ? 0 : (last->size - offset - 1) / last->advance + 1;
    first = first < begin ? begin : first > end ? end : first;
    limit = limit < first ? first : limit > end ? end : limit;
    zero(&out, first - begin);
    struct reading tail = structural_at(&out, limit - begin), body;
    zero(&tail, end - limit);
    if (limit == first)
        return;
    body = structural_at(&out, first - begin);
    struct reading from = structural_at(&c->s->args[0], base + first * last->advance + offset);
    structural_copy(&body, &from, last->advance, limit - first);
}

// Where the row of elements begins that position row `row` sees under taps (t0, t1); -1: outside.
static int64_t row_base(const struct conv *c, int64_t row, const int64_t *t, int64_t plane) {
    const struct span *p = c->span;
    int64_t y0 = row / p[1].n * p[0].advance + p[0].offset[t[0]];
    int64_t y1 = row % p[1].n * p[1].advance + p[1].offset[t[1]];
    if (y0 < 0 || y0 >= p[0].size || y1 < 0 || y1 >= p[1].size)
        return -1;
    return ((plane * p[0].size + y0) * p[1].size + y1) * p[2].size;
}

// The elements under all taps of the patch: [channels, taps][rows, columns].
static void copy_patch(const struct conv *c, const struct patch *p, int64_t first_plane,
                       const struct reading *right) {
    const struct span *q = c->span;
    int64_t to = 0;
    for (int64_t ch = 0; ch < c->channels; ch++)
        for (int64_t t = 0; t < c->n_taps; t++) {
            int64_t tap[3] = {t / q[2].n_taps / q[1].n_taps, t / q[2].n_taps % q[1].n_taps,
                              t % q[2].n_taps};
            for (int64_t row = p->row; row < p->row + p->n_rows; row++, to += p->n_columns) {
                int64_t base = row_base(c, row, tap, first_plane + ch);
                struct reading out = structural_at(right, to);
                if (base < 0)
                    zero(&out, p->n_columns);
                else
                    copy_row(c, p, base, q[2].offset[tap[2]], out);
            }
        }
}

// [m][rows, columns] to where they belong in the result.
static void put_patch(const struct conv *c, const struct patch *p, int64_t first_plane,
                      const struct reading *from) {
    const struct span *q = c->span;
    const struct reading *out = &c->s->out;
    int64_t at = 0;
    for (int64_t m = 0; m < c->m; m++)
        for (int64_t row = p->row; row < p->row + p->n_rows; row++) {
            int64_t y0 = q[0].first + row / q[1].n * q[0].apart;
            int64_t y1 = q[1].first + row % q[1].n * q[1].apart;
            int64_t to = ((first_plane + m) * c->out_size[0] + y0) * c->out_size[1] + y1;
            to = to * c->out_size[2] + q[2].first + p->column * q[2].apart;
            for (int64_t j = 0; j < p->n_columns; j++, at++, to += q[2].apart) {
                out->value[to] = from->value[at];
                out->variance[to] = from->variance[at];
                reading_set_honest(out, to, reading_honest(from, at));
            }
        }
}

// Is position (row, column) outside the argument under the tap?
static bool is_padding(const struct conv *c, int64_t row, int64_t column, int64_t t) {
    const struct span *q = c->span;
    int64_t tap[3] = {t / q[2].n_taps / q[1].n_taps, t / q[2].n_taps % q[1].n_taps,
                      t % q[2].n_taps};
    int64_t at = column * q[2].advance + q[2].offset[tap[2]];
    return row_base(c, row, tap, 0) < 0 || at < 0 || at >= q[2].size;
}

// Row m of the group's weights: is one under tap t not finite?
static bool is_weight_open(const struct conv *c, int64_t m, int64_t t) {
    bool is_open = false;
    for (int64_t ch = 0; ch < c->channels; ch++) {
        double w = c->left.value[(m * c->channels + ch) * c->n_taps + t];
        is_open |= w - w != 0;
    }
    return is_open;
}

// An infinity or NaN times the padding: some multiply by the zeros and others leave them out, so
// that anything may come out there.
static void leave_open(const struct conv *c, const struct patch *p, const struct reading *product) {
    int64_t at = 0;
    for (int64_t m = 0; m < c->m; m++)
        for (int64_t row = p->row; row < p->row + p->n_rows; row++)
            for (int64_t j = p->column; j < p->column + p->n_columns; j++, at++)
                for (int64_t t = 0; t < c->n_taps; t++)
                    if (is_padding(c, row, j, t) && is_weight_open(c, m, t)) {
                        product->value[at] = 0;
                        product->variance[at] = (double)NAN;
                    }
}

// All positions of one class in one image and group.
static void convolve(const struct conv *c, int64_t image, int64_t group, int64_t n_groups) {
    const struct span *q = c->span;
    int64_t n_rows = q[0].n * q[1].n, n = COPIED_MAX / (c->k + 1);
    n = n < POSITIONS_MIN ? POSITIONS_MIN : n;
    struct patch p = {.n_columns = q[2].n < n ? q[2].n : n};
    int64_t rows = n / p.n_columns < 1 ? 1 : n / p.n_columns;
    rows = rows > n_rows ? n_rows : rows;
    int64_t cap = rows * p.n_columns;
    struct reading right =
        structural_scratch(c->k * cap, c->s->args[0].variance != NULL, c->s->args[0].type);
    struct reading product = structural_scratch(c->m * cap, true, c->s->out.type);
    for (p.row = 0; p.row < n_rows; p.row += rows)
        for (p.column = 0; p.column < q[2].n; p.column += n) {
            p.n_rows = n_rows - p.row < rows ? n_rows - p.row : rows;
            p.n_columns = q[2].n - p.column < n ? q[2].n - p.column : n;
            copy_patch(c, &p, (image * n_groups + group) * c->channels, &right);
            structural_matmul(&(struct reading_matmul){.out = product,
                                                       .left = c->left,
                                                       .right = right,
                                                       .m = c->m,
                                                       .n = p.n_rows * p.n_columns,
                                                       .k = c->k,
                                                       .how = c->s->how});
            if (!c->is_finite)
                leave_open(c, &p, &product);
            put_patch(c, &p, (image * n_groups + group) * c->m, &product);
        }
    structural_free(&right);
    structural_free(&product);
}

static void convolve_class(struct conv *c) {
    const struct node *n = c->s->node;
    int64_t n_groups = n->detail->window.groups;
    c->n_taps = c->span[0].n_taps * c->span[1].n_taps * c->span[2].n_taps;
    c->k = c->channels * c->n_taps;
    if (c->k == 0 || c->span[0].n * c->span[1].n * c->span[2].n == 0)
        return;
    const struct reading *w = &c->s->args[1];
    c->left = structural_scratch(c->m * c->k, w->variance != NULL, w->type);
    for (int64_t group = 0; group < n_groups; group++) {
        pack_weights(c, group);
        c->is_finite = all_finite(c->left.value, c->m * c->k);
        for (int64_t image = 0; image < n->shape.size[0]; image++)
            convolve(c, image, group, n_groups);
    }
    structural_free(&c->left);
}

void structural_conv(struct structural *s) {
    const struct window *w = &s->node->detail->window;
    struct conv c = {.s = s};
    bool transposed = s->node->op == OP_CONV_T;
    int64_t classes[SPATIAL_MAX];
    c.m = s->node->shape.size[1] / w->groups;
    c.channels = structural_shape(s, 0)->size[1] / w->groups;
    for (int i = 0; i < SPATIAL_MAX; i++) {
        c.out_size[i] = spatial(&s->node->shape, w->n_axes, i);
        c.window[i] = window_at(w->size, w->n_axes, i, 1);
        c.span[i].size = spatial(structural_shape(s, 0), w->n_axes, i);
        c.span[i].tap = reading_alloc(c.window[i], sizeof(int64_t));
        c.span[i].offset = reading_alloc(c.window[i], sizeof(int64_t));
        classes[i] = transposed ? window_at(w->stride, w->n_axes, i, 1) : 1;
        classes[i] = classes[i] > c.out_size[i] ? c.out_size[i] : classes[i];
    }
    // Where no tap falls on an element, nothing is ever added.
    zero(&s->out, shape_count(&s->node->shape));
    for (int64_t i = 0; i < classes[0] * classes[1] * classes[2]; i++) {
        set_span(&c, 0, i / classes[2] / classes[1]);
        set_span(&c, 1, i / classes[2] % classes[1]);
        set_span(&c, 2, i % classes[2]);
        convolve_class(&c);
    }
    for (int i = 0; i < SPATIAL_MAX; i++) {
        free(c.span[i].tap);
        free(c.span[i].offset);
    }
}

// ---- pools

struct pool {
    struct structural *s;
    int64_t size[SPATIAL_MAX], out_size[SPATIAL_MAX];
    int64_t window[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX], before[SPATIAL_MAX];
    struct reading run;
};

// Elements under a window into the fold, run by run.
static void fold_window(const struct pool *p, int64_t plane, const int64_t *o,
                        struct reading_fold *f) {
    int n = 0;
    for (int64_t t = 0; t < p->window[0] * p->window[1] * p->window[2]; t++) {
        int64_t tap[3] = {t / p->window[2] / p->window[1], t / p->window[2] % p->window[1],
                          t % p->window[2]};
        int64_t at = plane;
        bool inside = true;
        for (int i = 0; i < SPATIAL_MAX; i++) {
            int64_t y = o[i] * p->stride[i] + tap[i] * p->dilation[i] - p->before[i];
            inside &= y >= 0 && y < p->size[i];
            at = at * p->size[i] + y;
        }
        if (!inside)
            continue;
        struct reading one = structural_at(&p->run, n), from = structural_at(&p->s->args[0], at);
        structural_copy(&one, &from, 1, 1);
        if (++n == RUN_MAX) {
            reading_fold_add(f, reading_run(f, p->run, n));
            n = 0;
        }
    }
    if (n)
        reading_fold_add(f, reading_run(f, p->run, n));
}

void structural_pool(struct structural *s) {
    const struct window *w = &s->node->detail->window;
    bool is_max = s->node->op == OP_POOL_MAX;
    struct pool p = {.s = s, .run = structural_scratch(RUN_MAX, true, s->args[0].type)};
    int64_t area = 1;
    for (int i = 0; i < SPATIAL_MAX; i++) {
        p.size[i] = spatial(structural_shape(s, 0), w->n_axes, i);
        p.out_size[i] = spatial(&s->node->shape, w->n_axes, i);
        p.window[i] = window_at(w->size, w->n_axes, i, 1);
        p.stride[i] = window_at(w->stride, w->n_axes, i, 1);
        p.dilation[i] = window_at(w->dilation, w->n_axes, i, 1);
        p.before[i] = window_at(w->before, w->n_axes, i, 0);
        area *= p.out_size[i];
    }
    int64_t count = shape_count(&s->node->shape);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i % area, o[3];
        o[2] = rest % p.out_size[2];
        o[1] = rest / p.out_size[2] % p.out_size[1];
        o[0] = rest / p.out_size[2] / p.out_size[1];
        struct reading_fold f = {.op = is_max ? OP_RMAX : OP_RSUM, .type = s->out.type};
        double nothing = is_max ? -INFINITY : 0;
        struct reading_partial r = {
            .value = nothing, .honest = (float)nothing, .wide = nothing, .low = READING_NO_BIT};
        fold_window(&p, i / area, o, &f);
        if (f.n_runs)
            r = reading_fold_end(&f);
        structural_put(&s->out, i, &r);
    }
    structural_free(&p.run);
}
