// Lists of a row's sources by counters: see row_lists.h.
#include "family/row_lists.h"

#include "base/arena.h"
#include "family/nest_walk.h"

enum { BLOCK = 256 };

static const struct loop_expr *number(const struct row_lists *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *whole(const struct row_lists *x, int64_t v) {
    return loop_whole(x->l->arena, LOOP_I32, v);
}

static const struct loop_expr *op2(const struct row_lists *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *load(const struct row_lists *x, const struct loop_buffer *b,
                                    const struct loop_expr *i) {
    return loop_load(x->l->arena, b, i, 1, 1);
}

static const struct loop_expr *index(const struct row_lists *x, const struct loop_expr *e,
                                     int64_t most) {
    return loop_to_index(x->l->arena, e, 0, most);
}

static struct loop_buffer *word(const struct row_lists *x, struct loop_builder *b, const char *name,
                                const struct loop_expr *value) {
    struct loop_buffer *r = loop_register_of(x->l->program, name, 1, 1, LOOP_I32);
    loop_store(b, r, number(x, 0), value, false);
    return r;
}

static void take(const struct row_lists *x, struct loop_builder *b, const struct loop_buffer *to,
                 const struct loop_buffer *counter, const struct loop_expr *i,
                 const struct loop_buffer *more) {
    loop_intrinsic(b, INTRINSIC_TAKE,
                   (struct loop_operand[]){{to, number(x, 0)}, {counter, i}, {more, number(x, 0)}});
}

// A source's number among those of its row.
static void count_source(void *ctx, struct loop_builder *b, const struct loop_expr *q) {
    const struct row_lists *x = ctx;
    struct loop_buffer *one = word(x, b, "one", whole(x, 1)), *own = word(x, b, "own", whole(x, 0));
    take(x, b, own, x->count, x->row_of(x->ctx, b, q), one);
    loop_store(b, x->slot, q, load(x, own, number(x, 0)), false);
}

// A warp takes places for 32 rows at once, one of its threads for all.
static void begin_rows(const struct row_lists *x) {
    struct arena *a = x->l->arena;
    struct loop_builder b, first, some;
    struct gpu_kernel k = gpu_open_kernel(x->l, arena_printf(a, "%s_begin", x->name),
                                          number(x, (x->n_rows + BLOCK - 1) / BLOCK), BLOCK, &b);
    const struct loop_expr *row = op2(x, LOOP_MUL, k.block, number(x, BLOCK));
    row = loop_let(&b, "row", op2(x, LOOP_ADD, row, k.thread));
    const struct loop_expr *own =
        loop_ternary(a, LOOP_SELECT, op2(x, LOOP_LT, row, number(x, x->n_rows)),
                     load(x, x->count, row), whole(x, 0));
    own = loop_let(&b, "own", own);
    const struct loop_expr *before = loop_unary(a, LOOP_WARP_BEFORE_SUM, own);
    before = loop_let(&b, "before", before);
    const struct loop_expr *all = loop_let(&b, "all", loop_unary(a, LOOP_WARP_SUM, own));
    struct loop_buffer *more = word(x, &b, "more", all), *from = word(x, &b, "from", whole(x, 0));
    loop_open_if(&b, op2(x, LOOP_MOD, k.thread, number(x, GPU_WARP)), number(x, 1), &first);
    take(x, &first, from, x->taken, number(x, 0), more);
    loop_close(&b, &first);
    const struct loop_expr *start = loop_unary(a, LOOP_WARP_SUM, load(x, from, number(x, 0)));
    start = loop_let(&b, "start", start);
    loop_open_if(&b, row, number(x, x->n_rows), &some);
    loop_store(&some, x->first, row, op2(x, LOOP_ADD, start, before), false);
    loop_close(&b, &some);
}

static void place_source(void *ctx, struct loop_builder *b, const struct loop_expr *q) {
    const struct row_lists *x = ctx;
    const struct loop_expr *row = x->row_of(x->ctx, b, q);
    const struct loop_expr *at = op2(x, LOOP_ADD, load(x, x->first, row), load(x, x->slot, q));
    at = loop_let(b, "at", index(x, at, x->n_sources - 1));
    loop_store(b, x->source, at, loop_cast(x->l->arena, q, LOOP_I32), false);
}

// Behind all of its row's sources that are less.
static void order_source(void *ctx, struct loop_builder *b, const struct loop_expr *q) {
    const struct row_lists *x = ctx;
    const struct loop_expr *row = x->row_of(x->ctx, b, q);
    struct loop_builder c;
    const struct loop_expr *first = loop_let(b, "first", row_lists_first(x, row));
    const struct loop_expr *last = loop_let(b, "last", row_lists_last(x, row));
    const struct loop_expr *own = loop_let(b, "own", loop_cast(x->l->arena, q, LOOP_I32));
    struct loop_buffer *n = word(x, b, "less", loop_cast(x->l->arena, first, LOOP_I32));
    struct loop_for f = {"k", first, last, 1, false};
    const struct loop_expr *k = loop_open_for(b, &f, &c);
    const struct loop_expr *more =
        loop_ternary(x->l->arena, LOOP_SELECT, op2(x, LOOP_LT, load(x, x->source, k), own),
                     whole(x, 1), whole(x, 0));
    loop_store(&c, n, number(x, 0), op2(x, LOOP_ADD, load(x, n, number(x, 0)), more), false);
    loop_close(b, &c);
    const struct loop_expr *at =
        loop_let(b, "at", index(x, load(x, n, number(x, 0)), x->n_sources - 1));
    loop_store(b, x->slot, at, own, false);
}

const struct loop_expr *row_lists_first(const struct row_lists *x, const struct loop_expr *row) {
    return index(x, load(x, x->first, row), x->n_sources);
}

const struct loop_expr *row_lists_last(const struct row_lists *x, const struct loop_expr *row) {
    return index(x, op2(x, LOOP_ADD, load(x, x->first, row), load(x, x->count, row)), x->n_sources);
}

const struct loop_expr *row_lists_source(const struct row_lists *x, const struct loop_expr *k) {
    return index(x, load(x, x->source, k), x->n_sources - 1);
}

static struct loop_buffer *scratch(const struct row_lists *x, const char *what, int64_t count,
                                   bool is_zeroed) {
    struct loop_size size = {count, NULL};
    const char *name = arena_printf(x->l->arena, "%s_%s", x->name, what);
    struct loop_buffer *b = loop_global_of(x->l->program, name, LOOP_SCRATCH, DTYPE_I32, &size, 1);
    b->is_zeroed = is_zeroed;
    return b;
}

static void by_source(struct row_lists *x, const char *what, nest_item_fn fn) {
    struct nest_threads t = {.is_gpu = true, .per_block = BLOCK};
    nest_kernel(x->l, arena_printf(x->l->arena, "%s_%s", x->name, what), &t,
                number(x, x->n_sources), fn, x);
}

void row_lists_build(struct row_lists *x, bool is_ordered) {
    x->count = scratch(x, "counts", x->n_rows, true);
    x->taken = scratch(x, "taken", 1, true);
    x->first = scratch(x, "first", x->n_rows, false);
    x->slot = scratch(x, "slots", x->n_sources, false);
    x->source = scratch(x, "sources", x->n_sources, false);
    by_source(x, "count", count_source);
    begin_rows(x);
    by_source(x, "place", place_source);
    if (!is_ordered)
        return;
    // Slots are not needed any more.
    by_source(x, "order", order_source);
    x->source = x->slot;
}
