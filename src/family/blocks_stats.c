// Two levels of reductions in one meeting of a row's blocks.
//
// Of a softmax each block takes the maximum and the sum of its own part; the sums are scaled to the
// row's maximum when they come together. Mean and variance need one walk: every lane has a running
// mean and a sum of squares about it (Welford's), and lanes, threads and blocks are brought
// together by the differences of their means (Chan, Golub and LeVeque), so nothing large is
// subtracted from something large, wherever the mean lies.
#include <float.h>
#include <string.h>

#include "base/arena.h"
#include "family/blocks_private.h"

// Of law_match.node: laws.c has the same order for both laws.
enum { ROLE_X, ROLE_FIRST, ROLE_SHIFTED, ROLE_INNER, ROLE_SECOND };

bool blocks_is_variance(const struct law_match *m) {
    return strcmp(m->law->name, "shifted_variance") == 0;
}

bool blocks_find_once(const struct rows_form *f, struct law_match *m) {
    static const char *const names[] = {"online_softmax", "shifted_variance"};
    const struct region *r = f->region;
    for (int i = 0; i < 2 && r->n_anchors == 2 && r->n_levels == 2; i++) {
        struct law_uses uses = {0};
        if (law_use(law_find(names[i]), r, &uses) && uses.n_matches == 1) {
            *m = uses.match[0];
            return true;
        }
    }
    return false;
}

static const struct loop_expr *get(const struct blocks_build *x, const struct loop_buffer *r) {
    return loop_load(x->l->arena, r, build_int(x, 0), r->lanes, 1);
}

static void put(const struct blocks_build *x, struct loop_builder *b, const struct loop_buffer *r,
                const struct loop_expr *value) {
    loop_store(b, r, build_int(x, 0), value, false);
}

static const struct loop_expr *square(const struct blocks_build *x, struct loop_builder *b,
                                      const struct loop_expr *value) {
    value = loop_let(b, "off", value);
    return build_op(x, LOOP_MUL, value, value);
}

// ---- sums over the threads of the block

struct sums {
    struct gpu_walk walk;
    const struct loop_expr *const *values;
};

static void add_own(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                    const struct loop_expr *item) {
    struct sums *s = ctx;
    (void)j;
    (void)item;
    for (int i = 0; i < s->walk.n_folds; i++)
        gpu_fold_add(&s->walk.folds[i], b, s->values[i]);
}

// Each thread has one of each value; the sums of all go to `values`.
static void sum_threads(struct blocks_build *x, const char *const *names,
                        const struct loop_expr **values, int n) {
    struct sums s = {.values = values};
    s.walk = (struct gpu_walk){.l = x->l, .team = &x->team, .vec = 1, .items = 1, .n_folds = n};
    s.walk.length = x->threads;
    s.walk.begin = build_int(x, 0);
    s.walk.end = build_int(x, x->threads);
    s.walk.folds = arena_array(x->l->arena, struct gpu_fold, n);
    for (int i = 0; i < n; i++)
        gpu_fold_init_of(&s.walk.folds[i], &s.walk, OP_RSUM, LOOP_F32, names[i]);
    gpu_walk_build(&s.walk, x->at->builder, add_own, &s);
    for (int i = 0; i < n; i++)
        values[i] = s.walk.folds[i].result;
}

// ---- mean and variance

void blocks_add_stats(struct blocks_build *x, struct loop_builder *b, const struct loop_expr *value,
                      bool is_edge) {
    struct arena *a = x->l->arena;
    if (is_edge) {
        put(x, b, x->edge_count, loop_real(a, 1));
        put(x, b, x->edge_value, value);
        return;
    }
    const struct loop_expr *count =
        loop_let(b, "count", build_op(x, LOOP_ADD, get(x, x->count), loop_real(a, 1)));
    const struct loop_expr *share =
        loop_let(b, "share", build_op(x, LOOP_DIV, loop_real(a, 1), count));
    const struct loop_expr *off = loop_let(b, "off", build_op(x, LOOP_SUB, value, get(x, x->mean)));
    const struct loop_expr *mean = loop_let(
        b, "mean", build_op(x, LOOP_ADD, get(x, x->mean), build_op(x, LOOP_MUL, off, share)));
    const struct loop_expr *more = build_op(x, LOOP_MUL, off, build_op(x, LOOP_SUB, value, mean));
    put(x, b, x->squares, build_op(x, LOOP_ADD, get(x, x->squares), more));
    put(x, b, x->mean, mean);
    put(x, b, x->count, count);
}

static struct loop_buffer *clear_register(struct blocks_build *x, const char *name, int lanes) {
    struct arena *a = x->l->arena;
    const char *stem = x->l->region->graph->nodes[x->once->node[ROLE_SECOND]].name;
    struct loop_buffer *r =
        loop_register(x->l->program, arena_printf(a, "%s_%s", stem, name), 1, lanes);
    put(x, x->at->builder, r, loop_broadcast(a, loop_real(a, 0), lanes));
    return r;
}

// The block's sum, count and squares about its own mean.
static void finish_block(struct blocks_build *x, const struct loop_expr **part) {
    struct arena *a = x->l->arena;
    struct loop_builder *b = x->at->builder;
    static const char *const names[] = {"sum_own", "count_own"};
    const struct loop_expr *count = get(x, x->count);
    int vec = x->walk.vec;
    part[0] = build_op(x, LOOP_MUL, loop_unary(a, LOOP_LANES_SUM, get(x, x->mean)), count);
    part[1] = build_op(x, LOOP_MUL, count, loop_real(a, vec));
    if (x->walk.edge) {
        part[0] = build_op(x, LOOP_ADD, part[0], get(x, x->edge_value));
        part[1] = build_op(x, LOOP_ADD, part[1], get(x, x->edge_count));
    }
    sum_threads(x, names, part, 2);
    const struct loop_expr *mean =
        loop_let(b, "mean_block", build_op(x, LOOP_DIV, part[0], part[1]));
    const struct loop_expr *own = square(x, b, build_op(x, LOOP_SUB, get(x, x->mean), mean));
    own = build_op(x, LOOP_ADD, get(x, x->squares), build_op(x, LOOP_MUL, own, count));
    part[2] = loop_unary(a, LOOP_LANES_SUM, own);
    if (x->walk.edge) {
        own = square(x, b, build_op(x, LOOP_SUB, get(x, x->edge_value), mean));
        part[2] = build_op(x, LOOP_ADD, part[2], build_op(x, LOOP_MUL, own, get(x, x->edge_count)));
    }
    static const char *const squares[] = {"squares_own"};
    sum_threads(x, squares, part + 2, 1);
}

struct meeting {
    struct blocks_build *build;
    struct loop_buffer *parts[3];
    struct gpu_walk *walk;
    const struct loop_expr *whole;  // the row's mean, or what it subtracts
};

static void add_sum(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                    const struct loop_expr *item) {
    struct meeting *m = ctx;
    (void)item;
    gpu_fold_add(&m->walk->folds[0], b, blocks_part(m->build, m->parts[0], j));
}

// A block's squares about the row's mean.
static void add_squares(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                        const struct loop_expr *item) {
    struct meeting *m = ctx;
    struct blocks_build *x = m->build;
    (void)item;
    const struct loop_expr *count = loop_let(b, "count", blocks_part(x, m->parts[1], j));
    const struct loop_expr *mean = build_op(x, LOOP_DIV, blocks_part(x, m->parts[0], j), count);
    const struct loop_expr *off = square(x, b, build_op(x, LOOP_SUB, mean, m->whole));
    gpu_fold_add(
        &m->walk->folds[0], b,
        build_op(x, LOOP_ADD, blocks_part(x, m->parts[2], j), build_op(x, LOOP_MUL, off, count)));
}

// One sum of each warp over the row's blocks.
static const struct loop_expr *gather(struct meeting *m, node_id n, gpu_walk_fn fn) {
    struct blocks_build *x = m->build;
    struct gpu_fold fold;
    struct blocks_gather g;
    blocks_open_gather(x, &g);
    g.walk.folds = &fold;
    g.walk.n_folds = 1;
    m->walk = &g.walk;
    gpu_fold_init(&fold, &g.walk, &x->l->region->graph->nodes[n]);
    gpu_walk_build(&g.walk, x->at->builder, fn, m);
    return fold.result;
}

// In one walk: for what is not kept, and costs more to read twice than to compute.
static void walk_variance(struct blocks_build *x, const struct loop_expr **part) {
    x->count = clear_register(x, "count", 1);
    x->mean = clear_register(x, "mean", x->walk.vec);
    x->squares = clear_register(x, "off", x->walk.vec);
    if (x->walk.edge) {
        x->edge_count = clear_register(x, "edge_count", 1);
        x->edge_value = clear_register(x, "edge_value", 1);
    }
    x->now = 1;
    x->takes_stats = true;
    blocks_fold(x, x->once->node[ROLE_FIRST]);
    x->takes_stats = false;
    finish_block(x, part);
}

// In two walks over what the block keeps, the second about the mean of its own part.
static void walk_variance_twice(struct blocks_build *x, const struct loop_expr **part) {
    struct arena *a = x->l->arena;
    struct scope *row = x->at;
    struct loop_builder *b = row->builder;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    node_id first = x->once->node[ROLE_FIRST];
    const struct loop_expr *count = build_op(x, LOOP_SUB, x->walk.end, x->walk.begin);
    if (x->walk.edge) {  // which block 0 has
        const struct loop_expr *rest = build_op(x, LOOP_MIN, x->rank, build_int(x, 1));
        rest = build_op(x, LOOP_SUB, build_int(x, 1), rest);
        count = build_op(x, LOOP_ADD, count, build_op(x, LOOP_MUL, x->edge.count, rest));
    }
    part[1] = loop_let(b, "count", loop_cast(a, count, LOOP_F32));
    x->now = 1;
    blocks_fold(x, -1);
    part[0] = x->walk.folds[0].result;
    // The problem divides by the row's length; its sum is such that the block's mean comes out.
    struct scope own = scope_inside(row, b);
    const struct loop_expr *all = loop_real(a, (double)x->form->n_columns);
    const struct loop_expr *like = build_op(x, LOOP_DIV, all, part[1]);
    point_define(&own, first, &kept, loop_let(b, "sum_like", build_op(x, LOOP_MUL, part[0], like)));
    x->at = &own;
    x->now = 2;
    blocks_fold(x, -1);
    part[2] = x->walk.folds[0].result;
    x->at = row;
}

static void build_variance(struct blocks_build *x) {
    struct arena *a = x->l->arena;
    struct loop_builder *b = x->at->builder;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    node_id first = x->once->node[ROLE_FIRST], second = x->once->node[ROLE_SECOND];
    const struct loop_expr *part[3];
    static const char *const names[] = {"sum", "count", "squares"};
    if (stage_word_is(x->stage, "keep", "reread"))
        walk_variance(x, part);
    else
        walk_variance_twice(x, part);
    if (x->blocks > 1) {
        struct meeting m = {.build = x};
        const char *stem = x->l->region->graph->nodes[second].name, *full[3];
        for (int i = 0; i < 3; i++)
            full[i] = arena_printf(a, "%s_%s", stem, names[i]);
        blocks_exchange(x, full, part, 3, m.parts);
        part[0] = gather(&m, first, add_sum);
        m.whole = build_op(x, LOOP_DIV, part[0], loop_real(a, (double)x->form->n_columns));
        m.whole = loop_let(b, "mean_row", m.whole);
        part[2] = gather(&m, second, add_squares);
    }
    point_define(x->at, first, &kept, part[0]);
    point_define(x->at, second, &kept, part[2]);
}

// ---- softmax

// A block's sum, as it would be of what the row subtracts.
static void add_scaled(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                       const struct loop_expr *item) {
    struct meeting *m = ctx;
    struct blocks_build *x = m->build;
    (void)item;
    const struct loop_expr *scale = build_op(x, LOOP_SUB, blocks_part(x, m->parts[2], j), m->whole);
    scale = loop_unary(x->l->arena, LOOP_EXP, scale);
    gpu_fold_add(&m->walk->folds[0], b,
                 build_op(x, LOOP_MUL, blocks_part(x, m->parts[1], j), scale));
}

static void build_softmax(struct blocks_build *x) {
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    struct scope *row = x->at;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    node_id first = x->once->node[ROLE_FIRST], second = x->once->node[ROLE_SECOND];
    node_id subtracted = g->nodes[x->once->node[ROLE_SHIFTED]].arg[1];
    const struct loop_expr *part[3];
    struct meeting m = {.build = x};
    x->now = 1;
    blocks_fold(x, -1);
    part[0] = x->walk.folds[0].result;
    // The block's own maximum stands for the row's; where all is -inf nothing is subtracted from
    // it.
    struct scope own = scope_inside(row, row->builder);
    const struct loop_expr *least = loop_real(a, -FLT_MAX);
    point_define(&own, first, &kept,
                 loop_let(row->builder, arena_printf(a, "%s_part", g->nodes[first].name),
                          build_op(x, LOOP_MAX, part[0], least)));
    x->at = &own;
    x->now = 2;
    blocks_fold(x, -1);
    part[1] = x->walk.folds[0].result;
    part[2] = point_value(&own, subtracted, &x->form->map);
    x->at = row;
    const char *names[3] = {g->nodes[first].name, g->nodes[second].name,
                            arena_printf(a, "%s_less", g->nodes[second].name)};
    blocks_exchange(x, names, part, 3, m.parts);
    point_define(row, first, &kept, gather(&m, first, add_sum));
    m.whole = point_value(row, subtracted, &x->form->map);
    point_define(row, second, &kept, gather(&m, second, add_scaled));
}

void blocks_build_once(struct blocks_build *x) {
    if (blocks_is_variance(x->once))
        build_variance(x);
    else
        build_softmax(x);
}
