// What a value needs, each node and map once: for planning before anything is built.
#include "base/arena.h"
#include "family/access.h"
#include "family/point.h"

struct seen {
    struct seen *next;
    node_id node;
    struct axis_map map;
};

struct visitor {
    const struct point_visit *what;
    struct arena arena;
    struct seen *seen;
};

static void visit(struct visitor *v, node_id n, const struct axis_map *map) {
    const struct region *r = v->what->region;
    const struct node *node = &r->graph->nodes[n];
    for (const struct seen *s = v->seen; s; s = s->next)
        if (s->node == n && map_equal(&s->map, map, &node->shape))
            return;
    struct seen *now = arena_new(&v->arena, struct seen);
    *now = (struct seen){v->seen, n, *map};
    v->seen = now;

    if (!v->what->fn(v->what->ctx, n, map) || !r->is_member[n])
        return;
    struct axis_map arg = *map;
    if (access_moves(node)) {
        struct access x;
        access_find(r, n, map, &x);
        for (int i = 0; i < node->n_args; i++)
            visit(v, node->arg[i], &x.map[i]);
        return;
    }
    if (op_infos[node->op].class == OP_CLASS_REDUCE) {
        const struct shape *shape = &r->graph->nodes[node->arg[0]].shape;
        if (v->what->column < 0 || node->axes != 1u << (shape->rank - 1))
            return;
        arg.axis[shape->rank - 1] = v->what->column;
    }
    if (op_infos[node->op].class != OP_CLASS_REDUCE &&
        op_infos[node->op].class != OP_CLASS_ELEMENTWISE)
        return;
    for (int i = 0; i < node->n_args; i++)
        visit(v, node->arg[i], &arg);
}

void point_visit(const struct point_visit *v, node_id n, const struct axis_map *map) {
    struct visitor visitor = {.what = v};
    visit(&visitor, n, map);
    arena_reset(&visitor.arena);
}

struct epilogue {
    struct lowering *l;
    node_id anchor;
};

static bool cut_until_anchor(void *ctx, node_id n, const struct axis_map *map) {
    const struct epilogue *e = ctx;
    access_cut(e->l->region, &e->l->space, n, map);
    return n != e->anchor;
}

void point_cut_epilogue(struct lowering *l, node_id anchor) {
    struct axis_map map = map_identity(l->region->graph->nodes[anchor].shape.rank);
    struct epilogue e = {l, anchor};
    struct point_visit visit = {l->region, -1, cut_until_anchor, &e};
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
}
