// Sizes of a block from the grain, and the kernel whose blocks walk them.
#include "family/partition.h"

// Of a vector that is one.
enum { LANES_MIN = 4 };

struct partition partition_space(const struct space *space, int n_groups, int64_t grain) {
    struct partition d = {.n_rows = 1, .n_columns = space->count[n_groups - 1]};
    for (int i = 0; i < n_groups - 1; i++)
        d.n_rows *= space->count[i];
    d.columns = d.n_columns < grain ? d.n_columns : grain;
    d.rows = grain / d.n_columns > 1 ? grain / d.n_columns : 1;
    if (d.rows > d.n_rows)
        d.rows = d.n_rows;
    return d;
}

// By vectors, what these leave by vectors of half as many lanes, and so on.
static void sweep_halving(struct scope *s, const struct sweep *w, sweep_fn fn, void *ctx) {
    struct arena *a = s->lowering->arena;
    struct sweep part = *w;
    for (int lanes = w->lanes; lanes >= LANES_MIN; lanes /= 2) {
        const struct loop_expr *n = loop_binary(a, LOOP_SUB, w->end, part.begin);
        n = loop_binary(a, LOOP_DIV, n, loop_int(a, lanes));
        part.end = loop_binary(a, LOOP_MUL, n, loop_int(a, lanes));
        part.end = loop_binary(a, LOOP_ADD, part.begin, part.end);
        part.lanes = lanes;
        part.multiple = (int64_t)lanes * part.unroll;
        sweep_build(s, &part, fn, ctx);
        part.begin = part.end;
        part.unroll = 1;
    }
    part.end = w->end;
    part.lanes = 1;
    part.multiple = 1;
    sweep_build(s, &part, fn, ctx);
}

// What lies before k->begin and from k->end on, element by element; between them by vectors.
static void sweep_edges(struct scope *s, const struct sweep *w, const struct partition_kernel *k,
                        sweep_fn fn, void *ctx) {
    struct arena *a = s->lowering->arena;
    const struct loop_expr *at[4] = {w->begin, loop_int(a, k->begin), loop_int(a, k->end), w->end};
    for (int i = 1; i < 3; i++) {
        at[i] = loop_binary(a, LOOP_MAX, at[i - 1], at[i]);
        at[i] = loop_binary(a, LOOP_MIN, w->end, at[i]);
    }
    for (int i = 0; i < 3; i++) {
        struct sweep part = *w;
        part.begin = at[i];
        part.end = at[i + 1];
        part.lanes = i == 1 ? w->lanes : 1;
        part.multiple = 1;
        if (i == 1)
            sweep_halving(s, &part, fn, ctx);
        else
            sweep_build(s, &part, fn, ctx);
    }
}

void partition_kernel(struct lowering *l, const struct partition_kernel *k, sweep_fn fn,
                      void *ctx) {
    struct arena *a = l->arena;
    const struct space *space = &l->space;
    struct partition d = partition_space(space, k->n_groups, k->grain);
    int last = k->n_groups - 1;

    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&outer, 0, last);
    const struct loop_expr *row_blocks = loop_ceildiv(a, n_rows, d.rows);
    const struct loop_expr *runs = loop_ceildiv(a, space->extent[last], d.columns);
    if (d.columns == d.n_columns)
        runs = loop_int(a, 1);

    struct loop_builder b, inner;
    struct loop_kernel *kernel =
        loop_kernel_new(l->program, k->name, loop_binary(a, LOOP_MUL, row_blocks, runs), &b);
    const struct loop_expr *block = loop_ref(a, kernel->block);
    outer.builder = &b;

    const struct loop_expr *first =
        loop_binary(a, LOOP_MUL, loop_binary(a, LOOP_DIV, block, runs), loop_int(a, d.rows));
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, loop_int(a, d.rows));
    struct loop_for rows = {"row", first, loop_binary(a, LOOP_MIN, n_rows, end), 1, false};
    const struct loop_expr *row = loop_open_for(&b, &rows, &inner);
    struct scope s = scope_inside(&outer, &inner);
    scope_split(&s, row, 0, last);

    const struct loop_expr *run = loop_binary(a, LOOP_MOD, block, runs);
    struct sweep w = {.name = "j", .group = last, .lanes = k->lanes, .unroll = k->unroll};
    w.begin = loop_binary(a, LOOP_MUL, run, loop_int(a, d.columns));
    w.end = loop_binary(a, LOOP_ADD, w.begin, loop_int(a, d.columns));
    w.end = d.columns == d.n_columns ? space->extent[last]
                                     : loop_binary(a, LOOP_MIN, space->extent[last], w.end);
    w.multiple = sweep_multiple(d.n_columns, d.columns);
    if (k->has_edges)
        sweep_edges(&s, &w, k, fn, ctx);
    else
        sweep_build(&s, &w, fn, ctx);
    loop_close(&b, &inner);
}
