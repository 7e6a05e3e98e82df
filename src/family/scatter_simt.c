// A scattered sum of rows on a GPU, without atomics: sources are put in the order of the rows that
// they go to, each row's first to last, and then every row adds up its own. So results do not
// depend on who comes first, and what is scattered is read once.
//
// The order is found by ranges of rows and pieces of the indices. A thread for each pair counts how
// many of the piece go to the range; threads of a warp have neighbouring ranges and the same piece,
// so they read the same index at once. From the counts follows where each pair's sources begin,
// another look at the indices puts them there, and a thread for each row finds its own in its
// range. All of that is small as long as rows are long.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/nest_walk.h"
#include "family/scatter_form.h"

static const int block_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int vec_grid[] = {1, 2, 4, 8, -1};
static const int rows_grid[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, -1};
static const int piece_grid[] = {256, 512, 1024, 2048, 4096, 8192, -1};

static const struct knob knobs[] = {
    {.name = "block", .summary = "threads of a block", .n_parts = 1, .grid = {block_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "rows", .summary = "rows of the result in a range", .n_parts = 1, .grid = {rows_grid}},
    {.name = "piece",
     .summary = "indices that a thread looks through",
     .n_parts = 1,
     .grid = {piece_grid}},
    {0},
};

// Ranges whose counts are added up together, so that nobody adds up many.
enum { GROUP = 32, SMALL_BLOCK = 128 };

struct build {
    struct lowering *l;
    const struct scatter_form *f;
    const struct node *node;
    int sources;  // the axis of the space
    int vec;
    int64_t rows, piece, n_ranges, n_pieces, n_groups;
    enum loop_dtype type;
    // Per range and piece; per range; per group of ranges; where pairs and ranges begin and end.
    struct loop_buffer *counts, *totals, *groups, *begins, *range_end;
    struct loop_buffer *source, *row;  // by ranges, each in its own order
    struct loop_buffer *order;         // sources by rows
    struct loop_buffer *first, *last;  // per row: of its sources in `order`
};

static int64_t divided(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

// An element of a list of numbers below `limit`, as an index.
static const struct loop_expr *at(const struct build *x, const struct loop_buffer *b,
                                  const struct loop_expr *i, int64_t limit) {
    return loop_to_index(x->l->arena, loop_load(x->l->arena, b, i, 1, 1), 0, limit);
}

static const struct loop_expr *held(const struct build *x, const struct loop_buffer *b) {
    return loop_load(x->l->arena, b, number(x, 0), 1, 1);
}

static void hold(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                 const struct loop_expr *e) {
    loop_store(b, to, number(x, 0), e, false);
}

static struct loop_buffer *counter(const struct build *x, const char *name) {
    return loop_register_of(x->l->program, name, 1, 1, LOOP_I32);
}

static const struct loop_expr *whole(const struct build *x, const struct loop_expr *index) {
    return loop_cast(x->l->arena, index, LOOP_I32);
}

// `n` of a counter and one more.
static const struct loop_expr *more(const struct build *x, const struct loop_buffer *n) {
    return op2(x, LOOP_ADD, held(x, n), loop_whole(x->l->arena, LOOP_I32, 1));
}

// ---- the order

// The row that source `q` goes to.
static const struct loop_expr *target(const struct build *x, struct loop_builder *b,
                                      const struct loop_expr *q) {
    struct scope s = {.lowering = x->l, .builder = b, .lane_group = -1, .lanes = 1};
    struct axis_map map = scatter_map(x->l->region, x->f, 1);
    for (int g = 0; g < x->l->space.n_groups; g++)
        s.index[g] = number(x, 0);
    s.index[x->l->space.group[x->sources]] = q;
    const struct loop_expr *e = point_value(&s, x->node->arg[1], &map);
    if (e->dtype != LOOP_I64)
        e = loop_cast(x->l->arena, e, LOOP_I64);
    return loop_let(b, "row", loop_to_index(x->l->arena, e, 0, x->f->n_rows - 1));
}

struct pair {
    const struct loop_expr *range, *piece, *number;
};

static struct pair pair_of(const struct build *x, struct loop_builder *b,
                           const struct loop_expr *item) {
    struct pair p;
    p.range = loop_let(b, "range", op2(x, LOOP_MOD, item, number(x, x->n_ranges)));
    p.piece = loop_let(b, "piece", op2(x, LOOP_DIV, item, number(x, x->n_ranges)));
    p.number = op2(x, LOOP_ADD, op2(x, LOOP_MUL, p.range, number(x, x->n_pieces)), p.piece);
    return p;
}

// Open a loop over the indices of a piece that go to the range; `c` adds to what is done for each.
static const struct loop_expr *open_own(const struct build *x, struct loop_builder *b,
                                        const struct pair *p, struct loop_builder in[3],
                                        const struct loop_expr **row) {
    const struct loop_expr *begin = op2(x, LOOP_MUL, p->piece, number(x, x->piece));
    const struct loop_expr *end =
        op2(x, LOOP_MIN, number(x, x->f->n_sources), op2(x, LOOP_ADD, begin, number(x, x->piece)));
    struct loop_for f = {"q", begin, end, 1, false};
    const struct loop_expr *q = loop_open_for(b, &f, &in[0]);
    *row = target(x, &in[0], q);
    const struct loop_expr *range = op2(x, LOOP_DIV, *row, number(x, x->rows));
    range = loop_let(&in[0], "to", range);
    loop_open_if(&in[0], range, op2(x, LOOP_ADD, p->range, number(x, 1)), &in[1]);
    loop_open_if(&in[1], op2(x, LOOP_SUB, p->range, number(x, 1)), range, &in[2]);
    return q;
}

static void close_own(struct loop_builder *b, struct loop_builder in[3]) {
    loop_close(&in[1], &in[2]);
    loop_close(&in[0], &in[1]);
    loop_close(b, &in[0]);
}

static void count_pair(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct build *x = ctx;
    struct pair p = pair_of(x, b, item);
    struct loop_builder in[3];
    const struct loop_expr *row;
    struct loop_buffer *n = counter(x, "n");
    hold(x, b, n, loop_whole(x->l->arena, LOOP_I32, 0));
    open_own(x, b, &p, in, &row);
    hold(x, &in[2], n, more(x, n));
    close_own(b, in);
    loop_store(b, x->counts, p.number, held(x, n), false);
}

// The sum of elements [begin, end) of `from`, onto what `n` has.
static void add_up(const struct build *x, struct loop_builder *b, const struct loop_buffer *n,
                   const struct loop_buffer *from, const struct loop_expr *begin,
                   const struct loop_expr *end) {
    struct loop_builder c;
    struct loop_for f = {"k", begin, end, 1, false};
    const struct loop_expr *k = loop_open_for(b, &f, &c);
    hold(x, &c, n, op2(x, LOOP_ADD, held(x, n), loop_load(x->l->arena, from, k, 1, 1)));
    loop_close(b, &c);
}

// The sum of part `item` of a list that has parts of `each`.
static void total_of(const struct build *x, struct loop_builder *b, const struct loop_expr *item,
                     int64_t each, const struct loop_buffer *from, const struct loop_buffer *to) {
    struct loop_buffer *n = counter(x, "total");
    const struct loop_expr *begin = op2(x, LOOP_MUL, item, number(x, each));
    const struct loop_expr *end = op2(x, LOOP_ADD, begin, number(x, each));
    hold(x, b, n, loop_whole(x->l->arena, LOOP_I32, 0));
    if (from->count % each)
        end = op2(x, LOOP_MIN, end, number(x, from->count));
    add_up(x, b, n, from, begin, end);
    loop_store(b, to, item, held(x, n), false);
}

static void total_range(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct build *x = ctx;
    total_of(x, b, item, x->n_pieces, x->counts, x->totals);
}

static void total_group(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct build *x = ctx;
    total_of(x, b, item, GROUP, x->totals, x->groups);
}

// Where the pairs of a range begin: behind all groups before its own, and all ranges of that.
static void begin_range(void *ctx, struct loop_builder *b, const struct loop_expr *range) {
    const struct build *x = ctx;
    struct loop_buffer *n = counter(x, "next");
    struct loop_builder c;
    const struct loop_expr *group = loop_let(b, "group", op2(x, LOOP_DIV, range, number(x, GROUP)));
    hold(x, b, n, loop_whole(x->l->arena, LOOP_I32, 0));
    add_up(x, b, n, x->groups, number(x, 0), group);
    add_up(x, b, n, x->totals, op2(x, LOOP_MUL, group, number(x, GROUP)), range);
    struct loop_for f = {"piece", number(x, 0), number(x, x->n_pieces), 1, false};
    const struct loop_expr *piece = loop_open_for(b, &f, &c);
    const struct loop_expr *pair = loop_let(
        &c, "pair", op2(x, LOOP_ADD, op2(x, LOOP_MUL, range, number(x, x->n_pieces)), piece));
    loop_store(&c, x->begins, pair, held(x, n), false);
    hold(x, &c, n, op2(x, LOOP_ADD, held(x, n), loop_load(x->l->arena, x->counts, pair, 1, 1)));
    loop_close(b, &c);
    loop_store(b, x->range_end, range, held(x, n), false);
}

static void place_pair(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct build *x = ctx;
    struct pair p = pair_of(x, b, item);
    struct loop_builder in[3];
    const struct loop_expr *row;
    struct loop_buffer *n = counter(x, "slot");
    hold(x, b, n, loop_load(x->l->arena, x->begins, p.number, 1, 1));
    const struct loop_expr *q = open_own(x, b, &p, in, &row);
    const struct loop_expr *to =
        loop_let(&in[2], "at", loop_to_index(x->l->arena, held(x, n), 0, x->f->n_sources - 1));
    loop_store(&in[2], x->source, to, whole(x, q), false);
    loop_store(&in[2], x->row, to, whole(x, row), false);
    hold(x, &in[2], n, more(x, n));
    close_own(b, in);
}

// One row: how many of its range come before it, and then its own, as they come.
static void order_row(void *ctx, struct loop_builder *b, const struct loop_expr *row) {
    const struct build *x = ctx;
    struct arena *a = x->l->arena;
    const struct loop_expr *range = loop_let(b, "range", op2(x, LOOP_DIV, row, number(x, x->rows)));
    const struct loop_expr *pair = op2(x, LOOP_MUL, range, number(x, x->n_pieces));
    const struct loop_expr *begin = loop_let(b, "begin", at(x, x->begins, pair, x->f->n_sources));
    const struct loop_expr *end = loop_let(b, "end", at(x, x->range_end, range, x->f->n_sources));
    const struct loop_expr *own = loop_let(b, "own", whole(x, row));
    struct loop_buffer *n = counter(x, "filled");
    struct loop_builder c, d, e;
    hold(x, b, n, whole(x, begin));
    struct loop_for before = {"k", begin, end, 1, false};
    const struct loop_expr *k = loop_open_for(b, &before, &c);
    const struct loop_expr *is_before = op2(x, LOOP_LT, loop_load(a, x->row, k, 1, 1), own);
    hold(x, &c, n,
         op2(x, LOOP_ADD, held(x, n),
             loop_ternary(a, LOOP_SELECT, is_before, loop_whole(a, LOOP_I32, 1),
                          loop_whole(a, LOOP_I32, 0))));
    loop_close(b, &c);
    loop_store(b, x->first, row, held(x, n), false);
    k = loop_open_for(b, &before, &c);
    const struct loop_expr *other = loop_let(&c, "other", at(x, x->row, k, x->f->n_rows - 1));
    loop_open_if(&c, other, op2(x, LOOP_ADD, row, number(x, 1)), &d);
    loop_open_if(&d, op2(x, LOOP_SUB, row, number(x, 1)), other, &e);
    const struct loop_expr *to =
        loop_let(&e, "at", loop_to_index(a, held(x, n), 0, x->f->n_sources - 1));
    loop_store(&e, x->order, to, loop_load(a, x->source, k, 1, 1), false);
    hold(x, &e, n, more(x, n));
    loop_close(&d, &e);
    loop_close(&c, &d);
    loop_close(b, &c);
    loop_store(b, x->last, row, held(x, n), false);
}

// ---- the sums

static const struct loop_expr *argument(const struct build *x, struct scope *s, int arg) {
    struct axis_map map = scatter_map(x->l->region, x->f, arg);
    const struct loop_expr *e = point_value(s, x->node->arg[arg], &map);
    e = e->dtype == x->type ? e : loop_cast(x->l->arena, e, x->type);
    return x->vec > 1 ? loop_broadcast(x->l->arena, e, x->vec) : e;
}

static void sum_row(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct build *x = ctx;
    struct arena *a = x->l->arena;
    struct scope s = {.lowering = x->l, .builder = b, .lane_group = -1, .lanes = x->vec};
    struct axis_map own = map_identity(x->node->shape.rank);
    const struct space *space = &x->l->space;
    if (x->vec > 1)
        s.lane_group = space->group[x->node->shape.rank - 1];
    scope_split(&s, op2(x, LOOP_MUL, item, number(x, x->vec)), 0, space->group[x->sources]);
    const struct loop_expr *row = s.index[space->group[x->f->axis]];
    struct loop_buffer *sum = loop_register_of(x->l->program, "sum", 1, x->vec, x->type);
    loop_store(b, sum, number(x, 0), argument(x, &s, 0), false);
    struct loop_for f = {"k", loop_let(b, "first", at(x, x->first, row, x->f->n_sources)),
                         loop_let(b, "last", at(x, x->last, row, x->f->n_sources)), 1, false};
    struct loop_builder c;
    const struct loop_expr *k = loop_open_for(b, &f, &c);
    struct scope inside = scope_inside(&s, &c);
    inside.lanes = s.lanes;
    inside.lane_group = s.lane_group;
    inside.index[space->group[x->sources]] =
        loop_let(&c, "q", at(x, x->order, k, x->f->n_sources - 1));
    const struct loop_expr *term = argument(x, &inside, 2);
    loop_store(&c, sum, number(x, 0),
               op2(x, LOOP_ADD, loop_load(a, sum, number(x, 0), x->vec, 1), term), false);
    loop_close(b, &c);
    point_define(&s, x->f->anchor, &own, loop_load(a, sum, number(x, 0), x->vec, 1));
    for (int i = 0; i < x->l->region->n_values; i++)
        point_store(&s, i, &own, false);
}

// ---- the whole

static struct loop_buffer *scratch(const struct build *x, const char *what, int64_t count) {
    struct loop_size size = {count, NULL};
    return loop_global_of(x->l->program, arena_printf(x->l->arena, "%s_%s", x->node->name, what),
                          LOOP_SCRATCH, DTYPE_I32, &size, 1);
}

static void sizes(struct build *x, const struct kernel_stage *s) {
    x->rows = stage_number(s, "rows", 0);
    x->piece = stage_number(s, "piece", 0);
    x->vec = stage_number(s, "vec", 0);
    x->n_ranges = divided(x->f->n_rows, x->rows);
    x->n_pieces = divided(x->f->n_sources, x->piece);
    x->n_groups = divided(x->n_ranges, GROUP);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct build x = {.l = l, .f = form->scatter};
    const char *name = stage->values[0];
    x.node = &l->region->graph->nodes[x.f->anchor];
    x.type = loop_arithmetic(x.node->dtype);
    sizes(&x, stage);
    x.sources = scatter_build_space(l, x.f);
    x.counts = scratch(&x, "counts", x.n_ranges * x.n_pieces);
    x.totals = scratch(&x, "totals", x.n_ranges);
    x.groups = scratch(&x, "groups", x.n_groups);
    x.begins = scratch(&x, "begins", x.n_ranges * x.n_pieces);
    x.range_end = scratch(&x, "ends", x.n_ranges);
    x.source = scratch(&x, "sources", x.f->n_sources);
    x.row = scratch(&x, "rows", x.f->n_sources);
    x.order = scratch(&x, "order", x.f->n_sources);
    x.first = scratch(&x, "first", x.f->n_rows);
    x.last = scratch(&x, "last", x.f->n_rows);
    const struct {
        const char *what;
        int64_t count;
        nest_item_fn fn;
    } steps[] = {{"count", x.n_ranges * x.n_pieces, count_pair},
                 {"add", x.n_ranges, total_range},
                 {"join", x.n_groups, total_group},
                 {"begin", x.n_ranges, begin_range},
                 {"place", x.n_ranges * x.n_pieces, place_pair},
                 {"sort", x.f->n_rows, order_row},
                 {"sums", x.f->n_results / x.vec, sum_row}};
    int n = (int)(sizeof steps / sizeof steps[0]);
    for (int i = 0; i < n; i++) {
        int block = i == n - 1 ? stage_number(stage, "block", 0) : SMALL_BLOCK;
        struct nest_threads t = {.is_gpu = true, .per_block = block};
        nest_kernel(l, arena_printf(a, "%s_%s", name, steps[i].what), &t,
                    number(&x, steps[i].count), steps[i].fn, &x);
    }
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    const struct scatter_form *f = form->scatter;
    int rows = 16, vec = gpu_largest_vec(form->lanes);
    (void)t;
    // 16 bytes at once, of elements that have 16 bits too.
    bool is_narrow = dtype_infos[f->region->graph->nodes[f->anchor].dtype].bits == 16;
    if (is_narrow && form->lanes % 8 == 0)
        vec = 8;
    // As many ranges as rows in each: the former look at every index, the latter at those of their
    // range. Short pieces, since a thread goes through one alone (index_add of 262144 rows of 512
    // into 65536 on an H200: 446 us; with 64 rows and pieces of 4096 733 us).
    while (rows < 4096 && (int64_t)rows * rows < f->n_rows)
        rows *= 2;
    stage_set(s, "block", 0, 256);
    stage_set(s, "vec", 0, vec);
    stage_set(s, "rows", 0, rows);
    stage_set(s, "piece", 0, 1024);
}

static bool accepts(const struct form *form, const struct target *t, struct objection *why) {
    (void)t;
    return !form->scatter->is_lists ||
           objection(why, NULL,
                     "scatter as simt takes sums of rows; those over posting lists are "
                     "`scatter as lists`");
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct build x = {.f = form->scatter};
    (void)t;
    sizes(&x, s);
    if (form->lanes % x.vec != 0)
        return objection(why, "vec",
                         "vec %d needs rows of a multiple of %d elements, and %lld go together: "
                         "the nearest is vec %d",
                         x.vec, x.vec, (long long)form->lanes, gpu_largest_vec(form->lanes));
    if (x.f->n_sources >= INT32_MAX || x.n_ranges * x.n_pieces >= INT32_MAX)
        return objection(why, NULL, "scatter counts with 32 bits, and there are %lld rows",
                         (long long)x.f->n_sources);
    return gpu_legal_grid("block", x.f->n_results / x.vec / stage_number(s, "block", 0) + 1, why);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    struct build x = {.f = form->scatter};
    struct region_work w;
    sizes(&x, s);
    region_count(form->region, &w);
    int block = stage_number(s, "block", 0);
    struct gpu_traffic traffic = {
        .bytes = w.bytes_read + w.bytes_written,
        .blocks = (double)x.f->n_results / x.vec / block,
        .threads = block,
        .in_flight = 4.0 * x.vec,
    };
    // Every range looks at every index, twice, and every row at those of its range, twice.
    double looks = 2.0 * (double)x.n_ranges * (double)x.f->n_sources +
                   2.0 * (double)x.f->n_rows * (double)x.f->n_sources / (double)x.n_ranges;
    double chain = 2e-9 * (double)(x.piece + 2 * x.f->n_sources / x.n_ranges);
    return gpu_estimate_traffic(t, &traffic) + looks * 6 / (0.5 * gpu_flops_per_s(t)) + chain +
           2e-5;
}

const struct emitter scatter_simt = {
    .name = "simt",
    .summary = "sums of rows that indices gather, in the order of the indices",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
