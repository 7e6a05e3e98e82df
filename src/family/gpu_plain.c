// The baseline on a GPU: what a careful programmer writes first. One thread per element of the
// value, in blocks of 256, and no vectors. A reduction is what the family reduce makes of it with
// scalar loads: threads side by side read side by side and meet in shared memory, and blocks share
// a result where there are few. A product is one thread per element too, unless there are so few
// elements of so many terms that most of the device would idle.
#include <assert.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "family/gpu.h"
#include "family/gpu_reduce.h"
#include "family/map_form.h"
#include "family/plain.h"

enum { BLOCK = 256, FEW_RESULTS = 1 << 16, MANY_TERMS = 4096 };

struct plain_nest {
    struct lowering *l;
    int n_kept;  // groups that make up a result
    node_id anchor;
    struct axis_map at;               // the anchor's
    const struct gemm_form *product;  // NULL: none
    struct gpu_fold fold;
    struct scope *element;
};

static const struct form *find_form(const struct region *r) {
    static const enum family_id ids[] = {FAMILY_MAP, FAMILY_REDUCE, FAMILY_GEMM};
    struct objection why;
    const struct form *f = NULL;
    for (int i = 0; !f && i < 3; i++)
        f = family_form(&families[ids[i]], r, &why);
    return f;
}

bool gpu_plain_accepts(const struct region *r) {
    return find_form(r) != NULL;
}

static void add_term(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                     const struct loop_expr *item) {
    struct plain_nest *n = ctx;
    (void)item;
    struct scope s = scope_inside(n->element, b);
    scope_split(&s, j, n->n_kept, n->l->space.n_groups);
    const struct loop_expr *e =
        loop_binary(n->l->arena, LOOP_MUL, point_value(&s, n->product->lhs, &n->product->lhs_map),
                    point_value(&s, n->product->rhs, &n->product->rhs_map));
    gpu_fold_add(&n->fold, b, e);
}

// The product at this element.
static void multiply(struct plain_nest *n, struct loop_builder *b) {
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
    gpu_fold_init_of(&n->fold, &w, OP_RSUM, loop_arithmetic(node->dtype), node->name);
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
        multiply(n, &guarded);
    const struct region *r = l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&b, &guarded);
}

static void reduce(struct lowering *l, const struct form *f, const struct target *t,
                   const char *name) {
    struct kernel_stage stage = {.values = {name}, .n_values = 1, .family = "reduce"};
    struct objection why;
    emitter_complete(&reduce_simt, f, t, &stage);
    stage_set(&stage, "vec", 0, 1);
    if (!emitter_is_legal(&reduce_simt, f, t, &stage, &why))
        stage_set(&stage, "split", 0, 1);
    reduce_simt.lower(l, f, &stage);
}

// A block for each result, or several where the device has room for more.
static void reduce_product(struct lowering *l, const struct target *t, const char *name,
                           const struct gemm_form *p) {
    struct kernel_stage stage = {.values = {name}, .n_values = 1, .family = "reduce"};
    static const char *const knobs[] = {"threads", "results", "vec", "split"};
    int split = 1;
    while (split < 1024 && p->batch * p->m * p->n * split < 4 * (int64_t)t->sms &&
           p->k >= (int64_t)split * 16 * BLOCK)
        split *= 2;
    for (; stage.n_knobs < 4; stage.n_knobs++) {
        int i = stage.n_knobs;
        stage.knobs[i] = (struct kernel_knob){.name = knobs[i], .n_parts = 1};
        stage.knobs[i].part[0] = i == 0 ? BLOCK : i == 3 ? split : 1;
    }
    struct gpu_reduction f = gpu_reduction_of_product(p, &stage);
    gpu_reduce_lower(l, &f, &stage);
}

void gpu_plain_lower(struct lowering *l, const struct target *t, const char *name) {
    struct plain_nest n = {.l = l};
    const struct form *f = find_form(l->region);
    assert(f);
    const struct gemm_form *product = f->gemm;
    if (f->reduce) {
        reduce(l, f, t, name);
        return;
    }
    if (!product) {
        map_build_space(l);
        n.n_kept = l->space.n_groups;
        lower_nest(&n, name);
        return;
    }
    gemm_build_space(l, product);
    if (product->batch * product->m * product->n < FEW_RESULTS && product->k >= MANY_TERMS) {
        reduce_product(l, t, name, product);
        return;
    }
    n.n_kept = product->group_k;
    n.anchor = product->anchor;
    n.at = product->at;
    n.product = product;
    lower_nest(&n, name);
}
