// Two passes: from the output back, which box of every node is needed; then forward, a node for
// each that is, with slices where a user wants less than there is. What is computed whole (loops,
// and so on) is computed for the rows alone that are asked for, where rows are independent: then
// all of this goes by a problem of these rows.
#include "ir/cut.h"

#include <string.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "ir/interpret.h"
#include "ir/work.h"

struct cutting {
    const struct graph *graph;
    bool *is_used;     // per node
    struct box *need;  // per node that is
};

// ---- boxes

struct box box_whole(const struct shape *s) {
    struct box b = {0};
    for (int i = 0; i < s->rank; i++)
        b.size[i] = s->size[i];
    return b;
}

int64_t box_count(const struct box *b, int rank) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= b->size[i];
    return n;
}

int64_t box_place(const struct box *b, const struct shape *s, int64_t i) {
    int64_t at = 0, stride = 1;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        at += (b->first[axis] + i % b->size[axis]) * stride;
        i /= b->size[axis];
        stride *= s->size[axis];
    }
    return at;
}

static bool box_equal(const struct box *a, const struct box *b, int rank) {
    for (int i = 0; i < rank; i++)
        if (a->first[i] != b->first[i] || a->size[i] != b->size[i])
            return false;
    return true;
}

static int64_t end_of(const struct box *b, int axis) {
    return b->first[axis] + b->size[axis];
}

static void set_range(struct box *b, int axis, int64_t first, int64_t end) {
    b->first[axis] = first;
    b->size[axis] = end - first;
}

static void copy_range(struct box *to, int to_axis, const struct box *from, int from_axis) {
    to->first[to_axis] = from->first[from_axis];
    to->size[to_axis] = from->size[from_axis];
}

// The smallest box around both.
static void box_join(struct box *a, const struct box *b, int rank) {
    for (int i = 0; i < rank; i++) {
        int64_t first = a->first[i] < b->first[i] ? a->first[i] : b->first[i];
        int64_t end = end_of(a, i) > end_of(b, i) ? end_of(a, i) : end_of(b, i);
        set_range(a, i, first, end);
    }
}

void box_gather(const struct box *b, const struct shape *s, enum dtype type, const void *all,
                void *out) {
    int rank = s->rank;
    int64_t run = rank ? b->size[rank - 1] : 1, n_runs = box_count(b, rank) / run;
    int bits = dtype_infos[type].bits;
    for (int64_t i = 0; i < n_runs; i++) {
        int64_t at = box_place(b, s, i * run);
        if (bits >= 8)
            memcpy((char *)out + i * run * (bits / 8), (const char *)all + at * (bits / 8),
                   (size_t)(run * (bits / 8)));
        for (int64_t k = 0; bits < 8 && k < run; k++)
            dtype_put(type, out, i * run + k, dtype_get(type, all, at + k));
    }
}

// ---- what a box of a result takes of its arguments

static const struct shape *shape_of(const struct cutting *c, const struct node *n, int arg) {
    return &c->graph->nodes[n->arg[arg]].shape;
}

// Positions that windows [first, end) of axis `i` of a window read, as far as they exist.
static void read_range(const struct window *w, int i, int64_t size, int64_t first, int64_t end,
                       int64_t *low, int64_t *high) {
    *low = first * w->stride[i] - w->before[i];
    *high = (end - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] - w->before[i] + 1;
    *low = *low < 0 ? 0 : *low >= size ? size - 1 : *low;
    *high = *high > size ? size : *high <= *low ? *low + 1 : *high;
}

static void window_box(const struct node *n, const struct shape *x, const struct box *b,
                       struct box *out) {
    const struct window *w = &n->detail->window;
    for (int i = 0; i < w->n_axes; i++) {
        int axis = x->rank - w->n_axes + i;
        int64_t low, high;
        read_range(w, i, x->size[axis], b->first[axis], end_of(b, axis), &low, &high);
        set_range(out, axis, low, high);
    }
}

// Channels of whole groups.
static void conv_box(const struct node *n, const struct shape *s, int arg, const struct box *b,
                     struct box *out) {
    int64_t groups = n->detail->window.groups, per_group = n->shape.size[1] / groups;
    int64_t first = b->first[1] / per_group, end = (end_of(b, 1) - 1) / per_group + 1;
    *out = box_whole(s);
    if (arg == 1) {
        copy_range(out, 0, b, 1);
        return;
    }
    copy_range(out, 0, b, 0);
    set_range(out, 1, first * (s->size[1] / groups), end * (s->size[1] / groups));
    window_box(n, s, b, out);
}

// A stretch [first, end) of the elements of axes [from, to) of `s`, in their order, widened until
// it is a box of these axes.
static void stretch_to_box(const struct shape *s, int from, int to, int64_t *first, int64_t *end,
                           struct box *out) {
    int64_t below = 1;  // elements for each step along the axis
    for (int axis = from; axis < to; axis++)
        below *= s->size[axis];
    int64_t base = 0;
    for (int axis = from; axis < to; axis++) {
        below /= s->size[axis];
        int64_t low = (*first - base) / below, high = (*end - 1 - base) / below;
        set_range(out, axis, low, high + 1);
        base += low * below;
        if (low == high)
            continue;
        for (int rest = axis + 1; rest < to; rest++)
            set_range(out, rest, 0, s->size[rest]);
        *first = base;
        *end = base + (high - low + 1) * below;
        return;
    }
}

static void box_to_stretch(const struct shape *s, int from, int to, const struct box *b,
                           int64_t *first, int64_t *end) {
    *first = *end = 0;
    for (int axis = from; axis < to; axis++) {
        *first = *first * s->size[axis] + b->first[axis];
        *end = *end * s->size[axis] + end_of(b, axis) - 1;
    }
    (*end)++;
}

// The next axes of both sides that hold as many elements.
static void next_group(const struct shape *a, int *a_end, const struct shape *b, int *b_end) {
    int64_t left = 1, right = 1;
    do {
        bool takes_left = *a_end < a->rank && (left <= right || *b_end == b->rank);
        if (takes_left)
            left *= a->size[(*a_end)++];
        else
            right *= b->size[(*b_end)++];
    } while (left != right);
}

// Axis by axis where both sides have the same ones; where some become others, a stretch of elements
// that is a box on both sides. `result` is widened to that.
static void reshape_box(const struct shape *to, struct box *result, const struct shape *from,
                        struct box *argument) {
    int i = 0, k = 0;
    while (i < to->rank || k < from->rank) {
        int i_end = i, k_end = k;
        next_group(to, &i_end, from, &k_end);
        int64_t first, end, before_first, before_end;
        box_to_stretch(to, i, i_end, result, &first, &end);
        do {
            before_first = first;
            before_end = end;
            stretch_to_box(from, k, k_end, &first, &end, argument);
            stretch_to_box(to, i, i_end, &first, &end, result);
        } while (first != before_first || end != before_end);
        i = i_end;
        k = k_end;
    }
}

static void matmul_box(const struct node *n, const struct shape *s, int arg, const struct box *b,
                       struct box *out) {
    int rank = n->shape.rank;
    *out = *b;
    int summed = arg == 0 ? rank - 1 : rank - 2;
    set_range(out, summed, 0, s->size[summed]);
}

static void reduce_box(const struct node *n, const struct shape *s, const struct box *b,
                       struct box *out) {
    int kept = 0;
    *out = box_whole(s);
    for (int axis = 0; axis < s->rank; axis++)
        if (!(n->axes >> axis & 1))
            copy_range(out, axis, b, kept++);
}

static void view_box(const struct node *n, const struct shape *s, const struct box *b,
                     struct box *out) {
    *out = box_whole(s);
    for (int axis = 0; axis < n->shape.rank; axis++)
        if (n->view[axis] >= 0)
            copy_range(out, n->view[axis], b, axis);
}

static void slice_box(const struct node *n, const struct box *b, struct box *out) {
    for (int axis = 0; axis < n->shape.rank; axis++) {
        int64_t step = n->detail->step[axis];
        int64_t one = n->detail->start[axis] + step * b->first[axis];
        int64_t other = one + step * (b->size[axis] - 1);
        set_range(out, axis, one < other ? one : other, (one < other ? other : one) + 1);
    }
}

static void pad_box(const struct node *n, const struct shape *s, const struct box *b,
                    struct box *out) {
    for (int axis = 0; axis < n->shape.rank; axis++) {
        int64_t first = b->first[axis] - n->detail->start[axis];
        int64_t end = end_of(b, axis) - n->detail->start[axis];
        set_range(out, axis, first < 0 ? 0 : first, end > s->size[axis] ? s->size[axis] : end);
    }
}

// The part of a concat's argument; false: nothing of it.
static bool concat_box(const struct cutting *c, const struct node *n, int arg, const struct box *b,
                       struct box *out) {
    int axis = n->detail->axis;
    int64_t before = arg ? shape_of(c, n, 0)->size[axis] : 0;
    int64_t size = shape_of(c, n, arg)->size[axis];
    int64_t first = b->first[axis] - before, end = end_of(b, axis) - before;
    *out = *b;
    set_range(out, axis, first < 0 ? 0 : first, end > size ? size : end);
    return out->size[axis] > 0;
}

static void take_box(const struct cutting *c, const struct node *n, int arg, const struct box *b,
                     struct box *out) {
    int axis = n->detail->axis, n_index = shape_of(c, n, 1)->rank;
    if (arg == 1) {
        for (int i = 0; i < n_index; i++)
            copy_range(out, i, b, axis + i);
        return;
    }
    *out = box_whole(shape_of(c, n, 0));
    for (int i = 0; i < shape_of(c, n, 0)->rank; i++)
        if (i != axis)
            copy_range(out, i, b, i < axis ? i : i + n_index - 1);
}

// Does it look along its axis as a whole, and else only at its own place?
static bool works_along_axis(const struct node *n) {
    enum op_class class = op_infos[n->op].class;
    return class == OP_CLASS_SCAN || class == OP_CLASS_ORDER || n->op == OP_TAKE_ALONG;
}

static bool is_window_of_own_place(const struct node *n) {
    return n->op == OP_CONV || n->op == OP_POOL_MAX || n->op == OP_POOL_SUM;
}

// Is any part of it computed as a whole?
static bool is_whole(const struct node *n) {
    enum op_class class = op_infos[n->op].class;
    return class == OP_CLASS_SCATTER || class == OP_CLASS_RAGGED || class == OP_CLASS_RECUR ||
           n->op == OP_CONV_T;
}

// Of argument `arg`, for what is needed of node `id`; false: nothing.
static bool argument_box(const struct cutting *c, node_id id, int arg, struct box *out) {
    const struct node *n = &c->graph->nodes[id];
    const struct shape *s = shape_of(c, n, arg);
    struct box result = c->need[id];
    *out = result;
    if (is_whole(n)) {
        *out = box_whole(s);
        return true;
    }
    if (works_along_axis(n)) {
        if (n->op != OP_TAKE_ALONG || arg == 0)
            set_range(out, n->detail->axis, 0, s->size[n->detail->axis]);
        return true;
    }
    switch (n->op) {
    case OP_VIEW:
        view_box(n, s, &result, out);
        break;
    case OP_MATMUL:
        matmul_box(n, s, arg, &result, out);
        break;
    case OP_RESHAPE:
        reshape_box(&n->shape, &result, s, out);
        break;
    case OP_SLICE:
        slice_box(n, &result, out);
        break;
    case OP_PAD:
        pad_box(n, s, &result, out);
        break;
    case OP_CONCAT:
        return concat_box(c, n, arg, &result, out);
    case OP_TAKE:
        take_box(c, n, arg, &result, out);
        break;
    case OP_CONV:
        conv_box(n, s, arg, &result, out);
        break;
    case OP_POOL_MAX:
    case OP_POOL_SUM:
        window_box(n, s, &result, out);
        break;
    default:
        if (op_infos[n->op].class == OP_CLASS_REDUCE)
            reduce_box(n, s, &result, out);
    }
    return true;
}

// What cannot be computed for this box alone is computed for a larger one.
static void widen(struct cutting *c, node_id id) {
    const struct node *n = &c->graph->nodes[id];
    struct box *b = &c->need[id], ignored = {0};
    if (is_whole(n)) {
        *b = box_whole(&n->shape);
    } else if (n->op == OP_IOTA || op_infos[n->op].class == OP_CLASS_SCAN || n->op == OP_TOPK) {
        set_range(b, n->detail->axis, 0, n->shape.size[n->detail->axis]);
    } else if (n->op == OP_RESHAPE) {
        reshape_box(&n->shape, b, shape_of(c, n, 0), &ignored);
    } else if (n->op == OP_CONV) {
        int64_t per_group = n->shape.size[1] / n->detail->window.groups;
        if (n->detail->window.groups > 1)
            set_range(b, 1, b->first[1] / per_group * per_group,
                      (end_of(b, 1) + per_group - 1) / per_group * per_group);
    } else if (n->op == OP_PAD) {
        // At least one element that is not padding.
        for (int axis = 0; axis < n->shape.rank; axis++) {
            int64_t first = n->detail->start[axis];
            int64_t end = first + shape_of(c, n, 0)->size[axis];
            if (end_of(b, axis) <= first)
                set_range(b, axis, b->first[axis], first + 1);
            else if (b->first[axis] >= end)
                set_range(b, axis, end - 1, end_of(b, axis));
        }
    }
}

static bool has_whole(const struct problem *p) {
    for (node_id id = 0; id < p->graph.n_nodes; id++)
        if (is_whole(&p->graph.nodes[id]))
            return true;
    return false;
}

// The problem that is cut, with the box in it: the rows of the box alone, or everything.
struct rows_cut {
    const struct problem *problem;
    struct box box;
    bool *carries;      // per node, or NULL: rows are as they were
    int64_t first_row;  // of those that are left
};

static struct rows_cut cut_rows(struct arena *a, const struct problem *p, const struct box *box) {
    struct rows_cut r = {.problem = p, .box = *box};
    if (!has_whole(p))
        return r;
    struct problem *piece = arena_new(a, struct problem);
    bool *carries = arena_array(a, bool, p->graph.n_nodes);
    if (!interpret_rows_piece(a, p, box->size[0], carries, piece))
        return r;
    r.problem = piece;
    r.carries = carries;
    r.first_row = box->first[0];
    r.box.first[0] = 0;
    return r;
}

static void find_needs(struct arena *a, struct cutting *c, const struct problem *p, int output,
                       const struct box *box) {
    c->graph = &p->graph;
    c->is_used = arena_array(a, bool, p->graph.n_nodes);
    c->need = arena_array(a, struct box, p->graph.n_nodes);
    node_id last = p->outputs[output].node;
    c->is_used[last] = true;
    c->need[last] = *box;
    for (node_id id = last; id >= 0; id--) {
        if (!c->is_used[id])
            continue;
        widen(c, id);
        const struct node *n = &c->graph->nodes[id];
        for (int k = 0; k < n->n_args; k++) {
            struct box b;
            node_id arg = n->arg[k];
            if (!argument_box(c, id, k, &b))
                continue;
            if (c->is_used[arg])
                box_join(&c->need[arg], &b, c->graph->nodes[arg].shape.rank);
            else
                c->need[arg] = b;
            c->is_used[arg] = true;
        }
    }
}

// ---- work

static const double product_work = 0.1;  // of a multiply-add, where an operation by element takes 1

static double node_work(const struct cutting *c, node_id id) {
    const struct node *n = &c->graph->nodes[id];
    double own = (double)box_count(&c->need[id], n->shape.rank), of_argument = 0;
    struct box b;
    if (n->n_args && argument_box(c, id, 0, &b))
        of_argument = (double)box_count(&b, shape_of(c, n, 0)->rank);
    if (n->op == OP_MATMUL)
        return own * (1 + product_work * (double)shape_of(c, n, 0)->size[n->shape.rank - 1]);
    if (is_window_of_own_place(n) || n->op == OP_CONV_T) {
        const struct window *w = &n->detail->window;
        double taps = n->op == OP_CONV ? (double)shape_of(c, n, 1)->size[1] : 1;
        if (n->op == OP_CONV_T)
            taps = (double)shape_of(c, n, 0)->size[1] / (double)w->groups;
        for (int i = 0; i < w->n_axes; i++)
            taps *= (double)w->size[i];
        return own * (1 + (n->op == OP_CONV || n->op == OP_CONV_T ? product_work : 1) * taps);
    }
    if (n->op == OP_RECUR || op_infos[n->op].class == OP_CLASS_RAGGED)
        return work_flops(c->graph, n) * product_work + own + of_argument;
    return own > of_argument ? own : of_argument;
}

double cut_work(const struct problem *p, int output, const struct box *box) {
    struct arena a = {0};
    struct cutting c = {0};
    double work = 0;
    struct rows_cut r = cut_rows(&a, p, box);
    find_needs(&a, &c, r.problem, output, &r.box);
    for (node_id id = 0; id < p->graph.n_nodes; id++)
        work += c.is_used[id] ? node_work(&c, id) : 0;
    arena_reset(&a);
    return work;
}

// ---- the cut graph

struct joining {
    struct arena *a;
    const struct cutting *c;
    struct graph *out;
    node_id *new_id;  // per node that is used
};

static struct shape shape_of_box(const struct box *b, int rank) {
    struct shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        s.size[i] = b->size[i];
        s.dim[i] = -1;
    }
    return s;
}

static node_id add_node(struct joining *j, const struct node *n) {
    j->out->nodes[j->out->n_nodes] = *n;
    return j->out->n_nodes++;
}

// A box out of a node that has more.
static node_id add_slice(struct joining *j, node_id old, const struct box *wanted) {
    const struct node *from = &j->c->graph->nodes[old];
    const struct box *there = &j->c->need[old];
    int rank = from->shape.rank;
    if (box_equal(there, wanted, rank))
        return j->new_id[old];
    struct node_detail *d = arena_new(j->a, struct node_detail);
    for (int i = 0; i < rank; i++) {
        d->start[i] = wanted->first[i] - there->first[i];
        d->step[i] = 1;
    }
    struct node n = {.op = OP_SLICE,
                     .dtype = from->dtype,
                     .shape = shape_of_box(wanted, rank),
                     .n_args = 1,
                     .arg = {j->new_id[old]},
                     .detail = d,
                     .name = from->name};
    return add_node(j, &n);
}

// Details that say where things are, for the parts that are left.
static void move_detail(const struct cutting *c, node_id id, const struct box *argument,
                        struct node_detail *d) {
    const struct node *n = &c->graph->nodes[id];
    const struct box *b = &c->need[id];
    for (int i = 0; n->op == OP_SLICE && i < n->shape.rank; i++)
        d->start[i] += d->step[i] * b->first[i] - argument->first[i];
    for (int i = 0; n->op == OP_PAD && i < n->shape.rank; i++) {
        d->start[i] = argument->first[i] + n->detail->start[i] - b->first[i];
        d->step[i] = b->size[i] - argument->size[i] - d->start[i];
    }
    if (!is_window_of_own_place(n))
        return;
    struct window *w = &d->window;
    for (int i = 0; i < w->n_axes; i++) {
        int axis = n->shape.rank - w->n_axes + i;
        w->before[i] += argument->first[axis] - b->first[axis] * w->stride[i];
    }
    if (n->op == OP_CONV && w->groups > 1)
        w->groups = b->size[1] * w->groups / n->shape.size[1];
}

static void add_cut_node(struct joining *j, node_id id) {
    const struct cutting *c = j->c;
    struct node n = c->graph->nodes[id];
    struct box first = {0};
    int n_args = 0;
    if (!is_whole(&n))
        n.shape = shape_of_box(&c->need[id], n.shape.rank);
    for (int k = 0; k < n.n_args; k++) {
        struct box b;
        node_id old = n.arg[k];
        if (!argument_box(c, id, k, &b))
            continue;
        first = n_args ? first : b;
        n.arg[n_args++] = add_slice(j, old, &b);
    }
    n.n_args = n_args;
    // Of a concat that is down to one part, that part.
    if (n.op == OP_CONCAT && n_args == 1) {
        j->new_id[id] = n.arg[0];
        return;
    }
    if (n.detail && !is_whole(&n)) {
        struct node_detail *d = arena_new(j->a, struct node_detail);
        *d = *n.detail;
        move_detail(c, id, &first, d);
        n.detail = d;
    }
    j->new_id[id] = add_node(j, &n);
}

static int count_nodes(const struct cutting *c) {
    int n = 1;
    for (node_id id = 0; id < c->graph->n_nodes; id++)
        n += c->is_used[id] ? 1 + c->graph->nodes[id].n_args : 0;
    return n;
}

struct cut *cut_problem(struct arena *a, const struct problem *p, int output,
                        const struct box *box) {
    struct cutting c = {0};
    struct cut *cut = arena_new(a, struct cut);
    struct rows_cut r = cut_rows(a, p, box);
    find_needs(a, &c, r.problem, output, &r.box);
    struct problem *q = &cut->problem;
    q->name = p->name;
    q->precision = p->precision;
    q->order_any = p->order_any;
    q->text = p->text;
    q->graph.nodes = arena_array(a, struct node, count_nodes(&c));
    struct joining j = {a, &c, &q->graph, arena_array(a, node_id, p->graph.n_nodes)};
    for (node_id id = 0; id <= p->outputs[output].node; id++)
        if (c.is_used[id])
            add_cut_node(&j, id);
    for (int i = 0; i < p->n_inputs; i++) {
        node_id old = p->inputs[i].node;
        if (!c.is_used[old])
            continue;
        cut->input[q->n_inputs] = i;
        cut->boxes[q->n_inputs] = c.need[old];
        if (r.carries && r.carries[old])
            cut->boxes[q->n_inputs].first[0] += r.first_row;
        q->inputs[q->n_inputs] = p->inputs[i];
        q->inputs[q->n_inputs++].node = j.new_id[old];
    }
    node_id last = p->outputs[output].node;
    q->n_outputs = 1;
    q->outputs[0] = (struct problem_output){p->outputs[output].name, j.new_id[last]};
    cut->box = c.need[last];
    cut->box.first[0] += r.first_row;
    return cut;
}
