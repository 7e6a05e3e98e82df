// The body of a loop becomes a problem of its own; values from outside become its inputs when they
// are first used, slices by the step's own subscript too.
#include "lang/steps.h"

#include <string.h>

#include "base/arena.h"
#include "ir/simplify.h"
#include "lang/steps_before.h"

static struct mistakes *mistakes_of(const struct steps *l) {
    return l->outer->builder.mistakes;
}

node_id steps_input(struct steps *l, struct spot at, struct steps_input in) {
    struct builder *b = &l->scope.builder;
    const struct node *outer = build_get(&l->outer->builder, in.outer);
    struct shape shape = in.axis < 0 ? outer->shape : recurrence_without(&outer->shape, in.axis);
    const char *name =
        in.axis < 0 ? outer->name : arena_printf(b->arena, "%s.step%d", outer->name, in.axis);
    for (int i = l->recurrence->n_states; i < l->n_inputs; i++)
        if (l->inputs[i].outer == in.outer && l->inputs[i].axis == in.axis)
            return l->inputs[i].inner;
    int max = (int)ARGS_MAX < (int)INPUTS_MAX ? ARGS_MAX : INPUTS_MAX;
    if (l->n_inputs == max)
        mistake_fail(mistakes_of(l), at, NULL,
                     "a loop has at most %d states and values from before it", max);
    struct label label = {.at = at, .name = name};
    enum dtype type = outer->dtype;
    in.inner = build_node(b, &label, (struct operand){.is_number = true});
    struct node *n = &b->graph->nodes[in.inner];
    n->op = OP_INPUT;
    n->dtype = type;
    n->shape = shape;
    n->is_named = true;
    l->inputs[l->n_inputs++] = in;
    return in.inner;
}

struct symbol *steps_import(struct value_scope *s, const struct expr *e) {
    struct steps *l = s->steps;
    struct symbol *outer = value_symbol(l->outer, e);
    if (outer->node < 0)
        mistake_fail(mistakes_of(l), e->at, NULL, "output '%s' is read before it is assigned",
                     e->text);
    node_id inner = steps_input(l, e->at, (struct steps_input){.outer = outer->node, .axis = -1});
    struct symbol *own = names_add(s->builder.arena, &s->names, e->text);
    own->kind = SYMBOL_INPUT;
    own->at = outer->at;
    own->node = inner;
    own->is_used = true;
    return own;
}

// The subscript that is the step's own name, or -1.
static int step_subscript(const struct value_scope *s, const struct expr *e) {
    for (int i = 0; i < e->n_subscripts && s->steps; i++) {
        const struct expr *start = e->subscripts[i].start;
        if (e->subscripts[i].kind == SUBSCRIPT_INDEX && start->kind == EXPR_NAME &&
            strcmp(start->text, s->steps->at->name) == 0)
            return i;
    }
    return -1;
}

bool steps_is_slice(const struct value_scope *s, const struct expr *e) {
    return step_subscript(s, e) >= 0;
}

// The axis that the step's subscript stands for; it is taken out of the list.
static int take_subscript(const struct value_scope *s, struct expr *e) {
    struct steps *l = s->steps;
    int at = step_subscript(s, e), axis = 0;
    struct subscript *rest = arena_array(s->builder.arena, struct subscript, SUBSCRIPTS_MAX);
    for (int i = 0, n = 0; i < e->n_subscripts; i++)
        if (i != at)
            rest[n++] = e->subscripts[i];
    for (int i = 0; i < at; i++)
        axis += e->subscripts[i].kind != SUBSCRIPT_NEW;
    names_find(&s->names, l->at->name)->is_used = true;
    e->subscripts = rest;
    e->n_subscripts--;
    if (step_subscript(s, e) >= 0)
        mistake_fail(mistakes_of(l), e->at, NULL, "'%s' stands here twice", l->at->name);
    return axis;
}

node_id steps_slice(struct value_scope *s, struct expr *e) {
    struct steps *l = s->steps;
    struct mistakes *m = mistakes_of(l);
    const struct expr *base = e->args[0];
    const struct symbol *own = base->kind == EXPR_NAME ? names_find(&s->names, base->text) : NULL;
    if (base->kind != EXPR_NAME || (own && own->kind != SYMBOL_INPUT) || s->builder.frame)
        mistake_fail(
            m, e->at, NULL,
            "only a value from before the loop goes along its steps; give it a name there");
    const struct symbol *outer = value_symbol(l->outer, base);
    if (outer->kind != SYMBOL_INPUT && outer->kind != SYMBOL_VALUE && outer->kind != SYMBOL_OUTPUT)
        mistake_fail(m, base->at, NULL, "'%s' has no axes", base->text);
    if (outer->node < 0)
        mistake_fail(m, base->at, NULL, "output '%s' is read before it is assigned", base->text);
    const struct builder *b = &l->outer->builder;
    const struct shape *shape = &build_get(b, outer->node)->shape;
    int axis = take_subscript(s, e);
    if (axis >= shape->rank)
        mistake_fail(m, e->at, NULL, "more subscripts than the %d axes of a value of shape %s",
                     shape->rank, shape_print(b->arena, b->graph, shape));
    if (shape->size[axis] != l->recurrence->n_steps)
        mistake_fail(m, e->at, NULL,
                     "axis %d of a value of shape %s has %lld positions, and the loop has %lld "
                     "steps; take a part of it before the loop",
                     axis, shape_print(b->arena, b->graph, shape), (long long)shape->size[axis],
                     (long long)l->recurrence->n_steps);
    return steps_input(l, base->at, (struct steps_input){.outer = outer->node, .axis = axis});
}

void steps_close(struct steps *l) {
    struct recurrence *r = l->recurrence;
    struct problem *body = l->body;
    struct steps_input ordered[ARGS_MAX];
    int n = 0;
    steps_before(l);
    // States, slices, and then what is seen whole.
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < l->n_inputs; i++) {
            int kind = i < r->n_states ? 0 : l->inputs[i].axis >= 0 ? 1 : 2;
            if (kind == pass)
                ordered[n++] = l->inputs[i];
            r->n_slices += pass == 1 && kind == 1;
        }
    memcpy(l->inputs, ordered, sizeof *ordered * (size_t)n);
    for (int i = 0; i < n; i++) {
        r->axis[i] = ordered[i].axis;
        body->inputs[body->n_inputs++] = (struct problem_input){.node = ordered[i].inner};
    }
    for (int i = 0; i < l->n_outputs; i++)
        body->outputs[body->n_outputs++] =
            (struct problem_output){.name = l->outputs[i].name, .node = l->outputs[i].node};
    problem_simplify(body);
}

int steps_dim(const struct steps *l) {
    const struct symbol *dim =
        l->count->kind == EXPR_NAME ? names_find(&l->outer->names, l->count->text) : NULL;
    return dim && dim->kind == SYMBOL_DIM ? dim->index : -1;
}

node_id steps_result(struct steps *l, int output, const char *name) {
    struct builder *b = &l->outer->builder;
    const struct steps_output *o = &l->outputs[output];
    struct node_detail *d = arena_new(b->arena, struct node_detail);
    const struct node *from = &l->body->graph.nodes[l->body->outputs[output].node];
    struct node n = {.op = OP_RECUR, .dtype = from->dtype, .shape = from->shape, .detail = d};
    *d = (struct node_detail){.recurrence = l->recurrence, .result = output, .axis = o->axis};
    n.n_args = l->n_inputs;
    for (int i = 0; i < l->n_inputs; i++)
        n.arg[i] = l->inputs[i].outer;
    if (output >= l->recurrence->n_states) {
        if (from->shape.rank == RANK_MAX)
            mistake_fail(mistakes_of(l), o->at, NULL, "no value has more than %d axes", RANK_MAX);
        n.shape = recurrence_with(&from->shape, o->axis, l->recurrence->n_steps);
        n.shape.dim[o->axis] = steps_dim(l);
    }
    struct label label = {.at = o->at, .name = name};
    return build_add(b, &label, n).node;
}
