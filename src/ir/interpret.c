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

#include "ir/interpreter.h"
#include "ir/work.h"

enum { HUGE_PAGE = 2 * 1024 * 1024 };

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

struct reading interpreter_new_array(int64_t count, enum dtype type) {
    struct reading r = {.value = reading_alloc(count, sizeof(double)),
                        .variance = reading_alloc(count, sizeof(double)),
                        .type = type};
    if (dtype_is_wide(type))
        r.wide = reading_alloc(count, sizeof(double));
    else
        r.honest = reading_alloc(count, sizeof(float));
    return r;
}

void interpreter_free_array(struct reading *r) {
    free(r->value);
    free(r->variance);
    free(r->honest);
    free(r->wide);
    *r = (struct reading){0};
}

static bool is_leaf(const struct node *n) {
    return op_infos[n->op].class == OP_CLASS_LEAF;
}

static bool is_structural(const struct node *n) {
    return op_class_of(n->op)->is_structural;
}

// ---- which nodes are stored

static bool is_always_stored(const struct node *n) {
    enum op_class class = op_infos[n->op].class;
    return class == OP_CLASS_REDUCE || class == OP_CLASS_CONTRACT || is_structural(n);
}

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
    [OP_CLASS_LEAF] = {interpreter_store_input, NULL},
    [OP_CLASS_VIEW] = {interpreter_store_elementwise, NULL},
    [OP_CLASS_ELEMENTWISE] = {interpreter_store_elementwise, never_whole},
    [OP_CLASS_REDUCE] = {interpreter_store_reduction, reduction_needs_whole},
    [OP_CLASS_CONTRACT] = {interpreter_store_matmul, product_needs_whole},
    [OP_CLASS_IOTA] = {interpreter_store_structural, NULL},
    [OP_CLASS_MOVE] = {interpreter_store_structural, NULL},
    [OP_CLASS_GATHER] = {interpreter_store_structural, NULL},
    [OP_CLASS_SCATTER] = {interpreter_store_structural, NULL},
    [OP_CLASS_SCAN] = {interpreter_store_structural, NULL},
    [OP_CLASS_ORDER] = {interpreter_store_structural, NULL},
    [OP_CLASS_WINDOW] = {interpreter_store_structural, NULL},
    [OP_CLASS_RAGGED] = {interpreter_store_structural, NULL},
    [OP_CLASS_RECUR] = {interpreter_store_recurrence, NULL},
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
void interpreter_open_step(struct interpreter *in, node_id id, struct reading run) {
    const struct node *n = node_at(in, id);
    if (n->op != OP_VIEW)
        for (int i = 0; i < n->n_args; i++)
            if (!in->is_stored[n->arg[i]] && !in->step_of[n->arg[i]])
                interpreter_open_step(
                    in, n->arg[i], interpreter_new_array(RUN_MAX, node_at(in, n->arg[i])->dtype));
    in->steps[in->n_steps] = (struct step){.node = id, .run = run};
    in->step_of[id] = ++in->n_steps;
}

static void close_group(struct interpreter *in) {
    for (int i = 0; i < in->n_steps; i++) {
        node_id id = in->steps[i].node;
        in->step_of[id] = 0;
        if (!in->is_stored[id])
            interpreter_free_array(&in->steps[i].run);
    }
    in->n_steps = 0;
}

void interpreter_fill(double *out, double value, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}

static void fill_floats(float *out, float value, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}

READING_HOT static void widen(double *restrict out, const float *restrict from, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = from[i];
}

// Clang 14 gives a function of several versions another name for other files.
void interpreter_widen(double *restrict out, const float *restrict from, int64_t n) {
    widen(out, from, n);
}

// A node's whole array; an input of f32 has only its data, a constant one element.
struct reading interpreter_whole(const struct interpreter *in, node_id id, struct number *number) {
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
    struct reading from = interpreter_whole(in, view->arg[0], &number);
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

struct reading interpreter_operand(struct interpreter *in, node_id id, int64_t start) {
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
void interpreter_run_group(struct interpreter *in, int64_t start, int n) {
    for (int i = 0; i < in->n_steps; i++) {
        const struct node *node = node_at(in, in->steps[i].node);
        struct reading *out = &in->steps[i].run;
        struct reading args[ARGS_MAX];
        if (node->op == OP_CONST) {
            interpreter_fill(out->value, node->value, n);
            interpreter_fill(out->variance, 0, n);
            if (out->wide)
                interpreter_fill(out->wide, node->value, n);
            else
                fill_floats(out->honest, (float)node->value, n);
        } else if (node->op == OP_INPUT) {
            const float *data = in->data->inputs[in->input_of[in->steps[i].node]];
            const float *from = data + start;
            interpreter_widen(out->value, from, n);
            memset(out->variance, 0, sizeof(double) * (size_t)n);
            memcpy(out->honest, from, sizeof(float) * (size_t)n);
        } else if (node->op == OP_VIEW) {
            run_view(in, node, *out, start, n);
        } else {
            for (int j = 0; j < node->n_args; j++)
                args[j] = interpreter_operand(in, node->arg[j], start);
            reading_elementwise(node->op, *out, args, n);
            if (work_is_exponent(&in->problem->graph, in->steps[i].node))
                reading_exponent(*out, args, n);
            reading_doubt(node->op, *out, args, n);
            check_whole(in, node, *out, n);
        }
    }
}

// The arguments of `id` have one reader less; arrays that nobody reads any more are freed.
static void release_args(struct interpreter *in, node_id id) {
    const struct node *n = node_at(in, id);
    for (int i = 0; i < n->n_args; i++)
        if (--in->n_uses[n->arg[i]] == 0 && in->is_stored[n->arg[i]])
            interpreter_free_array(&in->arrays[n->arg[i]]);
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
