// Evaluation in groups. A node is *stored* (a whole array) when something needs all of it
// at once: outputs, operands of contractions, results of reductions, values read more than
// once. Everything else is computed on the way, in runs of RUN_MAX elements that stay in
// cache: a group is a stored node with the unstored ones below it. That is the same as node
// by node over whole arrays, only without writing every one of them to memory.
#include "ir/interpret.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "ir/interpret_precision.h"
#include "ir/recurrence.h"
#include "ir/structural.h"
#include "ir/work.h"

// Larger groups would fall out of the cache again.
enum { GROUP_MAX = 24 };

enum { HUGE_PAGE = 2 * 1024 * 1024 };

// A node inside a group and where its run stands.
struct step {
    node_id node;
    struct reading run;
};

struct interpreter {
    const struct problem *problem;
    const struct interpret_data *data;
    const struct reading *given;         // per input, in place of data, or NULL
    const struct structural_kept *kept;  // nodes that were computed once and for all, or NULL
    struct arena arena;
    struct reading *arrays;  // per node; value NULL: not stored (or not yet, or no more)
    bool *is_stored;
    int *n_uses;    // readers left; outputs have one more
    int *input_of;  // per node: number of the input, or -1
    int *step_of;   // per node: index in the open group + 1, or 0
    struct step steps[GROUP_MAX * (ARGS_MAX + 1)];
    int n_steps;
    double zeros[RUN_MAX];
    char fault[FAULT_MAX];
};

void *reading_alloc(int64_t count, int64_t size) {
    size_t bytes = (size_t)count * (size_t)size + 1;
    // Large arrays live briefly: with small pages the faults cost more than the arithmetic.
    bool is_large = bytes >= 4 * HUGE_PAGE;
    void *p = NULL;
    if (is_large)
        p = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    else
        p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    if (is_large)
        madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static struct reading new_array(int64_t count, enum dtype type) {
    struct reading r = {.value = reading_alloc(count, sizeof(double)),
                        .variance = reading_alloc(count, sizeof(double)),
                        .type = type};
    if (dtype_is_wide(type))
        r.wide = reading_alloc(count, sizeof(double));
    else
        r.honest = reading_alloc(count, sizeof(float));
    return r;
}

static void free_array(struct reading *r) {
    free(r->value);
    free(r->variance);
    free(r->honest);
    free(r->wide);
    *r = (struct reading){0};
}

static const struct node *node_at(const struct interpreter *in, node_id id) {
    return &in->problem->graph.nodes[id];
}

static bool is_leaf(const struct node *n) {
    return op_infos[n->op].class == OP_CLASS_LEAF;
}

static bool is_structural(const struct node *n) {
    return op_class_of(n->op)->is_structural;
}

// Do the reduced axes stand last, so that what is reduced lies together in memory?
static bool reduces_rows(const struct interpreter *in, const struct node *n) {
    int rank = node_at(in, n->arg[0])->shape.rank;
    unsigned kept = ((1u << rank) - 1) & ~n->axes;
    return (kept & (kept + 1)) == 0;
}

// A view that a product can read through: its matrices lie as they are, only the batch axes are
// broadcast or change places. Stored, it would repeat them for every batch.
static bool is_batch_view(const struct interpreter *in, const struct node *n) {
    const struct shape *from = n->op == OP_VIEW ? &node_at(in, n->arg[0])->shape : NULL;
    int rank = n->shape.rank;
    return from && from->rank >= 2 && rank >= 2 && node_at(in, n->arg[0])->op != OP_CONST &&
           n->view[rank - 2] == from->rank - 2 && n->view[rank - 1] == from->rank - 1;
}

// ---- which nodes are stored

static bool is_always_stored(const struct node *n) {
    enum op_class class = op_infos[n->op].class;
    return class == OP_CLASS_REDUCE || class == OP_CLASS_CONTRACT || is_structural(n);
}

static void store_input(struct interpreter *in, node_id id);
static void store_elementwise(struct interpreter *in, node_id id);
static void store_reduction(struct interpreter *in, node_id id);
static void store_matmul(struct interpreter *in, node_id id);
static void store_structural(struct interpreter *in, node_id id);
static void store_recurrence(struct interpreter *in, node_id id);

static bool never_whole(const struct interpreter *in, const struct node *n, node_id arg) {
    (void)in, (void)n, (void)arg;
    return false;
}

static bool reduction_needs_whole(const struct interpreter *in, const struct node *n, node_id arg) {
    (void)arg;
    return !reduces_rows(in, n);
}

static bool product_needs_whole(const struct interpreter *in, const struct node *n, node_id arg) {
    (void)n;
    return !is_batch_view(in, node_at(in, arg));
}

// How the nodes of a class are computed.
static const struct {
    void (*store)(struct interpreter *in, node_id id);
    // Does the node read argument `arg` out of order, so that all of it must be there? NULL: yes.
    bool (*needs_whole)(const struct interpreter *in, const struct node *n, node_id arg);
} by_class[OP_CLASS_COUNT] = {
    [OP_CLASS_LEAF] = {store_input, NULL},
    [OP_CLASS_VIEW] = {store_elementwise, NULL},
    [OP_CLASS_ELEMENTWISE] = {store_elementwise, never_whole},
    [OP_CLASS_REDUCE] = {store_reduction, reduction_needs_whole},
    [OP_CLASS_CONTRACT] = {store_matmul, product_needs_whole},
    [OP_CLASS_IOTA] = {store_structural, NULL},
    [OP_CLASS_MOVE] = {store_structural, NULL},
    [OP_CLASS_GATHER] = {store_structural, NULL},
    [OP_CLASS_SCATTER] = {store_structural, NULL},
    [OP_CLASS_SCAN] = {store_structural, NULL},
    [OP_CLASS_ORDER] = {store_structural, NULL},
    [OP_CLASS_WINDOW] = {store_structural, NULL},
    [OP_CLASS_RAGGED] = {store_structural, NULL},
    [OP_CLASS_RECUR] = {store_recurrence, NULL},
};

static bool needs_whole(const struct interpreter *in, const struct node *n, node_id arg) {
    enum op_class class = op_infos[n->op].class;
    return !by_class[class].needs_whole || by_class[class].needs_whole(in, n, arg);
}

// Users have larger ids, so from the end on it is known whether somebody reads a node.
static void count_uses(struct interpreter *in) {
    const struct graph *g = &in->problem->graph;
    for (int i = 0; i < in->problem->n_outputs; i++) {
        in->is_stored[in->problem->outputs[i].node] = true;
        in->n_uses[in->problem->outputs[i].node]++;
    }
    for (node_id i = g->n_nodes - 1; i >= 0; i--)
        for (int j = 0; in->n_uses[i] && j < g->nodes[i].n_args; j++)
            in->n_uses[g->nodes[i].arg[j]]++;
}

static void choose_stored(struct interpreter *in) {
    const struct graph *g = &in->problem->graph;
    int *group_size = arena_array(&in->arena, int, g->n_nodes + 1);
    count_uses(in);
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (!in->n_uses[i])
            continue;
        // Only f32 can be read where it lies. What is given is somebody else's to free.
        if (n->op == OP_INPUT && (n->dtype != DTYPE_F32 || in->given))
            in->is_stored[i] = true;
        if (n->op == OP_INPUT && in->given)
            in->n_uses[i]++;
        if (is_leaf(n))
            continue;
        in->is_stored[i] |= in->n_uses[i] > 1 || is_always_stored(n);
        group_size[i] = 1;
        for (int j = 0; j < n->n_args; j++) {
            node_id arg = n->arg[j];
            if (needs_whole(in, n, arg) || group_size[i] + group_size[arg] > GROUP_MAX)
                in->is_stored[arg] |= !is_leaf(node_at(in, arg));
            if (!in->is_stored[arg])
                group_size[i] += group_size[arg];
        }
    }
}

// ---- groups

// Add the unstored nodes that `id` needs, arguments first. Depth is bounded by GROUP_MAX.
static void open_step(struct interpreter *in, node_id id, struct reading run) {
    const struct node *n = node_at(in, id);
    if (n->op != OP_VIEW)
        for (int i = 0; i < n->n_args; i++)
            if (!in->is_stored[n->arg[i]] && !in->step_of[n->arg[i]])
                open_step(in, n->arg[i], new_array(RUN_MAX, node_at(in, n->arg[i])->dtype));
    in->steps[in->n_steps] = (struct step){.node = id, .run = run};
    in->step_of[id] = ++in->n_steps;
}

static void close_group(struct interpreter *in) {
    for (int i = 0; i < in->n_steps; i++) {
        node_id id = in->steps[i].node;
        in->step_of[id] = 0;
        if (!in->is_stored[id])
            free_array(&in->steps[i].run);
    }
    in->n_steps = 0;
}

static void fill_doubles(double *out, double value, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}

static void fill_floats(float *out, float value, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}

READING_HOT static void widen_floats(double *restrict out, const float *restrict from, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = from[i];
}

// Elements from[0], from[stride], ... in all readings; a source without values is an input.
static void copy_run(struct reading out, struct reading from, int64_t stride, int64_t n) {
    for (int64_t i = 0; i < n && out.honest; i++)
        out.honest[i] = from.honest[i * stride];
    for (int64_t i = 0; i < n && out.wide; i++)
        out.wide[i] = from.wide[i * stride];
    for (int64_t i = 0; i < n; i++)
        out.value[i] = from.value ? from.value[i * stride] : (double)from.honest[i * stride];
    for (int64_t i = 0; i < n; i++)
        out.variance[i] = from.variance ? from.variance[i * stride] : 0;
}

static struct reading at_offset(struct reading r, int64_t offset) {
    return (struct reading){.value = r.value ? r.value + offset : NULL,
                            .variance = r.variance ? r.variance + offset : NULL,
                            .honest = r.honest ? r.honest + offset : NULL,
                            .wide = r.wide ? r.wide + offset : NULL,
                            .type = r.type};
}

// Where the one element of a constant stands.
struct number {
    float honest;
    double wide;
};

// A node's whole array; an input of f32 has only its data, a constant one element.
static struct reading whole(const struct interpreter *in, node_id id, struct number *number) {
    const struct node *n = node_at(in, id);
    if (n->op == OP_CONST) {
        *number = (struct number){(float)n->value, n->value};
        return (struct reading){.value = &number->wide,
                                .honest = dtype_is_wide(n->dtype) ? NULL : &number->honest,
                                .wide = dtype_is_wide(n->dtype) ? &number->wide : NULL,
                                .type = n->dtype};
    }
    if (n->op == OP_INPUT && n->dtype == DTYPE_F32 && !in->given)
        return (struct reading){.honest = (float *)in->data->inputs[in->input_of[id]]};
    assert(in->arrays[id].value);
    return in->arrays[id];
}

// Elements [start, start + n) of a view, run by run along its last axis.
static void run_view(const struct interpreter *in, const struct node *view, struct reading out,
                     int64_t start, int64_t n) {
    struct number number;
    struct reading from = whole(in, view->arg[0], &number);
    const struct shape *s = &node_at(in, view->arg[0])->shape;
    int64_t strides[RANK_MAX], stride[RANK_MAX] = {0}, step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= s->size[i];
    }
    int rank = view->shape.rank;
    for (int i = 0; i < rank; i++)
        stride[i] = view->view[i] < 0 ? 0 : strides[view->view[i]];
    int64_t last = rank ? view->shape.size[rank - 1] : 1;
    for (int64_t done = 0; done < n;) {
        int64_t rest = start + done, offset = 0, column = rest % last;
        rest /= last;
        for (int i = rank - 2; i >= 0; i--) {
            offset += rest % view->shape.size[i] * stride[i];
            rest /= view->shape.size[i];
        }
        int64_t step_last = rank ? stride[rank - 1] : 0;
        int64_t len = last - column < n - done ? last - column : n - done;
        copy_run(at_offset(out, done), at_offset(from, offset + column * step_last), step_last,
                 len);
        done += len;
    }
}

static struct reading operand(struct interpreter *in, node_id id, int64_t start) {
    if (in->step_of[id])
        return in->steps[in->step_of[id] - 1].run;
    struct reading r = at_offset(in->arrays[id], start);
    if (!r.variance)
        r.variance = in->zeros;
    return r;
}

// Does it make numbers that are not among its arguments?
static bool makes_numbers(const struct node *n) {
    return op_class_of(n->op)->makes_numbers && n->op != OP_CAST && n->op != OP_WHERE;
}

// A double holds whole numbers up to 2^53: what an operation makes beyond that may be wrong in its
// last digits, and is a fault rather than a quiet mistake.
static void check_whole(struct interpreter *in, const struct node *n, struct reading r,
                        int64_t count) {
    static const double most = 9007199254740992;
    if (n->dtype != DTYPE_I64 || in->fault[0] || !makes_numbers(n))
        return;
    for (int64_t i = 0; i < count; i++)
        if (fabs(r.value[i]) > most) {
            snprintf(in->fault, FAULT_MAX, "%s: %.0f is beyond 2^53, and i64 is exact up to it",
                     n->name, r.value[i]);
            return;
        }
}

// Elements [start, start + n) of every step; n is at most RUN_MAX.
static void run_group(struct interpreter *in, int64_t start, int n) {
    for (int i = 0; i < in->n_steps; i++) {
        const struct node *node = node_at(in, in->steps[i].node);
        struct reading *out = &in->steps[i].run;
        struct reading args[ARGS_MAX];
        if (node->op == OP_CONST) {
            fill_doubles(out->value, node->value, n);
            fill_doubles(out->variance, 0, n);
            if (out->wide)
                fill_doubles(out->wide, node->value, n);
            else
                fill_floats(out->honest, (float)node->value, n);
        } else if (node->op == OP_INPUT) {
            const float *data = in->data->inputs[in->input_of[in->steps[i].node]];
            const float *from = data + start;
            widen_floats(out->value, from, n);
            memset(out->variance, 0, sizeof(double) * (size_t)n);
            memcpy(out->honest, from, sizeof(float) * (size_t)n);
        } else if (node->op == OP_VIEW) {
            run_view(in, node, *out, start, n);
        } else {
            for (int j = 0; j < node->n_args; j++)
                args[j] = operand(in, node->arg[j], start);
            reading_elementwise(node->op, *out, args, n);
            if (work_is_exponent(&in->problem->graph, in->steps[i].node))
                reading_exponent(*out, args, n);
            reading_doubt(node->op, *out, args, n);
            check_whole(in, node, *out, n);
        }
    }
}

// ---- stored nodes, by class

static void store_elementwise(struct interpreter *in, node_id id) {
    int64_t count = shape_count(&node_at(in, id)->shape);
    struct reading array = in->arrays[id] = new_array(count, node_at(in, id)->dtype);
    open_step(in, id, array);
    for (int64_t start = 0; start < count; start += RUN_MAX) {
        in->steps[in->n_steps - 1].run = at_offset(array, start);
        run_group(in, start, count - start < RUN_MAX ? (int)(count - start) : RUN_MAX);
    }
}

// Where the best stands; uncertain by the whole axis when another may be as good.
static void put_position(struct reading out, int64_t at, const struct reading_partial *p,
                         int64_t length) {
    double reach = READING_STRAYS * sqrt(p->variance + p->other_variance);
    out.value[at] = (double)p->at;
    out.wide[at] = (double)p->honest_at;
    out.variance[at] = fabs(p->value - p->other) <= reach ? (double)length * (double)length : 0;
}

static void put_partial(struct reading out, int64_t at, const struct reading_fold *f,
                        int64_t length) {
    struct reading_partial p = reading_fold_end(f);
    if (f->op == OP_ARGMAX || f->op == OP_ARGMIN) {
        put_position(out, at, &p, length);
        return;
    }
    out.value[at] = p.value;
    out.variance[at] = p.variance;
    reading_set_honest(&out, at, f->type == DTYPE_F32 ? (double)p.honest : p.wide);
}

// An input that is not f32, or anything else kept as its type stores it.
static void store_input(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    if (in->given) {
        in->arrays[id] = in->given[in->input_of[id]];
        return;
    }
    int64_t count = shape_count(&n->shape);
    struct reading r = in->arrays[id] = new_array(count, n->dtype);
    dtype_get_run(n->dtype, in->data->inputs[in->input_of[id]], 0, count, r.value);
    for (int64_t i = 0; i < count; i++)
        reading_set_honest(&r, i, r.value[i]);
    fill_doubles(r.variance, 0, count);
}

// What is reduced lies together: the argument is computed on the way.
static void store_row_reduction(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    bool is_mean = work_is_mean(&in->problem->graph, id);
    int64_t rows = shape_count(&n->shape), row = shape_count(&node_at(in, n->arg[0])->shape) / rows;
    in->arrays[id] = new_array(rows, n->dtype);
    if (!in->is_stored[n->arg[0]])
        open_step(in, n->arg[0], new_array(RUN_MAX, node_at(in, n->arg[0])->dtype));
    for (int64_t i = 0; i < rows; i++) {
        struct reading_fold fold = {.op = n->op, .type = n->dtype, .is_mean = is_mean};
        for (int64_t start = 0; start < row; start += RUN_MAX) {
            int len = row - start < RUN_MAX ? (int)(row - start) : RUN_MAX;
            run_group(in, i * row + start, len);
            struct reading x = operand(in, n->arg[0], i * row + start);
            reading_fold_add(&fold, reading_run(&fold, x, len));
        }
        put_partial(in->arrays[id], i, &fold, row);
    }
}

// Step through the axes in `mask` of a shape, row-major: returns the offset of step `i`.
static int64_t masked_offset(const struct shape *s, unsigned mask, int64_t i) {
    int64_t offset = 0, stride = 1;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        if (mask >> axis & 1) {
            offset += i % s->size[axis] * stride;
            i /= s->size[axis];
        }
        stride *= s->size[axis];
    }
    return offset;
}

// Any axes: each result gathers its elements into a run. An array of its own for the
// argument, since elements are read out of order.
static void store_scattered_reduction(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    bool is_mean = work_is_mean(&in->problem->graph, id);
    const struct shape *s = &node_at(in, n->arg[0])->shape;
    struct number number;
    struct reading from = whole(in, n->arg[0], &number), run = new_array(RUN_MAX, from.type);
    int64_t count = shape_count(&n->shape), length = shape_count(s) / count;
    int64_t *offsets = reading_alloc(length, sizeof *offsets);
    for (int64_t i = 0; i < length; i++)
        offsets[i] = masked_offset(s, n->axes, i);
    in->arrays[id] = new_array(count, n->dtype);
    for (int64_t i = 0; i < count; i++) {
        struct reading_fold fold = {.op = n->op, .type = n->dtype, .is_mean = is_mean};
        struct reading base = at_offset(from, masked_offset(s, ~n->axes, i));
        for (int64_t start = 0; start < length; start += RUN_MAX) {
            int len = length - start < RUN_MAX ? (int)(length - start) : RUN_MAX;
            for (int j = 0; j < len; j++)
                copy_run(at_offset(run, j), at_offset(base, offsets[start + j]), 0, 1);
            reading_fold_add(&fold, reading_run(&fold, run, len));
        }
        put_partial(in->arrays[id], i, &fold, length);
    }
    free(offsets);
    free_array(&run);
}

static bool multiplies(enum op op) {
    return op == OP_MATMUL || op == OP_CONV || op == OP_CONV_T || op == OP_RAGGED_MATMUL ||
           op == OP_RAGGED_OUTER;
}

// Node `id` for a user `n` that needs whole arrays. What is made for it is in `own`: inputs are
// widened, factors of a declared precision are rounded.
static struct reading whole_operand(struct interpreter *in, const struct node *n, node_id id,
                                    struct reading *own) {
    struct number number;
    struct reading r = whole(in, id, &number);
    assert(node_at(in, id)->op != OP_CONST);
    if (!r.value) {
        int64_t count = shape_count(&node_at(in, id)->shape);
        own->value = r.value = reading_alloc(count, sizeof(double));
        widen_floats(r.value, r.honest, count);
    }
    const struct precision *q = &in->problem->precision;
    if (q->operand != PRECISION_STORED && multiplies(n->op) && n->dtype == DTYPE_F32 &&
        dtype_is_float(r.type) && r.honest)
        reading_narrow(q, &r, shape_count(&node_at(in, id)->shape), own);
    return r;
}

// One side of a product: arrays, and how far one step along each batch axis goes in them.
struct side {
    struct reading whole, own;
    int64_t stride[RANK_MAX];
};

static struct side product_side(struct interpreter *in, const struct node *user, node_id id) {
    const struct node *n = node_at(in, id);
    struct side s = {0};
    bool is_through = !in->is_stored[id] && is_batch_view(in, n);
    const struct shape *from = is_through ? &node_at(in, n->arg[0])->shape : &n->shape;
    int64_t strides[RANK_MAX], step = 1;
    for (int i = from->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= from->size[i];
    }
    for (int i = 0; i < n->shape.rank - 2; i++) {
        int axis = is_through ? n->view[i] : i;
        s.stride[i] = axis < 0 ? 0 : strides[axis];
    }
    s.whole = whole_operand(in, user, is_through ? n->arg[0] : id, &s.own);
    return s;
}

static struct reading matrix_of(const struct side *s, const struct shape *shape, int64_t batch) {
    int64_t offset = 0;
    for (int i = shape->rank - 3; i >= 0; i--) {
        offset += batch % shape->size[i] * s->stride[i];
        batch /= shape->size[i];
    }
    return at_offset(s->whole, offset);
}

static struct reading_products products_of(const struct interpreter *in) {
    const struct precision *q = &in->problem->precision;
    return (struct reading_products){.lack = q->short_sums ? SHORT_SUMS_LACK : 0,
                                     .by_parts = precision_by_parts(q)};
}

static void store_matmul(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    const struct shape *l = &node_at(in, n->arg[0])->shape;
    int rank = n->shape.rank;
    struct reading_matmul mm = {.m = n->shape.size[rank - 2],
                                .n = n->shape.size[rank - 1],
                                .k = l->size[rank - 1],
                                .how = products_of(in)};
    struct side left = product_side(in, n, n->arg[0]), right = product_side(in, n, n->arg[1]);
    int64_t count = shape_count(&n->shape);
    in->arrays[id] = new_array(count, n->dtype);
    for (int64_t batch = 0; batch < count / (mm.m * mm.n); batch++) {
        mm.out = at_offset(in->arrays[id], batch * mm.m * mm.n);
        mm.left = matrix_of(&left, &n->shape, batch);
        mm.right = matrix_of(&right, &n->shape, batch);
        structural_matmul(&mm);
    }
    free_array(&left.own);
    free_array(&right.own);
}

static void store_structural(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    struct structural s = {
        .graph = &in->problem->graph, .node = n, .fault = in->fault, .how = products_of(in)};
    struct reading own[ARGS_MAX] = {{0}};
    struct number numbers[ARGS_MAX];
    for (int i = 0; i < n->n_args; i++)
        s.args[i] = node_at(in, n->arg[i])->op == OP_CONST
                        ? whole(in, n->arg[i], &numbers[i])
                        : whole_operand(in, n, n->arg[i], &own[i]);
    s.out = in->arrays[id] = new_array(shape_count(&n->shape), n->dtype);
    structural_store(&s);
    for (int i = 0; i < n->n_args; i++)
        free_array(&own[i]);
}

// All results of a loop at once: those that come later find their arrays made.
static void store_recurrence(struct interpreter *in, node_id id) {
    const struct graph *g = &in->problem->graph;
    const struct node *n = node_at(in, id);
    struct structural_loop loop = {.recurrence = recurrence_of(n), .fault = in->fault};
    struct reading own[ARGS_MAX] = {{0}};
    struct number numbers[ARGS_MAX];
    if (in->arrays[id].value)
        return;
    for (int i = 0; i < n->n_args; i++)
        loop.args[i] = node_at(in, n->arg[i])->op == OP_CONST
                           ? whole(in, n->arg[i], &numbers[i])
                           : whole_operand(in, n, n->arg[i], &own[i]);
    for (node_id i = id; i < g->n_nodes && loop.n_results < LOOP_RESULTS_MAX; i++) {
        if (recurrence_of(&g->nodes[i]) != loop.recurrence || !in->is_stored[i])
            continue;
        in->arrays[i] = new_array(shape_count(&g->nodes[i].shape), g->nodes[i].dtype);
        loop.nodes[loop.n_results] = &g->nodes[i];
        loop.results[loop.n_results++] = in->arrays[i];
    }
    structural_recurrence(&loop);
    for (int i = 0; i < n->n_args; i++)
        free_array(&own[i]);
}

static void store_reduction(struct interpreter *in, node_id id) {
    if (reduces_rows(in, node_at(in, id)))
        store_row_reduction(in, id);
    else
        store_scattered_reduction(in, id);
}

// The arguments of `id` have one reader less; arrays that nobody reads any more are freed.
static void release_args(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    for (int i = 0; i < n->n_args; i++)
        if (--in->n_uses[n->arg[i]] == 0 && in->is_stored[n->arg[i]])
            free_array(&in->arrays[n->arg[i]]);
}

static void evaluate(struct interpreter *in, node_id id) {
    by_class[op_infos[node_at(in, id)->op].class].store(in, id);
    bool is_root_open = in->n_steps && in->steps[in->n_steps - 1].node == id;
    if (!is_root_open)
        check_whole(in, node_at(in, id), in->arrays[id], shape_count(&node_at(in, id)->shape));
    for (int i = 0; i < in->n_steps; i++)
        release_args(in, in->steps[i].node);
    if (!is_root_open)
        release_args(in, id);
    // Views that were read through are done with as well.
    const struct node *n = node_at(in, id);
    for (int i = 0; i < n->n_args && op_infos[n->op].class == OP_CLASS_CONTRACT; i++)
        if (!in->is_stored[n->arg[i]] && node_at(in, n->arg[i])->op == OP_VIEW)
            release_args(in, n->arg[i]);
    close_group(in);
}

static void take_output(struct interpreter *in, int i, struct interpret_result *result) {
    node_id id = in->problem->outputs[i].node;
    struct reading *r = &in->arrays[id];
    int64_t count = shape_count(&node_at(in, id)->shape);
    for (int64_t j = 0; j < count; j++) {
        // Where the truth is not a finite number there is nothing to be uncertain about.
        r->variance[j] = isfinite(r->value[j]) ? sqrt(r->variance[j]) : 0;
    }
    result->count[i] = count;
    result->value[i] = r->value;
    result->spread[i] = r->variance;
    result->honest[i] = r->honest;
    result->wide[i] = r->wide;
    *r = (struct reading){0};
}

// A node that stays the same from one evaluation to the next; false when it must be computed.
static bool take_kept(struct interpreter *in, node_id id) {
    if (!in->kept || !in->kept->is_same[id])
        return false;
    in->n_uses[id]++;
    in->arrays[id] = in->kept->arrays[id];
    return in->arrays[id].value != NULL;
}

// Every node of the problem; the caller takes the outputs' arrays and ends it.
static struct interpreter *open_interpreter(const struct interpreter *start) {
    struct interpreter *in = reading_alloc(1, sizeof *in);
    *in = *start;
    const struct problem *p = in->problem;
    int n = p->graph.n_nodes;
    in->arrays = arena_array(&in->arena, struct reading, n + 1);
    in->is_stored = arena_array(&in->arena, bool, n + 1);
    in->n_uses = arena_array(&in->arena, int, n + 1);
    in->input_of = arena_array(&in->arena, int, n + 1);
    in->step_of = arena_array(&in->arena, int, n + 1);
    for (int i = 0; i < p->n_inputs; i++)
        in->input_of[p->inputs[i].node] = i;
    choose_stored(in);
    return in;
}

static struct interpreter *run_problem(const struct interpreter *start) {
    struct interpreter *in = open_interpreter(start);
    for (node_id id = 0; id < in->problem->graph.n_nodes; id++)
        if (in->is_stored[id] && !take_kept(in, id))
            evaluate(in, id);
    return in;
}

static void end_interpreter(struct interpreter *in) {
    arena_reset(&in->arena);
    free(in);
}

// The last node until which each array lives: it is read by stored nodes, through unstored ones.
static void find_ends(const struct interpreter *in, int *last) {
    const struct problem *p = in->problem;
    for (int i = 0; i < p->n_outputs; i++)
        last[p->outputs[i].node] = p->graph.n_nodes;
    for (node_id i = p->graph.n_nodes - 1; i >= 0; i--)
        for (int k = 0; in->n_uses[i] && k < p->graph.nodes[i].n_args; k++) {
            node_id arg = p->graph.nodes[i].arg[k];
            int until = in->is_stored[i] ? i : last[i];
            last[arg] = last[arg] > until ? last[arg] : until;
        }
}

int64_t interpret_whole_bytes(const struct problem *p) {
    struct interpreter *in = open_interpreter(&(struct interpreter){.problem = p});
    int n = p->graph.n_nodes;
    int *last = arena_array(&in->arena, int, n + 1);
    int64_t *freed = arena_array(&in->arena, int64_t, n + 1), live = 0, peak = 0;
    find_ends(in, last);
    for (node_id i = 0; i < n; i++) {
        const struct node *node = &p->graph.nodes[i];
        int64_t each = 2 * (int64_t)sizeof(double) + (dtype_is_wide(node->dtype) ? 8 : 4);
        int64_t bytes = in->is_stored[i] ? each * shape_count(&node->shape) : 0;
        live += bytes;
        freed[last[i] > i ? last[i] : i] += bytes;
        peak = live > peak ? live : peak;
        live -= freed[i];
    }
    end_interpreter(in);
    return peak;
}

void interpret(const struct problem *p, const struct interpret_data *data,
               struct interpret_result *result) {
    struct interpreter *in = run_problem(&(struct interpreter){.problem = p, .data = data});
    *result = (struct interpret_result){.n_outputs = p->n_outputs};
    for (int i = 0; i < p->n_outputs; i++)
        take_output(in, i, result);
    memcpy(result->fault, in->fault, sizeof result->fault);
    end_interpreter(in);
}

void structural_interpret(const struct problem *p, const struct reading *inputs,
                          const struct structural_kept *kept, struct reading *outputs,
                          char *fault) {
    struct interpreter *in =
        run_problem(&(struct interpreter){.problem = p, .given = inputs, .kept = kept});
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        if (kept->is_same[i] && in->is_stored[i])
            kept->arrays[i] = in->arrays[i];
    for (int i = 0; i < p->n_outputs; i++)
        outputs[i] = in->arrays[p->outputs[i].node];
    if (in->fault[0] && !fault[0])
        memcpy(fault, in->fault, sizeof in->fault);
    end_interpreter(in);
}

void interpret_reset(struct interpret_result *result) {
    for (int i = 0; i < result->n_outputs; i++) {
        free(result->value[i]);
        free(result->spread[i]);
        free(result->honest[i]);
        free(result->wide[i]);
    }
    *result = (struct interpret_result){0};
}
