// Draws indices once with a fixed seed, evaluates masks of positions at sampled points, and counts
// what a promise (triangular, diagonal) leaves.
#include "model/instance.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "ir/inputs.h"

enum {
    DRAW_MAX = 1 << 24,   // elements drawn of one input, at most
    SAMPLES = 1 << 14,    // of a mask
    VISITS_MAX = 64,      // nodes behind a mask, counted with repetition
    TABLE_MAX = 1 << 28,  // elements that a bitmap is made for
};

// The judge's seeds are secret and its draws other ones: what is counted here is typical.
static const uint64_t seed = 1;

static int find_input(const struct problem *p, node_id n) {
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].node == n)
            return i;
    return -1;
}

// A view that only adds or drops axes of size 1.
static bool keeps_order(const struct graph *g, const struct node *n) {
    int last = -1;
    for (int i = 0; i < n->shape.rank; i++) {
        if (n->view[i] < 0)
            continue;
        if (n->view[i] < last)
            return false;
        last = n->view[i];
    }
    return shape_count(&n->shape) == shape_count(&g->nodes[n->arg[0]].shape);
}

static node_id strip(const struct graph *g, node_id n) {
    while (g->nodes[n].op == OP_RESHAPE ||
           (g->nodes[n].op == OP_VIEW && keeps_order(g, &g->nodes[n])) ||
           (g->nodes[n].op == OP_CAST && !dtype_is_float(g->nodes[n].dtype)))
        n = g->nodes[n].arg[0];
    return n;
}

const int64_t *instance_values(struct arena *a, const struct problem *p, node_id n,
                               int64_t *count) {
    node_id source = strip(&p->graph, n);
    int input = find_input(p, source);
    const struct node *node = &p->graph.nodes[source];
    *count = shape_count(&node->shape);
    if (input < 0 || *count > DRAW_MAX || dtype_is_float(node->dtype) || p->inputs[input].maker)
        return NULL;
    void *raw = arena_alloc(a, (size_t)dtype_size(node->dtype, *count));
    int64_t *values = arena_array(a, int64_t, *count);
    inputs_fill(p, input, seed, raw);
    for (int64_t i = 0; i < *count; i++)
        values[i] = (int64_t)dtype_get(node->dtype, raw, i);
    return values;
}

static int ascending(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

bool instance_distinct(struct arena *a, const struct problem *p, node_id n, double *distinct) {
    int64_t count;
    // Views repeat or reorder what they show, and change nothing about which values there are.
    while (p->graph.nodes[n].op == OP_VIEW)
        n = p->graph.nodes[n].arg[0];
    const int64_t *values = instance_values(a, p, n, &count);
    if (!values)
        return false;
    int64_t *sorted = arena_copy(a, values, sizeof *values * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    int64_t different = count > 0;
    for (int64_t i = 1; i < count; i++)
        different += sorted[i] != sorted[i - 1];
    *distinct = (double)different;
    return true;
}

bool instance_distinct_along(struct arena *a, const struct problem *p, const struct node *take,
                             double *distinct) {
    const struct shape *table = &p->graph.nodes[take->arg[0]].shape;
    int64_t count, total = shape_count(table), different = 0;
    const int64_t *values = instance_values(a, p, take->arg[1], &count);
    if (!values || total > TABLE_MAX || count != shape_count(&take->shape))
        return false;
    unsigned char *seen = arena_array(a, unsigned char, total / 8 + 1);
    int axis = take->detail->axis;
    int64_t inner = 1;
    for (int i = axis + 1; i < table->rank; i++)
        inner *= table->size[i];
    int64_t length = table->size[axis], row = take->shape.size[axis] * inner;
    for (int64_t i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] >= length)
            continue;
        int64_t at = (i / row * length + values[i]) * inner + i % inner;
        different += !(seen[at / 8] >> at % 8 & 1);
        seen[at / 8] |= (unsigned char)(1 << at % 8);
    }
    *distinct = (double)different;
    return true;
}

// ---- masks

struct mask {
    const struct graph *graph;
    int visits;
    bool is_known;
};

// The value of node `n` at a position; is_known falls when it depends on data.
static double at_position(struct mask *m, node_id id, const int64_t *at) {
    const struct node *n = &m->graph->nodes[id];
    if (++m->visits > VISITS_MAX)
        m->is_known = false;
    if (!m->is_known)
        return 0;
    if (n->op == OP_CONST)
        return n->value;
    if (n->op == OP_IOTA)
        return (double)at[n->detail->axis];
    if (n->op == OP_VIEW) {
        int64_t inner[RANK_MAX] = {0};
        for (int i = 0; i < n->shape.rank; i++)
            if (n->view[i] >= 0)
                inner[n->view[i]] = at[i];
        return at_position(m, n->arg[0], inner);
    }
    if (op_infos[n->op].class != OP_CLASS_ELEMENTWISE) {
        m->is_known = false;
        return 0;
    }
    double a = at_position(m, n->arg[0], at);
    double b = n->n_args > 1 ? at_position(m, n->arg[1], at) : 0;
    if (n->op == OP_WHERE)
        return a != 0 ? b : at_position(m, n->arg[2], at);
    return n->op == OP_CAST ? a : op_evaluate(n->op, a, b);
}

bool instance_share(const struct problem *p, node_id condition, double *share) {
    const struct shape *s = &p->graph.nodes[condition].shape;
    int64_t count = shape_count(s), n = count < SAMPLES ? count : SAMPLES, hits = 0;
    struct mask m = {.graph = &p->graph, .is_known = true};
    for (int64_t i = 0; i < n && m.is_known; i++) {
        // Every element of a small mask; of a large one steps of the golden ratio, which fill it
        // evenly whatever the length of its rows.
        int64_t rest = i, at[RANK_MAX] = {0};
        if (n < count) {
            double golden = (double)(i + 1) * 0.61803398874989484820;
            rest = (int64_t)((golden - floor(golden)) * (double)count);
        }
        for (int axis = s->rank - 1; axis >= 0; axis--) {
            at[axis] = rest % s->size[axis];
            rest /= s->size[axis];
        }
        m.visits = 0;
        hits += at_position(&m, condition, at) != 0;
    }
    *share = n ? (double)hits / (double)n : 0;
    return m.is_known;
}

// ---- zeros under masks

// exp() of it is 0 in every type, even after the maximum of what is not masked was taken off.
static const double sunk = -1e30;

struct zeros {
    const struct problem *p;
    int visits;
};

// Both branches of a where, each no more than its part.
static double branches(struct zeros *z, const struct node *n,
                       double (*share_of)(struct zeros *, node_id)) {
    double share;
    if (!instance_share(z->p, n->arg[0], &share))
        return NAN;
    return fmin(share, share_of(z, n->arg[1])) + fmin(1 - share, share_of(z, n->arg[2]));
}

// The share of elements that are known to be so negative.
static double sunk_share(struct zeros *z, node_id id) {
    const struct node *n = &z->p->graph.nodes[id];
    if (++z->visits > VISITS_MAX)
        return 0;
    switch (n->op) {
    case OP_CONST:
        return n->value <= sunk;
    case OP_VIEW:
    case OP_CAST:
    case OP_SUB:
        return sunk_share(z, n->arg[0]);
    case OP_WHERE:
        return fmax(0, branches(z, n, sunk_share));  // fmax() takes the other for NAN
    default:
        return 0;
    }
}

// The share of elements that are not known to be zero. A view shows every element as often.
static double nonzero_share(struct zeros *z, node_id id) {
    const struct node *n = &z->p->graph.nodes[id];
    if (++z->visits > VISITS_MAX)
        return 1;
    switch (n->op) {
    case OP_CONST:
        return n->value != 0;
    case OP_VIEW:
    case OP_CAST:
    case OP_NEG:
    case OP_DIV:
        return nonzero_share(z, n->arg[0]);
    case OP_MUL:
        return fmin(nonzero_share(z, n->arg[0]), nonzero_share(z, n->arg[1]));
    case OP_EXP:
        return 1 - sunk_share(z, n->arg[0]);
    case OP_WHERE:
        return fmin(1, branches(z, n, nonzero_share));
    default:
        return 1;
    }
}

static double masked_products(const struct problem *p, const struct node *matmul) {
    double share = 1;
    for (int i = 0; i < 2; i++) {
        struct zeros z = {.p = p};
        share = fmin(share, nonzero_share(&z, matmul->arg[i]));
    }
    return share;
}

// ---- promises

// Elements of row i of a matrix that may differ from zero.
static double row_count(enum promise promise, int64_t i, int64_t n_columns) {
    switch (promise) {
    case PROMISE_UPPER:
        return i < n_columns ? (double)(n_columns - i) : 0;
    case PROMISE_LOWER:
        return (double)(i < n_columns ? i + 1 : n_columns);
    case PROMISE_DIAGONAL:
        return i < n_columns;
    default:
        return (double)n_columns;
    }
}

double instance_promised(const struct problem_input *in, const struct shape *shape) {
    if (in->promise == PROMISE_NONE || in->promise == PROMISE_SYMMETRIC || shape->rank < 2)
        return 1;
    int64_t rows = shape->size[shape->rank - 2], columns = shape->size[shape->rank - 1];
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += row_count(in->promise, i, columns);
    return sum / ((double)rows * (double)columns);
}

static enum promise transposed(enum promise promise) {
    return promise == PROMISE_UPPER   ? PROMISE_LOWER
           : promise == PROMISE_LOWER ? PROMISE_UPPER
                                      : promise;
}

// What is promised of the last two axes of a value that shows an input.
static enum promise promise_of(const struct problem *p, node_id id) {
    bool flipped = false;
    const struct node *n = &p->graph.nodes[id];
    for (; n->op == OP_VIEW; n = &p->graph.nodes[n->arg[0]]) {
        int rank = n->shape.rank, from = p->graph.nodes[n->arg[0]].shape.rank;
        if (rank < 2 || from < 2)
            return PROMISE_NONE;
        bool crossed = n->view[rank - 2] == from - 1 && n->view[rank - 1] == from - 2;
        bool straight = n->view[rank - 2] == from - 2 && n->view[rank - 1] == from - 1;
        if (!crossed && !straight)
            return PROMISE_NONE;
        flipped ^= crossed;
    }
    int input = find_input(p, (node_id)(n - p->graph.nodes));
    enum promise promise = input < 0 ? PROMISE_NONE : p->inputs[input].promise;
    return flipped ? transposed(promise) : promise;
}

double instance_products(const struct problem *p, const struct node *matmul) {
    enum promise left = promise_of(p, matmul->arg[0]), right = promise_of(p, matmul->arg[1]);
    if (left == PROMISE_SYMMETRIC)
        left = PROMISE_NONE;
    if (right == PROMISE_SYMMETRIC)
        right = PROMISE_NONE;
    double masked = masked_products(p, matmul);
    if (left == PROMISE_NONE && right == PROMISE_NONE)
        return masked;
    int rank = matmul->shape.rank;
    const struct shape *a = &p->graph.nodes[matmul->arg[0]].shape;
    int64_t m = matmul->shape.size[rank - 2], n = matmul->shape.size[rank - 1];
    int64_t k = a->size[a->rank - 1];
    // Column i of the left factor meets row i of the right one.
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += row_count(transposed(left), i, m) * row_count(right, i, n);
    return fmin(masked, sum / ((double)m * (double)n * (double)k));
}
