// Loops on the card: as in ir/interpret_recurrence.c. The body is a computation of its own, whose
// inputs are readings, of which states and slices change from step to step. Nothing is cut into
// rows.
//
// A launch takes longer than most nodes of a step do, so a step has few:
//   - what goes by element (operations, slices, views, what is kept, the next states) and has as
//     many elements is one launch, a *chain*: each thread does all of it for its elements. What one
//     link makes, a later one may read at that very element alone, or it begins another chain;
//   - chains are data that is uploaded once. Where an array moves on from step to step, they say by
//     how many elements;
//   - what is the same in every step is computed, and packed for products, in the first one;
//   - an argument or a slice that lies in one piece is read where it is.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "ir/recurrence.h"
#include "oracle/gpu_computation.h"

// What a step does, in order: one node, or maps [first, first + n_maps) as a chain.
struct action {
    node_id node;  // -1: a chain
    int first, n_maps;
};

struct loop {
    struct computation *outer;
    const struct node *node;  // its first result that is asked for
    const struct recurrence *recurrence;
    struct computation body;
    struct oracle_array own[ARGS_MAX];    // room for a copy of each argument
    struct oracle_array given[ARGS_MAX];  // where the body reads them in this step
    struct oracle_array first[ARGS_MAX];  // and at position 0
    uint64_t advance[ARGS_MAX];  // elements from one position to the next; 0: none, or copied
    struct oracle_map *maps;
    struct action *actions;
    int n_maps, n_actions;
    bool *is_linked;            // per node of the body: by the open chain
    bool is_crossed[ARGS_MAX];  // states that the open chain reads at other elements
    cuda_pointer uploaded;
};

static const struct shape *input_shape(const struct recurrence *r, int i) {
    return &r->body->graph.nodes[r->body->inputs[i].node].shape;
}

static const struct shape *output_shape(const struct recurrence *r, int i) {
    return &r->body->graph.nodes[r->body->outputs[i].node].shape;
}

static struct oracle_axes flat(int64_t n) {
    return (struct oracle_axes){.rank = 1, .is_flat = 1, .size = {(uint64_t)n}, .stride = {1}};
}

static struct oracle_array moved(struct oracle_array a, uint64_t elements) {
    a.value += a.value ? elements * sizeof(double) : 0;
    a.variance += a.variance ? elements * sizeof(double) : 0;
    a.honest += a.honest ? elements * (a.is_wide ? sizeof(double) : sizeof(float)) : 0;
    return a;
}

// Is what remains of the axes, beginning with any element, in one piece?
static bool is_dense(const struct shape *s, const uint64_t strides[RANK_MAX], unsigned mask) {
    uint64_t next = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (!(mask >> i & 1) || s->size[i] == 1)
            continue;
        if (strides[i] != next)
            return false;
        next *= (uint64_t)s->size[i];
    }
    return true;
}

// All of argument i, or position t of it, for the body to read.
static bool take(struct loop *l, int i, int64_t t, struct error *err) {
    const struct recurrence *r = l->recurrence;
    uint64_t strides[RANK_MAX];
    struct shape s = oracle_plan_shape(&l->outer->plan, l->node->arg[i], l->outer->rows);
    node_id base = oracle_plan_base(&l->outer->plan, l->node->arg[i], l->outer->rows, strides);
    bool is_slice = recurrence_is_slice(r, i);
    unsigned mask = is_slice ? ~(1U << r->axis[i]) : ~0U;
    uint64_t advance = is_slice ? strides[r->axis[i]] : 0;
    struct oracle_operand from = {compute_array(l->outer, base),
                                  oracle_plan_axes(&s, strides, mask)};
    struct oracle_array at = moved(from.array, (uint64_t)t * advance);
    if (i >= r->n_states && from.array.honest && from.array.type == DTYPE_F32 &&
        is_dense(&s, strides, mask)) {
        l->first[i] = from.array;
        l->advance[i] = advance;
        l->given[i] = at;
        return true;
    }
    from.array = at;
    l->first[i] = l->given[i] = l->own[i];
    int64_t n = shape_count(input_shape(r, i));
    struct oracle_axes to = flat(n);
    return compute_copy(l->outer, &from, &l->own[i], &to, n, err);
}

// ---- what a step does

// Does a view show every element where it is?
static bool is_same_place(const struct graph *g, node_id id) {
    const struct node *n = &g->nodes[id];
    bool is_same = shape_equal(&n->shape, &g->nodes[n->arg[0]].shape);
    for (int i = 0; is_same && i < n->shape.rank; i++)
        is_same = n->view[i] == i;
    return is_same;
}

// The node that has what output number i of the body is: what is kept of a state is a view of it.
static node_id output_base(const struct recurrence *r, int i) {
    const struct graph *g = &r->body->graph;
    node_id id = r->body->outputs[i].node;
    for (int k = 0; k < r->n_states; k++)
        if (g->nodes[id].op == OP_VIEW && g->nodes[id].arg[0] == r->body->outputs[k].node &&
            is_same_place(g, id))
            return g->nodes[id].arg[0];
    return id;
}

// Is it another one that is read in its place?
static bool is_seen_through(const struct recurrence *r, node_id id) {
    for (int i = r->n_states; i < r->body->n_outputs; i++)
        if (r->body->outputs[i].node == id && output_base(r, i) != id)
            return true;
    return false;
}

static void end_chain(struct loop *l) {
    memset(l->is_linked, 0, sizeof *l->is_linked * (size_t)l->recurrence->body->graph.n_nodes);
    memset(l->is_crossed, 0, sizeof l->is_crossed);
}

static struct action *open_chain(const struct loop *l, uint64_t n) {
    struct action *last = l->n_actions ? &l->actions[l->n_actions - 1] : NULL;
    return last && last->node < 0 && l->maps[last->first].n == n ? last : NULL;
}

static void add_map(struct loop *l, const struct oracle_map *m) {
    struct action *chain = open_chain(l, m->n);
    if (!chain) {
        end_chain(l);
        chain = &l->actions[l->n_actions++];
        *chain = (struct action){-1, l->n_maps, 0};
    }
    chain->n_maps++;
    l->maps[l->n_maps++] = *m;
}

// The next link begins another chain.
static void cut_chain(struct loop *l) {
    end_chain(l);
    l->actions[l->n_actions++] = (struct action){-1, l->n_maps, 0};
}

static int input_number(const struct recurrence *r, node_id id) {
    for (int i = 0; i < r->body->n_inputs; i++)
        if (r->body->inputs[i].node == id)
            return i;
    return -1;
}

// A slice is a copy along other strides.
static struct oracle_map slice_map(const struct loop *l, node_id id) {
    const struct node *n = compute_node(&l->body, id);
    uint64_t strides[RANK_MAX], at = 0;
    node_id base = oracle_plan_base(&l->body.plan, n->arg[0], 1, strides);
    for (int i = 0; i < n->shape.rank; i++) {
        at += (uint64_t)n->detail->start[i] * strides[i];
        strides[i] *= (uint64_t)n->detail->step[i];
    }
    struct oracle_array from = compute_array(&l->body, base);
    return (struct oracle_map){
        .op = ORACLE_COPY,
        .n_args = 1,
        .type = ORACLE_PLAIN,
        .args = {{moved(from, at), oracle_plan_axes(&n->shape, strides, ~0U)}},
        .out = compute_own(&l->body, id),
        .to = flat(shape_count(&n->shape)),
        .n = (uint64_t)shape_count(&n->shape)};
}

static bool is_by_element(const struct node *n) {
    enum op_class class = op_infos[n->op].class;
    return class == OP_CLASS_ELEMENTWISE || class == OP_CLASS_VIEW || n->op == OP_RESHAPE ||
           n->op == OP_SLICE;
}

// The node in the open chain, or in one of its own where it reads other elements of that one.
static void link_node(struct loop *l, node_id id) {
    const struct recurrence *r = l->recurrence;
    const struct node *n = compute_node(&l->body, id);
    bool is_slice = n->op == OP_SLICE, crosses[ARGS_MAX] = {false}, waits = false;
    struct oracle_map m = is_slice ? slice_map(l, id) : compute_map(&l->body, id);
    for (int k = 0; k < m.n_args; k++) {
        uint64_t strides[RANK_MAX];
        node_id base = oracle_plan_base(&l->body.plan, n->arg[k], 1, strides);
        int input = input_number(r, base);
        bool is_flat = m.args[k].axes.is_flat && !is_slice;
        waits |= l->is_linked[base] && !is_flat;
        if (input >= 0 && input < r->n_states)
            crosses[input] = !is_flat;
        if (input >= 0)
            m.advance[k] = l->advance[input];
    }
    if (waits)
        cut_chain(l);
    add_map(l, &m);
    l->is_linked[id] = true;
    for (int i = 0; i < r->n_states; i++)
        l->is_crossed[i] |= crosses[i];
}

// Output number i of the body, as a whole, to the loop's own arrays.
static struct oracle_map output_map(const struct loop *l, int i) {
    const struct recurrence *r = l->recurrence;
    int64_t n = shape_count(output_shape(r, i));
    return (struct oracle_map){
        .op = ORACLE_COPY,
        .n_args = 1,
        .type = ORACLE_PLAIN,
        .args = {{compute_own(&l->body, output_base(r, i)), flat(n)}},
        .to = flat(n),
        .n = (uint64_t)n,
    };
}

// What a step adds to a result of the loop: its part along a new axis.
static void link_kept(struct loop *l, node_id id) {
    const struct recurrence *r = l->recurrence;
    const struct node_detail *d = compute_node(l->outer, id)->detail;
    const struct shape *part = output_shape(r, d->result);
    struct oracle_map m = output_map(l, d->result);
    int64_t inner = 1;
    for (int i = d->axis; i < part->rank; i++)
        inner *= part->size[i];
    struct shape cross = {.rank = 2, .size = {(int64_t)m.n / inner, inner}};
    uint64_t strides[RANK_MAX] = {(uint64_t)(r->n_steps * inner), 1};
    m.to = oracle_plan_axes(&cross, strides, ~0U);
    m.out = compute_own(l->outer, id);
    m.advance_to = (uint64_t)inner;
    add_map(l, &m);
}

// All of a step that is not the same in every one. Inputs have been taken.
static void plan_step(struct loop *l, struct arena *a) {
    const struct recurrence *r = l->recurrence;
    const struct graph *body = &r->body->graph, *g = &l->outer->request->problem->graph;
    int most = body->n_nodes + r->body->n_outputs + r->n_states;
    l->maps = arena_array(a, struct oracle_map, most);
    l->actions = arena_array(a, struct action, 2 * most);
    l->is_linked = arena_array(a, bool, body->n_nodes);
    // Maps say where arrays are at position 0.
    memcpy(l->given, l->first, sizeof l->given);
    for (node_id id = 0; id < body->n_nodes; id++) {
        if (!l->body.plan.is_stored[id] || l->body.plan.is_same[id] || is_seen_through(r, id))
            continue;
        if (is_by_element(&body->nodes[id]))
            link_node(l, id);
        else
            l->actions[l->n_actions++] = (struct action){.node = id};
    }
    for (node_id id = 0; id < g->n_nodes; id++)
        if (recurrence_of(&g->nodes[id]) == r && l->outer->plan.is_stored[id] &&
            g->nodes[id].detail->result >= r->n_states)
            link_kept(l, id);
    for (int i = 0; i < r->n_states; i++) {
        struct oracle_map m = output_map(l, i);
        m.out = l->own[i];
        if (l->is_crossed[i])
            cut_chain(l);
        add_map(l, &m);
    }
}

static bool run_action(struct loop *l, const struct action *s, uint64_t t, struct error *err) {
    if (s->node >= 0)
        return compute_any(&l->body, s->node, err);
    uint64_t n_maps = (uint64_t)s->n_maps, n = n_maps ? l->maps[s->first].n : 0;
    uint64_t maps = l->uploaded + sizeof(struct oracle_map) * (uint64_t)s->first;
    void *arguments[] = {&maps, &n_maps, &n, &t};
    return n_maps == 0 || compute_launch(l->outer, l->outer->oracle->chain, (int64_t)n,
                                         COMPUTE_THREADS_FEW, arguments, err);
}

static bool compute_step(struct loop *l, int64_t step, struct error *err) {
    const struct recurrence *r = l->recurrence;
    int64_t t = r->reverse ? r->n_steps - 1 - step : step;
    bool ok = true;
    for (int i = r->n_states; ok && i < r->n_states + r->n_slices; i++)
        ok = take(l, i, t, err);
    // Packed factors that are kept were packed with the first step.
    l->body.first = step;
    for (int i = 0; ok && i < l->n_actions; i++)
        ok = run_action(l, &l->actions[i], (uint64_t)t, err);
    return ok;
}

// Arguments, what is the same in every step, and the steps as data.
static bool begin(struct loop *l, struct arena *a, struct error *err) {
    const struct recurrence *r = l->recurrence;
    const struct cuda *cu = &l->outer->oracle->bench->cu;
    bool ok = true;
    for (int i = 0; ok && i < r->body->n_inputs; i++)
        ok = take(l, i, 0, err);
    for (node_id id = 0; ok && id < r->body->graph.n_nodes; id++)
        ok = !l->body.plan.is_stored[id] || !l->body.plan.is_same[id] ||
             r->body->graph.nodes[id].op == OP_INPUT || compute_any(&l->body, id, err);
    if (ok)
        plan_step(l, a);
    return ok &&
           (l->n_maps == 0 ||
            cuda_ok(cu, cu->copy_to(l->uploaded, l->maps, sizeof *l->maps * (size_t)l->n_maps),
                    "say what a step does", err));
}

// Last states that somebody asks for.
static bool end(struct loop *l, struct error *err) {
    const struct graph *g = &l->outer->request->problem->graph;
    bool ok = true;
    for (node_id id = 0; ok && id < g->n_nodes; id++) {
        if (recurrence_of(&g->nodes[id]) != l->recurrence || !l->outer->plan.is_stored[id] ||
            g->nodes[id].detail->result >= l->recurrence->n_states)
            continue;
        struct oracle_map m = output_map(l, g->nodes[id].detail->result);
        struct oracle_array out = compute_own(l->outer, id);
        ok = compute_copy(l->outer, &m.args[0], &out, &m.to, (int64_t)m.n, err);
    }
    return ok;
}

bool compute_recurrence(struct computation *outer, node_id id, struct error *err) {
    const struct node *n = compute_node(outer, id);
    const struct graph *g = &outer->request->problem->graph;
    // All results at once, with the first of them.
    for (node_id i = recurrence_first(g, id); i < id; i++)
        if (recurrence_of(&g->nodes[i]) == recurrence_of(n) && outer->plan.is_stored[i])
            return true;
    struct arena a = {0};
    struct loop l = {.outer = outer, .node = n, .recurrence = recurrence_of(n)};
    const struct problem *body = l.recurrence->body;
    struct gpu_oracle_request request = {.problem = body};
    l.body = (struct computation){.oracle = outer->oracle,
                                  .request = &request,
                                  .work = outer->work + (cuda_pointer)outer->plan.places[id].body,
                                  .rows = 1,
                                  .fault = outer->fault,
                                  .given = l.given};
    oracle_plan_make_body(&a, l.recurrence, &l.body.plan);
    cuda_pointer at = l.body.work + (cuda_pointer)l.body.plan.bytes;
    for (int i = 0; i < body->n_inputs; i++) {
        int64_t count = shape_count(input_shape(l.recurrence, i));
        l.own[i] = l.given[i] = compute_readings(at, count, DTYPE_F32);
        at += (cuda_pointer)oracle_plan_given_bytes(count);
    }
    l.uploaded = at;
    bool ok = begin(&l, &a, err);
    for (int64_t step = 0; ok && step < l.recurrence->n_steps; step++)
        ok = compute_step(&l, step, err);
    ok = ok && end(&l, err);
    arena_reset(&a);
    return ok;
}
