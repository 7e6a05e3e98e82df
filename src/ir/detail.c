// The rules that structural nodes keep, one function per operation, and their text for `hone check
// -v`.
#include "ir/detail.h"

#include "base/str.h"
#include "ir/recurrence.h"

static const struct shape *shape_of(const struct graph *g, const struct node *n, int arg) {
    return &g->nodes[n->arg[arg]].shape;
}

// Equal but for one axis, which may differ (-1: none may).
static bool equal_but(const struct shape *a, const struct shape *b, int axis) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (i != axis && a->size[i] != b->size[i])
            return false;
    return true;
}

static const char *broken_slice(const struct node *n, const struct shape *from) {
    if (n->shape.rank != from->rank)
        return "the slice changes the rank";
    for (int i = 0; i < from->rank; i++) {
        int64_t first = n->detail->start[i], step = n->detail->step[i];
        int64_t last = first + step * (n->shape.size[i] - 1);
        if (first < 0 || first >= from->size[i] || last < 0 || last >= from->size[i] || step == 0)
            return "the slice leaves its argument";
    }
    return NULL;
}

static const char *broken_pad(const struct node *n, const struct shape *from) {
    if (n->shape.rank != from->rank)
        return "the pad changes the rank";
    for (int i = 0; i < from->rank; i++) {
        int64_t before = n->detail->start[i], after = n->detail->step[i];
        if (before < 0 || after < 0 || n->shape.size[i] != from->size[i] + before + after)
            return "the pad does not give the sizes";
    }
    return NULL;
}

static const char *broken_concat(const struct graph *g, const struct node *n) {
    const struct shape *a = shape_of(g, n, 0), *b = shape_of(g, n, 1);
    int axis = n->detail->axis;
    if (axis >= n->shape.rank || !equal_but(a, b, axis) || !equal_but(a, &n->shape, axis) ||
        n->shape.size[axis] != a->size[axis] + b->size[axis])
        return "the parts do not make up the result";
    return g->nodes[n->arg[0]].dtype == g->nodes[n->arg[1]].dtype ? NULL
                                                                  : "the parts differ in type";
}

static const char *broken_take(const struct graph *g, const struct node *n) {
    const struct shape *x = shape_of(g, n, 0), *index = shape_of(g, n, 1);
    int axis = n->detail->axis;
    if (n->shape.rank != x->rank - 1 + index->rank || axis >= x->rank)
        return "the rank is wrong";
    for (int i = 0; i < n->shape.rank; i++) {
        int64_t want = i < axis                 ? x->size[i]
                       : i < axis + index->rank ? index->size[i - axis]
                                                : x->size[i - index->rank + 1];
        if (n->shape.size[i] != want)
            return "the sizes are not those of argument and index";
    }
    return NULL;
}

static const char *broken_scatter(const struct graph *g, const struct node *n) {
    const struct shape *base = shape_of(g, n, 0), *index = shape_of(g, n, 1);
    if (!shape_equal(&n->shape, base) || !shape_equal(index, shape_of(g, n, 2)) ||
        !equal_but(base, index, n->detail->axis))
        return "base, index and source do not fit";
    return NULL;
}

static const char *broken_ragged_scatter(const struct graph *g, const struct node *n) {
    const struct shape *lists = shape_of(g, n, 3);
    if (shape_of(g, n, 0)->rank != 1 || shape_of(g, n, 2)->rank != 1 || lists->rank < 1 ||
        !shape_equal(shape_of(g, n, 0), shape_of(g, n, 1)) ||
        !shape_equal(lists, shape_of(g, n, 4)) || !equal_but(&n->shape, lists, lists->rank - 1))
        return "the lists do not fit";
    return NULL;
}

// Sizes of the spatial axes `from` (read) and `to` (counted by windows).
static const char *broken_windows(const struct window *w, const struct shape *from,
                                  const struct shape *to) {
    if (w->n_axes < 1 || w->n_axes > SPATIAL_MAX || from->rank < w->n_axes ||
        to->rank != from->rank)
        return "the window has the wrong rank";
    for (int i = 0; i < w->n_axes; i++) {
        int at = from->rank - w->n_axes + i;
        if (w->size[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || w->before[i] < 0)
            return "the window is not one";
        // A window may lie in the padding altogether, which is about as wide behind as before.
        int64_t wide = (w->size[i] - 1) * w->dilation[i] + 1;
        if ((to->size[at] - 1) * w->stride[i] > from->size[at] + 2 * w->before[i] + wide)
            return "the last window lies outside";
    }
    return NULL;
}

static const char *broken_conv(const struct graph *g, const struct node *n) {
    const struct shape *x = shape_of(g, n, 0), *w = shape_of(g, n, 1);
    const struct window *win = &n->detail->window;
    bool transposed = n->op == OP_CONV_T;
    int rank = win->n_axes + 2;
    if (x->rank != rank || w->rank != rank || n->shape.rank != rank || win->groups < 1)
        return "a convolution takes batch, channels and its window's axes";
    int64_t in = w->size[transposed ? 0 : 1] * (transposed ? 1 : win->groups);
    int64_t out = w->size[transposed ? 1 : 0] * (transposed ? win->groups : 1);
    if (n->shape.size[0] != x->size[0] || x->size[1] != in || n->shape.size[1] != out ||
        in % win->groups != 0 || out % win->groups != 0)
        return "the channels do not fit";
    for (int i = 0; i < win->n_axes; i++)
        if (w->size[2 + i] != win->size[i])
            return "the window is not the weight's";
    return transposed ? NULL : broken_windows(win, x, &n->shape);
}

static const char *broken_ragged(const struct graph *g, const struct node *n) {
    const struct shape *x = shape_of(g, n, 0), *y = shape_of(g, n, 1), *offsets = shape_of(g, n, 2);
    bool outer = n->op == OP_RAGGED_OUTER;
    if (x->rank != 2 || y->rank != (outer ? 2 : 3) || offsets->rank != 1)
        return "the ranks are wrong";
    const struct shape *three = outer ? &n->shape : y, *two = outer ? y : &n->shape;
    if (three->rank != 3 || two->rank != 2 || three->size[0] != offsets->size[0] - 1 ||
        three->size[1] != x->size[1] || three->size[2] != two->size[1] ||
        two->size[0] != x->size[0])
        return "the sizes do not fit";
    return NULL;
}

static const char *broken_axis(const struct graph *g, const struct node *n) {
    const struct shape *from = n->n_args ? shape_of(g, n, 0) : &n->shape;
    int axis = n->detail->axis;
    if (axis < 0 || axis >= from->rank)
        return "the axis does not exist";
    if (op_infos[n->op].class == OP_CLASS_SCAN)
        return shape_equal(from, &n->shape) ? NULL : "a scan keeps the shape";
    if (n->op == OP_TOPK)
        return equal_but(from, &n->shape, axis) && n->shape.size[axis] <= from->size[axis]
                   ? NULL
                   : "it chooses more than there are";
    if (n->op == OP_TAKE_ALONG)
        return shape_equal(shape_of(g, n, 1), &n->shape) && equal_but(from, &n->shape, axis)
                   ? NULL
                   : "the index does not fit";
    return NULL;
}

const char *detail_broken(const struct graph *g, const struct node *n) {
    if (n->op == OP_RESHAPE)
        return shape_count(&n->shape) == shape_count(shape_of(g, n, 0))
                   ? NULL
                   : "the reshape changes the number of elements";
    if (n->op == OP_RAGGED_SCATTER)
        return broken_ragged_scatter(g, n);
    if (op_infos[n->op].class == OP_CLASS_RAGGED)
        return broken_ragged(g, n);
    if (!n->detail)
        return "it lacks its details";
    switch (n->op) {
    case OP_RECUR:
        return recurrence_broken(g, n);
    case OP_SLICE:
        return broken_slice(n, shape_of(g, n, 0));
    case OP_PAD:
        return broken_pad(n, shape_of(g, n, 0));
    case OP_CONCAT:
        return broken_concat(g, n);
    case OP_TAKE:
        return broken_take(g, n);
    case OP_SCATTER_ADD:
        return broken_scatter(g, n);
    case OP_CONV:
    case OP_CONV_T:
        return broken_conv(g, n);
    case OP_POOL_MAX:
    case OP_POOL_SUM:
        return broken_windows(&n->detail->window, shape_of(g, n, 0), &n->shape);
    default:
        return broken_axis(g, n);
    }
}

static void print_list(struct str *out, const char *name, const int64_t *values, int n) {
    str_printf(out, " %s (", name);
    for (int i = 0; i < n; i++)
        str_printf(out, "%s%lld", i ? "," : "", (long long)values[i]);
    str_puts(out, ")");
}

// " along 512 steps, each y at axis 1", " along 512 steps backward, last h".
static void print_recurrence(struct str *out, const struct node *n) {
    const struct recurrence *r = n->detail->recurrence;
    int result = n->detail->result;
    str_printf(out, " along %lld steps%s, %s %s", (long long)r->n_steps,
               r->reverse ? " backward" : "", result < r->n_states ? "last" : "each",
               r->body->outputs[result].name);
    if (result >= r->n_states)
        str_printf(out, " at axis %d", n->detail->axis);
}

void detail_print(struct str *out, const struct graph *g, const struct node *n) {
    const struct node_detail *d = n->detail;
    if (!d)
        return;
    int rank = n->n_args ? shape_of(g, n, 0)->rank : 0;
    if (n->op == OP_RECUR) {
        print_recurrence(out, n);
    } else if (op_infos[n->op].class == OP_CLASS_WINDOW) {
        const struct window *w = &d->window;
        print_list(out, "window", w->size, w->n_axes);
        print_list(out, "stride", w->stride, w->n_axes);
        print_list(out, "padding", w->before, w->n_axes);
        print_list(out, "dilation", w->dilation, w->n_axes);
        if (w->groups > 1)
            str_printf(out, " groups %lld", (long long)w->groups);
    } else if (n->op == OP_SLICE || n->op == OP_PAD) {
        print_list(out, n->op == OP_PAD ? "before" : "start", d->start, rank);
        print_list(out, n->op == OP_PAD ? "after" : "step", d->step, rank);
        if (n->op == OP_PAD)
            str_printf(out, " value %.9g", d->value);
    } else {
        str_printf(out, " axis %d%s%s", d->axis, d->reverse ? " reverse" : "",
                   d->exclusive ? " exclusive" : "");
    }
}
