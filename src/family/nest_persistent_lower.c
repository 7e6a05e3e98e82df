// See nest_persistent.h. Everything is built from the phases of the plan: first the weights of each
// are read, then come the steps, each of which goes through the phases in order.
#include "base/arena.h"
#include "family/access.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "family/nest_persistent.h"
#include "family/nest_steps_private.h"

struct building {
    struct nest_loop steps;
    struct persistent_plan plan;
    const struct persistent_choice *choice;
    struct loop_kernel *kernel;
    struct loop_buffer *meetings;  // NULL: one block
    struct loop_buffer *states[ARGS_MAX];
    const struct loop_expr *lane, *warp, *t, *parity;
    struct point_slice *slice;  // per node of the body
};

// What a phase builds with, once for all steps.
struct phase {
    const struct persistent_phase *plan;
    struct lowering l;
    struct nest nest;
    struct loop_buffer *held;  // NULL: read again
    int64_t n_items;
    struct phase *next;
};

static struct arena *arena_of(const struct building *x) {
    return x->steps.l->arena;
}

static const struct loop_expr *number(const struct building *x, int64_t v) {
    return loop_int(arena_of(x), v);
}

static const struct loop_expr *op2(const struct building *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(arena_of(x), op, p, q);
}

static const struct problem *body_of(const struct building *x) {
    return x->plan.loop->body;
}

static const struct node *inner_node(const struct building *x, node_id n) {
    return &body_of(x)->graph.nodes[n];
}

static void meet(struct building *x, struct loop_builder *b) {
    if (x->meetings)
        loop_group_barrier(b, x->meetings, number(x, 0));
    else
        loop_barrier(b);
}

// ---- the sums of a warp

// The terms of an anchor: one axis, without conditions (persistent_find sees to that).
struct sums {
    struct phase *phase;
    node_id anchor;
    int uses[PERSISTENT_USES_MAX], n_uses;
    struct terms terms[PERSISTENT_USES_MAX];
    const struct node *node;
    enum loop_dtype type;
    enum loop_op op, across_warp;
    double identity;
    int64_t n_terms, n_steps, first_held;  // of a thread: steps along the terms
    struct loop_buffer *part;
};

// Uses of the next anchor, from number `first` on in the order of the plan; held numbers lie in the
// order of uses.
static bool find_sums(struct building *x, struct phase *p, int first, struct sums *s) {
    const struct persistent_phase *plan = p->plan;
    if (first >= plan->n_uses)
        return false;
    *s = (struct sums){.phase = p, .anchor = plan->use[first].anchor};
    s->node = inner_node(x, s->anchor);
    s->type = loop_arithmetic(s->node->dtype);
    struct fold f = {0};
    fold_choose(&f, s->node->op == OP_MATMUL ? OP_RSUM : s->node->op);
    s->op = f.op;
    s->identity = f.identity;
    s->across_warp = f.across - LOOP_LANES_SUM + LOOP_WARP_SUM;
    s->n_terms = plan->use[first].n_terms;
    s->n_steps = (s->n_terms + GPU_WARP - 1) / GPU_WARP;
    for (int i = 0; i < first; i++)
        s->first_held +=
            plan->use[i].held >= 0 ? (plan->use[i].n_terms + GPU_WARP - 1) / GPU_WARP : 0;
    for (int i = first; i < plan->n_uses && plan->use[i].anchor == s->anchor; i++) {
        s->uses[s->n_uses] = i;
        terms_find(plan->region, s->anchor, &plan->use[i].map, p->nest.first[s->anchor],
                   &s->terms[s->n_uses++]);
    }
    return true;
}

// A scope at term lane + 32 * i of the anchor, where there is one.
static struct scope open_term(struct building *x, const struct sums *s, struct scope *outer,
                              struct loop_builder *b, struct loop_builder *inner,
                              const struct loop_expr *i) {
    const struct loop_expr *k = op2(x, LOOP_MUL, i, number(x, GPU_WARP));
    k = loop_let(b, "k", op2(x, LOOP_ADD, k, x->lane));
    loop_open_if(b, k, number(x, s->n_terms), inner);
    struct scope at = scope_inside(outer, inner);
    at.index[s->phase->l.space.group[s->phase->nest.first[s->anchor]]] = k;
    return at;
}

static const struct loop_expr *argument(struct building *x, const struct sums *s, struct scope *at,
                                        int use, int arg) {
    const struct loop_expr *e = point_value(at, s->node->arg[arg], &s->terms[use].map[arg]);
    return e->dtype == s->type ? e : loop_cast(arena_of(x), e, s->type);
}

static bool is_held(const struct sums *s, int use) {
    return s->phase->held && s->phase->plan->use[s->uses[use]].held >= 0;
}

// Where a thread has number `i` of a use, of item number `item` of its warp.
static const struct loop_expr *held_at(struct building *x, const struct sums *s, int use,
                                       const struct loop_expr *item, const struct loop_expr *i) {
    int64_t before = s->first_held, all = persistent_held(s->phase->plan, x->choice);
    int64_t each = all / persistent_items(s->phase->plan, x->choice);
    for (int u = 0; u < use; u++)
        before += s->phase->plan->use[s->uses[u]].held >= 0 ? s->n_steps : 0;
    const struct loop_expr *at = op2(x, LOOP_MUL, item, number(x, each));
    at = op2(x, LOOP_ADD, op2(x, LOOP_ADD, at, number(x, before)), i);
    if (!x->choice->in_shared)
        return at;
    const struct loop_expr *thread = loop_ref(arena_of(x), x->kernel->thread);
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, at, number(x, x->choice->threads)), thread);
}

static void hold_use(struct building *x, const struct sums *s, struct scope *column, int use,
                     const struct loop_expr *item) {
    struct loop_builder b, inner;
    struct loop_for f = {"i", number(x, 0), number(x, s->n_steps), 1, true};
    const struct loop_expr *i = loop_open_for(column->builder, &f, &b);
    struct scope at = open_term(x, s, column, &b, &inner, i);
    int held = s->phase->plan->use[s->uses[use]].held;
    const struct loop_expr *value = argument(x, s, &at, use, held);
    loop_store(&inner, s->phase->held, held_at(x, s, use, item, i), value, false);
    loop_close(&b, &inner);
    loop_close(column->builder, &b);
}

// Item number `item` of the warp: a column of a group of rows. The scope fixes the column.
static const struct loop_expr *item_at(struct building *x, const struct loop_expr *item) {
    int n_warps = x->choice->blocks * x->choice->threads / GPU_WARP;
    const struct loop_expr *at = op2(x, LOOP_MUL, item, number(x, n_warps));
    return op2(x, LOOP_ADD, at, x->warp);
}

static struct scope open_column(struct building *x, struct phase *p, struct loop_builder *b,
                                const struct loop_expr *at) {
    struct scope s = {.lowering = &p->l, .builder = b, .lane_group = -1, .lanes = 1};
    const struct loop_expr *columns = number(x, p->plan->n_columns);
    s.index[p->nest.n_kept - 1] = loop_let(b, "column", op2(x, LOOP_MOD, at, columns));
    return s;
}

static void fix_row(struct building *x, const struct phase *p, struct scope *s,
                    const struct loop_expr *row) {
    (void)x;
    if (p->nest.n_kept > 1)
        scope_split(s, row, 0, p->nest.n_kept - 1);
}

static const struct loop_expr *open_items(struct building *x, const struct phase *p,
                                          struct loop_builder *b, struct loop_builder *inner) {
    // Numbers in registers are distinguished by the item.
    struct loop_for f = {"own", number(x, 0), number(x, persistent_items(p->plan, x->choice)), 1,
                         p->held != NULL && x->choice->in_registers};
    return loop_open_for(b, &f, inner);
}

// Of an item beyond the last one the numbers of another column are read, and not used.
static void hold(struct building *x, struct phase *p, struct loop_builder *b) {
    struct loop_builder items;
    struct sums s;
    const struct loop_expr *item = open_items(x, p, b, &items);
    struct scope column = open_column(x, p, &items, item_at(x, item));
    for (int first = 0; find_sums(x, p, first, &s); first += s.n_uses)
        for (int use = 0; use < s.n_uses; use++)
            if (is_held(&s, use))
                hold_use(x, &s, &column, use, item);
    loop_close(b, &items);
}

// The parts that a thread has of `unroll` rows from `row` on.
static void add_rows(struct building *x, const struct sums *s, struct scope *column,
                     const struct loop_expr *row, const struct loop_expr *item) {
    struct loop_builder b, inner, each;
    struct arena *a = arena_of(x);
    bool unrolls = x->choice->in_registers && s->phase->held;
    struct loop_for f = {"i", number(x, 0), number(x, s->n_steps), 1, unrolls};
    const struct loop_expr *i = loop_open_for(column->builder, &f, &b);
    struct scope at = open_term(x, s, column, &b, &inner, i);
    struct loop_for rows = {"r", number(x, 0), number(x, x->choice->unroll), 1, true};
    const struct loop_expr *r = loop_open_for(&inner, &rows, &each);
    struct scope one = scope_inside(&at, &each);
    const struct loop_expr *own = op2(x, LOOP_ADD, row, r);
    if (s->phase->plan->n_rows % x->choice->rows != 0)
        own = op2(x, LOOP_MIN, own, number(x, s->phase->plan->n_rows - 1));
    fix_row(x, s->phase, &one, loop_let(&each, "own_row", own));
    for (int use = 0; use < s->n_uses; use++) {
        const struct loop_expr *to =
            op2(x, LOOP_ADD, op2(x, LOOP_MUL, r, number(x, s->n_uses)), number(x, use));
        const struct loop_expr *old = loop_load(a, s->part, to, 1, 1);
        int held = is_held(s, use) ? s->phase->plan->use[s->uses[use]].held : -1;
        const struct loop_expr *e = argument(x, s, &one, use, held == 0 ? 1 : 0);
        if (s->node->op == OP_MATMUL) {
            const struct loop_expr *y =
                held >= 0 ? loop_load(a, s->phase->held, held_at(x, s, use, item, i), 1, 1)
                          : argument(x, s, &one, use, 1);
            bool floats = s->type == LOOP_F32 || s->type == LOOP_F64;
            e = floats ? loop_ternary(a, LOOP_FMA, e, y, old)
                       : op2(x, LOOP_ADD, old, op2(x, LOOP_MUL, e, y));
        } else {
            e = op2(x, s->op, old, e);
        }
        loop_store(&each, s->part, to, e, false);
    }
    loop_close(&inner, &each);
    loop_close(&b, &inner);
    loop_close(column->builder, &b);
}

// The sums of a warp's rows: lane number r gets those of row r, in `own` by use.
static void sum_rows(struct building *x, const struct sums *s, struct scope *column,
                     const struct loop_expr *row, const struct loop_expr *item,
                     struct loop_buffer *own) {
    struct arena *a = arena_of(x);
    struct loop_builder some, clear, b;
    int n = x->choice->unroll * s->n_uses;
    struct loop_for f = {"first", number(x, 0), number(x, x->choice->rows), x->choice->unroll,
                         false};
    const struct loop_expr *first = loop_open_for(column->builder, &f, &some);
    struct loop_for all = {"r", number(x, 0), number(x, n), 1, true};
    const struct loop_expr *i = loop_open_for(&some, &all, &clear);
    loop_store(&clear, s->part, i, loop_number(a, s->type, s->identity), false);
    loop_close(&some, &clear);
    struct scope at = scope_inside(column, &some);
    add_rows(x, s, &at, op2(x, LOOP_ADD, row, first), item);
    struct loop_for rows = {"r", number(x, 0), number(x, x->choice->unroll), 1, true};
    const struct loop_expr *r = loop_open_for(&some, &rows, &b);
    for (int use = 0; use < s->n_uses; use++) {
        const struct loop_expr *from =
            op2(x, LOOP_ADD, op2(x, LOOP_MUL, r, number(x, s->n_uses)), number(x, use));
        const struct loop_expr *sum = loop_load(a, s->part, from, 1, 1);
        sum = loop_let(&b, s->node->name, loop_unary(a, s->across_warp, sum));
        const struct loop_expr *to = op2(x, LOOP_SUB, x->lane, op2(x, LOOP_ADD, first, r));
        const struct loop_expr *is_own = op2(x, LOOP_EQ, to, number(x, 0));
        const struct loop_expr *old = loop_load(a, own, number(x, use), 1, 1);
        loop_store(&b, own, number(x, use), loop_ternary(a, LOOP_SELECT, is_own, sum, old), false);
    }
    loop_close(&some, &b);
    loop_close(column->builder, &some);
}

// ---- what is computed of them, and where it goes

// Where a result of the loop has the element of a step.
static const struct loop_expr *index_at_step(struct building *x, struct scope *s,
                                             const struct shape *part, const struct axis_map *map,
                                             int axis) {
    struct point_slice slice = {.axis = axis, .n_steps = x->plan.loop->n_steps, .at = x->t};
    return point_slice_index(s, part, map, &slice);
}

static void store_to(struct building *x, struct loop_builder *b, struct loop_buffer *to,
                     const struct loop_expr *at, const struct loop_expr *value) {
    enum loop_dtype type = loop_arithmetic(to->dtype);
    value = value->dtype == type ? value : loop_cast(arena_of(x), value, type);
    loop_store(b, to, at, value, false);
}

// Where the half of a state's buffer begins that the step reads, or writes.
static const struct loop_expr *half(struct building *x, int state, bool is_next) {
    node_id in = body_of(x)->inputs[state].node;
    const struct loop_expr *which = is_next ? op2(x, LOOP_SUB, number(x, 1), x->parity) : x->parity;
    return op2(x, LOOP_MUL, which, number(x, shape_count(&inner_node(x, in)->shape)));
}

// A value of a phase, everywhere it is wanted: the next states that it is, the results of the
// loop, and the place where later phases of the step read it.
static void store_value(struct building *x, struct phase *p, struct scope *s, int value) {
    const struct recurrence *loop = x->plan.loop;
    const struct region *outer = x->steps.l->region;
    node_id n = p->l.region->value[value];
    const struct shape *shape = &inner_node(x, n)->shape;
    struct axis_map map = map_identity(shape->rank);
    const struct loop_expr *e = point_stored(s, value, &map);
    e = loop_let(s->builder, "stored", e);
    const struct loop_expr *at = point_index(s, shape, &map);
    bool is_stored = false;
    for (int i = 0; i < loop->n_states; i++)
        if (body_of(x)->outputs[i].node == n) {
            store_to(x, s->builder, x->states[i], op2(x, LOOP_ADD, half(x, i, true), at), e);
            is_stored |= x->steps.buffer[n] == x->states[i];
        }
    for (int i = 0; i < outer->n_values; i++) {
        const struct node *result = &outer->graph->nodes[outer->value[i]];
        int number = result->detail->result;
        if (number >= loop->n_states && body_of(x)->outputs[number].node == n)
            store_to(x, s->builder, x->steps.l->target[i],
                     index_at_step(x, s, shape, &map, result->detail->axis), e);
    }
    if (p->plan->region->is_member[n] && x->steps.buffer[n] && !is_stored)
        store_to(x, s->builder, x->steps.buffer[n], op2(x, LOOP_ADD, x->steps.offset[n], at), e);
}

static void store_phase(struct building *x, struct phase *p, struct scope *s) {
    for (int i = 0; i < p->l.region->n_values; i++)
        store_value(x, p, s, i);
}

// ---- phases

static void build_team(struct building *x, struct phase *p, struct loop_builder *b) {
    struct arena *a = arena_of(x);
    struct loop_builder items, inner, rows, there;
    struct sums s;
    const struct loop_expr *item = open_items(x, p, b, &items);
    const struct loop_expr *own_item = loop_let(&items, "item", item_at(x, item));
    loop_open_if(&items, own_item, number(x, p->n_items), &inner);
    struct scope column = open_column(x, p, &inner, own_item);
    const struct loop_expr *row = op2(x, LOOP_DIV, own_item, number(x, p->plan->n_columns));
    row = loop_let(&inner, "row", op2(x, LOOP_MUL, row, number(x, x->choice->rows)));
    struct loop_buffer *own[PERSISTENT_USES_MAX];
    for (int first = 0; find_sums(x, p, first, &s); first += s.n_uses) {
        s.part = loop_register_of(x->steps.l->program, arena_printf(a, "%s_part", s.node->name),
                                  x->choice->unroll * s.n_uses, 1, s.type);
        own[first] = loop_register_of(x->steps.l->program, arena_printf(a, "%s_own", s.node->name),
                                      s.n_uses, 1, s.type);
        for (int use = 0; use < s.n_uses; use++)
            loop_store(&inner, own[first], number(x, use), loop_number(a, s.type, s.identity),
                       false);
        sum_rows(x, &s, &column, row, item, own[first]);
    }
    // One group may have fewer rows than a warp takes, the last of several too.
    int64_t n_rows = p->plan->n_rows, each = x->choice->rows;
    loop_open_if(&inner, x->lane, number(x, n_rows < each ? n_rows : each), &rows);
    const struct loop_expr *at = loop_let(&rows, "at_row", op2(x, LOOP_ADD, row, x->lane));
    bool is_ragged = n_rows > each && n_rows % each != 0;
    struct loop_builder *b_row = is_ragged ? &there : &rows;
    if (is_ragged)
        loop_open_if(&rows, at, number(x, n_rows), &there);
    struct scope one = scope_inside(&column, b_row);
    fix_row(x, p, &one, at);
    for (int first = 0; find_sums(x, p, first, &s); first += s.n_uses)
        for (int use = 0; use < s.n_uses; use++)
            point_define(
                &one, s.anchor, &p->plan->use[first + use].map,
                loop_let(b_row, s.node->name, loop_load(a, own[first], number(x, use), 1, 1)));
    store_phase(x, p, &one);
    if (is_ragged)
        loop_close(&rows, &there);
    loop_close(&inner, &rows);
    loop_close(&items, &inner);
    loop_close(b, &items);
}

struct element {
    struct building *x;
    struct phase *phase;
};

static void build_element(struct nest_loop *steps, struct loop_builder *b,
                          const struct loop_expr *e, void *ctx) {
    struct element *m = ctx;
    (void)steps;
    struct scope s = {.lowering = &m->phase->l, .builder = b, .lane_group = -1, .lanes = 1};
    scope_split(&s, e, 0, m->phase->nest.n_kept);
    store_phase(m->x, m->phase, &s);
}

static void build_phase(struct building *x, struct phase *p, struct loop_builder *b) {
    struct element m = {x, p};
    if (p->plan->meets)
        meet(x, b);
    if (p->plan->is_team)
        build_team(x, p, b);
    else
        steps_each_element(&x->steps, b, p->plan->n_rows * p->plan->n_columns, build_element, &m);
}

// One of the places where a value goes; all keep it in the same type.
static struct loop_buffer *place_of(const struct building *x, node_id n) {
    const struct region *outer = x->steps.l->region;
    for (int i = 0; i < x->plan.loop->n_states; i++)
        if (body_of(x)->outputs[i].node == n)
            return x->states[i];
    for (int i = 0; i < outer->n_values; i++) {
        int result = outer->graph->nodes[outer->value[i]].detail->result;
        if (body_of(x)->outputs[result].node == n)
            return x->steps.l->target[i];
    }
    return x->steps.buffer[n];
}

// A phase's space, and the memory for what its threads keep.
static struct phase *begin_phase(struct building *x, const struct persistent_phase *plan) {
    struct arena *a = arena_of(x);
    struct phase *p = arena_new(a, struct phase);
    p->plan = plan;
    p->l = (struct lowering){.arena = a,
                             .program = x->steps.l->program,
                             .region = plan->region,
                             .buffer = x->steps.buffer,
                             .offset = x->steps.offset,
                             .slice = x->slice};
    for (int i = 0; i < plan->region->n_values; i++)
        p->l.target[i] = place_of(x, plan->region->value[i]);
    nest_build_space_by_axes(&p->nest, &p->l);
    int64_t rows = (plan->n_rows + x->choice->rows - 1) / x->choice->rows;
    p->n_items = rows * plan->n_columns;
    int64_t held = persistent_held(plan, x->choice);
    if (held == 0 || !(x->choice->in_registers || x->choice->in_shared))
        return p;
    enum loop_dtype type = LOOP_F32;
    for (int i = 0; i < plan->n_uses; i++)
        if (plan->use[i].held >= 0)
            type = loop_arithmetic(inner_node(x, plan->use[i].anchor)->dtype);
    struct loop_size size = {held * x->choice->threads, NULL};
    p->held = x->choice->in_registers
                  ? loop_register_of(x->steps.l->program, "held", (int)held, 1, type)
                  : loop_shared_of(x->steps.l->program, "held", fold_storage(type), &size, 1);
    return p;
}

// ---- the loop

// Does a phase read what another one computes?
static bool is_read(const struct building *x, node_id n) {
    bool is_leaf = false;
    for (const struct persistent_phase *p = x->plan.first; p; p = p->next)
        is_leaf |= p->region->is_leaf[n];
    return is_leaf && x->plan.ready[n];
}

// Where values of the body are: states in halves that take turns, slices in their arguments where
// those are in memory, and what one phase computes for the next in scratch memory.
static void place_values(struct building *x) {
    struct arena *a = arena_of(x);
    struct nest_loop *s = &x->steps;
    const struct problem *body = body_of(x);
    const struct recurrence *loop = x->plan.loop;
    for (int i = 0; i < body->n_inputs; i++) {
        node_id in = body->inputs[i].node, arg = s->node->arg[i];
        const struct node *n = inner_node(x, in);
        struct loop_size shape[2] = {{2, NULL}, {shape_count(&n->shape), NULL}};
        enum dtype type = steps_kept_type(s, in);
        const char *name = arena_printf(a, "%s_%s", s->node->name, n->name);
        bool is_there = s->l->region->is_leaf[arg];
        if (i < loop->n_states) {
            x->states[i] = s->buffer[in] =
                loop_global_of(s->l->program, name, LOOP_SCRATCH, type, shape, 2);
        } else if (is_there) {
            s->buffer[in] = s->l->buffer[arg];
            if (recurrence_is_slice(loop, i))
                x->slice[in] = (struct point_slice){loop->axis[i], loop->n_steps, NULL};
        } else {
            s->buffer[in] = loop_global_of(s->l->program, name, LOOP_SCRATCH, type, shape + 1, 1);
        }
    }
    for (node_id n = 0; n < body->graph.n_nodes; n++) {
        struct loop_size size = {shape_count(&inner_node(x, n)->shape), NULL};
        if (!is_read(x, n))
            continue;
        for (int i = 0; i < loop->n_states && !s->buffer[n]; i++)
            if (body->outputs[i].node == n)
                s->buffer[n] = x->states[i];
        if (!s->buffer[n])
            s->buffer[n] = loop_global_of(
                s->l->program, arena_printf(a, "%s_%s", s->node->name, inner_node(x, n)->name),
                LOOP_SCRATCH, steps_kept_type(s, n), &size, 1);
    }
}

// Which halves a step reads and writes.
static void take_turns(struct building *x, const struct loop_expr *parity) {
    const struct problem *body = body_of(x);
    x->parity = parity;
    for (int i = 0; i < x->plan.loop->n_states; i++) {
        x->steps.offset[body->inputs[i].node] = half(x, i, false);
        node_id next = body->outputs[i].node;
        if (is_read(x, next) && x->steps.buffer[next] == x->states[i])
            x->steps.offset[next] = half(x, i, true);
    }
}

static void build_step(struct building *x, struct loop_builder *b, struct phase *phases,
                       const struct loop_expr *step) {
    const struct recurrence *loop = x->plan.loop;
    x->t = step;
    if (loop->reverse)
        x->t = loop_let(b, "t", op2(x, LOOP_SUB, number(x, loop->n_steps - 1), step));
    take_turns(x, loop_let(b, "parity", op2(x, LOOP_MOD, step, number(x, 2))));
    for (int i = loop->n_states; i < loop->n_states + loop->n_slices; i++) {
        node_id in = body_of(x)->inputs[i].node;
        x->slice[in].at = x->t;
        if (x->slice[in].n_steps == 0)
            steps_take(&x->steps, b, i, x->t);
    }
    if (x->plan.meets_taken)
        meet(x, b);
    for (struct phase *p = phases; p; p = p->next)
        build_phase(x, p, b);
    if (x->plan.meets)
        meet(x, b);
}

static struct building begin(struct lowering *l, const char *name,
                             const struct persistent_choice *c, struct loop_builder *b) {
    struct arena *a = l->arena;
    struct building x = {.choice = c};
    persistent_find(a, l->region, &x.plan);
    int n = x.plan.loop->body->graph.n_nodes, threads = c->blocks * c->threads;
    struct nest_threads *all = arena_new(a, struct nest_threads);
    *all = (struct nest_threads){.is_gpu = true, .per_block = threads};
    struct problem *body = arena_copy(a, x.plan.loop->body, sizeof *body);
    x.steps = (struct nest_loop){.l = l,
                                 .node = x.plan.node,
                                 .loop = x.plan.loop,
                                 .threads = all,
                                 .body = body,
                                 .carries = arena_array(a, bool, n),
                                 .n_rows = 1,
                                 .row = loop_int(a, 0),
                                 .buffer = arena_array(a, struct loop_buffer *, n),
                                 .offset = arena_array(a, const struct loop_expr *, n),
                                 .touched = arena_array(a, char, n)};
    for (node_id i = 0; i < n; i++)
        x.steps.offset[i] = loop_int(a, 0);
    x.slice = arena_array(a, struct point_slice, n);
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(a, "%s_persistent", name),
                                          loop_int(a, c->blocks), c->threads, b);
    x.kernel = k.kernel;
    const struct loop_expr *thread =
        op2(&x, LOOP_ADD, op2(&x, LOOP_MUL, k.block, number(&x, c->threads)), k.thread);
    x.steps.thread = loop_let(b, "own", thread);
    x.lane = loop_let(b, "lane", op2(&x, LOOP_MOD, k.thread, number(&x, GPU_WARP)));
    x.warp = loop_let(b, "warp", op2(&x, LOOP_DIV, x.steps.thread, number(&x, GPU_WARP)));
    if (c->blocks > 1) {
        struct loop_size one = {1, NULL};
        k.kernel->blocks_per_group = c->blocks;
        x.meetings = loop_global_of(l->program, "meetings", LOOP_SCRATCH, DTYPE_I32, &one, 1);
        x.meetings->is_zeroed = true;
    }
    place_values(&x);
    return x;
}

void persistent_lower(struct lowering *l, const char *name, const struct persistent_choice *c) {
    struct loop_builder b, inner;
    struct building x = begin(l, name, c, &b);
    struct phase *phases = NULL, **last = &phases;
    for (const struct persistent_phase *p = x.plan.first; p; p = p->next) {
        *last = begin_phase(&x, p);
        last = &(*last)->next;
    }
    take_turns(&x, loop_int(l->arena, 0));
    for (struct phase *p = phases; p; p = p->next)
        if (p->held)
            hold(&x, p, &b);
    for (int i = 0; i < x.plan.loop->n_states; i++)
        steps_take(&x.steps, &b, i, NULL);
    if (!x.plan.meets_taken)
        meet(&x, &b);
    int64_t n_steps = x.plan.loop->n_steps;
    struct loop_for f = {"step", loop_int(l->arena, 0), loop_int(l->arena, n_steps), 1, false};
    const struct loop_expr *step = loop_open_for(&b, &f, &inner);
    build_step(&x, &inner, phases, step);
    loop_close(&b, &inner);
    take_turns(&x, loop_int(l->arena, n_steps % 2));
    if (x.plan.meets_last)
        meet(&x, &b);
    steps_keep_results(&x.steps, &b, NULL);
}
