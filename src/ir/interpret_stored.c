// Stored nodes of the interpreter, by class: elementwise values run by run, reductions, products,
// and what structural operations and loops make (interpret.c says which nodes are stored).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interpret_precision.h"
#include "ir/interpreter.h"
#include "ir/recurrence.h"
#include "ir/work.h"

void interpreter_store_elementwise(struct interpreter *in, node_id id) {
    int64_t count = shape_count(&node_at(in, id)->shape);
    struct reading array = in->arrays[id] = interpreter_new_array(count, node_at(in, id)->dtype);
    interpreter_open_step(in, id, array);
    for (int64_t start = 0; start < count; start += RUN_MAX) {
        in->steps[in->n_steps - 1].run = at_offset(array, start);
        interpreter_run_group(in, start, count - start < RUN_MAX ? (int)(count - start) : RUN_MAX);
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
void interpreter_store_input(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    if (in->given) {
        in->arrays[id] = in->given[in->input_of[id]];
        return;
    }
    int64_t count = shape_count(&n->shape);
    struct reading r = in->arrays[id] = interpreter_new_array(count, n->dtype);
    dtype_get_run(n->dtype, in->data->inputs[in->input_of[id]], 0, count, r.value);
    for (int64_t i = 0; i < count; i++)
        reading_set_honest(&r, i, r.value[i]);
    interpreter_fill(r.variance, 0, count);
}

// What is reduced lies together: the argument is computed on the way.
static void store_row_reduction(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    bool is_mean = work_is_mean(&in->problem->graph, id);
    int64_t rows = shape_count(&n->shape), row = shape_count(&node_at(in, n->arg[0])->shape) / rows;
    in->arrays[id] = interpreter_new_array(rows, n->dtype);
    if (!in->is_stored[n->arg[0]])
        interpreter_open_step(in, n->arg[0],
                              interpreter_new_array(RUN_MAX, node_at(in, n->arg[0])->dtype));
    for (int64_t i = 0; i < rows; i++) {
        struct reading_fold fold = {.op = n->op, .type = n->dtype, .is_mean = is_mean};
        for (int64_t start = 0; start < row; start += RUN_MAX) {
            int len = row - start < RUN_MAX ? (int)(row - start) : RUN_MAX;
            interpreter_run_group(in, i * row + start, len);
            struct reading x = interpreter_operand(in, n->arg[0], i * row + start);
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
    struct reading from = interpreter_whole(in, n->arg[0], &number),
                   run = interpreter_new_array(RUN_MAX, from.type);
    int64_t count = shape_count(&n->shape), length = shape_count(s) / count;
    int64_t *offsets = reading_alloc(length, sizeof *offsets);
    for (int64_t i = 0; i < length; i++)
        offsets[i] = masked_offset(s, n->axes, i);
    in->arrays[id] = interpreter_new_array(count, n->dtype);
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
    interpreter_free_array(&run);
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
    struct reading r = interpreter_whole(in, id, &number);
    assert(node_at(in, id)->op != OP_CONST);
    if (!r.value) {
        int64_t count = shape_count(&node_at(in, id)->shape);
        own->value = r.value = reading_alloc(count, sizeof(double));
        interpreter_widen(r.value, r.honest, count);
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

// Digits that sums of products have less than f32.
static int sums_lack(const struct interpreter *in) {
    return in->problem->precision.short_sums ? SHORT_SUMS_LACK : 0;
}

void interpreter_store_matmul(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    const struct shape *l = &node_at(in, n->arg[0])->shape;
    int rank = n->shape.rank;
    struct reading_matmul mm = {.m = n->shape.size[rank - 2],
                                .n = n->shape.size[rank - 1],
                                .k = l->size[rank - 1],
                                .lack = sums_lack(in)};
    struct side left = product_side(in, n, n->arg[0]), right = product_side(in, n, n->arg[1]);
    int64_t count = shape_count(&n->shape);
    in->arrays[id] = interpreter_new_array(count, n->dtype);
    for (int64_t batch = 0; batch < count / (mm.m * mm.n); batch++) {
        mm.out = at_offset(in->arrays[id], batch * mm.m * mm.n);
        mm.left = matrix_of(&left, &n->shape, batch);
        mm.right = matrix_of(&right, &n->shape, batch);
        structural_matmul(&mm);
    }
    interpreter_free_array(&left.own);
    interpreter_free_array(&right.own);
}

void interpreter_store_structural(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    struct structural s = {
        .graph = &in->problem->graph, .node = n, .fault = in->fault, .lack = sums_lack(in)};
    struct reading own[ARGS_MAX] = {{0}};
    struct number numbers[ARGS_MAX];
    for (int i = 0; i < n->n_args; i++)
        s.args[i] = node_at(in, n->arg[i])->op == OP_CONST
                        ? interpreter_whole(in, n->arg[i], &numbers[i])
                        : whole_operand(in, n, n->arg[i], &own[i]);
    s.out = in->arrays[id] = interpreter_new_array(shape_count(&n->shape), n->dtype);
    structural_store(&s);
    for (int i = 0; i < n->n_args; i++)
        interpreter_free_array(&own[i]);
}

// All results of a loop at once: those that come later find their arrays made.
void interpreter_store_recurrence(struct interpreter *in, node_id id) {
    const struct graph *g = &in->problem->graph;
    const struct node *n = node_at(in, id);
    struct structural_loop loop = {.recurrence = recurrence_of(n), .fault = in->fault};
    struct reading own[ARGS_MAX] = {{0}};
    struct number numbers[ARGS_MAX];
    if (in->arrays[id].value)
        return;
    for (int i = 0; i < n->n_args; i++)
        loop.args[i] = node_at(in, n->arg[i])->op == OP_CONST
                           ? interpreter_whole(in, n->arg[i], &numbers[i])
                           : whole_operand(in, n, n->arg[i], &own[i]);
    for (node_id i = id; i < g->n_nodes && loop.n_results < LOOP_RESULTS_MAX; i++) {
        if (recurrence_of(&g->nodes[i]) != loop.recurrence || !in->is_stored[i])
            continue;
        in->arrays[i] = interpreter_new_array(shape_count(&g->nodes[i].shape), g->nodes[i].dtype);
        loop.nodes[loop.n_results] = &g->nodes[i];
        loop.results[loop.n_results++] = in->arrays[i];
    }
    structural_recurrence(&loop);
    for (int i = 0; i < n->n_args; i++)
        interpreter_free_array(&own[i]);
}

void interpreter_store_reduction(struct interpreter *in, node_id id) {
    if (reduces_rows(in, node_at(in, id)))
        store_row_reduction(in, id);
    else
        store_scattered_reduction(in, id);
}
