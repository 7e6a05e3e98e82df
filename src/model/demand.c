// Users come after what they use, so one walk from the last node to the first settles everything.
// Where several users ask for parts of one value, the largest part counts (parts may overlap);
// slices that do not meet add up.
#include "model/demand.h"

#include <math.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "ir/work.h"
#include "model/collapse.h"
#include "model/demand_steps.h"
#include "model/instance.h"

// Slices of one value that are compared with each other, in graphs of at most so many nodes.
enum { SLICES_MAX = 16, SLICE_NODES_MAX = 4096 };

struct walk {
    struct arena *a;
    const struct problem *p;
    const struct graph *g;
    enum demand_mode mode;
    struct demand *d;
    // Per node, a set of axes: every position along them together is asked for somewhere. One
    // element of each row, say, is few elements and yet all rows.
    unsigned *covered;
};

static double count_of(const struct walk *w, node_id n) {
    return (double)shape_count(&w->g->nodes[n].shape);
}

static bool is_least(const struct walk *w) {
    return w->mode == DEMAND_LEAST;
}

static void ask(struct walk *w, node_id n, double elements) {
    double count = count_of(w, n), *need = &w->d->need[n];
    *need = fmax(*need, fmin(fmax(elements, 0), count));
}

// The same for parts that are seldom the same ones twice.
static void ask_part(struct walk *w, node_id n, double elements) {
    ask(w, n, is_least(w) ? elements : w->d->need[n] + elements);
}

static double axes_count(const struct shape *s, unsigned axes) {
    double count = 1;
    for (int i = 0; i < s->rank; i++)
        if (axes >> i & 1)
            count *= (double)s->size[i];
    return count;
}

static void ask_axes(struct walk *w, node_id n, unsigned axes) {
    const struct shape *s = &w->g->nodes[n].shape;
    double count = axes_count(s, axes);
    if (count > axes_count(s, w->covered[n]))
        w->covered[n] = axes;
    ask(w, n, count);
}

static unsigned all_axes(const struct shape *s) {
    return (1u << s->rank) - 1;
}

// Axes of a reduction's argument: those of the result that are covered, and the reduced ones.
static unsigned reduced_axes(const struct node *n, const struct shape *arg, unsigned covered) {
    unsigned axes = n->axes;
    for (int i = 0, kept = 0; i < arg->rank; i++)
        if (!(n->axes >> i & 1))
            axes |= (covered >> kept++ & 1) << i;
    return axes;
}

// What covering axes of the result covers of the arguments, class by class.
static void pass_view(struct walk *w, const struct node *n, unsigned covered) {
    const struct shape *arg = &w->g->nodes[n->arg[0]].shape;
    unsigned axes = 0;
    for (int i = 0; i < n->shape.rank; i++)
        if (n->view[i] >= 0)
            axes |= (covered >> i & 1) << n->view[i];
    // Axes of one position that the view leaves out are covered by any element.
    for (int i = 0; i < arg->rank; i++)
        axes |= (unsigned)(arg->size[i] == 1) << i;
    ask_axes(w, n->arg[0], axes);
}

static void pass_elementwise(struct walk *w, const struct node *n, unsigned covered) {
    for (int i = 0; i < n->n_args && n->op != OP_WHERE; i++)
        ask_axes(w, n->arg[i], covered);
}

static void pass_reduce(struct walk *w, const struct node *n, unsigned covered) {
    ask_axes(w, n->arg[0], reduced_axes(n, &w->g->nodes[n->arg[0]].shape, covered));
}

static void pass_product(struct walk *w, const struct node *n, unsigned covered) {
    int rank = n->shape.rank;
    unsigned batches = covered & ((1u << (rank - 2)) - 1);
    unsigned row = covered & 1u << (rank - 2), column = covered & 1u << (rank - 1);
    ask_axes(w, n->arg[0], batches | row | 1u << (rank - 1));
    ask_axes(w, n->arg[1], batches | 1u << (rank - 2) | column);
}

static void pass_gather(struct walk *w, const struct node *n, unsigned covered) {
    if (n->op != OP_TAKE_ALONG)
        return;
    ask_axes(w, n->arg[0], covered & ~(1u << n->detail->axis));
    ask_axes(w, n->arg[1], covered);
}

// The part of argument `i` that `need` of the node's `count` elements ask for when all of them
// ask for `all` of it and each for at least 1 / `shares` of an element.
static double part(const struct walk *w, double need, double count, double all, double shares) {
    if (need >= count)
        return all;
    return is_least(w) ? ceil(need / shares) : fmin(all, all * need / count);
}

// ---- slices

static void slice_range(const struct node *n, int axis, int64_t *low, int64_t *high) {
    int64_t first = n->detail->start[axis];
    int64_t last = first + n->detail->step[axis] * (n->shape.size[axis] - 1);
    *low = first < last ? first : last;
    *high = first < last ? last : first;
}

static bool slices_meet(const struct node *x, const struct node *y) {
    for (int i = 0; i < x->shape.rank; i++) {
        int64_t low_x, high_x, low_y, high_y;
        slice_range(x, i, &low_x, &high_x);
        slice_range(y, i, &low_y, &high_y);
        int64_t step = x->detail->step[i] < 0 ? -x->detail->step[i] : x->detail->step[i];
        int64_t other = y->detail->step[i] < 0 ? -y->detail->step[i] : y->detail->step[i];
        if (high_x < low_y || high_y < low_x ||
            (step == other && step > 1 && (low_x - low_y) % step != 0))
            return false;
    }
    return true;
}

// Halves of a value are often used apart (rotary embeddings, gates): slices that do not meet add
// up in the least reading too.
static void ask_slice(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    const struct node *later[SLICES_MAX];
    int n_later = 0;
    node_id arg = n->arg[0];
    ask_part(w, arg, w->d->need[id]);
    if (!is_least(w) || w->g->n_nodes > SLICE_NODES_MAX || w->d->need[id] < count_of(w, id))
        return;
    for (node_id i = id + 1; i < w->g->n_nodes; i++) {
        const struct node *other = &w->g->nodes[i];
        if (other->op != OP_SLICE || other->arg[0] != arg || w->d->need[i] < count_of(w, i))
            continue;
        if (n_later == SLICES_MAX || slices_meet(n, other))
            return;
        later[n_later++] = other;
    }
    for (int i = 0; i < n_later; i++)
        for (int j = 0; j < i; j++)
            if (slices_meet(later[i], later[j]))
                return;
    double sum = w->d->need[id];
    for (int i = 0; i < n_later; i++)
        sum += (double)shape_count(&later[i]->shape);
    ask(w, arg, sum);
}

// ---- windows

// Positions of an axis of `size` that windows touch: o stride + j dilation - before.
static double touched(const struct window *win, int axis, int64_t n_out, int64_t size) {
    int64_t count = 0;
    for (int64_t at = 0; at < size; at++)
        for (int64_t j = 0; j < win->size[axis]; j++) {
            int64_t from = at + win->before[axis] - j * win->dilation[axis];
            if (from >= 0 && from % win->stride[axis] == 0 && from / win->stride[axis] < n_out) {
                count++;
                break;
            }
        }
    return (double)count;
}

// Of x's elements, those that some window of the result holds.
static double window_share(const struct walk *w, const struct node *n) {
    const struct window *win = &n->detail->window;
    const struct shape *x = &w->g->nodes[n->arg[0]].shape;
    double share = 1;
    for (int i = 0; i < win->n_axes && n->op != OP_CONV_T; i++) {
        int axis = x->rank - win->n_axes + i;
        share *= touched(win, i, n->shape.size[n->shape.rank - win->n_axes + i], x->size[axis]) /
                 (double)x->size[axis];
    }
    return share;
}

static double window_size(const struct node *n) {
    double size = 1;
    for (int i = 0; i < n->detail->window.n_axes; i++)
        size *= (double)n->detail->window.size[i];
    return size;
}

static void ask_window(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    double need = w->d->need[id], count = count_of(w, id), x = count_of(w, n->arg[0]);
    double taps = window_size(n), outer = 1;
    if (n->n_args > 1) {
        // An element of x has a part in at most all taps of every channel of its group.
        outer = (double)n->shape.size[1] / (double)n->detail->window.groups;
        double pixels = count / (double)n->shape.size[1];
        ask(w, n->arg[1], part(w, need, count, count_of(w, n->arg[1]), pixels));
    }
    ask(w, n->arg[0], part(w, need, count, x * window_share(w, n), taps * outer));
}

// ---- what depends on data

static void ask_take(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    const struct shape *table = &w->g->nodes[n->arg[0]].shape;
    double need = w->d->need[id], count = count_of(w, id), known, each = 1;
    double length = (double)table->size[n->detail->axis];
    w->d->depends_on_data = true;
    ask(w, n->arg[1], part(w, need, count, count_of(w, n->arg[1]), count));
    bool along = n->op == OP_TAKE_ALONG;
    if (!along)
        each = count_of(w, n->arg[0]) / length;
    bool is_known = along ? instance_distinct_along(w->a, w->p, n, &known)
                          : instance_distinct(w->a, w->p, n->arg[1], &known);
    if (!is_known)
        known = is_least(w) ? 1 : fmin(count_of(w, n->arg[1]), along ? count : length);
    ask_part(w, n->arg[0], part(w, need, count, known * each, count));
}

// Rows within groups, and groups that are not empty, of offsets[E + 1].
static bool ragged_rows(struct walk *w, node_id offsets, double *rows, double *groups) {
    int64_t n;
    const int64_t *at = instance_values(w->a, w->p, offsets, &n);
    *rows = *groups = 0;
    for (int64_t i = 0; at && i + 1 < n; i++) {
        *rows += at[i + 1] > at[i] ? (double)(at[i + 1] - at[i]) : 0;
        *groups += at[i + 1] > at[i];
    }
    w->d->depends_on_data = true;
    return at != NULL;
}

static void ask_ragged(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    double rows, groups, need = w->d->need[id], count = count_of(w, id);
    const struct shape *x = &w->g->nodes[n->arg[0]].shape, *y = &w->g->nodes[n->arg[1]].shape;
    bool is_known = ragged_rows(w, n->arg[2], &rows, &groups);
    bool outer = n->op == OP_RAGGED_OUTER;
    if (!is_known) {
        rows = is_least(w) ? 0 : (double)x->size[0];
        groups = is_least(w) ? 0 : (double)n->shape.size[0];
    }
    if (!is_known && !outer && !is_least(w))
        groups = (double)y->size[0];
    rows = fmin(rows, (double)x->size[0]);
    w->d->flops[id] *= rows / (double)x->size[0];
    ask(w, n->arg[2], count_of(w, n->arg[2]));
    ask(w, n->arg[0], part(w, need, count, rows * (double)x->size[1], count));
    double second = outer ? rows * (double)y->size[1] : groups * (double)(y->size[1] * y->size[2]);
    ask(w, n->arg[1], part(w, need, count, second, count));
}

// docs, weights, offsets, lists, factors: the postings of the lists that are asked for.
static void ask_postings(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    int64_t n_offsets, n_lists;
    const int64_t *offsets = instance_values(w->a, w->p, n->arg[2], &n_offsets);
    const int64_t *lists = instance_values(w->a, w->p, n->arg[3], &n_lists);
    double different = is_least(w) ? 0 : count_of(w, n->arg[0]), all = 0;
    w->d->depends_on_data = true;
    if (offsets && lists) {
        bool *seen = arena_array(w->a, bool, n_offsets);
        different = 0;
        for (int64_t i = 0; i < n_lists; i++) {
            int64_t l = lists[i];
            if (l < 0 || l + 1 >= n_offsets || offsets[l + 1] <= offsets[l])
                continue;
            double length = (double)(offsets[l + 1] - offsets[l]);
            all += length;
            different += seen[l] ? 0 : length;
            seen[l] = true;
        }
        w->d->flops[id] = op_infos[n->op].flops * all;
    }
    ask(w, n->arg[0], different);
    ask(w, n->arg[1], different);
    for (int i = 2; i < n->n_args; i++)
        ask(w, n->arg[i], count_of(w, n->arg[i]));
}

// ---- the rest

static void ask_where(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    double need = w->d->need[id], count = count_of(w, id), share;
    ask(w, n->arg[0], need);
    bool is_known = instance_share(w->p, n->arg[0], &share);
    for (int i = 1; i <= 2; i++) {
        double taken = i == 1 ? share : 1 - share;
        if (!is_known)
            ask(w, n->arg[i], is_least(w) ? 0 : need);
        else if (is_least(w))
            // What was sampled is not known to the last element.
            ask(w, n->arg[i], floor(0.98 * (need - (1 - taken) * count)));
        else
            ask(w, n->arg[i], need * taken);
    }
}

static void ask_matmul(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    int rank = n->shape.rank;
    const struct shape *a = &w->g->nodes[n->arg[0]].shape;
    double need = w->d->need[id], count = count_of(w, id), k = (double)a->size[a->rank - 1];
    for (int i = 0; i < 2; i++) {
        // A row of the result takes a row of a, a column one of b.
        double across = (double)n->shape.size[i == 0 ? rank - 1 : rank - 2];
        double least = ceil(need / across) * k, all = count_of(w, n->arg[i]);
        ask(w, n->arg[i], need >= count ? all : is_least(w) ? least : need * k);
    }
}

static void ask_move(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    double need = w->d->need[id], count = count_of(w, id);
    if (n->op == OP_SLICE) {
        ask_slice(w, id);
        return;
    }
    for (int i = 0; i < n->n_args; i++)
        // Of what is joined or padded the rest may lie elsewhere.
        ask(w, n->arg[i],
            is_least(w) || n->op == OP_RESHAPE ? need - (count - count_of(w, n->arg[i]))
                                               : need / count * count_of(w, n->arg[i]));
}

static void ask_reduce(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    ask(w, n->arg[0], w->d->need[id] * count_of(w, n->arg[0]) / count_of(w, id));
}

// Only broadcasts make a view larger than what it shows.
static void ask_view(struct walk *w, node_id id) {
    node_id arg = w->g->nodes[id].arg[0];
    double need = w->d->need[id];
    ask(w, arg, is_least(w) ? ceil(need * count_of(w, arg) / count_of(w, id)) : need);
}

static void ask_elementwise(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    if (n->op == OP_WHERE) {
        ask_where(w, id);
        return;
    }
    for (int i = 0; i < n->n_args; i++)
        ask(w, n->arg[i], w->d->need[id]);
}

// Of every argument as large a part as of the result.
static void ask_parts(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    double need = w->d->need[id], count = count_of(w, id);
    for (int i = 0; i < n->n_args; i++)
        ask(w, n->arg[i], part(w, need, count, count_of(w, n->arg[i]), count));
}

static void ask_scatter(struct walk *w, node_id id) {
    w->d->depends_on_data = true;
    if (w->g->nodes[id].op == OP_RAGGED_SCATTER)
        ask_postings(w, id);
    else
        ask_parts(w, id);
}

static void ask_order(struct walk *w, node_id id) {
    w->d->depends_on_data = true;
    ask_parts(w, id);
}

// How the nodes of a class ask for their arguments.
static const struct {
    void (*axes)(struct walk *w, const struct node *n, unsigned covered);  // NULL: not known
    void (*elements)(struct walk *w, node_id id);                          // NULL: nothing
} asks[OP_CLASS_COUNT] = {
    [OP_CLASS_LEAF] = {NULL, NULL},
    [OP_CLASS_VIEW] = {pass_view, ask_view},
    [OP_CLASS_ELEMENTWISE] = {pass_elementwise, ask_elementwise},
    [OP_CLASS_REDUCE] = {pass_reduce, ask_reduce},
    [OP_CLASS_CONTRACT] = {pass_product, ask_matmul},
    [OP_CLASS_IOTA] = {NULL, NULL},
    [OP_CLASS_MOVE] = {NULL, ask_move},
    [OP_CLASS_GATHER] = {pass_gather, ask_take},
    [OP_CLASS_SCATTER] = {NULL, ask_scatter},
    [OP_CLASS_SCAN] = {NULL, ask_parts},
    [OP_CLASS_ORDER] = {NULL, ask_order},
    [OP_CLASS_WINDOW] = {NULL, ask_window},
    [OP_CLASS_RAGGED] = {NULL, ask_ragged},
    [OP_CLASS_RECUR] = {NULL, NULL},  // ask_loop
};

static void pass_axes(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    enum op_class class = op_infos[n->op].class;
    if (asks[class].axes)
        asks[class].axes(w, n, w->covered[id]);
}

static void ask_arguments(struct walk *w, node_id id) {
    enum op_class class = op_infos[w->g->nodes[id].op].class;
    if (asks[class].elements)
        asks[class].elements(w, id);
}

static bool is_output(const struct walk *w, node_id id) {
    for (int i = 0; i < w->p->n_outputs; i++)
        if (w->p->outputs[i].node == id)
            return true;
    return false;
}

// All results of a loop at once, with the first of them: the others stand behind it, so what is
// asked of them is known.
static void ask_loop(struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    const struct recurrence *r = recurrence_of(n);
    struct steps_wanted wanted = {0};
    struct steps_demand *steps = arena_new(w->a, struct steps_demand);
    bool is_prepared[ARGS_MAX];
    if (recurrence_first(w->g, id) != id)
        return;
    for (node_id i = id; i < w->g->n_nodes; i++)
        if (recurrence_of(&w->g->nodes[i]) == r) {
            int result = w->g->nodes[i].detail->result;
            wanted.share[result] = w->d->need[i] / count_of(w, i);
            wanted.is_output[result] = is_output(w, i);
        }
    for (int i = 0; i < n->n_args; i++)
        is_prepared[i] = w->d->is_prepared[n->arg[i]];
    if (w->d->is_prepared[id] || !demand_steps(w->a, r, w->mode, &wanted, is_prepared, steps))
        return;
    for (int i = 0; i < n->n_args; i++)
        ask(w, n->arg[i], steps->need[i]);
    w->d->inner[id] = &steps->body;
    w->d->flops[id] = steps->flops;
    w->d->textbook[id] = steps->textbook;
    w->d->depends_on_data |= steps->body.depends_on_data;
    w->d->is_collapsed |= steps->body.is_collapsed;
}

// ---- inputs

static void mark_prepared(struct walk *w) {
    for (int i = 0; i < w->p->n_inputs; i++)
        w->d->is_prepared[w->p->inputs[i].node] = w->p->inputs[i].is_param;
    for (int i = 0; i < w->g->n_nodes; i++) {
        const struct node *n = &w->g->nodes[i];
        if (n->op != OP_INPUT)
            w->d->is_prepared[i] = true;
        for (int j = 0; j < n->n_args; j++)
            w->d->is_prepared[i] &= w->d->is_prepared[n->arg[j]];
    }
}

static double bytes_of(const struct walk *w, node_id n, double elements) {
    return elements * dtype_infos[w->g->nodes[n].dtype].bits / 8;
}

static double input_bytes(const struct walk *w, const struct problem_input *in) {
    const struct shape *s = &w->g->nodes[in->node].shape;
    double count = (double)shape_count(s), need = w->d->need[in->node];
    double share = instance_promised(in, s);
    if (in->promise == PROMISE_SYMMETRIC && is_least(w))
        share = 0.5;
    if (share < 1)
        need = is_least(w) ? fmax(0, need - (1 - share) * count) : need * share;
    return bytes_of(w, in->node, need);
}

// Values made of params alone that the rest reads, seen through views: what a prepared kernel
// reads in place of the params.
static double frontier_bytes(struct walk *w) {
    bool *is_read = arena_array(w->a, bool, w->g->n_nodes);
    double bytes = 0;
    for (int i = 0; i < w->g->n_nodes; i++) {
        if (w->d->is_prepared[i] || w->d->need[i] <= 0)
            continue;
        for (int j = 0; j < w->g->nodes[i].n_args; j++) {
            node_id n = w->g->nodes[i].arg[j];
            while (w->g->nodes[n].op == OP_VIEW)
                n = w->g->nodes[n].arg[0];
            is_read[n] |= w->d->is_prepared[n];
        }
    }
    for (int i = 0; i < w->g->n_nodes; i++)
        if (is_read[i] && w->g->nodes[i].op != OP_CONST && w->g->nodes[i].op != OP_IOTA)
            bytes += bytes_of(w, i, w->d->need[i]);
    return bytes;
}

static void count_inputs(struct walk *w) {
    double params = 0, frontier = frontier_bytes(w);
    for (int i = 0; i < w->p->n_inputs; i++) {
        w->d->input_bytes[i] = input_bytes(w, &w->p->inputs[i]);
        if (w->p->inputs[i].is_param)
            params += w->d->input_bytes[i];
    }
    if (frontier >= params)
        return;
    w->d->prepared_bytes = frontier;
    for (int i = 0; i < w->p->n_inputs; i++)
        if (w->p->inputs[i].is_param)
            w->d->input_bytes[i] = 0;
}

// Promises and what is not asked for both take products away; the two may be the same ones.
static double flops_share(const struct walk *w, node_id id) {
    const struct node *n = &w->g->nodes[id];
    double asked = w->d->need[id] / count_of(w, id);
    if (n->op != OP_MATMUL)
        return asked;
    double promised = instance_products(w->p, n);
    return is_least(w) ? fmax(0, asked + promised - 1) : fmin(asked, promised);
}

void demand_compute(struct arena *a, const struct problem *p, enum demand_mode mode,
                    struct demand *d) {
    int n = p->graph.n_nodes;
    *d = (struct demand){.need = arena_array(a, double, n),
                         .flops = arena_array(a, double, n),
                         .textbook = arena_array(a, double, n),
                         .left = arena_array(a, double, n + 1),
                         .is_prepared = arena_array(a, bool, n),
                         .inner = arena_array(a, struct demand *, n),
                         .input_bytes = arena_array(a, double, p->n_inputs + 1)};
    struct walk w = {.a = a,
                     .p = p,
                     .g = &p->graph,
                     .mode = mode,
                     .d = d,
                     .covered = arena_array(a, unsigned, n)};
    d->is_collapsed = collapse_find(a, p, mode, d->left);
    mark_prepared(&w);
    for (int i = 0; i < p->n_outputs; i++)
        d->need[p->outputs[i].node] = count_of(&w, p->outputs[i].node);
    for (node_id i = n - 1; i >= 0; i--) {
        if (p->graph.nodes[i].op == OP_RECUR) {
            ask_loop(&w, i);
            continue;
        }
        d->flops[i] = work_flops(&p->graph, &p->graph.nodes[i]) * flops_share(&w, i);
        if (d->need[i] >= count_of(&w, i))
            w.covered[i] = all_axes(&p->graph.nodes[i].shape);
        if (d->need[i] > 0) {
            ask_arguments(&w, i);
            pass_axes(&w, i);
        }
        d->textbook[i] = d->is_prepared[i] ? 0 : d->flops[i];
        d->flops[i] = d->textbook[i] * d->left[i];
    }
    count_inputs(&w);
}
