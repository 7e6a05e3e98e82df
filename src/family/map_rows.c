// Rows that indices ask for, on a GPU, where many are asked for often (an embedding of more tokens
// than the table has rows): which places ask for a row is found first (row_lists.h), and then every
// row is read once and stored wherever it was asked for. In the order of the results rows that come
// again are read again, from memory, since a cache does not hold the table.
#include <math.h>

#include "base/arena.h"
#include "family/map_form.h"
#include "family/nest_walk.h"
#include "family/row_lists.h"
#include "ir/detail.h"

static const int threads_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int rows_grid[] = {1, 2, 4, 8, 16, -1};
static const int vec_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    {.name = "threads", .summary = "threads of a row", .n_parts = 1, .grid = {threads_grid}},
    {.name = "rows", .summary = "rows of a block", .n_parts = 1, .grid = {rows_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {0},
};

enum { ITEMS_MAX = 16 };  // vectors of a thread

struct choice {
    int threads, rows, vec;
    int64_t items;
};

static struct choice read_choice(const struct map_rows *m, const struct kernel_stage *s) {
    struct choice c = {stage_number(s, "threads", 0), stage_number(s, "rows", 0),
                       stage_number(s, "vec", 0), 0};
    c.items = (m->width / c.vec + c.threads - 1) / c.threads;
    return c;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    struct map_rows m;
    return map_find_rows(f->region, &m) ||
           objection(why, NULL, "%s is not made of rows of one table that indices ask for",
                     f->region->value_name[0]);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct map_rows m;
    map_find_rows(f->region, &m);
    struct choice c = read_choice(&m, s);
    if (c.threads * c.rows > GPU_BLOCK_MAX)
        return objection(why, "rows", "%d rows of %d threads are above %d: the nearest is rows %d",
                         c.rows, c.threads, GPU_BLOCK_MAX, GPU_BLOCK_MAX / c.threads);
    if (m.lanes % c.vec != 0)
        return objection(why, "vec",
                         "vec %d needs rows of a multiple of %d elements: the nearest is vec %d",
                         c.vec, c.vec, gpu_largest_vec(m.lanes));
    if (c.items > ITEMS_MAX)
        return objection(why, "threads",
                         "%lld vectors of a thread, above %d: the nearest is more threads",
                         (long long)c.items, ITEMS_MAX);
    if (m.n_sources >= INT32_MAX || m.n_rows >= INT32_MAX)
        return objection(why, NULL, "places are counted with 32 bits, and there are %lld",
                         (long long)(m.n_sources > m.n_rows ? m.n_sources : m.n_rows));
    struct gpu_demand demand = {"threads", c.threads * c.rows, c.items * c.vec, "more threads"};
    return gpu_legal_registers(t, &demand, why) &&
           gpu_legal_grid("rows", (m.n_rows + c.rows - 1) / c.rows, why);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct map_rows m;
    struct objection why;
    map_find_rows(f->region, &m);
    bool is_narrow = dtype_infos[f->region->graph->nodes[m.table].dtype].bits == 16;
    int vec = is_narrow && m.lanes % 8 == 0 ? 8 : gpu_largest_vec(m.lanes), threads = 32;
    while (threads < 1024 && m.width / vec > 8LL * threads)
        threads *= 2;
    stage_set(s, "threads", 0, threads);
    stage_set(s, "vec", 0, vec);
    stage_set(s, "rows", 0, threads < 128 ? 128 / threads : 1);
    if (!is_legal(f, t, s, &why))
        stage_set(s, "rows", 0, 1);
}

struct build {
    struct lowering *l;
    struct map_rows m;
    struct choice c;
    int n_index;  // groups of the space that say which index
    struct row_lists lists;
    struct loop_buffer *own;  // what the thread has of the row
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

// The row that place `q` asks for.
static const struct loop_expr *asked_row(void *ctx, struct loop_builder *b,
                                         const struct loop_expr *q) {
    const struct build *x = ctx;
    const struct node *index = &x->l->region->graph->nodes[x->m.index];
    struct scope s = {.lowering = x->l, .builder = b, .lane_group = -1, .lanes = 1};
    struct axis_map map = map_identity(index->shape.rank);
    for (int g = 0; g < x->l->space.n_groups; g++)
        s.index[g] = number(x, 0);
    scope_split(&s, q, 0, x->n_index);
    const struct loop_expr *e = point_value(&s, x->m.index, &map);
    if (e->dtype != LOOP_I64)
        e = loop_cast(x->l->arena, e, LOOP_I64);
    return loop_let(b, "row", loop_to_index(x->l->arena, e, 0, x->m.n_rows - 1));
}

// Open the thread's vectors, one after the other, where the row has them.
static const struct loop_expr *open_items(const struct build *x, struct loop_builder *b,
                                          const struct loop_expr *thread, struct loop_builder in[2],
                                          const struct loop_expr **item) {
    struct loop_for f = {"item", number(x, 0), number(x, x->c.items), 1, true};
    *item = loop_open_for(b, &f, &in[0]);
    const struct loop_expr *at = op2(x, LOOP_MUL, *item, number(x, x->c.threads));
    at = op2(x, LOOP_MUL, op2(x, LOOP_ADD, at, thread), number(x, x->c.vec));
    at = loop_let(&in[0], "at", at);
    loop_open_if(&in[0], at, number(x, x->m.width), &in[1]);
    return at;
}

static void close_items(struct loop_builder *b, struct loop_builder in[2]) {
    loop_close(&in[0], &in[1]);
    loop_close(b, &in[0]);
}

static void load_row(const struct build *x, struct loop_builder *b, const struct loop_expr *thread,
                     const struct loop_expr *row) {
    struct loop_builder in[2];
    const struct loop_expr *item, *at = open_items(x, b, thread, in, &item);
    const struct loop_expr *first = op2(x, LOOP_MUL, row, number(x, x->m.width));
    if (x->l->offset && x->l->offset[x->m.table])
        first = op2(x, LOOP_ADD, x->l->offset[x->m.table], first);
    const struct loop_expr *e =
        loop_load(x->l->arena, x->l->buffer[x->m.table], op2(x, LOOP_ADD, first, at), x->c.vec, 1);
    loop_store(&in[1], x->own, item, e, false);
    close_items(b, in);
}

// Compute and store the values at place `q`.
static void store_row(const struct build *x, struct loop_builder *b, const struct loop_expr *thread,
                      const struct loop_expr *q) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[x->m.take].shape.rank);
    struct loop_builder in[2];
    const struct loop_expr *item, *at = open_items(x, b, thread, in, &item);
    struct scope s = {.lowering = x->l, .builder = &in[1], .lane_group = -1, .lanes = x->c.vec};
    scope_split(&s, q, 0, x->n_index);
    scope_split(&s, at, x->n_index, x->l->space.n_groups);
    if (x->c.vec > 1)
        s.lane_group = x->l->space.n_groups - 1;
    point_define(&s, x->m.take, &map, loop_load(x->l->arena, x->own, item, x->c.vec, 1));
    for (int i = 0; i < r->n_values; i++)
        point_store(&s, i, &map, false);
    close_items(b, in);
}

static void lower_rows(struct build *x, const char *name) {
    struct arena *a = x->l->arena;
    struct loop_builder b, some, each;
    struct gpu_kernel k =
        gpu_open_kernel(x->l, name, number(x, (x->m.n_rows + x->c.rows - 1) / x->c.rows),
                        x->c.threads * x->c.rows, &b);
    const struct loop_expr *threads = number(x, x->c.threads);
    const struct loop_expr *row = op2(x, LOOP_MUL, k.block, number(x, x->c.rows));
    row = loop_let(&b, "row", op2(x, LOOP_ADD, row, op2(x, LOOP_DIV, k.thread, threads)));
    const struct loop_expr *thread = loop_let(&b, "column", op2(x, LOOP_MOD, k.thread, threads));
    loop_open_if(&b, row, number(x, x->m.n_rows), &some);
    const struct loop_expr *first = loop_let(&some, "first", row_lists_first(&x->lists, row));
    const struct loop_expr *last = loop_let(&some, "last", row_lists_last(&x->lists, row));
    struct loop_builder any;
    loop_open_if(&some, first, last, &any);
    x->own = loop_register_of(x->l->program, arena_printf(a, "%s_row", x->lists.name), x->c.items,
                              x->c.vec, loop_arithmetic(x->l->buffer[x->m.table]->dtype));
    load_row(x, &any, thread, row);
    struct loop_for f = {"k", first, last, 1, false};
    const struct loop_expr *at = loop_open_for(&any, &f, &each);
    store_row(x, &each, thread, loop_let(&each, "q", row_lists_source(&x->lists, at)));
    loop_close(&any, &each);
    loop_close(&some, &any);
    loop_close(&b, &some);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l};
    (void)f;
    map_find_rows(l->region, &x.m);
    x.c = read_choice(&x.m, stage);
    x.n_index = map_build_rows_space(l, &x.m);
    x.lists = (struct row_lists){.l = l,
                                 .name = l->region->graph->nodes[x.m.take].name,
                                 .n_sources = x.m.n_sources,
                                 .n_rows = x.m.n_rows,
                                 .row_of = asked_row,
                                 .ctx = &x};
    row_lists_build(&x.lists, false);
    lower_rows(&x, arena_printf(l->arena, "%s_map", stage->values[0]));
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct map_rows m;
    struct region_work w;
    map_find_rows(f->region, &m);
    region_count(f->region, &w);
    struct choice c = read_choice(&m, s);
    double asked = 1 - exp(-(double)m.n_sources / (double)m.n_rows);
    const struct node *table = &f->region->graph->nodes[m.table];
    double table_bytes = (double)dtype_size(table->dtype, shape_count(&table->shape));
    // Rows go to places far from each other, and lists are made first.
    struct gpu_traffic traffic = {
        .bytes = 1.1 * (w.bytes_read - (1 - asked) * table_bytes + w.bytes_written) +
                 32.0 * (double)m.n_sources,
        .blocks = (double)m.n_rows / c.rows,
        .threads = c.threads * c.rows,
        .in_flight = 4.0 * c.vec * (double)c.items};
    return gpu_estimate_traffic(t, &traffic) + 1e-5;
}

const struct emitter map_gathered = {
    .name = "rows",
    .summary = "rows that indices ask for, each read once",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
