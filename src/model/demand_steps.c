// A step's demand is that of the body as a problem of its own. Which of its outputs are asked for
// follows from the loop:
//
//   usual  what is wanted, and every state that this depends on, in every step.
//   least  what is kept and wanted in full is needed in every step. A last state is needed in the
//          last step; in the others too if a step needs all of the state before it, and then step
//          by step back to the first.
//
// The least also leaves products out that algebra could: a loop that is linear in its state is a
// convolution, which transforms do with hardly a product.
#include "model/demand_steps.h"

#include <math.h>

#include "base/arena.h"
#include "ir/work.h"

struct loop {
    struct arena *a;
    const struct recurrence *r;
    enum demand_mode mode;
    const struct steps_wanted *wanted;
    const bool *is_prepared;
};

// The body's demand when only some of its outputs are asked for.
static void ask_body(const struct loop *l, const bool *asked, struct demand *d) {
    struct problem *body = arena_new(l->a, struct problem);
    *body = *l->r->body;
    body->n_outputs = 0;
    for (int i = 0; i < l->r->body->n_outputs; i++)
        if (asked[i])
            body->outputs[body->n_outputs++] = l->r->body->outputs[i];
    for (int i = l->r->n_states + l->r->n_slices; i < body->n_inputs; i++)
        body->inputs[i].is_param = l->is_prepared[i];
    demand_compute(l->a, body, l->mode, d);
}

static double input_count(const struct loop *l, int i) {
    const struct problem *body = l->r->body;
    return (double)shape_count(&body->graph.nodes[body->inputs[i].node].shape);
}

static double input_need(const struct loop *l, const struct demand *d, int i) {
    return d->need[l->r->body->inputs[i].node];
}

static bool ask_usual(const struct loop *l, struct demand *d) {
    bool asked[OUTPUTS_MAX] = {false}, any = false, grows = true;
    for (int i = 0; i < l->r->body->n_outputs; i++)
        any |= asked[i] = l->wanted->share[i] > 0;
    while (any && grows) {
        grows = false;
        ask_body(l, asked, d);
        for (int i = 0; i < l->r->n_states; i++)
            if (!asked[i] && input_need(l, d, i) > 0)
                grows = asked[i] = true;
    }
    return any;
}

static bool ask_least(const struct loop *l, struct demand *d) {
    bool asked[OUTPUTS_MAX] = {false}, any = false, is_chain = true;
    for (int i = 0; i < l->r->body->n_outputs; i++)
        any |= asked[i] = l->wanted->share[i] >= 1;
    if (!any)
        return false;
    ask_body(l, asked, d);
    for (int i = 0; i < l->r->n_states; i++)
        is_chain &= !asked[i] || input_need(l, d, i) >= input_count(l, i);
    if (is_chain || l->r->n_steps == 1)
        return true;
    any = false;
    for (int i = 0; i < l->r->body->n_outputs; i++)
        any |= asked[i] = asked[i] && i >= l->r->n_states;
    if (any)
        ask_body(l, asked, d);
    return any;
}

// ---- what algebra leaves out

// Is a node linear in its argument `arg`, the others being what they are?
static bool is_linear(const struct node *n, int arg) {
    if (op_class_of(n->op)->is_linear)
        return true;
    switch (n->op) {
    case OP_NEG:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_RSUM:
    case OP_CUMSUM:
    case OP_CONV:
    case OP_CONV_T:
    case OP_POOL_SUM:
        return true;
    case OP_DIV:
    case OP_CAST:
    case OP_TAKE:
    case OP_TAKE_ALONG:
        return arg == 0;
    case OP_WHERE:
        return arg > 0;
    default:
        return false;
    }
}

// Paths of linear operations: which states reach a node (a bit each), and what it reaches.
struct paths {
    unsigned *from;
    bool *to_state, *to_kept;  // to_kept: of any, an output of the problem or not
    bool *to_inner;            // to something kept that is computed with further
};

static void find_paths(const struct loop *l, struct paths *p) {
    const struct problem *body = l->r->body;
    const struct graph *g = &body->graph;
    for (int i = 0; i < l->r->n_states; i++)
        p->from[body->inputs[i].node] |= 1u << i;
    for (node_id n = 0; n < g->n_nodes; n++)
        for (int k = 0; k < g->nodes[n].n_args; k++)
            if (is_linear(&g->nodes[n], k))
                p->from[n] |= p->from[g->nodes[n].arg[k]];
    for (int i = 0; i < body->n_outputs; i++) {
        node_id n = body->outputs[i].node;
        bool is_kept = i >= l->r->n_states;
        p->to_state[n] |= !is_kept;
        p->to_kept[n] |= is_kept;
        p->to_inner[n] |= is_kept && !l->wanted->is_output[i];
    }
    for (node_id n = g->n_nodes - 1; n >= 0; n--)
        for (int k = 0; k < g->nodes[n].n_args; k++) {
            node_id arg = g->nodes[n].arg[k];
            if (!is_linear(&g->nodes[n], k))
                continue;
            p->to_state[arg] |= p->to_state[n];
            p->to_kept[arg] |= p->to_kept[n];
            p->to_inner[arg] |= p->to_inner[n];
        }
}

// States that are linear in themselves, over one step or several.
static unsigned find_cycles(const struct loop *l, const struct paths *p) {
    const struct problem *body = l->r->body;
    unsigned reach[OUTPUTS_MAX], cycles = 0;  // reach[i]: the states that state i comes from
    int n = l->r->n_states;
    for (int i = 0; i < n; i++)
        reach[i] = p->from[body->outputs[i].node];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            if (reach[i] >> k & 1)
                reach[i] |= reach[k];
    for (int i = 0; i < n; i++)
        cycles |= reach[i] & 1u << i;
    return cycles;
}

static void leave_out(const struct loop *l, struct demand *d) {
    const struct graph *g = &l->r->body->graph;
    struct paths p = {arena_array(l->a, unsigned, g->n_nodes), arena_array(l->a, bool, g->n_nodes),
                      arena_array(l->a, bool, g->n_nodes), arena_array(l->a, bool, g->n_nodes)};
    find_paths(l, &p);
    unsigned cycles = find_cycles(l, &p);
    for (node_id n = 0; n < g->n_nodes; n++) {
        bool is_free = p.to_state[n] || p.to_inner[n] || (p.from[n] & cycles && p.to_kept[n]);
        if (!work_is_contraction(&g->nodes[n]) || !is_free)
            continue;
        d->flops[n] = 0;
        d->left[n] = 0;
    }
}

bool demand_steps(struct arena *a, const struct recurrence *r, enum demand_mode mode,
                  const struct steps_wanted *wanted, const bool *is_prepared,
                  struct steps_demand *out) {
    struct loop l = {a, r, mode, wanted, is_prepared};
    struct demand *d = &out->body;
    const struct graph *g = &r->body->graph;
    *out = (struct steps_demand){0};
    if (!(mode == DEMAND_LEAST ? ask_least(&l, d) : ask_usual(&l, d)))
        return false;
    if (mode == DEMAND_LEAST)
        leave_out(&l, d);
    for (int i = 0; i < r->body->n_inputs; i++)
        out->need[i] = input_need(&l, d, i) * (recurrence_is_slice(r, i) ? (double)r->n_steps : 1);
    bool *is_same = arena_array(a, bool, g->n_nodes);
    recurrence_find_same(r, is_same);
    for (node_id n = 0; n < g->n_nodes; n++) {
        double steps = is_same[n] ? 1 : (double)r->n_steps;
        d->flops[n] *= steps;
        d->textbook[n] *= steps;
        out->flops += d->flops[n];
        out->textbook += d->textbook[n];
    }
    return true;
}
