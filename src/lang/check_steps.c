// Loops: `for t in T with h = h0:` and the statements of its body.
#include <setjmp.h>
#include <string.h>

#include "base/arena.h"
#include "lang/check_private.h"

// ---- the `for`

// T, or reversed(T) for the way back.
static void read_count(struct checker *c, struct steps *l, const struct expr *e) {
    bool is_call = e->kind == EXPR_CALL;
    l->recurrence->reverse = is_call && strcmp(e->text, "reversed") == 0;
    if (is_call && (!l->recurrence->reverse || e->n_args != 1 || e->n_keywords))
        mistake_fail(c->mistakes, e->at, NULL,
                     "steps are counted by a size, as in 'for t in T', or 'for t in reversed(T)' "
                     "from the last to the first");
    l->count = l->recurrence->reverse ? e->args[0] : e;
    if (l->count->kind == EXPR_CALL)
        mistake_fail(c->mistakes, l->count->at, NULL,
                     "steps are counted by a size: write 'for t in reversed(T)'");
    l->recurrence->n_steps = value_size(&c->scope, l->count);
}

// Can a value of that shape be spread over the declared one?
static bool fits(const struct shape *from, const struct shape *to) {
    for (int i = 1; i <= from->rank; i++)
        if (i > to->rank || (from->size[from->rank - i] != 1 &&
                             from->size[from->rank - i] != to->size[to->rank - i]))
            return false;
    return true;
}

// What a state begins as: a value from before the loop, of the state's type and shape.
static node_id first_value(struct checker *c, const struct state_syntax *st) {
    struct builder *b = &c->scope.builder;
    struct label l = {.at = st->value->at};
    struct operand x = value_operand(&c->scope, &l, st->value);
    if (!st->type.name)
        return build_node(b, &l, x);
    enum dtype type = check_type(c, &st->type);
    struct shape shape = check_shape(c, &st->type);
    node_id id = build_node_as(b, &l, x, type);
    const struct node *n = build_get(b, id);
    bool converts = dtype_is_float(type) && dtype_is_float(n->dtype);
    if ((n->dtype != type && !converts) || !fits(&n->shape, &shape))
        mistake_fail(c->mistakes, st->value->at, NULL, "'%s' is declared %s%s, and this is %s",
                     st->name, dtype_name(type), shape_print(c->arena, b->graph, &shape),
                     build_type_text(b, n));
    id = build_cast(b, &l, (struct operand){.node = id}, type).node;
    return build_broadcast(b, &l, id, &shape);
}

static void open_body(struct checker *c, struct steps *l) {
    const struct graph *g = &c->problem->graph;
    l->outer = &c->scope;
    l->body = arena_new(c->arena, struct problem);
    l->body->name = c->problem->name;
    l->body->text = "";
    memcpy(l->body->graph.dims, g->dims, sizeof g->dims);
    l->body->graph.n_dims = g->n_dims;
    l->recurrence->body = l->body;
    l->scope = (struct value_scope){
        .builder = {.arena = c->arena, .mistakes = c->mistakes, .graph = &l->body->graph},
        .steps = l};
    for (int i = 0; i < g->n_dims; i++) {
        struct symbol *s = names_add(c->arena, &l->scope.names, g->dims[i].name);
        s->kind = SYMBOL_DIM;
        s->index = i;
    }
}

static void not_the_step(struct checker *c, const char *name, struct spot at) {
    const struct symbol *own = names_find(&c->loop->scope.names, name);
    if (own && own->kind == SYMBOL_STEP)
        mistake_fail(c->mistakes, at, NULL, "'%s' counts the steps of this loop", name);
}

// A name of the body alone: free in it and around it.
static struct symbol *define_local(struct checker *c, const char *name, struct spot at) {
    const struct symbol *own = names_find(&c->loop->scope.names, name);
    not_the_step(c, name, at);
    if (own && own->kind == SYMBOL_VALUE)
        mistake_fail(c->mistakes, at, NULL, "'%s' is already a value, at line %d", name,
                     own->at.at.line);
    // It is defined around the loop too: what it is called stays known when the loop is over.
    check_define(c, name, at)->kind = SYMBOL_LOCAL;
    struct symbol *s = names_add(c->arena, &c->loop->scope.names, name);
    s->at = at;
    s->node = -1;
    return s;
}

static void add_state(struct checker *c, const struct state_syntax *st) {
    struct steps *l = c->loop;
    if (l->n_outputs == OUTPUTS_MAX)
        mistake_fail(c->mistakes, st->at, NULL, "a loop has at most %d states and kept values",
                     OUTPUTS_MAX);
    not_the_step(c, st->name, st->at);
    node_id first = first_value(c, st);
    struct symbol *outer = check_define(c, st->name, st->at);
    outer->kind = SYMBOL_OPEN;
    node_id id = steps_input(l, st->at, (struct steps_input){.outer = first, .axis = -1});
    l->body->graph.nodes[id].name = st->name;
    struct symbol *s = names_add(c->arena, &l->scope.names, st->name);
    s->kind = SYMBOL_VALUE;
    s->at = st->at;
    s->node = id;
    l->outputs[l->n_outputs++] = (struct steps_output){.name = st->name, .at = st->at, .node = -1};
    l->recurrence->n_states = l->n_outputs;
}

void check_for(struct checker *c, const struct statement *st) {
    struct steps *l = arena_new(c->arena, struct steps);
    l->at = st;
    l->recurrence = arena_new(c->arena, struct recurrence);
    read_count(c, l, st->value);
    open_body(c, l);
    c->loop = l;
    struct symbol *step = define_local(c, st->name, st->name_at);
    step->kind = SYMBOL_STEP;
    for (const struct state_syntax *s = st->states; s; s = s->next)
        add_state(c, s);
    l->next = c->loops;
    c->loops = l;
}

// ---- its body

static struct steps_output *find_state(struct steps *l, const char *name) {
    for (int i = 0; i < l->recurrence->n_states; i++)
        if (strcmp(l->outputs[i].name, name) == 0)
            return &l->outputs[i];
    return NULL;
}

// h = ...: from here on the name is the next state.
static void check_next(struct checker *c, const struct statement *st, struct steps_output *state) {
    struct steps *l = c->loop;
    struct builder *b = &l->scope.builder;
    struct symbol *s = names_find(&l->scope.names, st->name);
    const struct node now = *build_get(b, l->inputs[state - l->outputs].inner);
    if (state->node >= 0)
        mistake_fail(c->mistakes, st->at, NULL, "state '%s' is assigned twice", st->name);
    node_id id = check_value(c, &l->scope, st, arena_printf(c->arena, "%s.next", st->name));
    const struct node *n = build_get(b, id);
    if (!shape_equal(&n->shape, &now.shape))
        mistake_fail(c->mistakes, st->value->at, NULL,
                     "state '%s' begins as %s, and its next value is %s%s", st->name,
                     build_type_text(b, &now), build_type_text(b, n),
                     now.shape.rank ? "" : "; say its shape where it begins, as in h : f32[N] = 0");
    id = check_store_as(c, &l->scope, st, id, now.dtype);
    b->graph->nodes[id].is_named = true;
    state->node = s->node = id;
}

// The axis of y[:, t].
static int kept_axis(struct checker *c, const struct statement *st) {
    const struct expr *e = st->part;
    int axis = -1;
    bool is_plain = true;
    for (int i = 0; i < e->n_subscripts; i++) {
        const struct subscript *s = &e->subscripts[i];
        bool is_step = s->kind == SUBSCRIPT_INDEX && s->start->kind == EXPR_NAME &&
                       strcmp(s->start->text, c->loop->at->name) == 0;
        is_plain &=
            is_step ? axis < 0 : s->kind == SUBSCRIPT_SLICE && !s->start && !s->stop && !s->step;
        axis = is_step ? i : axis;
    }
    if (axis < 0 || !is_plain)
        mistake_fail(c->mistakes, e->at, NULL,
                     "what is kept of every step is assigned by its place alone: y[:, %s] = ...",
                     c->loop->at->name);
    return axis;
}

static void check_kept(struct checker *c, const struct statement *st) {
    struct steps *l = c->loop;
    int axis = kept_axis(c, st);
    if (l->n_outputs == OUTPUTS_MAX)
        mistake_fail(c->mistakes, st->at, NULL, "a loop has at most %d states and kept values",
                     OUTPUTS_MAX);
    const struct symbol *own = names_find(&l->scope.names, st->name);
    if (own && own->kind == SYMBOL_BROKEN)
        longjmp(*c->mistakes->on_mistake, 1);
    if (own)
        mistake_fail(c->mistakes, st->at, NULL,
                     "'%s' is a value of every step already; what is kept needs a name of its own",
                     st->name);
    struct symbol *s = names_find(&c->scope.names, st->name);
    for (int i = l->recurrence->n_states; i < l->n_outputs; i++)
        if (strcmp(l->outputs[i].name, st->name) == 0)
            mistake_fail(c->mistakes, st->at, NULL, "'%s' is assigned twice", st->name);
    bool is_output = s && s->kind == SYMBOL_OUTPUT && s->node < 0;
    if (!is_output)
        check_target(c, st, &is_output);
    node_id id = check_value(c, &l->scope, st, st->name);
    if (build_get(&l->scope.builder, id)->shape.rank < axis)
        mistake_fail(c->mistakes, st->part->at, NULL,
                     "'%s' goes along axis %d, and what is kept is %s", l->at->name, axis,
                     build_type_text(&l->scope.builder, build_get(&l->scope.builder, id)));
    names_find(&l->scope.names, l->at->name)->is_used = true;
    l->outputs[l->n_outputs++] = (struct steps_output){
        .st = st, .name = st->name, .at = st->name_at, .node = id, .axis = axis};
}

void check_step(struct checker *c, const struct statement *st) {
    struct steps *l = c->loop;
    struct steps_output *state = find_state(l, st->name);
    if (st->part) {
        check_kept(c, st);
    } else if (state) {
        check_next(c, st, state);
    } else {
        const struct symbol *outer = names_find(&c->scope.names, st->name);
        if (outer && outer->kind == SYMBOL_OUTPUT)
            mistake_fail(c->mistakes, st->at, NULL,
                         "'%s' is an output, and this is a value of one step: keep it with %s[%s], "
                         "or assign it after the loop",
                         st->name, st->name, l->at->name);
        struct symbol *s = names_find(&l->scope.names, st->name);
        if (s && s->kind == SYMBOL_BROKEN)  // a state whose beginning has a mistake
            longjmp(*c->mistakes->on_mistake, 1);
        s = define_local(c, st->name, st->name_at);
        s->kind = SYMBOL_OPEN;
        s->node = check_value(c, &l->scope, st, st->name);
        s->kind = SYMBOL_VALUE;
    }
}

void check_break_step(struct checker *c, const struct statement *st) {
    struct steps *l = c->loop;
    l->has_mistake = true;
    l->scope.builder.frame = NULL;
    for (const struct state_syntax *s = st->states; s; s = s->next) {
        if (!names_find(&l->scope.names, s->name))
            names_add(c->arena, &l->scope.names, s->name)->kind = SYMBOL_BROKEN;
        check_define_broken(c, s->name);
    }
    if (!st->name || find_state(l, st->name))
        return;
    struct symbol *s = names_find(&l->scope.names, st->name);
    if (!s && !st->part)
        names_add(c->arena, &l->scope.names, st->name)->kind = SYMBOL_BROKEN;
    else if (s && (s->kind == SYMBOL_OPEN || s->kind == SYMBOL_STEP))
        s->kind = SYMBOL_BROKEN;
    check_define_broken(c, st->name);
}

// ---- the end

static void check_uses(struct checker *c, struct steps *l) {
    const struct names *names = &l->scope.names;
    for (int i = 0; i < l->recurrence->n_states; i++)
        if (l->outputs[i].node < 0)
            mistake_add(c->mistakes, l->outputs[i].at, NULL,
                        "state '%s' has no next value: the loop assigns none", l->outputs[i].name);
    for (int i = 0; i < names->n_slots; i++) {
        const struct symbol *s = names->slots[i];
        if (s && s->kind == SYMBOL_VALUE && !s->is_used && !find_state(l, s->name))
            mistake_add(c->mistakes, s->at, NULL, "value '%s' is never used", s->name);
    }
}

void check_end_for(struct checker *c) {
    struct steps *l = c->loop;
    c->loop = NULL;
    struct symbol *symbols[OUTPUTS_MAX];
    bool is_output[OUTPUTS_MAX];
    for (int i = 0; i < l->n_outputs; i++) {
        symbols[i] = names_find(&c->scope.names, l->outputs[i].name);
        is_output[i] = symbols[i]->kind == SYMBOL_OUTPUT;
        symbols[i]->kind = SYMBOL_BROKEN;
    }
    int before = c->mistakes->count;
    if (!l->has_mistake)
        check_uses(c, l);
    if (l->has_mistake || c->mistakes->count > before) {
        c->has_mistake = true;
        return;
    }
    steps_close(l);
    for (int i = 0; i < l->n_outputs; i++) {
        node_id id = steps_result(l, i, l->outputs[i].name);
        if (i >= l->recurrence->n_states) {
            check_bind(c, l->outputs[i].st, symbols[i], is_output[i], id);
            continue;
        }
        symbols[i]->kind = SYMBOL_VALUE;
        symbols[i]->node = id;
        symbols[i]->is_used = names_find(&l->scope.names, symbols[i]->name)->is_used;
    }
}
