// rowwise on a CPU where the last axis is kept: elements of a row lie far apart, and those of
// neighbouring rows side by side (an RMS norm over channels, a softmax over axis 0).
//
// A block has a strip of neighbouring rows, some vectors wide, and walks over its columns: each
// reduction has an accumulator for every vector of rows, in registers. A strip is a piece of a few
// hundred bytes out of every column; columns whose distance is a power of two share few sets of the
// caches, so that a second walk would find most of them gone. What later walks need is therefore
// copied into a local array (`keep local`), and memory is read once. RMS norm over 64 channels of
// 8 x 64 x 128 x 128: statistics and results as two stages read x twice.
//
// Reading and storing by turns leaves one half of memory's way idle, so `overlap strips` stores
// each strip while the next one is read: a block has RUN of them, and what is kept of two.
#include <assert.h>

#include "base/arena.h"
#include "family/cascade.h"
#include "family/emitter.h"
#include "family/fold.h"
#include "family/rows_keep.h"
#include "loop/range.h"

static const int vec_grid[] = {1, 4, 8, 16, -1};
enum { STRIP_MAX = 32, RUN = 8 };
static const int strip_grid[] = {1, 2, 4, 8, 16, STRIP_MAX, -1};
static const int ahead_grid[] = {0, 2, 4, 8, 16, -1};
static const char *const keep_words[] = {"reread", "local", NULL};
static const char *const overlap_words[] = {"none", "strips", NULL};
static const char *const divide_words[] = {"exact", "reciprocal", NULL};
static const char *const store_words[] = {"cached", "stream", NULL};

static const struct knob knobs[] = {
    {.name = "vec", .summary = "lanes of a vector: rows", .n_parts = 1, .grid = {vec_grid}},
    {.name = "strip",
     .summary = "vectors of rows side by side in a block",
     .n_parts = 1,
     .grid = {strip_grid}},
    {.name = "keep",
     .summary = "read again in later walks, or keep in a local array",
     .words = keep_words},
    {.name = "ahead",
     .summary = "prefetch this many elements of a row ahead",
     .n_parts = 1,
     .grid = {ahead_grid}},
    {.name = "overlap",
     .summary = "store a strip while the next one is read",
     .words = overlap_words},
    {.name = "divide",
     .change = CHANGE_LAW,
     .summary = "by a row's own value, or multiply by its reciprocal",
     .words = divide_words},
    {.name = "store", .summary = "through the caches or past them", .words = store_words},
    {0},
};

// The group of the space that neighbours in memory lie along: kept axes of one element may follow.
static int lane_group(const struct space *space, const struct rows_form *f) {
    int last = f->full->rank - 1;
    while (last > 0 && f->full->size[last] == 1)
        last--;
    return space->group[f->map.axis[last]];
}

struct figures {
    int64_t n_inner;  // rows side by side in memory
    int n_kept;       // values of an element that later walks need
};

static struct figures find_figures(const struct form *form) {
    struct arena scratch = {0};
    struct rows_keep keep;
    struct lowering l = {.arena = &scratch, .region = form->region};
    rows_build_space(&l, form->rows);
    rows_plan_keep(form->rows, &scratch, false, &keep);
    struct figures f = {l.space.count[lane_group(&l.space, form->rows)], keep.n_kept};
    arena_reset(&scratch);
    return f;
}

static bool accepts(const struct form *form, const struct target *t, struct objection *why) {
    (void)t;
    return !form->rows->is_along ||
           objection(why, NULL, "elements of a row are neighbours in memory, not those of rows");
}

static int64_t kept_bytes(const struct form *form, const struct kernel_stage *s) {
    int64_t rows = (int64_t)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    int twice = stage_word_is(s, "overlap", "strips") ? 2 : 1;
    return 4 * twice * find_figures(form).n_kept * form->rows->n_columns * rows;
}

// Strips are stored a turn later out of what was kept of them, and all are whole.
static bool legal_overlap(const struct form *form, const struct kernel_stage *s,
                          struct objection *why) {
    int64_t width = (int64_t)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    if (stage_word_is(s, "overlap", "none"))
        return true;
    if (!rows_any_full_value(form->rows))
        return objection(why, "overlap",
                         "there are no strips to store: the nearest is overlap none");
    if (find_figures(form).n_inner % width != 0)
        return objection(why, "overlap",
                         "%lld rows side by side are no multiple of strips of %lld: the nearest is "
                         "overlap none",
                         (long long)find_figures(form).n_inner, (long long)width);
    return true;
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!legal_vector(t, s, why) || !legal_lanes(s, form->lanes, why))
        return false;
    if (!legal_overlap(form, s, why))
        return false;
    int64_t bytes = stage_word_is(s, "keep", "local") ? kept_bytes(form, s) : 0;
    if (bytes > LOCAL_BYTES_MAX)
        return objection(why, "keep",
                         "keep local needs %lld bytes for a strip, above %d: the nearest is a "
                         "smaller strip, or keep reread",
                         (long long)bytes, LOCAL_BYTES_MAX);
    return stage_word_is(s, "store", "cached") || legal_stream(s, find_figures(form).n_inner, why);
}

// The widest strip whose kept values leave half of the second cache to what passes through it.
static void default_strip(const struct form *form, const struct target *t, struct kernel_stage *s,
                          int widest) {
    int64_t room = t->l2_bytes > 0 ? t->l2_bytes / 2 : LOCAL_BYTES_MAX / 4;
    room = room < LOCAL_BYTES_MAX ? room : LOCAL_BYTES_MAX;
    for (int i = widest; i >= 0; i--) {
        stage_set(s, "strip", 0, strip_grid[i]);
        if (kept_bytes(form, s) <= room)
            break;
    }
    if (kept_bytes(form, s) <= room && find_figures(form).n_kept > 0)
        stage_set_word(s, "keep", "local");
    else if (find_figures(form).n_kept > 0)
        stage_set(s, "strip", 0, strip_grid[widest]);
}

// Does what a strip reads, of three of them on every thread, stay in a quarter of the last cache?
static bool is_near(const struct form *form, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    region_count(form->region, &w);
    double width = (double)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    double strip = w.bytes_read / (double)form->rows->n_rows * width;
    return 3 * strip * t->n_threads <= (double)t->llc_bytes / 4;
}

// The widest strips, each while the one before is stored, where there are blocks enough. That one
// is read again from the caches: storing values in an array and loading them takes longer (the RMS
// norm above on two cores of an EPYC, Zen 4, 1.84 ms by strips of 16 vectors that are kept, 1.47
// read again, 1.33 by strips of 32; 6 other shapes, softmax too: 15 to 27% less).
static void default_overlap(const struct form *form, const struct target *t,
                            struct kernel_stage *s) {
    for (int i = 5; strip_grid[i] >= 8; i--) {
        struct kernel_stage next = *s;
        struct objection why;
        stage_set(&next, "strip", 0, strip_grid[i]);
        stage_set_word(&next, "overlap", "strips");
        stage_set_word(&next, "keep", "reread");
        int64_t width = (int64_t)stage_number(&next, "vec", 0) * strip_grid[i];
        if (form->rows->n_rows / width / RUN >= 8 * (int64_t)t->n_threads &&
            is_near(form, t, &next) && is_legal(form, t, &next, &why)) {
            *s = next;
            return;
        }
    }
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct region_work w;
    struct objection why;
    region_count(form->region, &w);
    stage_set(s, "vec", 0, default_vec(t, form->lanes));
    default_strip(form, t, s, 3);
    if (!is_long_stream(t, w.bytes_read))
        return;
    if (is_long_stream(t, w.bytes_written))
        default_overlap(form, t, s);
    stage_set(s, "ahead", 0, stage_word_is(s, "overlap", "strips") ? 4 : 16);
    stage_set_word(s, "divide", "reciprocal");
    stage_set_word(s, "store", is_long_stream(t, w.bytes_written) ? "stream" : "cached");
    if (!is_legal(form, t, s, &why))  // rows of results that do not begin at multiples of vectors
        stage_set_word(s, "store", "cached");
}

struct build {
    struct lowering *l;
    const struct rows_form *form;
    struct rows_keep keep;
    struct loop_buffer **kept;  // per node: its local array; NULL: none
    int vec, strip, ahead;
    bool stream, overlap;
    int n_groups_kept, lane_group;  // of the space
    struct scope *outer;            // all kept groups but the lanes' are fixed

    // Of the strip being built.
    struct scope row[STRIP_MAX];  // one for each vector
    int n, lanes;
    const struct loop_expr *block_first, *strip_first;
    const struct loop_expr *turn;  // with `overlap`: in which half it keeps its values

    // With `overlap`, the strip before, while it is stored.
    struct loop_buffer **carry;  // per anchor: its results, a register for each vector
    struct scope before[STRIP_MAX];
    bool is_storing;

    // Of the walk being built.
    int now;
    node_id *folded;
    struct loop_buffer **part, **total;  // per fold: a register for each vector; and by level
    struct cascade cascade;
    int n_folds;
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct node *node_of(const struct build *x, node_id n) {
    return &x->l->region->graph->nodes[n];
}

static void set_lanes(const struct build *x, struct scope *s) {
    s->lane_group = x->lanes > 1 ? x->lane_group : -1;
    s->lanes = x->lanes;
}

// ---- folds: an accumulator for each vector of rows

static struct fold fold_of(const struct build *x, node_id n) {
    struct fold f = {.lowering = x->l, .node = n, .type = loop_arithmetic(node_of(x, n)->dtype)};
    fold_choose(&f, node_of(x, n)->op);
    return f;
}

static const struct loop_expr *get(const struct build *x, const struct loop_buffer *b, int64_t i) {
    return loop_load(x->l->arena, b, number(x, i), b->lanes, 1);
}

static void put(const struct build *x, struct loop_builder *to, const struct loop_buffer *b,
                int64_t i, const struct loop_expr *e) {
    loop_store(to, b, number(x, i), loop_broadcast(x->l->arena, e, b->lanes), false);
}

static void clear(const struct build *x, struct loop_builder *b, bool totals) {
    for (int i = 0; i < x->n_folds; i++) {
        struct fold f = fold_of(x, x->folded[i]);
        const struct loop_expr *start = fold_start(&f, x->l->arena);
        int n = totals ? x->n * x->cascade.n_levels : x->n;
        for (int v = 0; v < n; v++)
            put(x, b, totals ? x->total[i] : x->part[i], v, start);
    }
}

static void join(const struct build *x, struct loop_builder *b, int fold,
                 const struct loop_buffer *to, int64_t at, const struct loop_expr *e) {
    struct fold f = fold_of(x, x->folded[fold]);
    bool is_ordered = f.op == LOOP_ADD || f.op == LOOP_MUL;
    const struct loop_expr *old = get(x, to, at);
    e = loop_broadcast(x->l->arena, loop_cast(x->l->arena, e, f.type), to->lanes);
    // max and min keep a NaN in either place; the new value first is the cheaper way round.
    put(x, b, to, at, is_ordered ? op2(x, f.op, old, e) : op2(x, f.op, e, old));
}

static void carry(void *ctx, struct loop_builder *b, int level) {
    const struct build *x = ctx;
    for (int i = 0; i < x->n_folds; i++) {
        struct fold f = fold_of(x, x->folded[i]);
        for (int v = 0; v < x->n; v++) {
            join(x, b, i, x->total[i], level * x->n + v,
                 get(x, x->total[i], (level - 1) * x->n + v));
            put(x, b, x->total[i], (level - 1) * x->n + v, fold_start(&f, x->l->arena));
        }
    }
}

// ---- walks

static bool prefetch_leaf(void *ctx, node_id n, const struct axis_map *map) {
    struct scope *s = ctx;
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[n].shape;
    if (l->region->is_leaf[n] && shape->rank > 1 && point_lane_stride(s, shape, map) == 1)
        loop_prefetch(s->builder, l->buffer[n], point_index(s, shape, map));
    return true;
}

// Ask for what the first walk reads some columns later; beyond the last it is a hint that nobody
// follows.
static void prefetch(const struct build *x, const struct scope *s, const struct loop_expr *column) {
    const struct region *r = x->l->region;
    struct scope later = scope_inside(s->outer, s->builder);
    set_lanes(x, &later);
    scope_split(&later, op2(x, LOOP_ADD, column, number(x, x->ahead)), x->n_groups_kept,
                x->l->space.n_groups);
    struct point_visit visit = {r, -1, prefetch_leaf, &later};
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == 1)
            point_visit(&visit, r->graph->nodes[r->anchor[i]].arg[0], &x->form->map);
}

static const struct loop_expr *kept_at(const struct build *x, const struct loop_expr *column, int v,
                                       bool is_before) {
    const struct loop_expr *line = op2(x, LOOP_MUL, column, number(x, x->n * x->lanes));
    const struct loop_expr *at = op2(x, LOOP_ADD, line, number(x, (int64_t)v * x->lanes));
    if (!x->turn)
        return at;
    int64_t half = x->form->n_columns * x->n * x->lanes;
    const struct loop_expr *turn = is_before ? op2(x, LOOP_SUB, number(x, 1), x->turn) : x->turn;
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, turn, number(x, half)), at);
}

static void store_values(const struct build *x, struct scope *s, bool is_full) {
    const struct region *r = x->l->region;
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        if (rows_is_full(x->form, r->value[i]) == is_full &&
            rows_value_map(x->form, r->value[i], &map))
            point_store(s, i, &map, is_full && x->stream && s->lanes > 1);
    }
}

// One element of each row of a vector of the strip before, as its last walk stores it.
static void store_before(struct build *x, struct scope *s, const struct loop_expr *column, int v) {
    const struct graph *g = x->l->region->graph;
    const struct rows_walks *w = &x->keep.walks;
    for (node_id n = 0; n < g->n_nodes; n++)
        if (x->kept[n] && w->first[n] <= w->n_levels && w->last[n] > w->n_levels)
            point_define(s, n, &x->form->map,
                         loop_let(s->builder, g->nodes[n].name,
                                  loop_load(x->l->arena, x->kept[n], kept_at(x, column, v, true),
                                            s->lanes, 1)));
    store_values(x, s, true);
}

// One element of each row of a vector.
static void visit_column(struct build *x, struct scope *s, const struct loop_expr *column, int v) {
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    const struct rows_walks *w = &x->keep.walks;
    if (x->now == 1 && x->ahead && s->lanes > 1)
        prefetch(x, s, column);
    for (node_id n = 0; n < g->n_nodes; n++)
        if (x->kept[n] && w->first[n] < x->now && w->last[n] >= x->now)
            point_define(
                s, n, &x->form->map,
                loop_let(s->builder, g->nodes[n].name,
                         loop_load(a, x->kept[n], kept_at(x, column, v, false), s->lanes, 1)));
    for (int i = 0; i < x->n_folds; i++)
        join(x, s->builder, i, x->part[i], v,
             point_value(s, g->nodes[x->folded[i]].arg[0], &x->form->map));
    for (node_id n = 0; n < g->n_nodes; n++)
        if (x->kept[n] && w->first[n] == x->now)
            loop_store(s->builder, x->kept[n], kept_at(x, column, v, false),
                       loop_broadcast(a, point_value(s, n, &x->form->map), s->lanes), false);
    if (x->now > w->n_levels)
        store_values(x, s, true);
}

static void visit_columns(struct build *x, struct loop_builder *b, const struct loop_expr *begin,
                          const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"column", begin, end, 1, false};
    const struct loop_expr *column = loop_open_for(b, &f, &inner);
    struct scope place = scope_inside(x->outer, &inner);
    scope_split(&place, column, x->n_groups_kept, x->l->space.n_groups);
    for (int v = 0; v < x->n; v++) {
        struct scope s = scope_inside(&x->row[v], &inner);
        for (int g = x->n_groups_kept; g < x->l->space.n_groups; g++)
            s.index[g] = place.index[g];
        set_lanes(x, &s);
        visit_column(x, &s, column, v);
        if (!x->is_storing)
            continue;
        struct scope before = scope_inside(&x->before[v], &inner);
        for (int g = x->n_groups_kept; g < x->l->space.n_groups; g++)
            before.index[g] = place.index[g];
        set_lanes(x, &before);
        store_before(x, &before, column, v);
    }
    loop_close(b, &inner);
}

// What honest f32 does with long sums: runs that are put aside, without long chains of those.
enum { CHUNK_TERMS = 1024, CHUNK_RADIX = 8 };

static void visit_chunks(struct build *x, struct loop_builder *b, const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"chunk", number(x, 0), end, CHUNK_TERMS, false};
    clear(x, b, true);
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    clear(x, &inner, false);
    visit_columns(x, &inner, begin,
                  op2(x, LOOP_MIN, end, op2(x, LOOP_ADD, begin, number(x, CHUNK_TERMS))));
    for (int i = 0; i < x->n_folds; i++)
        for (int v = 0; v < x->n; v++)
            join(x, &inner, i, x->total[i], v, get(x, x->part[i], v));
    cascade_carry(&x->cascade, &inner, op2(x, LOOP_DIV, begin, number(x, CHUNK_TERMS)), carry, x);
    loop_close(b, &inner);
    for (int i = 0; i < x->n_folds; i++)
        for (int v = 0; v < x->n; v++) {
            put(x, b, x->part[i], v, get(x, x->total[i], v));
            for (int level = 1; level < x->cascade.n_levels; level++)
                join(x, b, i, x->part[i], v, get(x, x->total[i], level * x->n + v));
        }
}

static void find_folds(struct build *x, bool is_long) {
    const struct region *r = x->l->region;
    struct loop_program *p = x->l->program;
    x->n_folds = 0;
    for (int i = 0; i < r->n_anchors; i++) {
        if (r->level[r->anchor[i]] != x->now)
            continue;
        node_id n = r->anchor[i];
        const char *name = node_of(x, n)->name;
        enum loop_dtype type = loop_arithmetic(node_of(x, n)->dtype);
        assert(x->lanes == 1 || type == LOOP_F32 || type == LOOP_MASK);
        x->part[x->n_folds] =
            loop_register_of(p, arena_printf(x->l->arena, "%s_part", name), x->n, x->lanes, type);
        if (is_long)
            x->total[x->n_folds] =
                loop_register_of(p, arena_printf(x->l->arena, "%s_total", name),
                                 (int64_t)x->n * x->cascade.n_levels, x->lanes, type);
        x->folded[x->n_folds++] = n;
    }
}

static void visit_all(struct build *x, struct loop_builder *b, bool is_long,
                      const struct loop_expr *end) {
    if (is_long) {
        visit_chunks(x, b, end);
    } else {
        clear(x, b, false);
        visit_columns(x, b, number(x, 0), end);
    }
}

// Scopes for the strip that ends where `first` begins, whose reductions are known from `carry`.
static void open_before(struct build *x, struct loop_builder *b, const struct loop_expr *first) {
    const struct region *r = x->l->region;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    for (int v = 0; v < x->n; v++) {
        struct scope *s = &x->before[v];
        *s = scope_inside(x->outer, b);
        set_lanes(x, s);
        s->index[x->lane_group] =
            op2(x, LOOP_ADD, first, number(x, (int64_t)(v - x->n) * x->lanes));
        for (int i = 0; i < r->n_anchors; i++)
            point_define(s, r->anchor[i], &kept,
                         loop_let(b, x->carry[i]->name, get(x, x->carry[i], v)));
    }
}

// The walk that reads, from the second strip on together with the stores of the one before.
static void visit_with_before(struct build *x, struct loop_builder *b, bool is_long,
                              const struct loop_expr *end) {
    struct loop_builder inner;
    loop_open_if(b, x->block_first, x->strip_first, &inner);
    open_before(x, &inner, x->strip_first);
    x->is_storing = true;
    visit_all(x, &inner, is_long, end);
    x->is_storing = false;
    loop_close(b, &inner);
    loop_open_if(b, x->strip_first, op2(x, LOOP_ADD, x->block_first, number(x, 1)), &inner);
    visit_all(x, &inner, is_long, end);
    loop_close(b, &inner);
}

static void build_walk(struct build *x, struct loop_builder *b) {
    const struct loop_expr *end = scope_count(x->outer, x->n_groups_kept, x->l->space.n_groups);
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    int64_t n_columns = x->form->n_columns;
    bool is_long = n_columns > CHUNK_TERMS && x->now <= x->keep.walks.n_levels;
    x->cascade = cascade_for((n_columns + CHUNK_TERMS - 1) / CHUNK_TERMS, CHUNK_RADIX);
    find_folds(x, is_long);
    if (x->turn && x->now == 1)
        visit_with_before(x, b, is_long, end);
    else
        visit_all(x, b, is_long, end);
    for (int i = 0; i < x->n_folds; i++)
        for (int v = 0; v < x->n; v++)
            point_define(&x->row[v], x->folded[i], &kept,
                         loop_let(b, node_of(x, x->folded[i])->name, get(x, x->part[i], v)));
}

// `n` vectors of rows side by side, from `first` on.
static void build_strip(struct build *x, struct loop_builder *b, const struct loop_expr *first,
                        int n, int lanes) {
    x->n = n;
    x->lanes = lanes;
    for (int v = 0; v < n; v++) {
        x->row[v] = scope_inside(x->outer, b);
        set_lanes(x, &x->row[v]);
        x->row[v].index[x->lane_group] = op2(x, LOOP_ADD, first, number(x, (int64_t)v * lanes));
    }
    for (x->now = 1; x->now <= x->keep.walks.n_levels; x->now++)
        build_walk(x, b);
    if (rows_any_full_value(x->form) && !x->turn)
        build_walk(x, b);
    for (int v = 0; v < n; v++)
        store_values(x, &x->row[v], false);
}

static void carry_results(struct build *x, struct loop_builder *b) {
    const struct region *r = x->l->region;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    for (int i = 0; i < r->n_anchors; i++)
        for (int v = 0; v < x->n; v++)
            put(x, b, x->carry[i], v, point_value(&x->row[v], r->anchor[i], &kept));
}

// What is left to do of the last strip.
static void store_last(struct build *x, struct loop_builder *b, const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"column", number(x, 0),
                         scope_count(x->outer, x->n_groups_kept, x->l->space.n_groups), 1, false};
    open_before(x, b, end);
    const struct loop_expr *column = loop_open_for(b, &f, &inner);
    struct scope place = scope_inside(x->outer, &inner);
    scope_split(&place, column, x->n_groups_kept, x->l->space.n_groups);
    for (int v = 0; v < x->n; v++) {
        struct scope s = scope_inside(&x->before[v], &inner);
        for (int g = x->n_groups_kept; g < x->l->space.n_groups; g++)
            s.index[g] = place.index[g];
        set_lanes(x, &s);
        store_before(x, &s, column, v);
    }
    loop_close(b, &inner);
}

// RUN strips, each stored while the next one is read.
static void build_run(struct build *x, struct loop_builder *b, const struct loop_expr *first) {
    struct arena *a = x->l->arena;
    const struct region *r = x->l->region;
    int width = x->strip * x->vec;
    struct loop_builder inner;
    for (int i = 0; i < r->n_anchors; i++)
        x->carry[i] = loop_register_of(
            x->l->program, arena_printf(a, "%s_before", node_of(x, r->anchor[i])->name), x->strip,
            x->vec, loop_arithmetic(node_of(x, r->anchor[i])->dtype));
    const struct loop_expr *end = op2(x, LOOP_MIN, x->l->space.extent[x->lane_group],
                                      op2(x, LOOP_ADD, first, number(x, (int64_t)width * RUN)));
    end = loop_let(b, "end", end);
    struct loop_for f = {"strip", first, end, width, false};
    const struct loop_expr *at = loop_open_for(b, &f, &inner);
    x->block_first = first;
    x->strip_first = at;
    x->turn = loop_let(&inner, "turn",
                       op2(x, LOOP_MOD, op2(x, LOOP_DIV, at, number(x, width)), number(x, 2)));
    build_strip(x, &inner, at, x->strip, x->vec);
    carry_results(x, &inner);
    loop_close(b, &inner);
    const struct loop_expr *last = op2(x, LOOP_SUB, end, number(x, 1));
    x->turn =
        loop_let(b, "turn",
                 op2(x, LOOP_SUB, number(x, 1),
                     op2(x, LOOP_MOD, op2(x, LOOP_DIV, last, number(x, width)), number(x, 2))));
    store_last(x, b, end);
}

static void build_strips(struct build *x, struct loop_builder *b, const struct loop_expr *begin,
                         const struct loop_expr *end, int n, int lanes) {
    struct loop_builder inner;
    struct loop_for f = {"row", begin, end, n * lanes, false};
    if (range_at_most(end, begin))
        return;
    const struct loop_expr *first = loop_open_for(b, &f, &inner);
    build_strip(x, &inner, first, n, lanes);
    loop_close(b, &inner);
}

// The last strip may be narrower: vectors one by one, then rows.
static void build_block(struct build *x, struct loop_builder *b, const struct loop_expr *first) {
    const struct loop_expr *extent = x->l->space.extent[x->lane_group];
    int64_t count = x->l->space.count[x->lane_group], width = (int64_t)x->strip * x->vec;
    const struct loop_expr *next = op2(x, LOOP_ADD, first, number(x, width));
    struct loop_builder whole, rest;
    if (count % width == 0) {
        build_strip(x, b, first, x->strip, x->vec);
        return;
    }
    loop_open_if(b, op2(x, LOOP_SUB, next, number(x, 1)), extent, &whole);
    build_strip(x, &whole, first, x->strip, x->vec);
    loop_close(b, &whole);
    loop_open_if(b, extent, next, &rest);
    const struct loop_expr *vectors = number(x, count / x->vec * x->vec);
    if (x->vec == 1)
        vectors = extent;
    build_strips(x, &rest, first, vectors, 1, x->vec);
    if (x->vec > 1 && count % x->vec != 0)
        build_strips(x, &rest, op2(x, LOOP_MAX, first, vectors), extent, 1, 1);
    loop_close(b, &rest);
}

static void make_kept(struct build *x) {
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    struct loop_size shape[] = {{2, NULL}, {x->form->n_columns, NULL}, {x->strip * x->vec, NULL}};
    int from = x->overlap ? 0 : 1;
    for (node_id n = 0; n < g->n_nodes; n++)
        if (x->keep.is_kept[n])
            x->kept[n] = loop_local(x->l->program, arena_printf(a, "%s_strip", g->nodes[n].name),
                                    shape + from, 3 - from);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct build x = {.l = l, .form = form->rows};
    struct loop_builder b;
    x.vec = stage_number(stage, "vec", 0);
    x.strip = stage_number(stage, "strip", 0);
    x.ahead = stage_number(stage, "ahead", 0);
    x.stream = stage_word_is(stage, "store", "stream");
    x.overlap = stage_word_is(stage, "overlap", "strips");
    l->reciprocal = stage_word_is(stage, "divide", "reciprocal");
    l->is_quick = rows_are_half(form->rows);
    x.n_groups_kept = rows_build_space(l, x.form);
    x.lane_group = lane_group(&l->space, x.form);
    rows_plan_keep(x.form, a, false, &x.keep);
    x.kept = arena_array(a, struct loop_buffer *, l->region->graph->n_nodes);
    x.folded = arena_array(a, node_id, l->region->n_anchors + 1);
    x.carry = arena_array(a, struct loop_buffer *, l->region->n_anchors + 1);
    x.part = arena_array(a, struct loop_buffer *, l->region->n_anchors + 1);
    x.total = arena_array(a, struct loop_buffer *, l->region->n_anchors + 1);
    if (stage_word_is(stage, "keep", "local"))
        make_kept(&x);

    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    int width = x.strip * x.vec * (x.overlap ? RUN : 1);
    const struct loop_expr *strips = loop_ceildiv(a, l->space.extent[x.lane_group], width);
    const struct loop_expr *grid = strips;
    for (int g = 0; g < x.n_groups_kept; g++)
        if (g != x.lane_group)
            grid = op2(&x, LOOP_MUL, grid, l->space.extent[g]);
    struct loop_kernel *k =
        loop_kernel_new(l->program, arena_printf(a, "%s_rowwise", stage->values[0]), grid, &b);
    outer.builder = &b;
    const struct loop_expr *rest = loop_ref(a, k->block);
    const struct loop_expr *first =
        op2(&x, LOOP_MUL, op2(&x, LOOP_MOD, rest, strips), number(&x, width));
    rest = op2(&x, LOOP_DIV, rest, strips);
    for (int g = x.n_groups_kept - 1; g >= 0; g--)
        if (g != x.lane_group) {
            outer.index[g] = loop_let(&b, "i", op2(&x, LOOP_MOD, rest, l->space.extent[g]));
            rest = op2(&x, LOOP_DIV, rest, l->space.extent[g]);
        }
    x.outer = &outer;
    (x.overlap ? build_run : build_block)(&x, &b, loop_let(&b, "first", first));
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct figures figures = find_figures(f);
    double width = (double)stage_number(s, "vec", 0) * stage_number(s, "strip", 0);
    // What is read again comes from memory, or with `overlap` from near; what is kept is stored.
    bool is_kept = stage_word_is(s, "keep", "local") || figures.n_kept == 0;
    bool is_overlapped = stage_word_is(s, "overlap", "strips");
    double again = is_kept ? 1 : is_overlapped && is_near(f, t, s) ? 0.85 : 1.8;
    double serial = stage_number(s, "ahead", 0) ? 0.4 : 0.7;
    serial -= is_overlapped ? 0.3 : 0;
    double work = stage_word_is(s, "divide", "exact") ? 1.15 : 1;
    double seconds = estimate_stream(f->region, t, s, work, serial);
    // Short pieces are fetched line by line.
    double pieces = 1 + 16 / width;
    double blocks = (double)f->rows->n_rows / width;
    return seconds * pieces * again * (1 + 0.5 * t->n_threads / (blocks + t->n_threads)) +
           blocks * 100e-9;
}

const struct emitter rowwise_columns_cpu = {
    .name = "columns",
    .summary = "rows along other axes than the last, neighbouring ones by strips",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
