// A backward walk from the stage's values to what is materialised; and, for the default lowering,
// where to cut a region that is too large.
#include "family/region.h"

#include <string.h>

#include "base/arena.h"
#include "family/family.h"
#include "ir/work.h"

node_id region_find_value(const struct problem *p, const char *name) {
    for (int i = 0; i < p->n_outputs; i++)
        if (strcmp(p->outputs[i].name, name) == 0)
            return p->outputs[i].node;
    return graph_find(&p->graph, name);
}

static bool is_anchor(const struct node *n) {
    return op_class_of(n->op)->role == OP_ROLE_ANCHOR;
}

struct region *region_build(struct arena *a, const struct problem *p, const char *const *values,
                            int n_values, const bool *is_ready) {
    const struct graph *g = &p->graph;
    struct region *r = arena_new(a, struct region);
    r->arena = a;
    r->problem = p;
    r->graph = g;
    r->is_member = arena_array(a, bool, g->n_nodes);
    r->is_leaf = arena_array(a, bool, g->n_nodes);
    r->anchor = arena_array(a, node_id, g->n_nodes);
    r->forms = arena_array(a, struct region_form, FAMILY_COUNT);
    bool *wanted = arena_array(a, bool, g->n_nodes);
    r->n_values = n_values;
    for (int i = 0; i < n_values; i++) {
        r->value_name[i] = values[i];
        r->value[i] = region_find_value(p, values[i]);
        wanted[r->value[i]] = true;
    }
    // Users come after their arguments, so one walk from the end finds all.
    for (node_id i = g->n_nodes - 1; i >= 0; i--) {
        if (!wanted[i])
            continue;
        const struct node *n = &g->nodes[i];
        r->is_leaf[i] = n->op == OP_INPUT || is_ready[i];
        r->is_member[i] = !r->is_leaf[i];
        for (int k = 0; r->is_member[i] && k < n->n_args; k++)
            wanted[n->arg[k]] = true;
        r->n_members += r->is_member[i];
        if (op_infos[n->op].class != OP_CLASS_LEAF) {
            r->first = i;
            r->last = r->last ? r->last : i;
        }
    }
    r->level = arena_array(a, int, g->n_nodes);
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (!r->is_member[i])
            continue;
        for (int k = 0; k < n->n_args; k++)
            if (r->level[n->arg[k]] > r->level[i])
                r->level[i] = r->level[n->arg[k]];
        if (is_anchor(n)) {
            r->anchor[r->n_anchors++] = i;
            r->level[i]++;
        }
        if (r->level[i] > r->n_levels)
            r->n_levels = r->level[i];
    }
    return r;
}

bool region_is_same(const struct region *r, const bool *is_ready) {
    for (node_id i = r->first; i <= r->last; i++)
        if ((r->is_member[i] && is_ready[i]) ||
            (r->is_leaf[i] && !is_ready[i] && r->graph->nodes[i].op != OP_INPUT))
            return false;
    return true;
}

node_id region_only_user(const struct region *r, node_id n) {
    node_id user = -1;
    for (node_id i = n + 1; i < r->graph->n_nodes; i++) {
        const struct node *u = &r->graph->nodes[i];
        for (int k = 0; r->is_member[i] && k < u->n_args; k++) {
            if (u->arg[k] != n)
                continue;
            if (user >= 0 && user != i)
                return -1;
            user = i;
        }
    }
    return user;
}

bool region_is_value(const struct region *r, node_id n) {
    for (int i = 0; i < r->n_values; i++)
        if (r->value[i] == n)
            return true;
    return false;
}

// Does the value of `n` depend on an anchor other than `but`?
static bool has_other_anchor(const struct region *r, node_id n, node_id but) {
    if (!r->is_member[n] || n == but)
        return false;
    if (is_anchor(&r->graph->nodes[n]))
        return true;
    const struct node *node = &r->graph->nodes[n];
    for (int k = 0; k < node->n_args; k++)
        if (has_other_anchor(r, node->arg[k], but))
            return true;
    return false;
}

// The last elementwise node that is within the limits together with all before it; a named
// one where there is one.
static node_id cut_by_size(const struct region *r) {
    node_id cut = -1;
    int members = 0;
    for (node_id i = 0; i < r->graph->n_nodes && members < REGION_MEMBERS_MAX; i++) {
        const struct node *n = &r->graph->nodes[i];
        members += r->is_member[i];
        if (!r->is_member[i] || op_infos[n->op].class != OP_CLASS_ELEMENTWISE ||
            r->level[i] > REGION_LEVELS_MAX)
            continue;
        if (cut < 0 || n->is_named || !r->graph->nodes[cut].is_named)
            cut = i;
    }
    return cut;
}

node_id region_cut(const struct region *r) {
    if (r->n_members > REGION_MEMBERS_MAX || r->n_levels > REGION_LEVELS_MAX)
        return cut_by_size(r);
    if (r->n_anchors == 0)
        return -1;
    node_id first = r->anchor[0], cut = first;
    // A contraction's result passes through its epilogue before it is worth storing; a
    // reduction's is small and stays as it is.
    bool carries = work_is_contraction(&r->graph->nodes[first]);
    while (carries) {
        node_id user = region_only_user(r, cut);
        if (user < 0 || op_infos[r->graph->nodes[user].op].class != OP_CLASS_ELEMENTWISE)
            break;
        if (region_is_value(r, user) || has_other_anchor(r, user, first))
            break;
        cut = user;
    }
    if (region_is_value(r, cut) && r->n_values == 1)
        return -1;
    return cut;
}

bool region_is_slow(enum op op) {
    return op_infos[op].pipe == OP_PIPE_TRANSCENDENTAL && op != OP_SQRT && op != OP_RSQRT;
}

void region_count(const struct region *r, struct region_work *w) {
    *w = (struct region_work){0};
    for (node_id i = 0; i < r->graph->n_nodes; i++) {
        const struct node *n = &r->graph->nodes[i];
        double bytes = (double)dtype_size(n->dtype, shape_count(&n->shape));
        if (r->is_leaf[i])
            w->bytes_read += bytes;
        if (region_is_value(r, i))
            w->bytes_written += bytes;
        if (!r->is_member[i])
            continue;
        w->flops += work_flops(r->graph, n);
        if (region_is_slow(n->op))
            w->slow_flops += (double)shape_count(&n->shape);
    }
}
