// A matrix product as a careful programmer writes it first, on a CPU. A block is a row of the
// result, at most WIDTH columns of it. Where the right operand's rows are contiguous,
//
//     for k: for j: sum[j] += a[i, k] * b[k, j]
//
// reads rows of b; else each element is a dot product. Sums of more than CHUNK_TERMS terms are put
// aside by a cascade. Where there are fewer blocks than threads K is split too: the parts go to
// scratch and a second kernel adds them up.
#include <assert.h>

#include "base/arena.h"
#include "family/cascade.h"
#include "family/gemm_form.h"
#include "family/plain.h"
#include "model/target.h"

enum { WIDTH = 1024, CHUNK_TERMS = 1024, CHUNK_RADIX = 8, SPLIT_TERMS = 1 << 15 };

struct nest {
    struct lowering *l;
    struct arena *a;
    const struct gemm_form *form;
    bool by_rows;
    struct cascade cascade;
    struct loop_buffer *part;                       // one row of sums, or one sum
    struct loop_buffer *level[CASCADE_LEVELS_MAX];  // of chunks; level[0] NULL: K is short
    const struct loop_expr *column0, *columns;      // of the block
    int64_t n_splits, span;                         // of K
    struct loop_buffer *partial;                    // [split][result]; NULL: K is not split
    const struct loop_expr *split, *row;            // which part, which row
};

static const struct loop_expr *op2(const struct nest *n, enum loop_op op, const struct loop_expr *x,
                                   const struct loop_expr *y) {
    return loop_binary(n->a, op, x, y);
}

// Called at every sum of the block that the scope has not fixed; `at` is its place in the arrays.
typedef void (*each_fn)(struct nest *n, struct scope *s, const struct loop_expr *at);

static void each(struct nest *n, struct scope *outer, each_fn fn) {
    const struct loop_expr *zero = loop_int(n->a, 0);
    if (!n->by_rows) {
        fn(n, outer, zero);
        return;
    }
    struct loop_builder b;
    struct loop_for f = {"j", zero, n->columns, 1, false};
    const struct loop_expr *j = loop_open_for(outer->builder, &f, &b);
    struct scope s = scope_inside(outer, &b);
    s.index[n->form->group_n] = op2(n, LOOP_ADD, n->column0, j);
    fn(n, &s, j);
    loop_close(outer->builder, &b);
}

static const struct loop_expr *get(const struct nest *n, const struct loop_buffer *from,
                                   const struct loop_expr *at) {
    return loop_load(n->a, from, at, 1, 1);
}

static void add(const struct nest *n, struct scope *s, const struct loop_buffer *to,
                const struct loop_expr *at, const struct loop_expr *value) {
    loop_store(s->builder, to, at, op2(n, LOOP_ADD, get(n, to, at), value), false);
}

static void clear(const struct nest *n, struct scope *s, const struct loop_buffer *to,
                  const struct loop_expr *at) {
    loop_store(s->builder, to, at, loop_real(n->a, 0), false);
}

static void clear_part(struct nest *n, struct scope *s, const struct loop_expr *at) {
    clear(n, s, n->part, at);
}

static void clear_levels(struct nest *n, struct scope *s, const struct loop_expr *at) {
    for (int i = 0; i < n->cascade.n_levels; i++)
        clear(n, s, n->level[i], at);
}

static void add_term(struct nest *n, struct scope *s, const struct loop_expr *at) {
    const struct loop_expr *x = point_value(s, n->form->lhs, &n->form->lhs_map);
    const struct loop_expr *y = point_value(s, n->form->rhs, &n->form->rhs_map);
    add(n, s, n->part, at, op2(n, LOOP_MUL, x, y));
}

static void add_part(struct nest *n, struct scope *s, const struct loop_expr *at) {
    add(n, s, n->level[0], at, get(n, n->part, at));
}

// What carry() needs.
struct carrying {
    struct nest *nest;
    struct scope *outer;
};

static void carry(void *ctx, struct loop_builder *b, int level) {
    struct carrying *c = ctx;
    struct nest *n = c->nest;
    struct scope s = scope_inside(c->outer, b);
    struct loop_builder inner;
    struct loop_for f = {"j", loop_int(n->a, 0), n->by_rows ? n->columns : loop_int(n->a, 1), 1,
                         false};
    const struct loop_expr *j = loop_open_for(b, &f, &inner);
    struct scope t = scope_inside(&s, &inner);
    add(n, &t, n->level[level], j, get(n, n->level[level - 1], j));
    clear(n, &t, n->level[level - 1], j);
    loop_close(b, &inner);
}

static void store(struct nest *n, struct scope *s, const struct loop_expr *at) {
    const struct region *r = n->l->region;
    const struct node *anchor = &r->graph->nodes[n->form->anchor];
    const struct loop_expr *e = get(n, n->level[0] ? n->level[0] : n->part, at);
    for (int i = 1; n->level[0] && i < n->cascade.n_levels; i++)
        e = op2(n, LOOP_ADD, e, get(n, n->level[i], at));
    if (n->partial) {
        const struct loop_expr *extent = n->l->space.extent[n->form->group_n];
        const struct loop_expr *result =
            op2(n, LOOP_ADD, op2(n, LOOP_MUL, n->row, extent), s->index[n->form->group_n]);
        const struct loop_expr *all = scope_count(s, 0, n->form->group_k);
        loop_store(s->builder, n->partial,
                   op2(n, LOOP_ADD, op2(n, LOOP_MUL, n->split, all), result), e, false);
        return;
    }
    struct axis_map map = map_identity(anchor->shape.rank);
    point_define(s, n->form->anchor, &n->form->at, loop_let(s->builder, anchor->name, e));
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

static void build_terms(struct nest *n, struct scope *outer, const struct loop_expr *begin,
                        const struct loop_expr *end) {
    each(n, outer, clear_part);
    struct loop_builder b;
    struct loop_for f = {"k", begin, end, 1, false};
    const struct loop_expr *k = loop_open_for(outer->builder, &f, &b);
    struct scope s = scope_inside(outer, &b);
    s.index[n->form->group_k] = k;
    each(n, &s, add_term);
    loop_close(outer->builder, &b);
}

static void build_sums(struct nest *n, struct scope *outer) {
    const struct loop_expr *first = loop_int(n->a, 0), *end = n->l->space.extent[n->form->group_k];
    if (n->partial) {
        first = op2(n, LOOP_MUL, n->split, loop_int(n->a, n->span));
        end = op2(n, LOOP_MIN, end, op2(n, LOOP_ADD, first, loop_int(n->a, n->span)));
    }
    if (!n->level[0]) {
        build_terms(n, outer, first, end);
        each(n, outer, store);
        return;
    }
    each(n, outer, clear_levels);
    struct loop_builder b;
    struct loop_for f = {"chunk", first, end, CHUNK_TERMS, false};
    const struct loop_expr *begin = loop_open_for(outer->builder, &f, &b);
    const struct loop_expr *run = loop_int(n->a, CHUNK_TERMS);
    struct scope s = scope_inside(outer, &b);
    build_terms(n, &s, begin, op2(n, LOOP_MIN, end, op2(n, LOOP_ADD, begin, run)));
    each(n, &s, add_part);
    struct carrying c = {n, &s};
    cascade_carry(&n->cascade, &b, op2(n, LOOP_DIV, op2(n, LOOP_SUB, begin, first), run), carry,
                  &c);
    loop_close(outer->builder, &b);
    each(n, outer, store);
}

static struct loop_buffer *row_of_sums(struct nest *n, const char *name, struct loop_size width) {
    return n->by_rows ? loop_local(n->l->program, name, &width, 1)
                      : loop_register(n->l->program, name, 1, 1);
}

static void plan_splits(struct nest *n, const struct target *t, int64_t n_blocks) {
    int64_t k = n->l->space.count[n->form->group_k], split = 1;
    while (n_blocks * split < 2 * (int64_t)t->n_threads && k >= 2 * split * SPLIT_TERMS)
        split *= 2;
    n->span = (k + split - 1) / split;
    n->n_splits = (k + n->span - 1) / n->span;
    struct loop_size shape[] = {{n->n_splits, NULL}, {1, NULL}};
    for (int i = 0; i < n->form->group_k; i++)
        shape[1].value *= n->l->space.count[i];
    const char *name = n->l->region->graph->nodes[n->form->anchor].name;
    if (n->n_splits > 1)
        n->partial = loop_global(n->l->program, arena_printf(n->a, "%s_parts", name), LOOP_SCRATCH,
                                 shape, 2);
}

// Add up the parts of every result; there are few of both.
static void lower_ending(struct nest *n, const char *name) {
    struct scope outer = {.lowering = n->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, n->form->group_k);
    struct nest ending = *n;
    ending.partial = NULL;
    ending.by_rows = false;
    ending.cascade = cascade_for(n->n_splits, CHUNK_RADIX);
    for (int i = 0; i < ending.cascade.n_levels; i++)
        ending.level[i] = loop_register(n->l->program, "total", 1, 1);
    struct loop_builder b, inner;
    struct loop_kernel *k =
        loop_kernel_new(n->l->program, arena_printf(n->a, "%s_finish", name), count, &b);
    outer.builder = &b;
    struct scope s = scope_inside(&outer, &b);
    const struct loop_expr *block = loop_ref(n->a, k->block), *zero = loop_int(n->a, 0);
    scope_split(&s, block, 0, n->form->group_k);
    clear_levels(&ending, &s, zero);
    struct loop_for f = {"part", zero, loop_int(n->a, n->n_splits), 1, false};
    const struct loop_expr *part = loop_open_for(&b, &f, &inner);
    struct scope t = scope_inside(&s, &inner);
    const struct loop_expr *at = op2(n, LOOP_ADD, op2(n, LOOP_MUL, part, count), block);
    add(&ending, &t, ending.level[0], zero, get(n, n->partial, at));
    struct carrying c = {&ending, &t};
    cascade_carry(&ending.cascade, &inner, part, carry, &c);
    loop_close(&b, &inner);
    store(&ending, &s, zero);
}

void plain_product_lower(struct lowering *l, const struct gemm_form *form, const struct target *t,
                         const char *name) {
    struct arena *a = l->arena;
    struct nest n = {.l = l, .a = a, .form = form};
    gemm_build_space(l, form);
    n.by_rows = n.form->rhs_is_contiguous && n.form->n > 1;
    int group = n.form->group_n, end = n.form->group_m + 1;
    const struct shape *result = &l->region->graph->nodes[n.form->anchor].shape;
    struct loop_size size = point_size(l, result, result->rank - 1);
    if (size.value > WIDTH)
        size = (struct loop_size){WIDTH, NULL};
    int64_t width = size.value, n_blocks = 1;
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *across = loop_ceildiv(a, l->space.extent[group], width);
    for (int i = 0; i < end; i++)
        n_blocks *= l->space.count[i];
    plan_splits(&n, t, n_blocks * ((l->space.count[group] + width - 1) / width));
    n.part = row_of_sums(&n, "sum", size);
    n.cascade = cascade_for((n.span + CHUNK_TERMS - 1) / CHUNK_TERMS, CHUNK_RADIX);
    for (int i = 0; n.span > CHUNK_TERMS && i < n.cascade.n_levels; i++)
        n.level[i] = row_of_sums(&n, "total", size);

    struct loop_builder b, by_column;
    const struct loop_expr *blocks = op2(&n, LOOP_MUL, scope_count(&outer, 0, end), across);
    const struct loop_expr *splits = loop_int(a, n.n_splits);
    struct loop_kernel *k = loop_kernel_new(l->program, arena_printf(a, "%s_product", name),
                                            op2(&n, LOOP_MUL, blocks, splits), &b);
    outer.builder = &b;
    const struct loop_expr *block = op2(&n, LOOP_DIV, loop_ref(a, k->block), splits);
    n.split = op2(&n, LOOP_MOD, loop_ref(a, k->block), splits);
    n.row = op2(&n, LOOP_DIV, block, across);
    n.column0 = op2(&n, LOOP_MUL, op2(&n, LOOP_MOD, block, across), loop_int(a, width));
    n.columns = l->space.extent[group];
    if (l->space.count[group] > width) {
        n.column0 = loop_let(&b, "column0", n.column0);
        n.columns = op2(&n, LOOP_MIN, loop_int(a, width), op2(&n, LOOP_SUB, n.columns, n.column0));
        n.columns = loop_let(&b, "columns", n.columns);
    }
    struct scope row = scope_inside(&outer, &b);
    scope_split(&row, n.row, 0, end);
    if (n.by_rows) {
        build_sums(&n, &row);
    } else {
        struct loop_for f = {"j", loop_int(a, 0), n.columns, 1, false};
        const struct loop_expr *j = loop_open_for(&b, &f, &by_column);
        struct scope s = scope_inside(&row, &by_column);
        s.index[group] = op2(&n, LOOP_ADD, n.column0, j);
        build_sums(&n, &s);
        loop_close(&b, &by_column);
    }
    if (n.partial)
        lower_ending(&n, name);
}
