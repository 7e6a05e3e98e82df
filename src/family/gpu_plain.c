// The baseline on a GPU: what a careful programmer writes first. One thread per element of the
// value, blocks of 256, a loop over what is reduced, no vectors, no shared memory.
#include <assert.h>

#include "base/arena.h"
#include "family/gemm_form.h"
#include "family/gpu.h"
#include "family/map_form.h"
#include "family/plain.h"
#include "family/reduce_form.h"

enum { BLOCK = 256 };

struct plain_nest {
    struct lowering *l;
    int n_kept;  // groups that make up a result
    node_id anchor;
    struct axis_map at;               // the anchor's
    struct axis_map arg;              // a reduction's argument
    const struct gemm_form *product;  // NULL: none
    struct gpu_fold fold;
    struct scope *element;
};

bool gpu_plain_accepts(const struct region *r) {
    struct objection why;
    struct reduce_form reduction;
    struct gemm_form product;
    return map_accepts(r, &why) || reduce_find_form(r, &reduction, &why) ||
           gemm_find_form(r, &product, &why);
}

static void add_term(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                     const struct loop_expr *item) {
    struct plain_nest *n = ctx;
    (void)item;
    struct scope s = scope_inside(n->element, b);
    scope_split(&s, j, n->n_kept, n->l->space.n_groups);
    const struct loop_expr *e;
    if (n->product)
        e = loop_binary(n->l->arena, LOOP_MUL,
                        point_value(&s, n->product->lhs, &n->product->lhs_map),
                        point_value(&s, n->product->rhs, &n->product->rhs_map));
    else
        e = point_value(&s, n->l->region->graph->nodes[n->anchor].arg[0], &n->arg);
    gpu_fold_add(&n->fold, b, e);
}

// The anchor at this element.
static void reduce(struct plain_nest *n, struct loop_builder *b) {
    struct arena *a = n->l->arena;
    const struct node *node = &n->l->region->graph->nodes[n->anchor];
    struct gpu_team alone = {.threads = 1, .rows = 1, .lane = loop_int(a, 0)};
    struct gpu_walk w = {.l = n->l, .team = &alone, .vec = 1, .apart = true, .length = 1};
    w.begin = loop_int(a, 0);
    w.end = scope_count(n->element, n->n_kept, n->l->space.n_groups);
    for (int i = n->n_kept; i < n->l->space.n_groups; i++)
        w.length *= n->l->space.count[i];
    w.folds = &n->fold;
    w.n_folds = 1;
    gpu_fold_init(&n->fold, &w, n->product ? OP_RSUM : node->op, node->name);
    gpu_walk_build(&w, b, add_term, n);
    point_define(n->element, n->anchor, &n->at, loop_let(b, node->name, n->fold.result));
}

static void lower_nest(struct plain_nest *n, const char *name) {
    struct lowering *l = n->l;
    struct arena *a = l->arena;
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, n->n_kept);
    struct loop_builder b, guarded;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(a, "%s_plain", name),
                                          loop_ceildiv(a, count, BLOCK), BLOCK, &b);
    outer.builder = &b;
    const struct loop_expr *i =
        loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, k.block, loop_int(a, BLOCK)), k.thread);
    i = loop_let(&b, "i", i);
    loop_open_if(&b, i, count, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    scope_split(&s, i, 0, n->n_kept);
    n->element = &s;
    if (n->n_kept < l->space.n_groups)
        reduce(n, &guarded);
    const struct region *r = l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&b, &guarded);
}

void gpu_plain_lower(struct lowering *l, const char *name) {
    struct objection why;
    struct reduce_form reduction;
    struct gemm_form product;
    struct plain_nest n = {.l = l};
    if (map_accepts(l->region, &why)) {
        map_build_space(l);
        n.n_kept = l->space.n_groups;
    } else if (reduce_find_form(l->region, &reduction, &why)) {
        n.arg = reduce_build_space(l, &reduction);
        n.n_kept = reduce_group_space(l, &reduction, &n.arg);
        n.anchor = reduction.anchor;
        n.at = reduction.at;
    } else {
        bool ok = gemm_find_form(l->region, &product, &why);
        assert(ok);
        gemm_build_space(l, &product);
        n.n_kept = product.group_k;
        n.anchor = product.anchor;
        n.at = product.at;
        n.product = &product;
    }
    lower_nest(&n, name);
}
