// Strips of rows of a product, for sums along K. A thread has its elements of several rows, so that
// what it reads of the right factor serves all of them: of a matrix by a vector the vector would
// else come from the second cache as often as the matrix from memory, which is more than that cache
// gives.
//
// Rows of odd length begin anywhere. They are *peeled*: moved in whole aligned vectors, and what
// lies before the first and behind the last of them element by element. Rows of one strip lie as
// many apart as a vector has elements and so begin alike; the right factor begins elsewhere and is
// read an element at a time, once for the strip.
#include "base/arena.h"
#include "family/gpu_reduce_private.h"

enum { PEELED_CHUNK = 256 };  // vectors whose elements one accumulator takes

// Are rows moved in whole vectors though they begin anywhere?
bool strips_are_peeled(const struct gpu_reduction *f, const struct kernel_stage *s) {
    return f->product && f->peels && f->n_neighbours % stage_number(s, "vec", 0) != 0;
}

// The rows of a thread lie so far apart: peeled ones begin alike, so many elements behind a vector.
static int64_t rows_apart(const struct gpu_reduction *f, const struct kernel_stage *s) {
    return f->rows > 1 && strips_are_peeled(f, s) ? stage_number(s, "vec", 0) : 1;
}

static int64_t strips_of(const struct gpu_reduction *f, const struct kernel_stage *s) {
    int64_t apart = rows_apart(f, s), each = apart * f->rows;
    return (f->product->m + each - 1) / each * apart;
}

// Results, or strips of rows of a product, that each have a team.
int64_t strips_teams(const struct gpu_reduction *f, const struct kernel_stage *s) {
    bool is_each = !f->product || f->rows <= 1;
    return is_each ? f->n_results : strips_of(f, s) * f->product->batch * f->product->n;
}

// A scope at term `j` for all rows of a thread.
static struct scope open_terms(struct reduce_build *x, struct loop_builder *b,
                               const struct loop_expr *j, int lanes) {
    struct scope s = scope_inside(x->at, b);
    scope_split(&s, j, x->f.n_kept, x->l->space.n_groups);
    s.lanes = lanes;
    s.lane_group = lanes > 1 ? x->l->space.n_groups - 1 : -1;
    return s;
}

static const struct loop_expr *left(struct reduce_build *x, struct scope *all, int row) {
    const struct gemm_form *p = x->f.product;
    struct scope s = scope_inside(all, all->builder);
    s.lanes = all->lanes;
    s.lane_group = all->lane_group;
    s.index[p->group_m] = x->m[row];
    return point_value(&s, p->lhs, &p->lhs_map);
}

// The terms of a thread's rows: what is read of the right factor is read once for all.
void strips_add(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                const struct loop_expr *item) {
    struct reduce_build *x = ctx;
    const struct gemm_form *p = x->f.product;
    struct scope all = open_terms(x, b, j, item ? x->vec : 1);
    bool is_peeled = x->walk_edge.count && item;
    const struct loop_expr *rhs = is_peeled ? NULL : point_value(&all, p->rhs, &p->rhs_map);
    for (int r = 0; !is_peeled && r < x->n_rows; r++)
        gpu_fold_add(&x->folds[r], b, reduce_op(x, LOOP_MUL, left(x, &all, r), rhs));
    if (!is_peeled)
        return;
    // A vector of each row, and of the right factor, which begins elsewhere, one element at a time.
    const struct loop_expr *lhs[GPU_REDUCE_ROWS_MAX];
    for (int r = 0; r < x->n_rows; r++)
        lhs[r] = left(x, &all, r);
    for (int i = 0; i < x->vec; i++) {
        struct scope one = open_terms(x, b, reduce_op(x, LOOP_ADD, j, reduce_int(x, i)), 1);
        rhs = point_value(&one, p->rhs, &p->rhs_map);
        for (int r = 0; r < x->n_rows; r++)
            gpu_fold_add(
                &x->folds[r], b,
                reduce_op(x, LOOP_MUL, loop_lane(x->l->arena, lhs[r], reduce_int(x, i)), rhs));
    }
}

// A strip of rows of a product.
struct strip {
    const struct loop_expr *batch, *column, *first;
    int64_t apart;   // rows
    bool is_ragged;  // the last strips have fewer
};

// The rows of a strip, each of which has its result.
static void store_strip(struct reduce_build *x, struct loop_builder *b, const struct gpu_team *team,
                        const struct strip *strip) {
    const struct gemm_form *p = x->f.product;
    struct scope *columns = x->at;
    for (int r = 0; r < x->n_rows; r++) {
        struct loop_builder inside;
        const struct loop_expr *m =
            reduce_op(x, LOOP_ADD, strip->first, reduce_int(x, r * strip->apart));
        if (strip->is_ragged)
            loop_open_if(b, m, reduce_int(x, p->m), &inside);
        struct loop_builder *at = strip->is_ragged ? &inside : b;
        struct scope s = scope_inside(columns, at);
        s.index[p->group_m] = m;
        const struct loop_expr *row = reduce_op(x, LOOP_MUL, strip->batch, reduce_int(x, p->m));
        row = reduce_op(x, LOOP_MUL, reduce_op(x, LOOP_ADD, row, m), reduce_int(x, p->n));
        x->at = &s;
        reduce_store(x, at, team, x->folds[r].result, reduce_op(x, LOOP_ADD, row, strip->column));
        if (strip->is_ragged)
            loop_close(b, &inside);
    }
    x->at = columns;
}

static struct strip open_strip(struct reduce_build *x, struct scope *s,
                               const struct loop_expr *at) {
    const struct gemm_form *p = x->f.product;
    struct strip t = {.apart = rows_apart(&x->f, x->stage)};
    const struct loop_expr *strips = reduce_int(x, strips_of(&x->f, x->stage));
    t.is_ragged = p->m % (t.apart * x->n_rows) != 0;
    t.column = reduce_op(x, LOOP_MOD, at, reduce_int(x, p->n));
    at = reduce_op(x, LOOP_DIV, at, reduce_int(x, p->n));
    t.batch = reduce_op(x, LOOP_DIV, at, strips);
    at = reduce_op(x, LOOP_MOD, at, strips);
    const struct loop_expr *group = reduce_op(x, LOOP_DIV, at, reduce_int(x, t.apart));
    group = reduce_op(x, LOOP_MUL, group, reduce_int(x, t.apart * x->n_rows));
    t.first = reduce_op(x, LOOP_ADD, group, reduce_op(x, LOOP_MOD, at, reduce_int(x, t.apart)));
    t.first = loop_let(s->builder, "first", t.first);
    if (p->group_m > 0)
        scope_split(s, t.batch, 0, p->group_m);
    scope_split(s, t.column, p->group_m + 1, x->f.n_kept);
    // Rows beyond the last follow the last one that begins as they do.
    const struct loop_expr *last = NULL, *first = t.first;
    if (t.is_ragged) {
        first = reduce_op(x, LOOP_MIN, t.first, reduce_int(x, p->m - 1));
        first = loop_let(s->builder, "row", first);
        last = reduce_op(x, LOOP_SUB, reduce_int(x, p->m - 1), first);
        last = loop_let(s->builder, "last", reduce_op(x, LOOP_DIV, last, reduce_int(x, t.apart)));
    }
    for (int r = 0; r < x->n_rows; r++) {
        const struct loop_expr *own = reduce_int(x, r);
        if (last && r > 0)
            own = reduce_op(x, LOOP_MIN, own, last);
        own = reduce_op(x, LOOP_MUL, own, reduce_int(x, t.apart));
        x->m[r] = loop_let(s->builder, "m", reduce_op(x, LOOP_ADD, first, own));
    }
    return t;
}

// Where the vectors of a strip's rows begin and end, all alike, and what lies before and behind
// them: an element for each of the first threads.
static void peel(struct reduce_build *x, struct loop_builder *b, const struct gpu_team *team,
                 const struct strip *strip, struct gpu_walk *w) {
    int64_t k = x->f.n_terms, vec = x->vec;
    const struct loop_expr *row =
        reduce_op(x, LOOP_MUL, strip->batch, reduce_int(x, x->f.product->m));
    // The first row of a strip is there, but for strips of which no row is.
    row = reduce_op(x, LOOP_ADD, row, x->m[0]);
    const struct loop_expr *over = reduce_op(x, LOOP_MUL, row, reduce_int(x, k % vec));
    over = reduce_op(x, LOOP_SUB, reduce_int(x, vec),
                     reduce_op(x, LOOP_MOD, over, reduce_int(x, vec)));
    const struct loop_expr *head =
        loop_let(b, "head", reduce_op(x, LOOP_MOD, over, reduce_int(x, vec)));
    const struct loop_expr *covered = reduce_op(x, LOOP_SUB, reduce_int(x, k), head);
    covered = reduce_op(x, LOOP_MUL, reduce_op(x, LOOP_DIV, covered, reduce_int(x, vec)),
                        reduce_int(x, vec));
    covered = loop_let(b, "covered", covered);
    w->begin = loop_let(b, "begin", reduce_op(x, LOOP_ADD, head, reduce_first(x)));
    const struct loop_expr *end = reduce_op(x, LOOP_ADD, w->begin, reduce_int(x, x->span));
    end = reduce_op(x, LOOP_MIN, reduce_op(x, LOOP_ADD, head, covered), end);
    w->end = loop_let(b, "end", end);
    const struct loop_expr *who = reduce_op(x, LOOP_MUL, x->split, reduce_int(x, x->threads));
    who = loop_let(b, "who", reduce_op(x, LOOP_ADD, who, team->lane));
    const struct loop_expr *is_behind = reduce_op(x, LOOP_ADD, who, reduce_int(x, vec));
    is_behind = reduce_op(x, LOOP_DIV, reduce_op(x, LOOP_SUB, is_behind, head), reduce_int(x, vec));
    x->walk_edge = (struct gpu_edge){
        .who = who,
        .count = reduce_op(x, LOOP_SUB, reduce_int(x, k), covered),
        .at = reduce_op(x, LOOP_ADD, who, reduce_op(x, LOOP_MUL, covered, is_behind)),
    };
    w->edge = &x->walk_edge;
    w->lanes = 1;
    w->chunk = PEELED_CHUNK;
}

// A team has a strip of rows of a product: what is read of the right factor serves all of them.
void strips_lower(struct reduce_build *x) {
    const struct loop_expr *count = reduce_int(x, strips_teams(&x->f, x->stage));
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    struct loop_builder b, guarded;
    reduce_open(x, loop_ceildiv(x->l->arena, count, x->results), &b);
    outer.builder = &b;
    struct gpu_team team = gpu_make_team(x->l->arena, x->kernel.thread, x->threads, x->results);
    const struct loop_expr *at =
        reduce_op(x, LOOP_DIV, x->kernel.block, reduce_int(x, x->n_splits));
    at = reduce_op(x, LOOP_ADD, reduce_op(x, LOOP_MUL, at, reduce_int(x, x->results)), team.row);
    at = loop_let(&b, "strip", at);
    loop_open_if(&b, at, count, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    struct strip strip = open_strip(x, &s, at);
    x->at = &s;
    struct gpu_walk w = {.team = &team, .vec = x->vec, .length = x->span};
    w.begin = reduce_first(x);
    w.end = reduce_end(x, reduce_int(x, x->f.n_terms));
    if (strips_are_peeled(&x->f, x->stage))
        peel(x, &guarded, &team, &strip, &w);
    reduce_walk(x, &w, &guarded);
    store_strip(x, &guarded, &team, &strip);
    loop_close(&b, &guarded);
}
