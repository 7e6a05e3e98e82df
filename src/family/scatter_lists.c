// Sums over posting lists on a GPU: the scores of one query in shared memory, a range of documents
// to a block.
//
// A block goes through all lists that its query names and adds what falls into its range; documents
// of a list are in no order and may be there several times. All postings are read as often as there
// are ranges, mostly from the L2 cache, but scores are written once and whole. Additions to global
// memory would read each posting once; they end in the L2 cache one by one, and scores of many
// queries do not fit it.
//
// Two ways to add. `atomic`: each thread takes postings of its own and adds where it likes, in any
// order, so the problem must say `order any`. `ordered`: a warp owns a part of the range, looks at
// every posting of every list, and its threads add one after the other: the same bits at every
// call.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/scatter_form.h"

static const int block_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int ranges_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -1};
static const int items_grid[] = {1, 2, 4, 8, -1};
static const char *const add_words[] = {"ordered", "atomic", NULL};

static const struct knob knobs[] = {
    {.name = "block", .summary = "threads of a block", .n_parts = 1, .grid = {block_grid}},
    {.name = "ranges",
     .summary = "ranges of documents, a block for each",
     .n_parts = 1,
     .grid = {ranges_grid}},
    {.name = "items",
     .summary = "postings of a thread that are loaded at once",
     .n_parts = 1,
     .grid = {items_grid}},
    {.name = "add",
     .change = CHANGE_COMBINE,
     .summary = "in the order of postings, or in any",
     .words = add_words},
    {0},
};

struct build {
    struct lowering *l;
    const struct scatter_form *f;
    const struct node *node;
    int block, ranges, items;
    bool is_atomic;
    int64_t range;  // documents of a block
    int64_t own;    // of those that one thread may add to: the block's, or its warp's
    int entry;      // axes of the space: the query's entry, then the list, then the posting
    const struct loop_expr *thread, *begin, *first;  // documents of the block begin, of the warp
    struct loop_buffer *sums;                        // shared
    struct loop_buffer *row, *takes, *value;         // of each item
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *item_of(const struct build *x, const struct loop_buffer *b,
                                       const struct loop_expr *i) {
    return loop_load(x->l->arena, b, i, 1, 1);
}

static void sizes(struct build *x, const struct kernel_stage *s) {
    x->block = stage_number(s, "block", 0);
    x->ranges = stage_number(s, "ranges", 0);
    x->items = stage_number(s, "items", 0);
    x->is_atomic = stage_word_is(s, "add", "atomic");
    x->range = (x->f->n_rows + x->ranges - 1) / x->ranges;
    x->own = x->range;
    if (!x->is_atomic) {  // the same for each warp
        int warps = x->block / GPU_WARP;
        x->own = (x->range + warps - 1) / warps;
        x->range = x->own * warps;
    }
}

// Every axis by itself: the result's, and the three that lists are walked by.
static void build_space(struct build *x) {
    struct space *s = &x->l->space;
    *s = (struct space){0};
    for (int i = 0; i < x->node->shape.rank; i++)
        space_add(s, point_size(x->l, &x->node->shape, i));
    x->entry = space_add(s, (struct loop_size){x->f->n_entries, NULL});
    space_add(s, (struct loop_size){x->f->n_lists, NULL});
    space_add(s, (struct loop_size){x->f->n_sources, NULL});
    space_finish(x->l->arena, s);
}

static void fix(const struct build *x, struct scope *s, int axis, const struct loop_expr *e) {
    s->index[x->l->space.group[axis]] = e;
}

static const struct loop_expr *convert(const struct build *x, const struct loop_expr *e,
                                       enum loop_dtype t) {
    return e->dtype == t ? e : loop_cast(x->l->arena, e, t);
}

// What the query's entry has: a list's number, a factor.
static const struct loop_expr *of_entry(const struct build *x, struct scope *s, int arg) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(x->node->shape.rank);
    map_set(&map, &r->graph->nodes[x->node->arg[arg]].shape, x->f->axis,
            index_axis(r->arena, x->entry, x->f->n_entries));
    return point_value(s, x->node->arg[arg], &map);
}

// An element of a list of numbers, at axis `axis` of the scope and `shift` further.
static const struct loop_expr *element(const struct build *x, struct scope *s, int arg, int axis,
                                       int64_t shift) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(0);
    const struct index *at = index_axis(r->arena, axis, x->l->space.size[axis].value);
    map_set(&map, &r->graph->nodes[x->node->arg[arg]].shape, 0, index_shift(r->arena, at, shift));
    return point_value(s, x->node->arg[arg], &map);
}

static const struct loop_expr *as_index(const struct build *x, struct scope *s, const char *name,
                                        const struct loop_expr *e, int64_t high) {
    e = loop_to_index(x->l->arena, convert(x, e, LOOP_I64), 0, high);
    return loop_let(s->builder, name, e);
}

// Postings that are loaded at once: item `i` of the thread is posting at + lane + i * step.
struct posting_batch {
    const struct loop_expr *at, *lane, *last, *factor;
    int64_t step;
};

static const struct loop_expr *posting(const struct build *x, const struct posting_batch *t,
                                       const struct loop_expr *i) {
    return op2(x, LOOP_ADD, op2(x, LOOP_ADD, t->at, op2(x, LOOP_MUL, i, number(x, t->step))),
               t->lane);
}

// Which documents they are: -1 where there is no posting.
static void load_rows(struct build *x, struct scope *outer, const struct posting_batch *t) {
    struct arena *a = x->l->arena;
    struct loop_builder b, c;
    struct loop_for f = {"item", number(x, 0), number(x, x->items), 1, true};
    const struct loop_expr *i = loop_open_for(outer->builder, &f, &b);
    const struct loop_expr *p = loop_let(&b, "p", posting(x, t, i));
    loop_store(&b, x->row, i, loop_whole(a, LOOP_I32, -1), false);
    loop_open_if(&b, p, t->last, &c);
    struct scope s = scope_inside(outer, &c);
    fix(x, &s, x->entry + 2, p);
    const struct loop_expr *doc = element(x, &s, 0, x->entry + 2, 0);
    loop_store(&c, x->row, i, convert(x, doc, LOOP_I32), false);
    loop_close(&b, &c);
    loop_close(outer->builder, &b);
}

// Whether each is of the thread's own documents, and then what it adds.
static void load_values(struct build *x, struct scope *outer, const struct posting_batch *t) {
    struct arena *a = x->l->arena;
    struct loop_builder b, c;
    struct loop_for f = {"item", number(x, 0), number(x, x->items), 1, true};
    const struct loop_expr *i = loop_open_for(outer->builder, &f, &b);
    const struct loop_expr *row = item_of(x, x->row, i);
    const struct loop_expr *begin = loop_cast(a, x->first, LOOP_I32);
    const struct loop_expr *end =
        loop_cast(a, op2(x, LOOP_ADD, x->first, number(x, x->own)), LOOP_I32);
    const struct loop_expr *is_own =
        op2(x, LOOP_AND, op2(x, LOOP_LE, begin, row), op2(x, LOOP_LT, row, end));
    const struct loop_expr *one = loop_whole(a, LOOP_I32, 1), *zero = loop_whole(a, LOOP_I32, 0);
    loop_store(&b, x->takes, i, loop_ternary(a, LOOP_SELECT, is_own, one, zero), false);
    if (!x->is_atomic)  // the others of the warp come along
        loop_store(&b, x->value, i, loop_number(a, LOOP_F32, 0), false);
    loop_open_if(&b, number(x, 0), loop_to_index(a, item_of(x, x->takes, i), 0, 1), &c);
    struct scope s = scope_inside(outer, &c);
    // Those beyond the end are nobody's own.
    fix(x, &s, x->entry + 2, loop_let(&c, "p", posting(x, t, i)));
    const struct loop_expr *weight = convert(x, element(x, &s, 1, x->entry + 2, 0), LOOP_F32);
    loop_store(&c, x->value, i, op2(x, LOOP_MUL, t->factor, weight), false);
    loop_close(&b, &c);
    loop_close(outer->builder, &b);
}

static void add_values(struct build *x, struct loop_builder *outer) {
    struct arena *a = x->l->arena;
    struct loop_builder b, c;
    struct loop_for f = {"item", number(x, 0), number(x, x->items), 1, true};
    const struct loop_expr *i = loop_open_for(outer, &f, &b);
    const struct loop_expr *takes = loop_to_index(a, item_of(x, x->takes, i), 0, 1);
    const struct loop_expr *at =
        op2(x, LOOP_SUB, item_of(x, x->row, i), loop_cast(a, x->begin, LOOP_I32));
    at = loop_let(&b, "at", loop_to_index(a, at, 0, x->range - 1));
    if (x->is_atomic) {
        loop_open_if(&b, number(x, 0), takes, &c);
        loop_intrinsic(&c, INTRINSIC_ADD, (struct loop_operand[]){{x->sums, at}, {x->value, i}});
        loop_close(&b, &c);
    } else {
        takes = loop_let(&b, "takes", takes);
        loop_intrinsic(&b, INTRINSIC_ADD_IN_ORDER,
                       (struct loop_operand[]){{x->sums, at}, {x->value, i}, {NULL, takes}});
    }
    loop_close(outer, &b);
}

// One list of the query: `s` has its entry.
static void add_list(struct build *x, struct scope *s) {
    const struct loop_expr *list = as_index(x, s, "list", of_entry(x, s, 3), x->f->n_lists - 1);
    fix(x, s, x->entry + 1, list);
    int64_t most = x->f->n_sources;
    const struct loop_expr *first =
        as_index(x, s, "first", element(x, s, 2, x->entry + 1, 0), most);
    const struct loop_expr *last = as_index(x, s, "last", element(x, s, 2, x->entry + 1, 1), most);
    struct posting_batch t = {.last = last, .step = x->is_atomic ? x->block : GPU_WARP};
    t.lane = op2(x, LOOP_MOD, x->thread, number(x, t.step));
    t.factor = loop_let(s->builder, "factor", convert(x, of_entry(x, s, 4), LOOP_F32));
    struct loop_builder b;
    // Whole warps come along to the end.
    struct loop_for f = {"at", first, last, t.step * x->items, false};
    t.at = loop_open_for(s->builder, &f, &b);
    struct scope inside = scope_inside(s, &b);
    load_rows(x, &inside, &t);
    load_values(x, &inside, &t);
    add_values(x, &b);
    loop_close(s->builder, &b);
}

// A loop in which the block's threads take turns at its documents; `i` is among the block's.
static const struct loop_expr *open_documents(const struct build *x, struct loop_builder *b,
                                              struct loop_builder *inner) {
    struct loop_for f = {"i", x->thread, number(x, x->range), x->block, false};
    return loop_open_for(b, &f, inner);
}

static void store_results(struct build *x, struct scope *outer) {
    const struct region *r = x->l->region;
    struct axis_map own = map_identity(x->node->shape.rank);
    struct loop_builder b, inside;
    const struct loop_expr *i = open_documents(x, outer->builder, &b);
    const struct loop_expr *doc = loop_let(&b, "doc", op2(x, LOOP_ADD, x->begin, i));
    loop_open_if(&b, doc, number(x, x->f->n_rows), &inside);
    struct scope s = scope_inside(outer, &inside);
    fix(x, &s, x->f->axis, doc);
    const struct loop_expr *sum = loop_load(x->l->arena, x->sums, i, 1, 1);
    point_define(&s, x->f->anchor, &own, loop_let(&inside, x->node->name, sum));
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &own, false);
    loop_close(&b, &inside);
    loop_close(outer->builder, &b);
}

// The block's query and its range of documents.
static void place(struct build *x, struct scope *s, const struct loop_expr *block) {
    const struct shape *shape = &x->node->shape;
    const struct loop_expr *rest =
        loop_let(s->builder, "query", op2(x, LOOP_DIV, block, number(x, x->ranges)));
    const struct loop_expr *range = op2(x, LOOP_MOD, block, number(x, x->ranges));
    x->begin = loop_let(s->builder, "begin", op2(x, LOOP_MUL, range, number(x, x->range)));
    x->first = x->begin;
    if (!x->is_atomic) {
        const struct loop_expr *warp = op2(x, LOOP_DIV, x->thread, number(x, GPU_WARP));
        warp = op2(x, LOOP_MUL, warp, number(x, x->own));
        x->first = loop_let(s->builder, "first", op2(x, LOOP_ADD, x->begin, warp));
    }
    for (int i = x->f->axis - 1; i >= 0; i--) {
        const struct loop_expr *size = number(x, shape->size[i]);
        fix(x, s, i, loop_let(s->builder, "i", op2(x, LOOP_MOD, rest, size)));
        rest = op2(x, LOOP_DIV, rest, size);
    }
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct build x = {.l = l, .f = form->scatter};
    x.node = &l->region->graph->nodes[x.f->anchor];
    sizes(&x, stage);
    build_space(&x);
    struct loop_builder b, c;
    int64_t grid = x.f->n_results / x.f->n_rows * x.ranges;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(l->arena, "%s_lists", stage->values[0]),
                                          number(&x, grid), x.block, &b);
    struct scope s = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    struct loop_size size = {x.range, NULL};
    x.thread = k.thread;
    x.sums = loop_shared_of(l->program, arena_printf(l->arena, "%s_sums", x.node->name), DTYPE_F32,
                            &size, 1);
    x.row = loop_register_of(l->program, "row", x.items, 1, LOOP_I32);
    x.takes = loop_register_of(l->program, "takes", x.items, 1, LOOP_I32);
    x.value = loop_register_of(l->program, "value", x.items, 1, LOOP_F32);
    place(&x, &s, k.block);
    const struct loop_expr *i = open_documents(&x, &b, &c);
    loop_store(&c, x.sums, i, loop_number(l->arena, LOOP_F32, 0), false);
    loop_close(&b, &c);
    loop_barrier(&b);
    struct loop_for f = {"q", number(&x, 0), number(&x, x.f->n_entries), 1, false};
    const struct loop_expr *q = loop_open_for(&b, &f, &c);
    struct scope entry = scope_inside(&s, &c);
    fix(&x, &entry, x.entry, q);
    add_list(&x, &entry);
    loop_close(&b, &c);
    loop_barrier(&b);
    store_results(&x, &s);
}

static bool accepts(const struct form *form, const struct target *t, struct objection *why) {
    const struct scatter_form *f = form->scatter;
    (void)t;
    if (!f->is_lists)
        return objection(why, NULL,
                         "scatter as lists takes sums over posting lists alone; sums of "
                         "rows are `scatter as simt`");
    if (loop_arithmetic(f->region->graph->nodes[f->anchor].dtype) != LOOP_F32)
        return objection(why, NULL, "scatter as lists adds up in f32");
    return f->n_rows < INT32_MAX || objection(why, NULL, "scatter counts documents with 32 bits");
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    const struct scatter_form *f = form->scatter;
    bool is_atomic = f->region->problem->order_any;
    int64_t room = t->shared_per_block - 1024;
    int ranges = 1;
    while (ranges < 1024 && 4 * ((f->n_rows + ranges - 1) / ranges + GPU_BLOCK_MAX) > room)
        ranges *= 2;
    stage_set(s, "block", 0, 1024);
    stage_set(s, "ranges", 0, ranges);
    stage_set(s, "items", 0, 4);
    stage_set_word(s, "add", is_atomic ? "atomic" : "ordered");
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct build x = {.f = form->scatter};
    sizes(&x, s);
    if (x.is_atomic && !form->region->problem->order_any)
        return objection(why, "add",
                         "add atomic adds in another order at every call, and the problem does not "
                         "say 'order any': the nearest is add ordered");
    if (x.ranges > x.f->n_rows)
        return objection(why, "ranges", "%d ranges of %lld documents: the nearest is ranges 1",
                         x.ranges, (long long)x.f->n_rows);
    return gpu_legal_shared(t, "ranges", 4 * x.range, "twice as many ranges", why) &&
           gpu_legal_grid("ranges", x.f->n_results / x.f->n_rows * x.ranges, why);
}

// How long lists are, nobody knows: as long as they are on average.
static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    struct build x = {.f = form->scatter};
    struct region_work w;
    sizes(&x, s);
    region_count(form->region, &w);
    double queries = (double)(x.f->n_results / x.f->n_rows);
    double postings = queries * (double)x.f->n_entries * (double)x.f->n_sources /
                      (double)(x.f->n_lists > 0 ? x.f->n_lists : 1);
    double looks = postings * x.ranges * (x.is_atomic ? 1 : (double)x.block / GPU_WARP);
    double blocks = (double)(t->shared_per_sm / (4 * x.range + 1024));
    blocks = blocks * x.block > t->threads_per_sm ? (double)t->threads_per_sm / x.block : blocks;
    double busy = (blocks < 1 ? 1 : blocks) * x.block / t->threads_per_sm;
    struct gpu_traffic traffic = {.bytes = w.bytes_read + w.bytes_written,
                                  .blocks = queries * x.ranges,
                                  .threads = x.block,
                                  .in_flight = 4.0 * x.items};
    return gpu_estimate_traffic(t, &traffic) +
           looks * 24 / (0.25 * gpu_flops_per_s(t) * (0.25 + 0.75 * busy)) * (1 + 1.0 / x.items);
}

const struct emitter scatter_lists = {
    .name = "lists",
    .summary = "sums over posting lists, a range of a query's results in shared memory",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
