// A scattered sum of rows on a GPU, where atomics order nothing: sources are put into lists of the
// rows that they go to, each first to last (row_lists.h), and then every row adds up its own. So
// results do not depend on who comes first, and what is scattered is read once.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/nest_walk.h"
#include "family/row_lists.h"
#include "family/scatter_form.h"

static const int block_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int vec_grid[] = {1, 2, 4, 8, -1};
static const int ahead_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    {.name = "block", .summary = "threads of a block", .n_parts = 1, .grid = {block_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "ahead",
     .summary = "sources that are loaded before the first is added",
     .n_parts = 1,
     .grid = {ahead_grid}},
    {0},
};

struct build {
    struct lowering *l;
    const struct scatter_form *f;
    const struct node *node;
    int sources;  // the axis of the space
    int vec, ahead;
    enum loop_dtype type;
    struct row_lists lists;
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

// The row that source `q` goes to.
static const struct loop_expr *target(void *ctx, struct loop_builder *b,
                                      const struct loop_expr *q) {
    const struct build *x = ctx;
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

static const struct loop_expr *argument(const struct build *x, struct scope *s, int arg) {
    struct axis_map map = scatter_map(x->l->region, x->f, arg);
    const struct loop_expr *e = point_value(s, x->node->arg[arg], &map);
    e = e->dtype == x->type ? e : loop_cast(x->l->arena, e, x->type);
    return x->vec > 1 ? loop_broadcast(x->l->arena, e, x->vec) : e;
}

// The terms of sources k to k + ahead - 1; behind the last one it is that again.
static void load_terms(const struct build *x, struct scope *row, struct loop_builder *b,
                       const struct loop_buffer *terms, const struct loop_expr *k,
                       const struct loop_expr *last) {
    struct loop_builder c;
    struct loop_for f = {"j", number(x, 0), number(x, x->ahead), 1, true};
    const struct loop_expr *j = loop_open_for(b, &f, &c);
    struct scope s = scope_inside(row, &c);
    s.lanes = row->lanes;
    s.lane_group = row->lane_group;
    const struct loop_expr *at = op2(x, LOOP_ADD, k, j);
    if (x->ahead > 1)
        at = op2(x, LOOP_MIN, at, op2(x, LOOP_SUB, last, number(x, 1)));
    s.index[x->l->space.group[x->sources]] = loop_let(&c, "q", row_lists_source(&x->lists, at));
    loop_store(&c, terms, j, argument(x, &s, 2), false);
    loop_close(b, &c);
}

static void add_terms(const struct build *x, struct loop_builder *b, const struct loop_buffer *sum,
                      const struct loop_buffer *terms, const struct loop_expr *k,
                      const struct loop_expr *last) {
    struct arena *a = x->l->arena;
    struct loop_builder c, some;
    struct loop_for f = {"j", number(x, 0), number(x, x->ahead), 1, true};
    const struct loop_expr *j = loop_open_for(b, &f, &c);
    loop_open_if(&c, op2(x, LOOP_ADD, k, j), last, &some);
    const struct loop_expr *more = op2(x, LOOP_ADD, loop_load(a, sum, number(x, 0), x->vec, 1),
                                       loop_load(a, terms, j, x->vec, 1));
    loop_store(&some, sum, number(x, 0), more, false);
    loop_close(&c, &some);
    loop_close(b, &c);
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
    struct loop_buffer *terms = loop_register_of(x->l->program, "terms", x->ahead, x->vec, x->type);
    loop_store(b, sum, number(x, 0), argument(x, &s, 0), false);
    const struct loop_expr *last = loop_let(b, "last", row_lists_last(&x->lists, row));
    struct loop_for f = {"k", loop_let(b, "first", row_lists_first(&x->lists, row)), last, x->ahead,
                         false};
    struct loop_builder c;
    const struct loop_expr *k = loop_open_for(b, &f, &c);
    load_terms(x, &s, &c, terms, k, last);
    add_terms(x, &c, sum, terms, k, last);
    loop_close(b, &c);
    point_define(&s, x->f->anchor, &own, loop_load(a, sum, number(x, 0), x->vec, 1));
    for (int i = 0; i < x->l->region->n_values; i++)
        point_store(&s, i, &own, false);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct build x = {.l = l, .f = form->scatter};
    x.node = &l->region->graph->nodes[x.f->anchor];
    x.type = loop_arithmetic(x.node->dtype);
    x.vec = stage_number(stage, "vec", 0);
    x.ahead = stage_number(stage, "ahead", 0);
    x.sources = scatter_build_space(l, x.f);
    x.lists = (struct row_lists){.l = l,
                                 .name = x.node->name,
                                 .n_sources = x.f->n_sources,
                                 .n_rows = x.f->n_rows,
                                 .row_of = target,
                                 .ctx = &x};
    row_lists_build(&x.lists, true);
    struct nest_threads t = {.is_gpu = true, .per_block = stage_number(stage, "block", 0)};
    nest_kernel(l, arena_printf(l->arena, "%s_sums", stage->values[0]), &t,
                number(&x, x.f->n_results / x.vec), sum_row, &x);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    const struct scatter_form *f = form->scatter;
    int vec = gpu_largest_vec(form->lanes);
    (void)t;
    // 16 bytes at once, of elements that have 16 bits too.
    bool is_narrow = dtype_infos[f->region->graph->nodes[f->anchor].dtype].bits == 16;
    if (is_narrow && form->lanes % 8 == 0)
        vec = 8;
    stage_set(s, "block", 0, 256);
    stage_set(s, "vec", 0, vec);
    stage_set(s, "ahead", 0, 4);
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
    const struct scatter_form *f = form->scatter;
    int vec = stage_number(s, "vec", 0), block = stage_number(s, "block", 0);
    if (form->lanes % vec != 0)
        return objection(why, "vec",
                         "vec %d needs rows of a multiple of %d elements, and %lld go together: "
                         "the nearest is vec %d",
                         vec, vec, (long long)form->lanes, gpu_largest_vec(form->lanes));
    if (f->n_sources >= INT32_MAX || f->n_rows >= INT32_MAX)
        return objection(why, NULL, "scatter counts with 32 bits, and there are %lld rows",
                         (long long)(f->n_sources > f->n_rows ? f->n_sources : f->n_rows));
    struct gpu_demand demand = {"ahead", block, (int64_t)(stage_number(s, "ahead", 0) + 1) * vec,
                                "ahead 1"};
    return gpu_legal_registers(t, &demand, why) &&
           gpu_legal_grid("block", f->n_results / vec / block + 1, why);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct scatter_form *f = form->scatter;
    struct region_work w;
    region_count(form->region, &w);
    int block = stage_number(s, "block", 0), vec = stage_number(s, "vec", 0);
    // As many of a list's sources under way as it has, on the average.
    double each = (double)f->n_sources / (double)f->n_rows, ahead = stage_number(s, "ahead", 0);
    struct gpu_traffic traffic = {
        // Indices are read by every kernel of the lists, which write 4 bytes each.
        .bytes = w.bytes_read + w.bytes_written + 40.0 * (double)f->n_sources,
        .blocks = (double)f->n_results / vec / block,
        .threads = block,
        .in_flight = 4.0 * vec * (1 + (each < ahead ? each : ahead)),
    };
    return gpu_estimate_traffic(t, &traffic) + 1.2e-5;
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
