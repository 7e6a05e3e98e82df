// What the steps of a recurrence are made of, and where blocks must meet. See nest_persistent.h.
#include <assert.h>

#include "base/arena.h"
#include "family/nest_persistent.h"
#include "ir/work.h"

static const struct graph *graph_of(const struct persistent_plan *p) {
    return &p->loop->body->graph;
}

static int input_number(const struct persistent_plan *p, node_id n) {
    for (int i = 0; i < p->loop->body->n_inputs; i++)
        if (p->loop->body->inputs[i].node == n)
            return i;
    return -1;
}

// Is it made of nothing but what is the same in every step?
static bool is_same(const struct persistent_plan *p, const struct region *r, node_id n) {
    const struct node *node = &r->graph->nodes[n];
    if (node->op == OP_INPUT)
        return input_number(p, n) >= p->loop->n_states + p->loop->n_slices;
    if (r->is_leaf[n] || terms_has(node))
        return false;
    for (int i = 0; i < node->n_args; i++)
        if (!is_same(p, r, node->arg[i]))
            return false;
    return true;
}

struct search {
    struct persistent_plan *plan;
    struct persistent_phase *phase;
    struct nest nest;
    bool ok;
};

// The argument of a product that stays for all steps.
static int find_held(const struct search *s, const struct node *n, const struct terms *t) {
    const struct region *r = s->phase->region;
    int last = r->graph->nodes[r->value[0]].shape.rank - 1;
    for (int i = 1; i >= 0 && n->op == OP_MATMUL; i--) {
        bool moves = false;
        int rank = r->graph->nodes[n->arg[i]].shape.rank;
        for (int axis = 0; axis < last; axis++)
            moves |= map_uses(&t->map[i], rank, axis);
        if (!moves && is_same(s->plan, r, n->arg[i]))
            return i;
    }
    return -1;
}

// Of a warp: sums along one axis, without conditions.
static bool has_plain_terms(const struct region *r, node_id id, const struct terms *t) {
    const struct node *n = &r->graph->nodes[id];
    struct loop_size size[TERM_AXES_MAX];
    bool is_known = n->op == OP_MATMUL || op_infos[n->op].class == OP_CLASS_REDUCE;
    return is_known && op_infos[n->op].joins != OP_COUNT && terms_axes(r, id, size) == 1 &&
           t->n_guards == 0 && t->n_multiples == 0;
}

static bool find_use(void *ctx, node_id id, const struct axis_map *map) {
    struct search *s = ctx;
    const struct region *r = s->phase->region;
    if (!r->is_member[id] || !terms_has(&r->graph->nodes[id]))
        return true;
    for (int i = 0; i < s->phase->n_uses; i++)
        if (s->phase->use[i].anchor == id &&
            map_equal(&s->phase->use[i].map, map, &r->graph->nodes[id].shape))
            return false;
    struct terms t;
    terms_find(r, id, map, s->nest.first[id], &t);
    if (s->phase->n_uses == PERSISTENT_USES_MAX || !has_plain_terms(r, id, &t)) {
        s->ok = false;
        return false;
    }
    struct loop_size size[TERM_AXES_MAX];
    terms_axes(r, id, size);
    struct persistent_use use = {id, *map, size[0].value, find_held(s, &r->graph->nodes[id], &t)};
    // Uses of one anchor stand together.
    int at = s->phase->n_uses++;
    while (at > 0 && s->phase->use[at - 1].anchor > id) {
        s->phase->use[at] = s->phase->use[at - 1];
        at--;
    }
    s->phase->use[at] = use;
    return false;
}

static void find_uses(struct persistent_plan *p, struct persistent_phase *x) {
    enum { SHORT = 8 };  // terms that a thread adds up by itself
    const struct region *r = x->region;
    const struct shape *shape = &r->graph->nodes[r->value[0]].shape;
    struct search s = {.plan = p, .phase = x, .ok = true};
    struct lowering l = {.arena = p->arena, .region = r};
    nest_build_space_by_axes(&s.nest, &l);
    struct axis_map map = map_identity(shape->rank);
    struct point_visit v = {r, -1, find_use, &s};
    for (int i = 0; i < r->n_values; i++)
        point_visit(&v, r->value[i], &map);
    bool any = false;
    for (int i = 0; i < x->n_uses; i++)
        any |= x->use[i].n_terms >= SHORT;
    x->is_team = s.ok && any;
    x->n_columns = shape->rank ? shape->size[shape->rank - 1] : 1;
    x->n_rows = shape_count(shape) / x->n_columns;
}

static struct region *region_of(struct persistent_plan *p, const node_id *values, int n) {
    const char *names[STAGE_VALUES_MAX] = {0};
    for (int i = 0; i < n; i++)
        names[i] = graph_of(p)->nodes[values[i]].name;
    struct region *r = region_build(p->arena, p->loop->body, names, n, p->ready);
    for (int i = 0; i < n; i++)
        assert(r->value[i] == values[i]);
    return r;
}

// The values that are not computed yet, and before them what one nest cannot compute on the way.
static void add_phase(struct persistent_plan *p, const node_id *values, int n) {
    node_id rest[STAGE_VALUES_MAX];
    int n_rest = 0;
    for (int i = 0; i < n; i++)
        if (!p->done[values[i]])
            rest[n_rest++] = values[i];
    if (n_rest == 0)
        return;
    struct objection why;
    struct region *r = region_of(p, rest, n_rest);
    bool is_nest = nest_accepts(r, &why);
    node_id cut = is_nest ? nest_cut(r) : region_cut(r);
    if (cut >= 0 && !(n_rest == 1 && rest[0] == cut)) {
        add_phase(p, &cut, 1);
        add_phase(p, rest, n_rest);
        return;
    }
    assert(is_nest);
    struct persistent_phase *x = arena_new(p->arena, struct persistent_phase);
    x->region = r;
    find_uses(p, x);
    for (int i = 0; i < n_rest; i++) {
        p->done[rest[i]] = true;
        p->ready[rest[i]] = graph_of(p)->nodes[rest[i]].op != OP_INPUT;
    }
    *p->last = x;
    p->last = &x->next;
}

// ---- meetings

static bool writes(const struct persistent_phase *x, node_id n) {
    for (int i = 0; i < x->region->n_values; i++)
        if (x->region->value[i] == n)
            return true;
    return false;
}

static bool reads(const struct persistent_phase *x, node_id n) {
    return x->region->is_leaf[n];
}

static bool is_next_state(const struct persistent_plan *p, node_id n) {
    for (int i = 0; i < p->loop->n_states; i++)
        if (p->loop->body->outputs[i].node == n)
            return true;
    return false;
}

// Does a phase read what one before it in the same step computes?
static bool needs(const struct persistent_plan *p, const struct persistent_phase *x,
                  const struct persistent_phase *before) {
    for (int i = 0; i < before->region->n_values; i++)
        if (p->ready[before->region->value[i]] && reads(x, before->region->value[i]))
            return true;
    return false;
}

// May a phase of a step not run before one of the step before it has ended? A state is read from
// one half of its buffer and written to the other, which the next step does the other way around.
static bool needs_end(const struct persistent_plan *p, const struct persistent_phase *x,
                      const struct persistent_phase *before) {
    for (int i = 0; i < p->loop->n_states; i++) {
        node_id now = p->loop->body->inputs[i].node, next = p->loop->body->outputs[i].node;
        if ((reads(x, now) && writes(before, next)) || (writes(x, next) && reads(before, now)))
            return true;
    }
    for (int i = 0; i < x->region->n_values; i++)
        if (!is_next_state(p, x->region->value[i]) && reads(before, x->region->value[i]))
            return true;
    return false;
}

static void find_meetings(struct persistent_plan *p, const struct region *r) {
    struct persistent_phase *group = p->first;
    for (int i = p->loop->n_states; i < p->loop->n_states + p->loop->n_slices; i++)
        p->meets_taken |= !r->is_leaf[p->node->arg[i]];
    for (struct persistent_phase *x = p->first; x; x = x->next) {
        for (const struct persistent_phase *q = group; q != x; q = q->next)
            x->meets |= needs(p, x, q);
        group = x->meets ? x : group;
    }
    // The first phases of a step against the last of the one before it.
    p->meets = p->meets_taken || group == p->first;
    for (const struct persistent_phase *x = p->first; x && !x->meets; x = x->next)
        for (const struct persistent_phase *q = group; q; q = q->next)
            p->meets |= needs_end(p, x, q);
    for (int i = 0; i < r->n_values; i++) {
        int result = r->graph->nodes[r->value[i]].detail->result;
        node_id next = p->loop->body->outputs[result].node;
        for (const struct persistent_phase *q = group; q && result < p->loop->n_states; q = q->next)
            p->meets_last |= !p->meets && writes(q, next);
    }
}

// ---- all

// Is it a state, or a result that the stage has?
static bool is_wanted(const struct persistent_plan *p, const struct region *r, int output) {
    bool wanted = output < p->loop->n_states;
    for (int i = 0; i < r->n_values; i++)
        wanted |= r->graph->nodes[r->value[i]].detail->result == output;
    return wanted;
}

void persistent_find(struct arena *a, const struct region *r, struct persistent_plan *p) {
    *p = (struct persistent_plan){.arena = a, .node = &r->graph->nodes[nest_walker(r)]};
    p->loop = recurrence_of(p->node);
    p->last = &p->first;
    p->ready = arena_array(a, bool, graph_of(p)->n_nodes);
    p->done = arena_array(a, bool, graph_of(p)->n_nodes);
    const struct problem *body = p->loop->body;
    for (int i = 0; i < body->n_outputs; i++) {
        node_id group[STAGE_VALUES_MAX];
        int n = 0;
        const struct shape *shape = &graph_of(p)->nodes[body->outputs[i].node].shape;
        for (int k = i; k < body->n_outputs && n < STAGE_VALUES_MAX; k++) {
            node_id value = body->outputs[k].node;
            bool is_new =
                is_wanted(p, r, k) && shape_equal(&graph_of(p)->nodes[value].shape, shape);
            for (int m = 0; m < n; m++)
                is_new &= group[m] != value;
            if (is_new)
                group[n++] = value;
        }
        add_phase(p, group, n);
    }
    find_meetings(p, r);
}
