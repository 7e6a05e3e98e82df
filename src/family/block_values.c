// Which values a stage materialises, in which type and in which order of axes.
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "family/block_private.h"

bool block_is_output(const struct problem *p, const char *name) {
    for (int i = 0; i < p->n_outputs; i++)
        if (strcmp(p->outputs[i].name, name) == 0)
            return true;
    return false;
}

static const char *nearest_value(struct resolver *v, const char *word) {
    const struct graph *g = &v->block->problem->graph;
    const char **names = arena_array(v->arena, const char *, g->n_nodes + 1);
    int n = 0;
    for (node_id i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op != OP_INPUT && g->nodes[i].op != OP_CONST)
            names[n++] = g->nodes[i].name;
    return str_nearest(word, names);
}

// Is the value that name stands for in an earlier place of the block?
static bool is_made_before(const struct kernel *k, int stage, int value) {
    const char *name = k->stages[stage]->values[value];
    for (int i = 0; i <= stage; i++)
        for (int j = 0; j < (i == stage ? value : k->stages[i]->n_values); j++)
            if (strcmp(k->stages[i]->values[j], name) == 0)
                return true;
    return false;
}

static bool check_value(struct resolver *v, int stage, int value) {
    const struct problem *p = v->block->problem;
    const struct kernel_stage *s = v->block->kernel->stages[stage];
    const char *name = s->values[value];
    struct place at = s->value_at[value];
    node_id n = v->block->stages[stage].value[value].node;
    if (n < 0)
        return block_complain(v, s, at, nearest_value(v, name), "the problem %s has no value '%s'",
                              p->name, name);
    enum op op = p->graph.nodes[n].op;
    bool is_output = block_is_output(p, name);
    if (op == OP_CONST && !is_output)
        return block_complain(v, s, at, NULL, "%s is a constant, there already", name);
    if (op == OP_INPUT && !is_output) {
        // Only in another layout; block_check_storage sees whether it is another one.
        if (s->n_layout == 0)
            return block_complain(v, s, at, NULL,
                                  "%s is an input, there already; only another layout makes a "
                                  "stage of it",
                                  name);
        return true;
    }
    if (is_made_before(v->block->kernel, stage, value))
        return block_complain(v, s, at, NULL, "the value %s is materialised twice", name);
    return true;
}

bool block_check_values(struct resolver *v, int i) {
    const struct kernel_stage *s = v->block->kernel->stages[i];
    bool ok = true;
    for (int j = 0; j < s->n_values; j++)
        ok &= check_value(v, i, j);
    return ok;
}

// ---- as

// Does the type hold every value that the other one does?
static bool holds(enum dtype wide, enum dtype narrow) {
    const struct dtype_info *w = &dtype_infos[wide], *n = &dtype_infos[narrow];
    if (wide == narrow || n->kind == DTYPE_KIND_BOOL)
        return true;
    return w->kind >= n->kind && w->digits >= n->digits && dtype_max(wide) >= dtype_max(narrow);
}

static bool check_types(struct resolver *v, int i) {
    const struct problem *p = v->block->problem;
    const struct kernel_stage *s = v->block->kernel->stages[i];
    const char *names[DTYPE_COUNT + 1] = {NULL};
    enum dtype type = DTYPE_F32;
    for (int t = 0; t < DTYPE_COUNT; t++)
        names[t] = dtype_name((enum dtype)t);
    if (s->type && !dtype_find(s->type, &type))
        return block_complain(v, s, s->type_at, str_nearest(s->type, names),
                              "no type is named '%s'", s->type);
    for (int j = 0; j < s->n_values; j++) {
        struct block_value *value = &v->block->stages[i].value[j];
        const struct node *n = &p->graph.nodes[value->node];
        bool is_output = block_is_output(p, s->values[j]);
        value->dtype = s->type ? type : n->dtype;
        if (is_output && value->dtype != n->dtype)
            return block_complain(v, s, s->type_at, NULL, "the output %s is declared %s",
                                  s->values[j], dtype_name(n->dtype));
        if (!holds(value->dtype, n->dtype))
            return block_complain(v, s, s->type_at, NULL,
                                  "%s is %s, and only a value with a declared type is narrowed: "
                                  "%s : %s = ... in the problem",
                                  s->values[j], dtype_name(n->dtype), s->values[j], s->type);
    }
    return true;
}

// ---- layout

// The axis that a word of `layout` means; -1: none, or more than one.
static int find_axis(const struct graph *g, const struct shape *s, const char *word) {
    long long number;
    if (str_to_int64(word, &number))
        return number >= 0 && number < s->rank ? (int)number : -1;
    int found = -1;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0 || strcmp(g->dims[s->dim[i]].name, word) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static bool apply_layout(const struct graph *g, const struct kernel_stage *s,
                         struct block_value *value) {
    const struct shape *shape = &g->nodes[value->node].shape;
    unsigned seen = 0;
    int axis[RANK_MAX];
    if (shape->rank != s->n_layout)
        return false;
    for (int i = 0; i < shape->rank; i++) {
        axis[i] = find_axis(g, shape, s->layout[i]);
        if (axis[i] < 0 || seen >> axis[i] & 1)
            return false;
        seen |= 1u << axis[i];
    }
    for (int i = 0; i < shape->rank; i++) {
        value->axis[i] = axis[i];
        value->is_permuted |= axis[i] != i;
    }
    return true;
}

// How the newest copy of a node lies.
static const struct block_value *newest(const struct block *b, node_id node, int stage) {
    int maker = block_maker(b, node, stage);
    for (int j = 0; maker >= 0 && j < b->kernel->stages[maker]->n_values; j++)
        if (b->stages[maker].value[j].node == node)
            return &b->stages[maker].value[j];
    return NULL;
}

static bool is_same_layout(const struct block_value *old, const struct block_value *value,
                           int rank) {
    for (int i = 0; i < rank; i++)
        if ((old ? old->axis[i] : i) != value->axis[i])
            return false;
    return true;
}

static bool check_layouts(struct resolver *v, int i) {
    const struct problem *p = v->block->problem;
    const struct kernel_stage *s = v->block->kernel->stages[i];
    bool applies = false, has_effect = false;
    for (int j = 0; j < s->n_values; j++) {
        struct block_value *value = &v->block->stages[i].value[j];
        for (int axis = 0; axis < RANK_MAX; axis++)
            value->axis[axis] = axis;
        const struct node *n = &p->graph.nodes[value->node];
        bool is_output = block_is_output(p, s->values[j]);
        applies |= s->n_layout && apply_layout(&p->graph, s, value);
        // A copy of an input may bring back what another copy has changed.
        has_effect |= value->is_permuted || (n->op == OP_INPUT && !is_output);
        if (is_output && value->is_permuted)
            return block_complain(v, s, s->layout_at, NULL,
                                  "the output %s is written as declared, %s", s->values[j],
                                  shape_print(v->arena, &p->graph, &n->shape));
        if (n->op == OP_INPUT && !is_output && applies &&
            is_same_layout(newest(v->block, value->node, i), value, n->shape.rank))
            return block_complain(v, s, s->layout_at, NULL, "%s lies like that already",
                                  s->values[j]);
    }
    if (s->n_layout && !applies)
        return block_complain(
            v, s, s->layout_at, NULL, "a layout names every axis of a value once, and %s is %s",
            s->values[0],
            shape_print(v->arena, &p->graph,
                        &p->graph.nodes[v->block->stages[i].value[0].node].shape));
    if (s->n_layout && !has_effect)
        return block_complain(v, s, s->layout_at, NULL,
                              "%s lies like that as declared; leave the layout out", s->values[0]);
    return true;
}

bool block_check_storage(struct resolver *v, int i) {
    bool types = check_types(v, i);
    return check_layouts(v, i) && types;
}
