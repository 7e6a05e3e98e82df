// Sizes of a block from the grain, and the kernel whose blocks walk them.
#include "family/deal.h"

struct deal deal_out(const struct space *space, int n_groups, int64_t grain) {
    struct deal d = {.n_rows = 1, .n_columns = space->count[n_groups - 1]};
    for (int i = 0; i < n_groups - 1; i++)
        d.n_rows *= space->count[i];
    d.columns = d.n_columns < grain ? d.n_columns : grain;
    d.rows = grain / d.n_columns > 1 ? grain / d.n_columns : 1;
    if (d.rows > d.n_rows)
        d.rows = d.n_rows;
    return d;
}

void deal_kernel(struct lowering *l, const struct deal_kernel *k, sweep_fn fn, void *ctx) {
    struct arena *a = l->arena;
    const struct space *space = &l->space;
    struct deal d = deal_out(space, k->n_groups, k->grain);
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
    sweep_build(&s, &w, fn, ctx);
    loop_close(&b, &inner);
}
