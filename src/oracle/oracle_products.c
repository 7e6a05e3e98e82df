#include "oracle/oracle_products.h"

#include "ir/detail.h"

static const struct node *node_at(const struct oracle_plan *plan, node_id id) {
    return &plan->problem->graph.nodes[id];
}

static struct oracle_axes flat(int64_t n) {
    return (struct oracle_axes){.rank = 1, .is_flat = 1, .size = {(uint64_t)n}, .stride = {1}};
}

// What follows from the argument: whether the precision rounds it, whether it is exact.
static struct oracle_side side_of(const struct oracle_plan *plan, node_id product, int side,
                                  int64_t rows, uint64_t strides[RANK_MAX], struct shape *shape) {
    const struct precision *q = &plan->problem->precision;
    struct oracle_side s = {.arg = node_at(plan, product)->arg[side], .batches = 1};
    *shape = oracle_plan_shape(plan, s.arg, rows);
    s.base = oracle_plan_base(plan, s.arg, rows, strides);
    const struct node *base = node_at(plan, s.base);
    bool is_same = base->op == OP_INPUT &&
                   (q->operand == PRECISION_TF32 ? dtype_infos[base->dtype].digits <= 11
                                                 : base->dtype == q->type);
    s.narrows = q->operand != PRECISION_STORED && dtype_is_float(base->dtype) && !is_same &&
                node_at(plan, product)->dtype == DTYPE_F32;
    s.is_input = base->op == OP_INPUT && !s.narrows && !plan->is_body;
    s.is_kept =
        plan->is_body ? plan->is_same[s.arg] : plan->carries[product] && !plan->carries[s.arg];
    return s;
}

// ---- matmul

static struct oracle_side matrix_side(const struct oracle_plan *plan, node_id product, int side,
                                      int64_t rows) {
    uint64_t strides[RANK_MAX];
    struct shape shape;
    struct oracle_side s = side_of(plan, product, side, rows, strides, &shape);
    int row_axis = shape.rank - (side ? 1 : 2), k_axis = shape.rank - (side ? 2 : 1);
    bool is_one = true;
    s.rows = shape.size[row_axis];
    s.k = shape.size[k_axis];
    for (int i = 0; i < shape.rank - 2; i++) {
        s.batches *= shape.size[i];
        is_one = is_one && (strides[i] == 0 || shape.size[i] == 1);
    }
    if (is_one)
        s.batches = 1;
    s.pack.from.axes = oracle_plan_axes(&shape, strides, (1U << (shape.rank - 2)) - 1);
    s.pack.row_step = strides[row_axis];
    s.pack.k_step = strides[k_axis];
    return s;
}

static struct oracle_part matmul_part(const struct oracle_plan *plan, node_id id, int64_t rows) {
    struct shape out = oracle_plan_shape(plan, id, rows);
    struct oracle_part p = {
        .sides = {matrix_side(plan, id, 0, rows), matrix_side(plan, id, 1, rows)}};
    p.m = p.sides[0].rows;
    p.n = p.sides[1].rows;
    p.k = p.sides[0].k;
    p.batch = shape_count(&out) / (p.m * p.n);
    p.to = flat(shape_count(&out));
    return p;
}

// ---- convolutions

// Axes that are not there have one position and one tap.
static int64_t spatial(const struct shape *s, int n_axes, int i) {
    int axis = i - (SPATIAL_MAX - n_axes);
    return axis < 0 ? 1 : s->size[s->rank - n_axes + axis];
}

static int64_t window_at(const int64_t *values, int n_axes, int i, int64_t otherwise) {
    int axis = i - (SPATIAL_MAX - n_axes);
    return axis < 0 ? otherwise : values[axis];
}

// Positions of `residue` modulo the stride: set_span() of ir/interpret_window.c, whose taps follow
// one another in equal steps.
static struct oracle_span span_of(const struct node *n, const struct shape *x, int i,
                                  int64_t residue) {
    const struct window *w = &n->detail->window;
    int64_t stride = window_at(w->stride, w->n_axes, i, 1), size = spatial(&n->shape, w->n_axes, i);
    int64_t dilation = window_at(w->dilation, w->n_axes, i, 1);
    int64_t before = window_at(w->before, w->n_axes, i, 0);
    int64_t window = window_at(w->size, w->n_axes, i, 1), first = -1, second = -1, n_taps = 0;
    struct oracle_span s = {.size = (uint64_t)spatial(x, w->n_axes, i), .window = (uint64_t)window};
    if (n->op == OP_CONV) {
        s.n = (uint64_t)size;
        s.n_taps = (uint64_t)window;
        s.advance = (uint64_t)stride;
        s.offset = (uint64_t)-before;
        s.offset_step = (uint64_t)dilation;
        s.tap_step = 1;
        return s;
    }
    for (int64_t t = 0; t < window; t++)
        if ((residue + before - t * dilation) % stride == 0) {
            first = first < 0 ? t : first;
            second = first < t && second < 0 ? t : second;
            n_taps++;
        }
    int64_t step = second < 0 ? 0 : second - first;
    s.n = (uint64_t)(size <= residue ? 0 : (size - residue + stride - 1) / stride);
    s.n_taps = (uint64_t)n_taps;
    s.advance = 1;
    s.tap = (uint64_t)first;
    s.tap_step = (uint64_t)step;
    s.offset = (uint64_t)((residue + before - first * dilation) / stride);
    s.offset_step = (uint64_t)(-step * dilation / stride);
    return s;
}

static int64_t classes(const struct node *n, int i) {
    const struct window *w = &n->detail->window;
    int64_t size = spatial(&n->shape, w->n_axes, i), stride = window_at(w->stride, w->n_axes, i, 1);
    return n->op == OP_CONV ? 1 : stride < size ? stride : size;
}

static struct oracle_part conv_part(const struct oracle_plan *plan, node_id id, int64_t rows,
                                    int number) {
    const struct node *n = node_at(plan, id);
    const struct window *w = &n->detail->window;
    uint64_t strides[RANK_MAX];
    struct shape x, weights, out = oracle_plan_shape(plan, id, rows);
    struct oracle_part p = {0};
    struct oracle_side *right = &p.sides[1], *left = &p.sides[0];
    int64_t residues[3] = {number / classes(n, 2) / classes(n, 1),
                           number / classes(n, 2) % classes(n, 1), number % classes(n, 2)};
    *right = side_of(plan, id, 0, rows, strides, &x);
    right->pack.from.axes = oracle_plan_axes(&x, strides, ~0U);
    *left = side_of(plan, id, 1, rows, strides, &weights);
    left->pack.from.axes = oracle_plan_axes(&weights, strides, ~0U);
    p.m = out.size[1] / w->groups;
    p.n = p.k = 1;
    p.batch = out.size[0] * w->groups;
    int64_t channels = x.size[1] / w->groups, area = 1;
    struct shape positions = {.rank = 4, .size = {p.batch * p.m}};
    uint64_t steps[RANK_MAX] = {0};
    for (int i = SPATIAL_MAX - 1; i >= 0; i--) {
        struct oracle_span s = span_of(n, &x, i, residues[i]);
        left->pack.spans[i] = right->pack.spans[i] = s;
        p.n *= (int64_t)s.n;
        p.k *= (int64_t)s.n_taps;
        positions.size[i + 1] = (int64_t)s.n;
        int64_t apart = n->op == OP_CONV ? 1 : window_at(w->stride, w->n_axes, i, 1);
        steps[i + 1] = (uint64_t)(apart * area);
        p.to_at += (uint64_t)(residues[i] * area);
        area *= spatial(&out, w->n_axes, i);
    }
    steps[0] = (uint64_t)area;
    p.k = p.n ? p.k * channels : 0;
    if (p.k)
        p.to = oracle_plan_axes(&positions, steps, ~0U);
    *left = (struct oracle_side){left->arg,     left->base,     p.m,  p.k, w->groups, left->pack,
                                 left->narrows, left->is_input, false};
    right->rows = p.n;
    right->k = p.k;
    right->batches = p.batch;
    right->is_kept = false;
    left->pack.kind = ORACLE_WEIGHTS;
    right->pack.kind = ORACLE_UNDER_TAPS;
    left->pack.m = right->pack.m = (uint64_t)p.m;
    left->pack.channels = right->pack.channels = (uint64_t)channels;
    left->pack.is_transposed = n->op == OP_CONV_T;
    return p;
}

// ---- ragged products: as large as a group can be, until oracle_part_group() says more

static struct oracle_part ragged_part(const struct oracle_plan *plan, node_id id, int64_t rows) {
    const struct node *n = node_at(plan, id);
    struct oracle_part p = {.batch = 1};
    bool is_outer = n->op == OP_RAGGED_OUTER;
    struct shape shapes[2];
    for (int i = 0; i < 2; i++) {
        uint64_t strides[RANK_MAX];
        p.sides[i] = side_of(plan, id, i, rows, strides, &shapes[i]);
        struct shape *s = &shapes[i];
        int row_axis = i || is_outer ? s->rank - 1 : 0, k_axis = i || is_outer ? s->rank - 2 : 1;
        p.sides[i].rows = s->size[row_axis];
        p.sides[i].k = s->size[k_axis];
        p.sides[i].pack.row_step = strides[row_axis];
        p.sides[i].pack.k_step = strides[k_axis];
        // One step from group to group, or from row to row.
        p.sides[i].pack.at = strides[0];
        p.sides[i].pack.from.axes = flat(1);
        p.sides[i].is_kept = false;
    }
    p.m = p.sides[0].rows;
    p.n = p.sides[1].rows;
    p.k = p.sides[0].k;
    p.to = flat(p.m * p.n);
    return p;
}

void oracle_part_group(struct oracle_part *p, const struct node *n, int number, int64_t begin,
                       int64_t end) {
    bool is_outer = n->op == OP_RAGGED_OUTER;
    struct oracle_side *left = &p->sides[0], *right = &p->sides[1];
    left->pack.at *= (uint64_t)begin;
    right->pack.at *= (uint64_t)(is_outer ? begin : number);
    if (is_outer)
        p->k = left->k = right->k = end - begin;
    else
        p->m = left->rows = end - begin;
    p->to_at = (uint64_t)((is_outer ? number * p->m : begin) * p->n);
    p->to = flat(p->m * p->n);
}

int oracle_parts(const struct oracle_plan *plan, node_id id) {
    const struct node *n = node_at(plan, id);
    if (op_infos[n->op].class == OP_CLASS_WINDOW)
        return (int)(classes(n, 0) * classes(n, 1) * classes(n, 2));
    if (op_infos[n->op].class == OP_CLASS_RAGGED)
        return (int)node_at(plan, n->arg[2])->shape.size[0] - 1;
    return 1;
}

struct oracle_part oracle_part(const struct oracle_plan *plan, node_id id, int64_t rows,
                               int number) {
    enum op_class class = op_infos[node_at(plan, id)->op].class;
    struct oracle_part p = class == OP_CLASS_WINDOW   ? conv_part(plan, id, rows, number)
                           : class == OP_CLASS_RAGGED ? ragged_part(plan, id, rows)
                                                      : matmul_part(plan, id, rows);
    p.is_exact = p.sides[0].is_input && p.sides[1].is_input;
    return p;
}
