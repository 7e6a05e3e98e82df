// Which regions are one nest, where their anchor is used, how much work they are.
#include "base/arena.h"
#include "family/nest.h"
#include "family/nest_steps.h"
#include "ir/work.h"

node_id nest_walker(const struct region *r) {
    for (int i = 0; i < r->n_anchors; i++)
        if (!terms_has(&r->graph->nodes[r->anchor[i]]))
            return r->anchor[i];
    return -1;
}

bool nest_accepts(const struct region *r, struct objection *why) {
    const struct graph *g = r->graph;
    const struct shape *value = &g->nodes[r->value[0]].shape;
    node_id walker = nest_walker(r);
    if (walker >= 0 && g->nodes[walker].op == OP_RECUR)
        return nest_steps_accepts(r, why);
    for (int i = 1; i < r->n_values; i++)
        if (!shape_equal(&g->nodes[r->value[i]].shape, value))
            return objection(why, NULL, "%s and %s have different shapes", r->value_name[0],
                             r->value_name[i]);
    if (walker >= 0 && (r->n_anchors > 1 || r->n_values > 1 || r->value[0] != walker))
        return objection(why, NULL, "nest computes the %s %s alone; materialise %s first",
                         op_infos[g->nodes[walker].op].name, g->nodes[walker].name,
                         g->nodes[r->anchor[0] != r->value[0] ? r->anchor[0] : walker].name);
    if (r->n_levels > 1)
        return objection(why, NULL,
                         "%s is needed by another reduction or product; materialise it "
                         "first",
                         g->nodes[r->anchor[0]].name);
    for (int i = 0; i < r->n_anchors; i++)
        if (shape_count(&g->nodes[r->anchor[i]].shape) < shape_count(value))
            return objection(why, NULL,
                             "%s is needed for more than one result; materialise it "
                             "first",
                             g->nodes[r->anchor[i]].name);
    return true;
}

// Is something slow computed on the way to the node?
static bool is_slow(const struct region *r, node_id n) {
    const struct node *node = &r->graph->nodes[n];
    if (!r->is_member[n])
        return false;
    if (op_infos[node->op].pipe == OP_PIPE_TRANSCENDENTAL || node->op == OP_DIV)
        return true;
    for (int i = 0; i < node->n_args; i++)
        if (is_slow(r, node->arg[i]))
            return true;
    return false;
}

node_id nest_cut(const struct region *r) {
    node_id walker = nest_walker(r);
    if (walker >= 0 && r->graph->nodes[walker].op == OP_RECUR)
        return nest_steps_cut(r);
    for (int i = 0; i < r->n_anchors; i++) {
        const struct node *n = &r->graph->nodes[r->anchor[i]];
        for (int k = 0; work_is_contraction(n) && k < 2; k++)
            if (is_slow(r, n->arg[k]))
                return n->arg[k];
    }
    return -1;
}

// Where the one anchor is used: at one place only, or there is no tile.
struct anchor_place {
    const struct region *region;
    struct axis_map at;
    int n_found;
};

static bool find_place(void *ctx, node_id id, const struct axis_map *map) {
    struct anchor_place *p = ctx;
    if (id != p->region->anchor[0])
        return true;
    if (p->n_found && !map_same(&p->at, map))
        p->n_found++;
    p->n_found += p->n_found == 0;
    p->at = *map;
    return false;
}

// The axis of the result that does not move one of the two factors: rows of a product, channels
// of a convolution.
static int tile_axis(const struct node *n) {
    switch (n->op) {
    case OP_MATMUL:
        return n->shape.rank - 2;
    case OP_CONV:
    case OP_CONV_T:
    case OP_RAGGED_OUTER:
        return 1;
    default:
        return -1;
    }
}

bool nest_place(const struct region *r, struct axis_map *at) {
    struct anchor_place p = {.region = r};
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    struct point_visit v = {r, -1, find_place, &p};
    for (int i = 0; r->n_anchors == 1 && i < r->n_values; i++)
        point_visit(&v, r->value[i], &map);
    *at = p.at;
    return p.n_found == 1;
}

int nest_tile_axis(const struct region *r, struct axis_map *at) {
    int axis = r->n_anchors == 1 ? tile_axis(&r->graph->nodes[r->anchor[0]]) : -1;
    if (axis < 0 || !nest_place(r, at))
        return -1;
    return at->axis[axis] < 0 ? -1 : at->axis[axis];
}

double nest_estimate(const struct region *r, double rate, double bytes_per_s) {
    struct region_work work;
    region_count(r, &work);
    return work.flops / rate + (work.bytes_read + work.bytes_written) / bytes_per_s;
}

// Is what the node is made of read at the node's own indices? Elements that are moved are found by
// divisions, which want indices that are never negative.
static bool stays_in_place(const struct region *r, node_id n) {
    const struct node *node = &r->graph->nodes[n];
    if (!r->is_member[n])
        return true;
    if (access_moves(node))
        return false;
    for (int i = 0; i < node->n_args; i++)
        if (!stays_in_place(r, node->arg[i]))
            return false;
    return true;
}

int nest_inside(const struct region *r, int64_t *begin, int64_t *end) {
    const struct node *n = &r->graph->nodes[r->n_anchors == 1 ? r->anchor[0] : r->value[0]];
    bool has_window = n->op == OP_CONV || n->op == OP_POOL_MAX || n->op == OP_POOL_SUM;
    int last = n->shape.rank - 1;
    struct axis_map at;
    if (r->n_anchors != 1 || !has_window || !nest_place(r, &at) || at.axis[last] < 0)
        return -1;
    if (at.axis[last] != r->graph->nodes[r->value[0]].shape.rank - 1)
        return -1;
    if (!stays_in_place(r, n->arg[0]))
        return -1;
    const struct window *w = &n->detail->window;
    int i = w->n_axes - 1;
    int64_t size = r->graph->nodes[n->arg[0]].shape.size[last], count = n->shape.size[last];
    int64_t room = size - 1 + w->before[i] - (w->size[i] - 1) * w->dilation[i];
    *begin = (w->before[i] + w->stride[i] - 1) / w->stride[i];
    *end = room < 0 ? 0 : room / w->stride[i] + 1;
    *end = *end < count ? *end : count;
    bool is_padded = *begin > 0 || *end < count;
    return is_padded && *begin < *end ? at.axis[last] : -1;
}

// Lanes along the last group of the values: on a CPU, where alone there are any, vectors are loaded
// from anywhere, so that all there is to ask is whether neighbours are read side by side.
int64_t nest_lanes(const struct region *r) {
    if (nest_walker(r) >= 0)
        return 1;
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    struct nest n;
    int64_t begin, end;
    nest_build_space_inside(&n, &l, nest_inside(r, &begin, &end));
    int64_t lanes = l.space.count[n.n_kept - 1];
    for (int i = 0; i < l.space.n_axes; i++)
        if (l.space.group[i] == n.n_kept - 1 && l.space.size[i].value > 1 && l.space.is_scalar[i])
            lanes = 1;
    arena_reset(&scratch);
    return lanes;
}

bool nest_find(struct form *f, struct objection *why) {
    if (!nest_accepts(f->region, why))
        return false;
    f->lanes = nest_lanes(f->region);
    return true;
}
