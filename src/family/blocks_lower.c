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

#include <assert.h>

#include "base/arena.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "family/rows_keep.h"

struct build {
    struct lowering *l;
    const struct kernel_stage *stage;
    const struct rows_form *form;
    struct rows_keep keep;
    int n_kept;  // groups of the space
    int threads, blocks, rows;
    int64_t span;  // elements of a part
    struct gpu_kernel kernel;
    struct gpu_team team;
    struct gpu_walk walk;
    struct gpu_edge edge;
    const struct loop_expr *rank, *gang, *row;
    struct loop_buffer *counts;  // of a gang that is no cluster
    int now;                     // the walk being built, from 1
    node_id *folded;             // the reductions of this walk
    struct loop_buffer **kept;   // per node: registers, or a shared array
    struct loop_buffer **kept_edge;
    struct scope *at;  // the row is fixed
};

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *integer(const struct build *x, int64_t value) {
    return loop_int(x->l->arena, value);
}

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
    enum dtype t = node->dtype;
    if (is_memory ? t != DTYPE_F32 && t != DTYPE_F16 && t != DTYPE_BF16
                  : loop_arithmetic(t) != LOOP_F32 && loop_arithmetic(t) != LOOP_MASK)
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
static void find_ends(struct build *x, struct loop_builder *b, const struct loop_expr **first,
                      const struct loop_expr **end) {
    int vec = x->walk.vec;
    int64_t n = x->form->n_columns;
    *first = integer(x, 0);
    *end = scope_count(x->at, x->n_kept, x->l->space.n_groups);
    if (!x->walk.edge)
        return;
    const struct loop_expr *over = op2(x, LOOP_MUL, x->row, integer(x, n % vec));
    over = op2(x, LOOP_MOD, over, integer(x, vec));
    *first = op2(x, LOOP_MOD, op2(x, LOOP_SUB, integer(x, vec), over), integer(x, vec));
    *first = loop_let(b, "head", *first);
    const struct loop_expr *covered =
        op2(x, LOOP_DIV, op2(x, LOOP_SUB, *end, *first), integer(x, vec));
    covered = loop_let(b, "covered", op2(x, LOOP_MUL, covered, integer(x, vec)));
    x->edge.count = op2(x, LOOP_SUB, *end, covered);
    *end = op2(x, LOOP_ADD, *first, covered);
    // Behind the vectors from thread number `head` on; there are fewer than `vec` such elements.
    const struct loop_expr *who = op2(x, LOOP_MUL, x->rank, integer(x, x->threads));
    x->edge.who = op2(x, LOOP_ADD, who, x->kernel.thread);
    const struct loop_expr *is_behind =
        op2(x, LOOP_SUB, op2(x, LOOP_ADD, x->edge.who, integer(x, vec)), *first);
    is_behind = op2(x, LOOP_DIV, is_behind, integer(x, vec));
    x->edge.at = op2(x, LOOP_ADD, x->edge.who, op2(x, LOOP_MUL, covered, is_behind));
}

// ---- walks

static bool keeps_from_here(const struct build *x, node_id n) {
    return x->kept[n] && x->keep.walks.first[n] == x->now;
}

// Where a kept node's element is; `item` NULL: at an edge.
static const struct loop_buffer *kept_in(const struct build *x, node_id n,
                                         const struct loop_expr *item) {
    return item ? x->kept[n] : x->kept_edge[n];
}

static const struct loop_expr *kept_at(const struct build *x, node_id n, const struct loop_expr *j,
                                       const struct loop_expr *item) {
    if (!item)
        return integer(x, 0);
    return x->kept[n]->space == LOOP_REGISTER ? item : op2(x, LOOP_SUB, j, x->walk.begin);
}

static void define_kept(struct build *x, struct scope *s, const struct loop_expr *j,
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
    struct build *x = ctx;
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

struct exchange {
    struct build *build;
    struct loop_buffer **parts;  // per fold: of each block of each row
    struct gpu_fold *folds;
};

static const struct loop_expr *part_at(const struct build *x, const struct loop_expr *rank) {
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, x->row, integer(x, x->blocks)), rank);
}

static void add_parts(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                      const struct loop_expr *item) {
    struct exchange *e = ctx;
    struct build *x = e->build;
    (void)item;
    for (int i = 0; i < x->walk.n_folds; i++)
        gpu_fold_add(&e->folds[i], b, loop_load(x->l->arena, e->parts[i], part_at(x, j), 1, 1));
}

static void put_parts(struct build *x, struct exchange *e, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    struct loop_builder first;
    struct loop_size shape[] = {{x->form->n_rows, NULL}, {x->blocks, NULL}};
    loop_open_if(b, x->kernel.thread, integer(x, 1), &first);
    for (int i = 0; i < x->walk.n_folds; i++) {
        const struct gpu_fold *f = &x->walk.folds[i];
        e->parts[i] = loop_global_of(x->l->program, arena_printf(a, "%s_blocks", f->name),
                                     LOOP_SCRATCH, fold_storage(f->type), shape, 2);
        loop_store(&first, e->parts[i], part_at(x, x->rank), f->result, false);
    }
    loop_close(b, &first);
}

// The folds of the block become those of the row.
static void exchange(struct build *x, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    int n = x->walk.n_folds;
    if (x->blocks == 1 || n == 0)
        return;
    struct exchange e = {.build = x,
                         .parts = arena_array(a, struct loop_buffer *, n),
                         .folds = arena_array(a, struct gpu_fold, n)};
    put_parts(x, &e, b);
    loop_meet(b, x->counts, x->counts ? x->gang : NULL);
    struct gpu_team warp = {.threads = GPU_WARP, .rows = 1, .thread = x->kernel.thread};
    warp.lane = op2(x, LOOP_MOD, x->kernel.thread, integer(x, GPU_WARP));
    struct gpu_walk w = {.l = x->l, .team = &warp, .vec = 1, .length = x->blocks, .n_folds = n};
    w.begin = integer(x, 0);
    w.end = integer(x, x->blocks);
    w.items = (int)gpu_walk_steps(x->blocks, 1, GPU_WARP);
    w.folds = e.folds;
    for (int i = 0; i < n; i++)
        gpu_fold_init(&e.folds[i], &w, &x->l->region->graph->nodes[x->folded[i]]);
    gpu_walk_build(&w, b, add_parts, &e);
    for (int i = 0; i < n; i++)
        x->walk.folds[i].result = e.folds[i].result;
}

static void build_walk(struct build *x) {
    const struct region *r = x->l->region;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    struct gpu_walk *w = &x->walk;
    w->folds = arena_array(x->l->arena, struct gpu_fold, r->n_anchors + 1);
    w->n_folds = 0;
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == x->now) {
            x->folded[w->n_folds] = r->anchor[i];
            gpu_fold_init(&w->folds[w->n_folds++], w, &r->graph->nodes[r->anchor[i]]);
        }
    gpu_walk_build(w, x->at->builder, walk_body, x);
    exchange(x, x->at->builder);
    for (int i = 0; i < w->n_folds; i++)
        point_define(x->at, x->folded[i], &kept, w->folds[i].result);
}

// ---- the kernel

static void make_kept(struct build *x) {
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

static void store_row_values(struct build *x) {
    const struct region *r = x->l->region;
    struct loop_builder first;
    const struct loop_expr *who = op2(x, LOOP_MUL, x->rank, integer(x, x->threads));
    bool any = false;
    for (int i = 0; i < r->n_values; i++)
        any |= !rows_is_full(x->form, r->value[i]);
    if (!any)
        return;
    loop_open_if(x->at->builder, op2(x, LOOP_ADD, who, x->kernel.thread), integer(x, 1), &first);
    struct scope s = scope_inside(x->at, &first);
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        if (!rows_is_full(x->form, r->value[i]) && rows_value_map(x->form, r->value[i], &map))
            point_store(&s, i, &map, false);
    }
    loop_close(x->at->builder, &first);
}

static void build_row(struct build *x) {
    struct loop_builder *b = x->at->builder;
    const struct loop_expr *first, *end;
    find_ends(x, b, &first, &end);
    const struct loop_expr *begin = op2(x, LOOP_MUL, x->rank, integer(x, x->span));
    begin = loop_let(b, "begin", op2(x, LOOP_ADD, first, begin));
    x->walk.begin = begin;
    x->walk.end = op2(x, LOOP_MIN, end, op2(x, LOOP_ADD, begin, integer(x, x->span)));
    x->walk.end = loop_let(b, "end", x->walk.end);
    for (x->now = 1; x->now <= x->keep.walks.n_levels; x->now++)
        build_walk(x);
    if (rows_any_full_value(x->form))
        build_walk(x);
    store_row_values(x);
}

static void prepare(struct build *x) {
    struct arena *a = x->l->arena;
    rows_plan_keep(x->form, a, &x->keep);
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
    struct build x = {.l = l, .stage = stage, .form = form->rows};
    bool is_grid = stage_word_is(stage, "meet", "grid");
    prepare(&x);
    if (form->lanes % x.walk.vec != 0)
        x.walk.edge = &x.edge;
    l->reciprocal = stage_word_is(stage, "divide", "reciprocal");
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&outer, 0, x.n_kept);
    struct loop_builder b, inner;
    const struct loop_expr *gangs = is_grid ? loop_int(a, x.rows) : n_rows;
    x.kernel = gpu_open_kernel(l, arena_printf(a, "%s_rowwise", stage->values[0]),
                               op2(&x, LOOP_MUL, gangs, integer(&x, x.blocks)), x.threads, &b);
    int minblocks = stage_number(stage, "minblocks", 0);
    x.kernel.kernel->min_blocks = minblocks > 1 ? minblocks : 0;
    x.kernel.kernel->gang = x.blocks > 1 ? x.blocks : 0;
    x.kernel.kernel->is_cluster = !is_grid;
    if (is_grid) {
        struct loop_size count = {x.rows, NULL};
        x.counts = loop_global_of(l->program, "meetings", LOOP_SCRATCH, DTYPE_I32, &count, 1);
        x.counts->is_zeroed = true;
    }
    outer.builder = &b;
    x.team = gpu_make_team(a, x.kernel.thread, x.threads, 1);
    x.rank = op2(&x, LOOP_MOD, x.kernel.block, integer(&x, x.blocks));
    x.gang = op2(&x, LOOP_DIV, x.kernel.block, integer(&x, x.blocks));
    make_kept(&x);
    struct scope s = scope_inside(&outer, &b);
    x.row = loop_let(&b, "row", x.gang);
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
