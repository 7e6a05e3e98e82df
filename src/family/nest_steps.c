#include "family/nest_steps_private.h"

#include <string.h>

#include "base/arena.h"
#include "family/access.h"
#include "ir/interpret.h"

static const struct node *loop_node(const struct region *r) {
    return &r->graph->nodes[nest_walker(r)];
}

bool nest_steps_accepts(const struct region *r, struct objection *why) {
    const struct recurrence *loop = recurrence_of(loop_node(r));
    for (int i = 0; i < r->n_anchors; i++)
        if (recurrence_of(&r->graph->nodes[r->anchor[i]]) != loop)
            return objection(why, NULL, "nest computes the loop of %s alone; materialise %s first",
                             loop_node(r)->name, r->graph->nodes[r->anchor[i]].name);
    for (int i = 0; i < r->n_values; i++)
        if (recurrence_of(&r->graph->nodes[r->value[i]]) != loop)
            return objection(why, NULL, "nest computes the loop of %s alone; materialise %s first",
                             loop_node(r)->name, loop_node(r)->name);
    return true;
}

node_id nest_steps_unsupported(const struct recurrence *r) {
    const struct graph *g = &r->body->graph;
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        enum op_class class = op_infos[n->op].class;
        bool has = class == OP_CLASS_LEAF || access_moves(n) || terms_has(n) ||
                   (class == OP_CLASS_ELEMENTWISE && point_has_op(n->op));
        if (!has)
            return i;
    }
    return -1;
}

node_id nest_steps_cut(const struct region *r) {
    const struct node *n = loop_node(r);
    const struct recurrence *loop = recurrence_of(n);
    for (int i = loop->n_states + loop->n_slices; i < n->n_args; i++)
        if (!r->is_leaf[n->arg[i]])
            return n->arg[i];
    return -1;
}

bool nest_steps_legal(const struct region *r, struct objection *why) {
    node_id walker = nest_walker(r);
    if (walker < 0 || r->graph->nodes[walker].op != OP_RECUR)
        return true;
    node_id first = nest_steps_cut(r);
    return first < 0 ||
           objection(why, NULL, "every step of the loop reads %s; materialise it first",
                     r->graph->nodes[first].name);
}

// ---- rows

// Which nodes of the body have the states' rows; false when steps look at several rows. What is
// assumed of the inputs is proved by what the body does with them.
static bool find_rows(const struct recurrence *r, int64_t *n_rows, bool *carries) {
    const struct problem *body = r->body;
    const struct shape *state = &body->graph.nodes[body->inputs[0].node].shape;
    if (state->rank == 0)
        return false;
    *n_rows = state->size[0];
    for (int i = 0; i < body->n_inputs; i++) {
        const struct shape *s = &body->graph.nodes[body->inputs[i].node].shape;
        bool fits = s->rank > 0 && s->size[0] == *n_rows;
        bool is_whole = i >= r->n_states + r->n_slices;
        bool same_dim = fits && s->dim[0] >= 0 && s->dim[0] == state->dim[0];
        carries[body->inputs[i].node] = is_whole ? same_dim : fits;
    }
    return *n_rows > 1 && interpret_body_carriers(r, *n_rows, carries);
}

int64_t nest_steps_rows(const struct region *r) {
    struct arena scratch = {0};
    const struct recurrence *loop = recurrence_of(loop_node(r));
    bool *carries = arena_array(&scratch, bool, loop->body->graph.n_nodes);
    int64_t n_rows = 1;
    if (!find_rows(loop, &n_rows, carries))
        n_rows = 1;
    arena_reset(&scratch);
    return n_rows;
}

int64_t nest_steps_width(const struct region *r) {
    const struct graph *g = &recurrence_of(loop_node(r))->body->graph;
    int64_t width = 1, n_rows = nest_steps_rows(r);
    for (node_id i = 0; i < g->n_nodes; i++) {
        int64_t count = shape_count(&g->nodes[i].shape) / n_rows;
        bool is_value = op_infos[g->nodes[i].op].class != OP_CLASS_LEAF && g->nodes[i].is_named;
        width = is_value && count > width ? count : width;
    }
    return width;
}

// ---- one kernel

static const struct loop_expr *number(const struct nest_loop *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct nest_loop *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct node *inner_node(const struct nest_loop *x, node_id n) {
    return &x->body->graph.nodes[n];
}

static int64_t inner_count(const struct nest_loop *x, node_id n) {
    return shape_count(&inner_node(x, n)->shape);
}

static node_id input_of(const struct nest_loop *x, int i) {
    return x->body->inputs[i].node;
}

static node_id output_of(const struct nest_loop *x, int i) {
    return x->body->outputs[i].node;
}

// The body with one row in place of all.
static void cut_body(struct nest_loop *x, struct arena *a) {
    const struct problem *whole = x->loop->body;
    bool *carries = arena_array(a, bool, whole->graph.n_nodes);
    bool has_rows = find_rows(x->loop, &x->n_rows, carries);
    int n = whole->graph.n_nodes;
    x->carries = carries;
    if (!has_rows) {
        x->n_rows = 1;
        memset(carries, 0, sizeof *carries * (size_t)n);
    }
    x->body = arena_new(a, struct problem);
    *x->body = *whole;
    x->body->graph.nodes = arena_array(a, struct node, n);
    memcpy(x->body->graph.nodes, whole->graph.nodes, sizeof(struct node) * (size_t)n);
    for (node_id i = 0; i < n; i++)
        if (carries[i]) {
            x->body->graph.nodes[i].shape.size[0] = 1;
            x->body->graph.nodes[i].shape.dim[0] = -1;
        }
}

enum dtype steps_kept_type(const struct nest_loop *x, node_id n) {
    enum dtype t = inner_node(x, n)->dtype;
    return t == DTYPE_I4 ? DTYPE_I8 : t;
}

// Give a node of the body its place in the work buffer.
static void place(struct nest_loop *x, node_id n) {
    enum dtype t = steps_kept_type(x, n);
    const struct loop_expr *row = op2(x, LOOP_MUL, x->row, number(x, x->n_work[t]));
    x->buffer[n] = x->work[t];
    x->offset[n] = op2(x, LOOP_ADD, row, number(x, x->place[n]));
}

// ---- barriers
//
// Threads share the elements of every value in the same way, so what a thread wrote it may read and
// overwrite at any time. They must meet before one reads elements of others that were written since
// they last met, and before one writes what others may still read.

enum { TOUCH_WRITTEN = 1, TOUCH_READ = 2 };  // since the last barrier; read: by other threads too

static void meet(struct nest_loop *x, struct loop_builder *b) {
    if (x->threads->is_gpu)
        loop_barrier(b);
    memset(x->touched, 0, sizeof *x->touched * (size_t)x->body->graph.n_nodes);
}

// Before a stage that writes the node and reads others' elements of these.
static void meet_if_needed(struct nest_loop *x, struct loop_builder *b, node_id writes,
                           const bool *reads) {
    int n = x->body->graph.n_nodes;
    bool must = x->touched[writes] & TOUCH_READ;
    for (node_id i = 0; reads && i < n; i++)
        must |= reads[i] && (x->touched[i] & TOUCH_WRITTEN);
    if (must)
        meet(x, b);
    x->touched[writes] |= TOUCH_WRITTEN;
    for (node_id i = 0; reads && i < n; i++)
        x->touched[i] |= reads[i] ? TOUCH_READ : 0;
}

// Does it read arguments at its own place alone?
static bool stays_in_place(const struct node *n) {
    bool in_place = op_infos[n->op].class == OP_CLASS_ELEMENTWISE || n->op == OP_VIEW;
    for (int i = 0; n->op == OP_VIEW && i < n->shape.rank; i++)
        in_place &= n->view[i] == i;
    return in_place;
}

// Which values does the region read elements of other places of? All but those that reach it by
// operations by element alone. `others`: per node, is it needed at other places?
static void find_reads(const struct region *r, node_id value, bool *others) {
    const struct graph *g = r->graph;
    const struct shape *shape = &g->nodes[value].shape;
    for (node_id n = value; n >= 0; n--) {
        for (int i = 0; r->is_member[n] && i < g->nodes[n].n_args; i++) {
            node_id arg = g->nodes[n].arg[i];
            others[arg] |= others[n] || !stays_in_place(&g->nodes[n]) ||
                           !shape_equal(&g->nodes[arg].shape, shape);
        }
    }
}

void steps_each_element(struct nest_loop *x, struct loop_builder *b, int64_t count,
                        steps_element_fn fn, void *ctx) {
    struct loop_builder inner;
    int64_t step = x->threads->is_gpu ? x->threads->per_block : 1;
    struct loop_for f = {"e", x->threads->is_gpu ? x->thread : number(x, 0), number(x, count), step,
                         false};
    const struct loop_expr *e = loop_open_for(b, &f, &inner);
    fn(x, &inner, e, ctx);
    loop_close(b, &inner);
}

// ---- arguments into the work buffer

struct argument_copy {
    int input;
    const struct loop_expr *t;  // the step's position, of slices
    struct lowering outer;      // whose space is the argument's axes, each by itself
};

static void take_element(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *e,
                         void *ctx) {
    struct argument_copy *k = ctx;
    node_id n = input_of(x, k->input), arg = x->node->arg[k->input];
    const struct shape *from = &x->l->region->graph->nodes[arg].shape;
    const struct shape *part = &inner_node(x, n)->shape;
    struct scope s = {.lowering = &k->outer, .builder = b, .lane_group = -1, .lanes = 1};
    int axis = recurrence_is_slice(x->loop, k->input) ? x->loop->axis[k->input] : -1;
    const struct loop_expr *rest = e;
    for (int i = part->rank - 1; i >= 0; i--) {
        int at = axis >= 0 && i >= axis ? i + 1 : i;
        const struct loop_expr *index = op2(x, LOOP_MOD, rest, number(x, part->size[i]));
        if (i == 0 && x->carries[n])
            index = x->row;
        s.index[k->outer.space.group[at]] = loop_let(b, "i", index);
        rest = op2(x, LOOP_DIV, rest, number(x, part->size[i]));
    }
    if (axis >= 0)
        s.index[k->outer.space.group[axis]] = k->t;
    if (from->rank == 0)
        s.index[0] = number(x, 0);
    struct axis_map map = map_identity(from->rank);
    const struct loop_expr *value = point_value(&s, arg, &map);
    loop_store(b, x->buffer[n], op2(x, LOOP_ADD, x->offset[n], e), value, false);
}

void steps_take(struct nest_loop *x, struct loop_builder *b, int input, const struct loop_expr *t) {
    struct argument_copy k = {.input = input, .t = t, .outer = *x->l};
    const struct shape *from = &x->l->region->graph->nodes[x->node->arg[input]].shape;
    k.outer.space = (struct space){0};
    for (int i = 0; i < from->rank; i++)
        space_add(&k.outer.space, point_size(x->l, from, i));
    if (from->rank == 0)
        space_add(&k.outer.space, (struct loop_size){1, NULL});
    space_finish(x->l->arena, &k.outer.space);
    meet_if_needed(x, b, input_of(x, input), NULL);
    steps_each_element(x, b, inner_count(x, input_of(x, input)), take_element, &k);
}

// ---- values of the body

struct body_values {
    struct nest nest;
    struct lowering inner;
};

static void make_element(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *e,
                         void *ctx) {
    struct body_values *m = ctx;
    (void)x;
    struct scope s = {.lowering = &m->inner, .builder = b, .lane_group = -1, .lanes = 1};
    scope_split(&s, e, 0, m->nest.n_kept);
    nest_store(&m->nest, &s);
}

// Materialise a node, and before it whatever one nest cannot compute on the way. Without a builder
// only the places are counted.
static void make(struct nest_loop *x, struct loop_builder *b, node_id n) {
    struct arena *a = x->l->arena;
    const char *name = inner_node(x, n)->name;
    struct objection why;
    while (!x->is_ready[n]) {
        struct region *r = region_build(a, x->body, &name, 1, x->is_ready);
        r->value[0] = n;
        node_id cut = nest_accepts(r, &why) ? nest_cut(r) : region_cut(r);
        if (cut >= 0) {
            make(x, b, cut);
            continue;
        }
        x->is_ready[n] = true;
        enum dtype t = steps_kept_type(x, n);
        if (!b) {
            x->place[n] = x->n_work[t];
            x->n_work[t] += inner_count(x, n);
            return;
        }
        place(x, n);
        struct body_values *m = arena_new(a, struct body_values);
        m->inner = (struct lowering){.arena = a,
                                     .program = x->l->program,
                                     .region = r,
                                     .buffer = x->buffer,
                                     .offset = x->offset,
                                     .target = {x->buffer[n]},
                                     .target_offset = {x->offset[n]}};
        nest_build_space(&m->nest, &m->inner, false);
        bool *reads = arena_array(a, bool, x->body->graph.n_nodes);
        find_reads(r, n, reads);
        meet_if_needed(x, b, n, reads);
        steps_each_element(x, b, inner_count(x, n), make_element, m);
    }
}

// Is a node of the body needed for a result of the region?
static void find_needed(const struct nest_loop *x, bool *needed) {
    const struct graph *g = &x->body->graph;
    // A state that nobody asks for is carried along: that costs less than finding out.
    for (int i = 0; i < x->body->n_outputs; i++)
        needed[output_of(x, i)] = true;
    for (node_id n = g->n_nodes - 1; n >= 0; n--)
        for (int k = 0; needed[n] && k < g->nodes[n].n_args; k++)
            needed[g->nodes[n].arg[k]] = true;
}

// All values that the author named, in order, so that none is computed twice.
static void make_all(struct nest_loop *x, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    const struct graph *g = &x->body->graph;
    bool *needed = arena_array(a, bool, g->n_nodes);
    find_needed(x, needed);
    memset(x->is_ready, 0, sizeof *x->is_ready * (size_t)g->n_nodes);
    for (node_id n = 0; n < g->n_nodes; n++)
        if (needed[n] && g->nodes[n].is_named && op_infos[g->nodes[n].op].class != OP_CLASS_LEAF)
            make(x, b, n);
    for (int i = 0; i < x->body->n_outputs; i++)
        make(x, b, output_of(x, i));
}

// ---- results

struct keeping {
    int value;  // of the region
    const struct loop_expr *t;
    node_id from;  // of the body
};

static void keep_element(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *e,
                         void *ctx) {
    const struct keeping *k = ctx;
    struct arena *a = x->l->arena;
    const struct node *result = &x->l->region->graph->nodes[x->l->region->value[k->value]];
    const struct shape *part = &inner_node(x, k->from)->shape;
    const struct loop_expr *value =
        loop_load(a, x->buffer[k->from], op2(x, LOOP_ADD, x->offset[k->from], e), 1, 1);
    const struct loop_expr *at = e;
    if (x->carries[k->from])
        at = op2(x, LOOP_ADD, op2(x, LOOP_MUL, x->row, number(x, shape_count(part))), e);
    if (k->t) {
        int64_t inner = 1;
        for (int i = result->detail->axis; i < part->rank; i++)
            inner *= i == 0 && x->carries[k->from] ? x->n_rows : part->size[i];
        const struct loop_expr *outer = op2(x, LOOP_DIV, at, number(x, inner));
        outer = op2(x, LOOP_ADD, op2(x, LOOP_MUL, outer, number(x, x->loop->n_steps)), k->t);
        at = op2(x, LOOP_ADD, op2(x, LOOP_MUL, outer, number(x, inner)),
                 op2(x, LOOP_MOD, at, number(x, inner)));
    }
    const struct loop_buffer *to = x->l->target[k->value];
    enum loop_dtype type = loop_arithmetic(to->dtype);
    loop_store(b, to, at, value->dtype == type ? value : loop_cast(a, value, type), false);
}

// What has no rows is the same in every block; the first writes it.
static void keep(struct nest_loop *x, struct loop_builder *b, const struct keeping *k) {
    struct loop_builder first;
    bool is_shared = !x->carries[k->from] && x->n_rows > 1;
    int64_t count = inner_count(x, k->from);
    if (!is_shared) {
        steps_each_element(x, b, count, keep_element, (void *)k);
        return;
    }
    loop_open_if(b, x->row, number(x, 1), &first);
    steps_each_element(x, &first, count, keep_element, (void *)k);
    loop_close(b, &first);
}

void steps_keep_results(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *t) {
    const struct region *r = x->l->region;
    for (int i = 0; i < r->n_values; i++) {
        int result = r->graph->nodes[r->value[i]].detail->result;
        bool is_state = result < x->loop->n_states;
        struct keeping k = {i, t, is_state ? input_of(x, result) : output_of(x, result)};
        if (is_state == !t)
            keep(x, b, &k);
    }
}

static void next_element(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *e,
                         void *ctx) {
    int i = *(int *)ctx;
    node_id from = output_of(x, i), to = input_of(x, i);
    const struct loop_expr *value =
        loop_load(x->l->arena, x->buffer[from], op2(x, LOOP_ADD, x->offset[from], e), 1, 1);
    loop_store(b, x->buffer[to], op2(x, LOOP_ADD, x->offset[to], e), value, false);
}

// ---- all

// Inputs of the body: states and slices have places of their own, and so has what every step sees
// whole where it has rows; the rest is read where it is.
static bool is_taken(const struct nest_loop *x, int input) {
    return input < x->loop->n_states + x->loop->n_slices || x->carries[input_of(x, input)];
}

static void plan_work(struct nest_loop *x) {
    struct arena *a = x->l->arena;
    int n = x->body->graph.n_nodes;
    x->buffer = arena_array(a, struct loop_buffer *, n);
    x->offset = arena_array(a, const struct loop_expr *, n);
    x->is_ready = arena_array(a, bool, n);
    x->place = arena_array(a, int64_t, n);
    x->touched = arena_array(a, char, n);
    for (int i = 0; i < x->body->n_inputs; i++) {
        node_id in = input_of(x, i);
        enum dtype t = steps_kept_type(x, in);
        if (!is_taken(x, i))
            continue;
        x->place[in] = x->n_work[t];
        x->n_work[t] += inner_count(x, in);
    }
    make_all(x, NULL);
    for (int t = 0; t < DTYPE_COUNT; t++) {
        struct loop_size shape[2] = {{x->n_rows, NULL}, {x->n_work[t], NULL}};
        if (x->n_work[t])
            x->work[t] = loop_global_of(
                x->l->program,
                arena_printf(a, "%s_work_%s", x->node->name, dtype_name((enum dtype)t)),
                LOOP_SCRATCH, (enum dtype)t, shape, 2);
    }
}

static void build_step(struct nest_loop *x, struct loop_builder *b, const struct loop_expr *step) {
    const struct loop_expr *t = step;
    if (x->loop->reverse)
        t = loop_let(b, "t", op2(x, LOOP_SUB, number(x, x->loop->n_steps - 1), step));
    for (int i = x->loop->n_states; i < x->loop->n_states + x->loop->n_slices; i++)
        steps_take(x, b, i, t);
    make_all(x, b);
    steps_keep_results(x, b, t);
    for (int i = 0; i < x->loop->n_states; i++) {
        meet_if_needed(x, b, input_of(x, i), NULL);
        steps_each_element(x, b, inner_count(x, input_of(x, i)), next_element, &i);
    }
    meet(x, b);  // once a step at least: the next begins as if nothing had been touched
}

void nest_lower_steps(struct lowering *l, const char *name, const struct nest_threads *t) {
    struct arena *a = l->arena;
    struct nest_loop x = {.l = l, .node = loop_node(l->region), .threads = t};
    x.loop = recurrence_of(x.node);
    cut_body(&x, a);
    plan_work(&x);
    struct loop_builder b, inner;
    struct loop_kernel *k =
        loop_kernel_new(l->program, arena_printf(a, "%s_steps", name), loop_int(a, x.n_rows), &b);
    x.row = loop_ref(a, k->block);
    if (t->is_gpu)
        x.thread = loop_kernel_threads(l->program, k, (int)t->per_block);
    for (int i = 0; i < x.body->n_inputs; i++) {
        if (is_taken(&x, i))
            place(&x, input_of(&x, i));
        else
            x.buffer[input_of(&x, i)] = l->buffer[x.node->arg[i]];
    }
    for (int i = 0; i < x.body->n_inputs; i++)
        if (is_taken(&x, i) && !recurrence_is_slice(x.loop, i))
            steps_take(&x, &b, i, NULL);
    meet(&x, &b);
    struct loop_for f = {"step", loop_int(a, 0), loop_int(a, x.loop->n_steps), 1, false};
    const struct loop_expr *step = loop_open_for(&b, &f, &inner);
    build_step(&x, &inner, step);
    loop_close(&b, &inner);
    steps_keep_results(&x, &b, NULL);
}
