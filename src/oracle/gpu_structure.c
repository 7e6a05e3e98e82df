// Operations that move data, go along lines or slide windows, on the card: the node as data for the
// kernels of hone_oracle_move.h and hone_oracle_line.h.
#include "base/error.h"
#include "ir/detail.h"
#include "oracle/gpu_computation.h"

static uint64_t inner_of(const struct shape *s, int axis) {
    uint64_t inner = 1;
    for (int i = axis + 1; i < s->rank; i++)
        inner *= (uint64_t)s->size[i];
    return inner;
}

// What a slice takes: along the argument in its own row-major order.
static void set_walk(struct oracle_move *m, const struct node *n, const struct shape *from,
                     const struct shape *to) {
    uint64_t strides[RANK_MAX], step = 1;
    for (int i = from->rank - 1; i >= 0; i--) {
        m->at += (uint64_t)n->detail->start[i] * step;
        strides[i] = (uint64_t)n->detail->step[i] * step;
        step *= (uint64_t)from->size[i];
    }
    m->walk = oracle_plan_axes(to, strides, ~0U);
}

static void set_padding(struct oracle_move *m, const struct node *n, const struct shape *from,
                        const struct shape *to) {
    m->rank = to->rank;
    m->value = dtype_round(n->dtype, n->detail->value);
    for (int i = 0; i < to->rank; i++) {
        m->from[i] = (uint64_t)from->size[i];
        m->to[i] = (uint64_t)to->size[i];
        m->start[i] = (uint64_t)n->detail->start[i];
    }
}

static bool do_move(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    struct shape to = oracle_plan_shape(&l->plan, id, l->rows), from = to;
    int axis = n->detail->axis;
    struct oracle_move m = {.op = (int)n->op,
                            .out = compute_own(l, id),
                            .n = (uint64_t)compute_count(l, id),
                            .fault = l->fault};
    for (int i = 0; i < n->n_args; i++)
        m.args[i] = compute_operand(l, n->arg[i]);
    if (n->n_args)
        from = oracle_plan_shape(&l->plan, n->arg[0], l->rows);
    m.inner = inner_of(&from, axis);
    m.size = (uint64_t)from.size[axis];
    m.length = n->op == OP_TAKE ? (uint64_t)compute_count(l, n->arg[1]) : (uint64_t)to.size[axis];
    if (n->op == OP_SLICE)
        set_walk(&m, n, &from, &to);
    if (n->op == OP_PAD)
        set_padding(&m, n, &from, &to);
    void *arguments[] = {&m};
    return compute_launch(l, l->oracle->move, (int64_t)m.n, COMPUTE_THREADS, arguments, err);
}

static bool do_scan(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    struct shape shape = oracle_plan_shape(&l->plan, id, l->rows);
    struct oracle_scan s = {.op = n->op == OP_CUMSUM ? OP_RSUM : OP_RPROD,
                            .reverse = n->detail->reverse,
                            .exclusive = n->detail->exclusive,
                            .from = compute_operand(l, n->arg[0]),
                            .out = compute_own(l, id),
                            .length = (uint64_t)shape.size[n->detail->axis],
                            .inner = inner_of(&shape, n->detail->axis)};
    s.n = (uint64_t)shape_count(&shape) / s.length;
    s.n_runs = (s.length + ORACLE_RUN - 1) / ORACLE_RUN;
    s.partials = l->work + (cuda_pointer)l->plan.places[id].partials;
    void *arguments[] = {&s};
    int64_t lines = (int64_t)s.n, runs = lines * (int64_t)s.n_runs;
    bool ok =
        s.n_runs == 1 ||
        (compute_launch(l, l->oracle->scan_runs, runs, COMPUTE_THREADS_FEW, arguments, err) &&
         compute_launch(l, l->oracle->scan_carry, lines, COMPUTE_THREADS_FEW, arguments, err));
    return ok && compute_launch(l, l->oracle->scan, runs, COMPUTE_THREADS_FEW, arguments, err);
}

static bool do_pool(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    const struct window *w = &n->detail->window;
    struct shape from = oracle_plan_shape(&l->plan, n->arg[0], l->rows);
    struct oracle_pool p = {.op = n->op == OP_POOL_MAX ? OP_RMAX : OP_RSUM,
                            .from = compute_operand(l, n->arg[0]),
                            .out = compute_own(l, id),
                            .n = (uint64_t)compute_count(l, id)};
    for (int i = 0; i < SPATIAL_MAX; i++) {
        int axis = i - (SPATIAL_MAX - w->n_axes), at = from.rank - w->n_axes + axis;
        bool is_there = axis >= 0;
        p.size[i] = is_there ? (uint64_t)from.size[at] : 1;
        p.positions[i] = is_there ? (uint64_t)n->shape.size[at] : 1;
        p.window[i] = is_there ? (uint64_t)w->size[axis] : 1;
        p.stride[i] = is_there ? (uint64_t)w->stride[axis] : 1;
        p.dilation[i] = is_there ? (uint64_t)w->dilation[axis] : 1;
        p.before[i] = is_there ? (uint64_t)w->before[axis] : 0;
    }
    void *arguments[] = {&p};
    return compute_launch(l, l->oracle->pool, (int64_t)p.n, COMPUTE_THREADS, arguments, err);
}

bool compute_structure(struct computation *l, node_id id, struct error *err) {
    static bool (*const by_class[OP_CLASS_COUNT])(struct computation * l, node_id id,
                                                  struct error * err) = {
        [OP_CLASS_IOTA] = do_move,    [OP_CLASS_MOVE] = do_move, [OP_CLASS_GATHER] = do_move,
        [OP_CLASS_SCATTER] = do_move, [OP_CLASS_SCAN] = do_scan, [OP_CLASS_WINDOW] = do_pool,
    };
    return by_class[op_infos[compute_node(l, id)->op].class](l, id, err);
}
