// Finds the product and what its rows become in a region.
#include "family/rowgemm_form.h"

#include <stddef.h>

#include "base/arena.h"
#include "family/access.h"

static const struct node *at(const struct region *r, node_id n) {
    return &r->graph->nodes[n];
}

// The reductions behind the product.
static bool find_fold(const struct region *r, struct rowgemm_form *f) {
    if (r->n_anchors == 2) {
        node_id n = r->anchor[1];
        bool is_sum = at(r, n)->op == OP_RSUM;
        if (!is_sum && at(r, n)->op != OP_RMAX)
            return false;
        *f = (struct rowgemm_form){.kind = is_sum ? ROWGEMM_SUM : ROWGEMM_MAX,
                                   .x = at(r, n)->arg[0],
                                   .best = is_sum ? -1 : n,
                                   .total = is_sum ? n : -1};
        return true;
    }
    struct law_match m;
    if (r->n_anchors != 3 || !law_find("online_softmax")->matches(r, r->anchor[2], &m) ||
        m.node[1] != r->anchor[1])
        return false;
    *f = (struct rowgemm_form){
        .kind = ROWGEMM_EXP_SUM, .x = m.node[0], .best = r->anchor[1], .total = r->anchor[2]};
    return true;
}

// The first node that needs the product again behind its rows.
static bool find_product(void *ctx, node_id n, const struct axis_map *map) {
    node_id *product = ctx;
    (void)map;
    if (n == *product)
        *product = -1;
    return true;
}

static bool is_row(const struct region *r, const struct rowgemm_form *f, node_id value) {
    const struct shape *s = &at(r, value)->shape, *x = &at(r, f->x)->shape;
    if (s->rank != x->rank - 1 && (s->rank != x->rank || s->size[s->rank - 1] != 1))
        return false;
    for (int i = 0; i < x->rank - 1; i++)
        if (s->size[i] != x->size[i])
            return false;
    return true;
}

static bool find_values(const struct region *r, const struct rowgemm_form *f, node_id product,
                        struct objection *why) {
    for (int i = 0; i < r->n_values; i++) {
        node_id needed = product;
        struct point_visit visit = {r, -1, find_product, &needed};
        if (!is_row(r, f, r->value[i]))
            return objection(why, NULL, "%s has not one number for each row of %s",
                             r->value_name[i], at(r, product)->name);
        struct axis_map map = rowgemm_map(r, f, r->value[i]);
        point_visit(&visit, r->value[i], &map);
        if (needed < 0)
            return objection(why, NULL, "%s needs elements of %s besides its rows",
                             r->value_name[i], at(r, product)->name);
    }
    return true;
}

bool rowgemm_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    struct rowgemm_form *f = arena_new(r->arena, struct rowgemm_form);
    const struct node *product = at(r, form->anchor);
    int last = product->shape.rank - 1;
    bool ok = op_infos[product->op].class == OP_CLASS_CONTRACT && find_fold(r, f);
    for (int i = 1; i < r->n_anchors && ok; i++)
        ok = at(r, r->anchor[i])->axes == 1u << last;
    if (!ok || r->level[f->x] != 1)
        return objection(why, NULL,
                         "rowgemm takes a product whose rows are added up, or of which the largest "
                         "or the logsumexp is taken, and %s is none; materialise %s first",
                         r->value_name[0], product->name);
    f->rows = shape_count(&product->shape) / product->shape.size[last];
    form->rowgemm = f;
    return find_values(r, f, form->anchor, why) && gemm_find_product(form, &f->x, 1, why);
}

struct axis_map rowgemm_map(const struct region *r, const struct rowgemm_form *f, node_id n) {
    int rank = at(r, n)->shape.rank;
    struct axis_map map = map_identity(rank);
    if (rank == at(r, f->x)->shape.rank)
        map.axis[rank - 1] = MAP_ZERO;
    return map;
}

struct cutter {
    struct lowering *l;
    const struct rowgemm_form *f;
};

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct cutter *c = ctx;
    if (n == c->f->best || n == c->f->total)
        return false;
    access_cut(c->l->region, &c->l->space, n, map);
    return true;
}

void rowgemm_build_space(struct lowering *l, const struct rowgemm_form *f) {
    const struct shape *shape = &at(l->region, f->x)->shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank - 1; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_join(&l->space, 0, shape->rank - 1);
    struct cutter c = {l, f};
    struct point_visit visit = {l->region, -1, cut_access, &c};
    for (int i = 0; i < l->region->n_values; i++) {
        struct axis_map map = rowgemm_map(l->region, f, l->region->value[i]);
        point_visit(&visit, l->region->value[i], &map);
    }
    space_finish(l->arena, &l->space);
}
