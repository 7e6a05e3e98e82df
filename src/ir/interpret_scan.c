// Scans and orders along an axis.
//
// A running sum is the sum of whole runs so far and of the open one, so that its honest reading
// errs as an honest sum does, and not as one that adds a million terms in sequence.
#include <math.h>
#include <stdlib.h>

#include "ir/structural.h"

// Elements of one line, `stride` apart, from the end when the scan goes backward.
struct line {
    int64_t start, stride, n;
};

static struct line line_at(const struct structural *s, int64_t i) {
    const struct shape *shape = structural_shape(s, 0);
    int axis = s->node->detail->axis;
    int64_t inner = 1, n = shape->size[axis];
    for (int k = axis + 1; k < shape->rank; k++)
        inner *= shape->size[k];
    return (struct line){.start = i / inner * n * inner + i % inner, .stride = inner, .n = n};
}

static struct reading_partial neutral(enum op op) {
    double one = op == OP_CUMPROD;
    return (struct reading_partial){
        .value = one, .honest = (float)one, .wide = one, .low = READING_NO_BIT};
}

static void scan_line(struct structural *s, struct line l) {
    const struct node_detail *d = s->node->detail;
    struct reading_fold f = {.op = s->node->op == OP_CUMSUM ? OP_RSUM : OP_RPROD,
                             .type = s->out.type};
    struct reading_partial before, open, total = neutral(s->node->op);
    if (d->reverse) {
        l.start += (l.n - 1) * l.stride;
        l.stride = -l.stride;
    }
    for (int64_t i = 0; i < l.n; i++) {
        int64_t at = l.start + i * l.stride;
        if (d->exclusive)
            structural_put(&s->out, at, &total);
        struct reading_partial x = structural_element(&s->args[0], at);
        bool opens = i % RUN_MAX == 0;
        if (opens && i > 0)
            before = total;
        open = opens ? x : reading_join(&f, open, x);
        total = i < RUN_MAX ? open : reading_join(&f, before, open);
        if (!d->exclusive)
            structural_put(&s->out, at, &total);
    }
}

void structural_scan(struct structural *s) {
    int64_t n = structural_shape(s, 0)->size[s->node->detail->axis];
    int64_t n_lines = shape_count(structural_shape(s, 0)) / n;
    for (int64_t i = 0; i < n_lines; i++)
        scan_line(s, line_at(s, i));
}

// ---- order

struct ranked {
    double value;
    int64_t index;
};

// Largest first, NaN before all, of equals the lower index.
static int compare_ranked(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    bool x_nan = isnan(x->value), y_nan = isnan(y->value);
    if (x_nan != y_nan)
        return x_nan ? -1 : 1;
    if (!x_nan && x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

// Smallest first, NaN behind all.
static int compare_rising(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    bool x_nan = isnan(x->value), y_nan = isnan(y->value);
    if (x_nan != y_nan)
        return x_nan ? 1 : -1;
    if (!x_nan && x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

// May honest rounding change the order of neighbours i and i + 1?
static bool may_swap(const struct reading *x, const struct line *l, const struct ranked *r,
                     int64_t i) {
    if (i < 0 || i + 1 >= l->n)
        return false;
    double variance = structural_variance(x, l->start + r[i].index * l->stride) +
                      structural_variance(x, l->start + r[i + 1].index * l->stride);
    return variance > 0 && fabs(r[i].value - r[i + 1].value) <= READING_STRAYS * sqrt(variance);
}

static void order_line(struct structural *s, struct line from, struct line to,
                       struct ranked *ranked) {
    const struct reading *x = &s->args[0];
    for (int honest = 0; honest < 2; honest++) {
        for (int64_t i = 0; i < from.n; i++) {
            int64_t at = from.start + i * from.stride;
            ranked[i] = (struct ranked){honest ? reading_honest(x, at) : x->value[at], i};
        }
        qsort(ranked, (size_t)from.n, sizeof *ranked,
              s->node->detail->reverse ? compare_rising : compare_ranked);
        for (int64_t i = 0; i < to.n; i++) {
            int64_t at = to.start + i * to.stride;
            double index = (double)ranked[i].index;
            if (honest) {
                reading_set_honest(&s->out, at, index);
                continue;
            }
            bool doubtful = may_swap(x, &from, ranked, i - 1) || may_swap(x, &from, ranked, i);
            s->out.value[at] = index;
            s->out.variance[at] = doubtful ? (double)from.n * (double)from.n : 0;
        }
    }
}

void structural_order(struct structural *s) {
    int axis = s->node->detail->axis;
    int64_t n = structural_shape(s, 0)->size[axis], k = s->node->shape.size[axis];
    int64_t n_lines = shape_count(structural_shape(s, 0)) / n;
    struct ranked *ranked = reading_alloc(n, sizeof *ranked);
    for (int64_t i = 0; i < n_lines; i++) {
        struct line from = line_at(s, i);
        int64_t outer = i / from.stride, inner = i % from.stride;
        struct line to = {.start = outer * k * from.stride + inner, .stride = from.stride, .n = k};
        order_line(s, from, to, ranked);
    }
    free(ranked);
}
