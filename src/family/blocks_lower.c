// A block has a part of a row: a run of vectors, and block 0 of the row also the elements at its
// edges that no aligned vector covers.
//
//     row  |..|....|....|....|....|....|.|      vectors of 4; |..| and |.| are the edges
//              block 0   block 1   2
//
// Each level of reductions is folded over the part, over the threads of the block, and, through
// global memory and a meeting of the row's blocks, over the row: every warp reads what all blocks
// have and adds it up in the same order, so all get the same bits, and get them at every call.
#include "family/blocks_lower.h"
#include "family/access.h"

#include <assert.h>

#include "base/arena.h"
#include "family/blocks_private.h"
#include "family/fold.h"

// ---- edges

struct edges {
    const struct rows_form *form;
    bool ok;
};

// Everything lies in memory as the rows do, or is the same all along a row.
static bool check_access(void *ctx, node_id n, const struct axis_map *map) {
    struct edges *e = ctx;
    const struct rows_form *f = e->form;
    const struct node *node = &f->region->graph->nodes[n];
    bool is_along = false;
    for (int i = f->n_kept_axes; i < f->full->rank; i++)
        is_along |= map_uses(map, node->shape.rank, i);
    if (!is_along || node->op == OP_CONST)
        return true;
    bool is_memory = f->region->is_leaf[n] || region_is_value(f->region, n);
    if (is_memory && !(shape_equal(&node->shape, f->full) && map_same(map, &f->map)))
        e->ok = false;
    if (!f->region->is_leaf[n] && op_infos[node->op].class != OP_CLASS_ELEMENTWISE &&
        node->op != OP_VIEW)
        e->ok = false;
    if (!access_has_lanes(f->region, n) || (is_memory && node->dtype == DTYPE_BOOL))
        e->ok = false;
    return true;
}

bool blocks_have_edges(const struct rows_form *f) {
    unsigned behind = (1u << f->full->rank) - (1u << f->n_kept_axes);
    struct edges e = {f, f->axes == behind};
    if (e.ok)
        rows_visit(f, check_access, &e);
    return e.ok;
}

// The row's first vector, where vectors end, and the thread's element before or behind them.
static void find_ends(struct blocks_build *x, struct loop_builder *b,
                      const struct loop_expr **first, const struct loop_expr **end) {
    int vec = x->walk.vec;
    int64_t n = x->form->n_columns;
    *first = build_int(x, 0);
    *end = scope_count(x->at, x->n_kept, x->l->space.n_groups);
    if (!x->walk.edge)
        return;
    const struct loop_expr *over = build_op(x, LOOP_MUL, x->row, build_int(x, n % vec));
    over = build_op(x, LOOP_MOD, over, build_int(x, vec));
    *first =
        build_op(x, LOOP_MOD, build_op(x, LOOP_SUB, build_int(x, vec), over), build_int(x, vec));
    *first = loop_let(b, "head", *first);
    const struct loop_expr *covered =
        build_op(x, LOOP_DIV, build_op(x, LOOP_SUB, *end, *first), build_int(x, vec));
    covered = loop_let(b, "covered", build_op(x, LOOP_MUL, covered, build_int(x, vec)));
    x->edge.count = build_op(x, LOOP_SUB, *end, covered);
    *end = build_op(x, LOOP_ADD, *first, covered);
    // Behind the vectors from thread number `head` on; there are fewer than `vec` such elements.
    const struct loop_expr *who = build_op(x, LOOP_MUL, x->rank, build_int(x, x->threads));
    x->edge.who = build_op(x, LOOP_ADD, who, x->kernel.thread);
    const struct loop_expr *is_behind =
        build_op(x, LOOP_SUB, build_op(x, LOOP_ADD, x->edge.who, build_int(x, vec)), *first);
    is_behind = build_op(x, LOOP_DIV, is_behind, build_int(x, vec));
    x->edge.at = build_op(x, LOOP_ADD, x->edge.who, build_op(x, LOOP_MUL, covered, is_behind));
}

// ---- walks

static bool keeps_from_here(const struct blocks_build *x, node_id n) {
    return x->kept[n] && x->keep.walks.first[n] == x->now;
}

// Where a kept node's element is; `item` NULL: at an edge.
static const struct loop_buffer *kept_in(const struct blocks_build *x, node_id n,
                                         const struct loop_expr *item) {
    return item ? x->kept[n] : x->kept_edge[n];
}

static const struct loop_expr *kept_at(const struct blocks_build *x, node_id n,
                                       const struct loop_expr *j, const struct loop_expr *item) {
    if (!item)
        return build_int(x, 0);
    return x->kept[n]->space == LOOP_REGISTER ? item : build_op(x, LOOP_SUB, j, x->walk.begin);
}

static void define_kept(struct blocks_build *x, struct scope *s, const struct loop_expr *j,
                        const struct loop_expr *item) {
    const struct graph *g = x->l->region->graph;
    const struct rows_walks *w = &x->keep.walks;
    for (node_id n = 0; n < g->n_nodes; n++) {
        if (!x->kept[n] || w->first[n] >= x->now || w->last[n] < x->now)
            continue;
        const struct loop_expr *e =
            loop_load(x->l->arena, kept_in(x, n, item), kept_at(x, n, j, item), s->lanes, 1);
        point_define(s, n, &x->form->map, loop_let(s->builder, g->nodes[n].name, e));
    }
}

static void walk_body(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                      const struct loop_expr *item) {
    struct blocks_build *x = ctx;
    struct arena *a = x->l->arena;
    const struct region *r = x->l->region;
    struct scope s = scope_inside(x->at, b);
    scope_split(&s, j, x->n_kept, x->l->space.n_groups);
    s.lanes = item ? x->walk.vec : 1;
    s.lane_group = s.lanes > 1 ? x->l->space.n_groups - 1 : -1;
    define_kept(x, &s, j, item);
    // Values are computed before anything is stored: an array may change hands in this walk.
    const struct loop_expr **terms = arena_array(a, const struct loop_expr *, r->graph->n_nodes);
    const struct loop_expr **values = arena_array(a, const struct loop_expr *, r->graph->n_nodes);
    for (int i = 0; i < x->walk.n_folds; i++)
        terms[i] = point_value(&s, r->graph->nodes[x->folded[i]].arg[0], &x->form->map);
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (keeps_from_here(x, n))
            values[n] = loop_broadcast(a, point_value(&s, n, &x->form->map), s.lanes);
    if (x->takes_stats)
        blocks_add_stats(
            x, b, loop_broadcast(a, point_value(&s, x->once->node[0], &x->form->map), s.lanes),
            !item);
    for (int i = 0; i < x->walk.n_folds; i++)
        gpu_fold_add(&x->walk.folds[i], b, terms[i]);
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (keeps_from_here(x, n))
            loop_store(b, kept_in(x, n, item), kept_at(x, n, j, item), values[n], false);
    for (int i = 0; i < r->n_values && x->now > x->keep.walks.n_levels; i++)
        if (rows_is_full(x->form, r->value[i]))
            point_store(&s, i, &x->form->map, stage_word_is(x->stage, "store", "stream"));
}

// ---- what the blocks of a row exchange

const struct loop_expr *blocks_part(const struct blocks_build *x, const struct loop_buffer *parts,
                                    const struct loop_expr *rank) {
    const struct loop_expr *at = build_op(x, LOOP_MUL, x->row, build_int(x, x->blocks));
    return loop_load(x->l->arena, parts, build_op(x, LOOP_ADD, at, rank), 1, 1);
}

void blocks_exchange(struct blocks_build *x, const char *const *names,
                     const struct loop_expr *const *values, int n, struct loop_buffer **parts) {
    struct arena *a = x->l->arena;
    struct loop_builder first, *b = x->at->builder;
    struct loop_size shape[] = {{x->form->n_rows, NULL}, {x->blocks, NULL}};
    loop_open_if(b, x->kernel.thread, build_int(x, 1), &first);
    for (int i = 0; i < n; i++) {
        parts[i] = loop_global_of(x->l->program, arena_printf(a, "%s_blocks", names[i]),
                                  LOOP_SCRATCH, fold_storage(values[i]->dtype), shape, 2);
        const struct loop_expr *at = build_op(x, LOOP_MUL, x->row, build_int(x, x->blocks));
        loop_store(&first, parts[i], build_op(x, LOOP_ADD, at, x->rank), values[i], false);
    }
    loop_close(b, &first);
    loop_group_barrier(b, x->counts, x->counts ? x->group : NULL);
}

void blocks_open_gather(struct blocks_build *x, struct blocks_gather *g) {
    *g = (struct blocks_gather){
        .warp = {.threads = GPU_WARP, .rows = 1, .thread = x->kernel.thread}};
    g->warp.lane = build_op(x, LOOP_MOD, x->kernel.thread, build_int(x, GPU_WARP));
    g->walk = (struct gpu_walk){.l = x->l, .team = &g->warp, .vec = 1, .length = x->blocks};
    g->walk.begin = build_int(x, 0);
    g->walk.end = build_int(x, x->blocks);
    g->walk.items = (int)gpu_walk_steps(x->blocks, 1, GPU_WARP);
}

struct exchange {
    struct blocks_build *build;
    struct loop_buffer **parts;  // per fold: of each block of each row
    struct gpu_walk *walk;
};

static void add_parts(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                      const struct loop_expr *item) {
    struct exchange *e = ctx;
    (void)item;
    for (int i = 0; i < e->walk->n_folds; i++)
        gpu_fold_add(&e->walk->folds[i], b, blocks_part(e->build, e->parts[i], j));
}

// The folds of the block become those of the row.
static void exchange(struct blocks_build *x) {
    struct arena *a = x->l->arena;
    int n = x->walk.n_folds;
    if (x->blocks == 1 || n == 0)
        return;
    struct blocks_gather g;
    blocks_open_gather(x, &g);
    struct exchange e = {x, arena_array(a, struct loop_buffer *, n), &g.walk};
    const char **names = arena_array(a, const char *, n);
    const struct loop_expr **values = arena_array(a, const struct loop_expr *, n);
    g.walk.folds = arena_array(a, struct gpu_fold, n);
    g.walk.n_folds = n;
    for (int i = 0; i < n; i++) {
        names[i] = x->walk.folds[i].name;
        values[i] = x->walk.folds[i].result;
    }
    blocks_exchange(x, names, values, n, e.parts);
    for (int i = 0; i < n; i++)
        gpu_fold_init(&g.walk.folds[i], &g.walk, &x->l->region->graph->nodes[x->folded[i]]);
    gpu_walk_build(&g.walk, x->at->builder, add_parts, &e);
    for (int i = 0; i < n; i++)
        x->walk.folds[i].result = g.walk.folds[i].result;
}

void blocks_fold(struct blocks_build *x, node_id skip) {
    const struct region *r = x->l->region;
    struct gpu_walk *w = &x->walk;
    w->folds = arena_array(x->l->arena, struct gpu_fold, r->n_anchors + 1);
    w->n_folds = 0;
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == x->now && r->anchor[i] != skip) {
            x->folded[w->n_folds] = r->anchor[i];
            gpu_fold_init(&w->folds[w->n_folds++], w, &r->graph->nodes[r->anchor[i]]);
        }
    gpu_walk_build(w, x->at->builder, walk_body, x);
}

static void build_walk(struct blocks_build *x) {
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    blocks_fold(x, -1);
    exchange(x);
    for (int i = 0; i < x->walk.n_folds; i++)
        point_define(x->at, x->folded[i], &kept, x->walk.folds[i].result);
}

// ---- the kernel

static void make_kept(struct blocks_build *x) {
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    x->kept = arena_array(a, struct loop_buffer *, g->n_nodes);
    x->kept_edge = arena_array(a, struct loop_buffer *, g->n_nodes);
    if (stage_word_is(x->stage, "keep", "reread"))
        return;
    bool in_registers = stage_word_is(x->stage, "keep", "register");
    struct loop_buffer **slots = arena_array(a, struct loop_buffer *, x->keep.n_slots);
    struct loop_size size = {x->span, NULL};
    for (node_id n = 0; n < g->n_nodes; n++) {
        if (!x->keep.is_kept[n])
            continue;
        int slot = x->keep.slot[n];
        const char *name = arena_printf(a, "%s_row", g->nodes[n].name);
        if (in_registers)
            x->kept[n] = loop_register(x->l->program, name, x->walk.items, x->walk.vec);
        else if (!slots[slot])
            slots[slot] = loop_shared_of(x->l->program, name, x->keep.types[slot], &size, 1);
        if (!in_registers)
            x->kept[n] = slots[slot];
        if (x->walk.edge)
            x->kept_edge[n] =
                loop_register(x->l->program, arena_printf(a, "%s_end", g->nodes[n].name), 1, 1);
    }
}

static void store_row_values(struct blocks_build *x) {
    const struct region *r = x->l->region;
    struct loop_builder first;
    const struct loop_expr *who = build_op(x, LOOP_MUL, x->rank, build_int(x, x->threads));
    bool any = false;
    for (int i = 0; i < r->n_values; i++)
        any |= !rows_is_full(x->form, r->value[i]);
    if (!any)
        return;
    loop_open_if(x->at->builder, build_op(x, LOOP_ADD, who, x->kernel.thread), build_int(x, 1),
                 &first);
    struct scope s = scope_inside(x->at, &first);
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        if (!rows_is_full(x->form, r->value[i]) && rows_value_map(x->form, r->value[i], &map))
            point_store(&s, i, &map, false);
    }
    loop_close(x->at->builder, &first);
}

static void build_row(struct blocks_build *x) {
    struct loop_builder *b = x->at->builder;
    const struct loop_expr *first, *end;
    find_ends(x, b, &first, &end);
    const struct loop_expr *begin = build_op(x, LOOP_MUL, x->rank, build_int(x, x->span));
    begin = loop_let(b, "begin", build_op(x, LOOP_ADD, first, begin));
    x->walk.begin = begin;
    x->walk.end = build_op(x, LOOP_MIN, end, build_op(x, LOOP_ADD, begin, build_int(x, x->span)));
    x->walk.end = loop_let(b, "end", x->walk.end);
    if (x->once)
        blocks_build_once(x);
    for (x->now = x->once ? 3 : 1; x->now <= x->keep.walks.n_levels; x->now++)
        build_walk(x);
    if (rows_any_full_value(x->form))
        build_walk(x);
    store_row_values(x);
}

static void prepare(struct blocks_build *x) {
    struct arena *a = x->l->arena;
    bool is_once = stage_word_is(x->stage, "stats", "once");
    rows_plan_keep(x->form, a, is_once, &x->keep);
    if (is_once) {
        struct law_match *once = arena_new(a, struct law_match);
        blocks_find_once(x->form, once);
        x->once = once;
    }
    x->n_kept = rows_build_space(x->l, x->form);
    x->folded = arena_array(a, node_id, x->l->region->n_anchors + 1);
    x->threads = stage_number(x->stage, "threads", 0);
    x->blocks = stage_number(x->stage, "blocks", 0);
    x->rows = stage_number(x->stage, "rows", 0);
    int vec = stage_number(x->stage, "vec", 0);
    int64_t steps = x->form->n_columns / vec;
    x->span = (steps + x->blocks - 1) / x->blocks * vec;
    x->walk = (struct gpu_walk){.l = x->l, .team = &x->team, .vec = vec, .length = x->span};
    if (stage_word_is(x->stage, "keep", "register"))
        x->walk.items = (int)gpu_walk_steps(x->span, vec, x->threads);
    else
        x->walk.unroll = stage_number(x->stage, "unroll", 0);
}

void blocks_lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct blocks_build x = {.l = l, .stage = stage, .form = form->rows};
    bool is_grid = stage_word_is(stage, "meet", "grid");
    prepare(&x);
    if (form->lanes % x.walk.vec != 0)
        x.walk.edge = &x.edge;
    l->reciprocal = stage_word_is(stage, "divide", "reciprocal");
    l->is_quick = rows_are_half(form->rows);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&outer, 0, x.n_kept);
    struct loop_builder b, inner;
    const struct loop_expr *n_groups = is_grid ? loop_int(a, x.rows) : n_rows;
    x.kernel =
        gpu_open_kernel(l, arena_printf(a, "%s_rowwise", stage->values[0]),
                        build_op(&x, LOOP_MUL, n_groups, build_int(&x, x.blocks)), x.threads, &b);
    int minblocks = stage_number(stage, "minblocks", 0);
    x.kernel.kernel->min_blocks = minblocks > 1 ? minblocks : 0;
    x.kernel.kernel->blocks_per_group = x.blocks > 1 ? x.blocks : 0;
    x.kernel.kernel->is_cluster = !is_grid;
    if (is_grid) {
        struct loop_size count = {x.rows, NULL};
        x.counts = loop_global_of(l->program, "meetings", LOOP_SCRATCH, DTYPE_I32, &count, 1);
        x.counts->is_zeroed = true;
    }
    outer.builder = &b;
    x.team = gpu_make_team(a, x.kernel.thread, x.threads, 1);
    x.rank = build_op(&x, LOOP_MOD, x.kernel.block, build_int(&x, x.blocks));
    x.group = build_op(&x, LOOP_DIV, x.kernel.block, build_int(&x, x.blocks));
    make_kept(&x);
    struct scope s = scope_inside(&outer, &b);
    x.row = loop_let(&b, "row", x.group);
    if (is_grid) {
        struct loop_for f = {"row", x.row, n_rows, x.rows, false};
        x.row = loop_open_for(&b, &f, &inner);
        s = scope_inside(&outer, &inner);
    }
    scope_split(&s, x.row, 0, x.n_kept);
    x.at = &s;
    build_row(&x);
    if (is_grid)
        loop_close(&b, &inner);
}
