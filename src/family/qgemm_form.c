// Finds the weights under a product, and the scales that they are multiplied by.
//
// What is multiplied is w * scales, a number each; scales that stay the same along a group can wait
// until the group's terms are added up. So the search goes down from the product through views that
// only turn, one reshape that takes groups apart, one multiplication, and casts that keep a whole
// number as it is.
#include "family/qgemm_form.h"

#include <stddef.h>

#include "base/arena.h"
#include "family/in_place.h"

static const struct node *at(const struct region *r, node_id n) {
    return &r->graph->nodes[n];
}

// Views are walked through; the node below them, and how its axes lie.
static node_id below_views(const struct region *r, node_id n, struct axis_map *map) {
    while (r->is_member[n] && at(r, n)->op == OP_VIEW) {
        *map = map_through_view(r->graph, at(r, n), map);
        n = at(r, n)->arg[0];
    }
    return n;
}

static bool has_axes(const struct axis_map *map, int first, int second) {
    return map->axis[0] == first && map->axis[1] == second;
}

static bool is_member_op(const struct region *r, node_id n, enum op op) {
    return r->is_member[n] && at(r, n)->op == op;
}

// Whole numbers of 8 bits are the same in every type that has 8 digits.
static node_id below_casts(const struct region *r, node_id n) {
    while (is_member_op(r, n, OP_CAST) &&
           (at(r, n)->dtype == DTYPE_F32 || at(r, n)->dtype == DTYPE_F16 ||
            at(r, n)->dtype == DTYPE_BF16))
        n = at(r, n)->arg[0];
    return n;
}

static bool is_weights(const struct region *r, node_id n) {
    return r->is_leaf[n] && at(r, n)->shape.rank == 2 &&
           (at(r, n)->dtype == DTYPE_I4 || at(r, n)->dtype == DTYPE_I8);
}

// w itself, or as [N, groups, group].
static bool find_weights(const struct region *r, node_id n, int rank, struct qgemm_form *f) {
    n = below_casts(r, n);
    if (rank == 3 && is_member_op(r, n, OP_RESHAPE))
        n = at(r, n)->arg[0];
    n = below_casts(r, n);
    f->w = n;
    return is_weights(r, n);
}

// A value that is the same along the last of `rank` axes.
static bool find_scales(const struct region *r, node_id n, int rank, struct qgemm_form *f) {
    struct axis_map map = map_identity(rank);
    n = below_views(r, n, &map);
    const struct shape *s = &at(r, n)->shape;
    if (!r->is_leaf[n] || !dtype_is_float(at(r, n)->dtype) || at(r, n)->dtype == DTYPE_F64)
        return false;
    f->scales = n;
    if (s->rank == 1)
        return rank == 2 && map.axis[0] == 0;
    return s->rank == 2 && map.axis[0] == 0 && (rank == 3 ? map.axis[1] == 1 : s->size[1] == 1);
}

static bool find_scaled(const struct region *r, node_id n, int rank, struct qgemm_form *f) {
    for (int i = 0; i < 2; i++)
        if (find_weights(r, at(r, n)->arg[i], rank, f) &&
            find_scales(r, at(r, n)->arg[1 - i], rank, f))
            return true;
    return false;
}

// The right operand, seen as [N, K].
static bool find_right(const struct region *r, node_id n, struct qgemm_form *f) {
    f->scales = -1;
    f->group = f->k;
    if (find_weights(r, n, 2, f))
        return true;
    if (is_member_op(r, n, OP_MUL))
        return find_scaled(r, n, 2, f);
    if (!is_member_op(r, n, OP_RESHAPE) || !is_member_op(r, at(r, n)->arg[0], OP_MUL))
        return false;
    n = at(r, n)->arg[0];
    const struct shape *s = &at(r, n)->shape;
    if (s->rank != 3 || s->size[0] != f->n || !find_scaled(r, n, 3, f))
        return false;
    f->group = s->size[2];
    return true;
}

// The left operand: a leaf, whole, in the order of the product's axes.
static bool find_left(const struct region *r, node_id n, int rank, struct qgemm_form *f) {
    f->x = n;
    f->of_x = at(r, n)->dtype;
    return r->is_leaf[n] && at(r, n)->shape.rank == rank &&
           (f->of_x == DTYPE_F16 || f->of_x == DTYPE_BF16);
}

static bool find_operands(const struct region *r, struct qgemm_form *f) {
    const struct node *p = at(r, f->anchor);
    int rank = p->shape.rank;
    if (p->op != OP_MATMUL || rank < 2 || !find_left(r, p->arg[0], rank, f))
        return false;
    f->n = p->shape.size[rank - 1];
    f->k = at(r, f->x)->shape.size[rank - 1];
    f->m = shape_count(&p->shape) / f->n;
    // Batches of x have one matrix of weights.
    if (shape_count(&at(r, f->x)->shape) != f->m * f->k)
        return false;
    struct axis_map map = map_identity(rank);
    map.axis[rank - 2] = rank;
    node_id right = below_views(r, p->arg[1], &map);
    if (at(r, right)->shape.rank != 2 || !has_axes(&map, rank - 1, rank) ||
        !find_right(r, right, f))
        return false;
    f->of_w = at(r, f->w)->dtype;
    if (f->scales >= 0)
        f->scale_bytes = (int)dtype_size(at(r, f->scales)->dtype, 1);
    return at(r, f->w)->shape.size[0] == f->n && at(r, f->w)->shape.size[1] == f->k;
}

bool qgemm_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    struct qgemm_form *f = arena_new(r->arena, struct qgemm_form);
    f->anchor = form->anchor;
    if (r->n_anchors != 1)
        return objection(why, NULL, "qgemm takes one product; materialise %s first",
                         at(r, r->anchor[0])->name);
    if (!find_operands(r, f))
        return objection(
            why, NULL,
            "qgemm takes x[.., K] of f16 or bf16 and w[N, K] of i4 or i8, with a scale "
            "for each row or group of a row, all materialised, and those of %s are "
            "not; take gemm or nest",
            at(r, f->anchor)->name);
    form->qgemm = f;
    return in_place_check(r, f->anchor, why);
}

void qgemm_build_space(struct lowering *l, const struct qgemm_form *f) {
    const struct shape *shape = &at(l->region, f->anchor)->shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_join(&l->space, 0, shape->rank - 1);
    point_cut_epilogue(l, f->anchor);
    space_finish(l->arena, &l->space);
}

struct gpu_kernel qgemm_open_kernel(struct lowering *l, const char *name, int64_t blocks, int split,
                                    int threads, struct loop_builder *b) {
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(l->arena, "%s_qgemm", name),
                                          loop_int(l->arena, blocks * split), threads, b);
    k.kernel->min_blocks = 1;
    k.kernel->blocks_per_group = split > 1 ? split : 0;
    k.kernel->is_cluster = split > 1;
    return k;
}
