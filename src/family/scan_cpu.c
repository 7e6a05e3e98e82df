// A scan on a CPU: memory is read once and written once, as long as a thread has a whole line.
//
// Along (elements of a line are neighbours) vectors are scanned within their lanes, several side by
// side, and what came before is carried in a register. Across (elements of neighbouring lines are
// neighbours) a block takes a strip of lines and walks them side by side, some rows at a time, with
// what came before in local arrays. Either way sums are kept in two parts, of the run of RUN_TERMS
// elements under way and of all runs before it, so that rounding errors of long lines stay small.
//
// Where lines are few, blocks share them: sums of pieces, sums of those before each piece, and then
// the scan, which reads everything again.
#include "base/arena.h"
#include "family/fold.h"
#include "family/knobs.h"
#include "family/prefetch.h"
#include "family/scan_form.h"
#include "family/sweep.h"
#include "ir/detail.h"
#include "loop/range.h"

static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int grain_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, -1};

static const struct knob knobs[] = {
    KNOB_CPU_VEC,
    {.name = "unroll",
     .summary = "vectors per turn, across of as many rows",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "grain", .summary = "lines of a block", .n_parts = 1, .grid = {grain_grid}},
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "pieces of a line",
     .n_parts = 1,
     .grid = {split_grid}},
    KNOB_CPU_STORE,
    {0},
};

enum {
    RUN_TERMS = 1024,
    PIECE_MIN = 4096,
    CARRY_LINES = 256,
    UNROLL_MAX = 8,
    LINE_BYTES = 64,
    AHEAD_WORTH_BYTES = 4 << 20
};

struct build {
    struct lowering *l;
    const struct scan_form *f;
    const struct node *node;
    enum loop_dtype type;
    enum loop_op op;
    int vec, unroll, grain, split;
    bool stream, stores;                   // of the kernel being built: results, or sums alone
    bool asks;                             // for what is read later
    int axis, last;                        // groups: that is walked; the innermost
    int64_t piece;                         // elements
    struct loop_buffer *sums, *carries;    // per piece and line; NULL: lines are whole
    struct loop_buffer *open;              // of the run under way
    struct loop_buffer *before;            // of those before it; NULL: the first run is all
    const struct loop_expr *begin, *line;  // of the strip in the innermost group; along: the line
    const struct loop_expr *part;          // which piece
    const struct loop_expr *row;           // across: the first of a turn, in the order of the scan
    int n_rows;                            // of that turn
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *join(const struct build *x, const struct loop_expr *p,
                                    const struct loop_expr *q) {
    return op2(x, x->op, p, q);
}

static const struct loop_expr *neutral(const struct build *x, int lanes) {
    const struct loop_expr *e = loop_number(x->l->arena, x->type, op_infos[x->node->op].identity);
    return lanes > 1 ? loop_broadcast(x->l->arena, e, lanes) : e;
}

// ---- sums so far: registers along, arrays over the strip across

// Where in the strip the scope stands.
static const struct loop_expr *place(const struct build *x, const struct scope *s) {
    return x->f->is_along ? number(x, 0) : op2(x, LOOP_SUB, s->index[x->last], x->begin);
}

static int width(const struct build *x, const struct scope *s) {
    return x->f->is_along ? 1 : s->lanes;
}

static const struct loop_expr *get(const struct build *x, const struct loop_buffer *b,
                                   const struct scope *s) {
    return loop_load(x->l->arena, b, place(x, s), width(x, s), 1);
}

static void put(const struct build *x, const struct loop_buffer *b, struct scope *s,
                const struct loop_expr *e) {
    loop_store(s->builder, b, place(x, s), e, false);
}

static struct loop_buffer *state(const struct build *x, const char *name) {
    struct loop_size size = {x->grain, NULL};
    if (x->f->is_along)
        return loop_register_of(x->l->program, name, 1, 1, x->type);
    return loop_local_of(x->l->program, name, fold_storage(x->type), &size, 1);
}

// Its element of a list per piece and line.
static const struct loop_expr *piece_index(const struct build *x, const struct scope *s,
                                           const struct loop_expr *part) {
    const struct loop_expr *line = x->line;
    if (!x->f->is_along)
        line = op2(x, LOOP_ADD, op2(x, LOOP_MUL, line, x->l->space.extent[x->last]),
                   s->index[x->last]);
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, part, number(x, x->f->n_lines)), line);
}

// What came before the run and `e` of it.
static const struct loop_expr *total(const struct build *x, const struct scope *s,
                                     const struct loop_expr *e) {
    return x->before ? join(x, get(x, x->before, s), e) : e;
}

// Called for every vector of the strip; along, once.
static void each_place(struct build *x, struct scope *s, sweep_fn fn) {
    if (x->f->is_along) {
        fn(x, s, NULL);
        return;
    }
    struct arena *a = x->l->arena;
    struct sweep w = {.name = "j", .group = x->last, .lanes = x->vec, .unroll = 1};
    w.begin = x->begin;
    w.end = op2(x, LOOP_ADD, x->begin, number(x, x->grain));
    w.end = loop_binary(a, LOOP_MIN, x->l->space.extent[x->last], w.end);
    w.multiple = sweep_multiple(x->l->space.count[x->last], x->grain);
    sweep_build(s, &w, fn, x);
}

static void start_line(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *x = ctx;
    (void)copy;
    const struct loop_expr *e = neutral(x, width(x, s));
    if (x->stores && x->carries)
        e = loop_load(x->l->arena, x->carries, piece_index(x, s, x->part), width(x, s), 1);
    put(x, x->before, s, e);
}

static void start_run(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *x = ctx;
    (void)copy;
    put(x, x->open, s, neutral(x, width(x, s)));
}

static void end_run(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *x = ctx;
    (void)copy;
    put(x, x->before, s, join(x, get(x, x->before, s), get(x, x->open, s)));
}

static void store_sum(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *x = ctx;
    (void)copy;
    loop_store(s->builder, x->sums, piece_index(x, s, x->part), get(x, x->before, s), false);
}

// ---- elements

static const struct loop_expr *argument(const struct build *x, struct scope *s) {
    struct axis_map map = map_identity(x->node->shape.rank);
    const struct loop_expr *e = point_value(s, x->node->arg[0], &map);
    e = e->dtype == x->type ? e : loop_cast(x->l->arena, e, x->type);
    return loop_let(s->builder, "own", s->lanes > 1 ? loop_broadcast(x->l->arena, e, s->lanes) : e);
}

static void store_results(const struct build *x, struct scope *s, const struct loop_expr *e) {
    struct axis_map map = map_identity(x->node->shape.rank);
    point_define(s, x->f->anchor, &map, loop_let(s->builder, x->node->name, e));
    for (int i = 0; i < x->l->region->n_values; i++)
        point_store(s, i, &map, x->stream);
}

// Across: a vector of the strip in each row of a turn, whose sum stays in a register meanwhile.
static void scan_across(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *x = ctx;
    (void)copy;
    const struct loop_expr *sum = loop_let(s->builder, "open", get(x, x->open, s));
    for (int r = 0; r < x->n_rows; r++) {
        struct scope row = scope_inside(s, s->builder);
        row.lane_group = s->lane_group;
        row.lanes = s->lanes;
        const struct loop_expr *p = op2(x, LOOP_ADD, x->row, number(x, r));
        row.index[x->axis] =
            x->node->detail->reverse ? op2(x, LOOP_SUB, number(x, x->f->length - 1), p) : p;
        const struct loop_expr *old = sum, *own = argument(x, &row);
        sum = loop_let(s->builder, "sum", join(x, old, own));
        if (x->stores)
            store_results(x, &row, total(x, s, x->node->detail->exclusive ? old : sum));
    }
    put(x, x->open, s, sum);
}

// Across: rows [begin, end), so many in a turn.
static void scan_rows(struct build *x, struct scope *s, const struct loop_expr *begin,
                      const struct loop_expr *end, int n_rows) {
    struct loop_builder b;
    if (range_at_most(end, begin))
        return;
    struct loop_for f = {"p", begin, end, n_rows, false};
    x->row = loop_open_for(s->builder, &f, &b);
    x->n_rows = n_rows;
    struct scope row = scope_inside(s, &b);
    each_place(x, &row, scan_across);
    loop_close(s->builder, &b);
}

static const struct loop_expr *last_lane(const struct build *x, const struct loop_expr *e) {
    return e->lanes > 1 ? loop_lane(x->l->arena, e, number(x, e->lanes - 1)) : e;
}

// Does an element so many behind the first of a turn begin a line of memory, as they are read?
static bool is_at_line(const struct build *x, int64_t element) {
    enum dtype type = x->l->region->graph->nodes[x->node->arg[0]].dtype;
    return dtype_size(type, element) % LINE_BYTES == 0;
}

// Along: `n` vectors of the line side by side, the first of them at `p` in the order of the scan.
// Each step of the scan within vectors is taken for all of them before the next one: every step
// waits for the one before it, and what waits fills the processor's queues.
static void scan_vectors(struct build *x, struct scope *outer, struct loop_builder *b,
                         const struct loop_expr *p, int lanes, int n) {
    struct arena *a = x->l->arena;
    struct scope at[UNROLL_MAX];
    const struct loop_expr *upto[UNROLL_MAX], *start[UNROLL_MAX], *none = neutral(x, lanes);
    bool turns = x->node->detail->reverse, excludes = x->node->detail->exclusive;
    struct axis_map map = map_identity(x->node->shape.rank);
    for (int k = 0; k < n; k++) {
        const struct loop_expr *place = op2(x, LOOP_ADD, p, number(x, (int64_t)k * lanes));
        at[k] = scope_inside(outer, b);
        at[k].lane_group = x->axis;
        at[k].lanes = lanes;
        at[k].index[x->axis] =
            turns ? op2(x, LOOP_SUB, number(x, x->f->length - lanes), place) : place;
        upto[k] = argument(x, &at[k]);
        if (x->asks && is_at_line(x, k * lanes))
            prefetch_value(&at[k], x->node->arg[0], &map);
        if (turns && lanes > 1)
            upto[k] = loop_let(b, "turned", loop_unary(a, LOOP_LANES_REVERSED, upto[k]));
    }
    for (int run = 1; run < lanes; run *= 2)
        for (int k = 0; k < n; k++) {
            const struct loop_expr *before =
                loop_interleave(a, LOOP_LANES_SLID, none, upto[k], run);
            upto[k] = loop_let(b, "upto", join(x, before, upto[k]));
        }
    for (int k = 0; k < n; k++) {
        start[k] = get(x, x->open, &at[k]);
        if (x->stores)
            start[k] = loop_let(b, "start", start[k]);
        put(x, x->open, &at[k], join(x, start[k], last_lane(x, upto[k])));
    }
    for (int k = 0; k < n && x->stores; k++) {
        const struct loop_expr *e = upto[k];
        if (excludes)
            e = lanes > 1 ? loop_interleave(a, LOOP_LANES_SLID, none, e, 1) : none;
        e = total(x, &at[k], join(x, start[k], e));
        store_results(x, &at[k], turns && lanes > 1 ? loop_unary(a, LOOP_LANES_REVERSED, e) : e);
    }
}

// Along: elements [begin, end), `n` vectors in a turn.
static void scan_turns(struct build *x, struct scope *s, const struct loop_expr *begin,
                       const struct loop_expr *end, int lanes, int n) {
    struct loop_builder b;
    if (range_at_most(end, begin))
        return;
    struct loop_for f = {"p", begin, end, (int64_t)lanes * n, false};
    const struct loop_expr *p = loop_open_for(s->builder, &f, &b);
    scan_vectors(x, s, &b, p, lanes, n);
    loop_close(s->builder, &b);
}

// Where whole multiples of `step` end in [run, end).
static const struct loop_expr *whole(const struct build *x, const struct loop_expr *run,
                                     const struct loop_expr *end, int64_t step) {
    if (sweep_multiple(x->f->length, RUN_TERMS) % step == 0)
        return end;
    const struct loop_expr *n = op2(x, LOOP_DIV, op2(x, LOOP_SUB, end, run), number(x, step));
    return op2(x, LOOP_ADD, run, op2(x, LOOP_MUL, n, number(x, step)));
}

// Elements [run, end) of the order of the scan.
static void scan_run(struct build *x, struct scope *s, const struct loop_expr *run,
                     const struct loop_expr *end) {
    if (x->f->is_along) {
        const struct loop_expr *turns = whole(x, run, end, (int64_t)x->vec * x->unroll);
        const struct loop_expr *vectors = whole(x, run, end, x->vec);
        scan_turns(x, s, run, turns, x->vec, x->unroll);
        if (x->unroll > 1)
            scan_turns(x, s, turns, vectors, x->vec, 1);
        if (x->vec > 1)
            scan_turns(x, s, vectors, end, 1, 1);
        return;
    }
    const struct loop_expr *turns = whole(x, run, end, x->unroll);
    scan_rows(x, s, run, turns, x->unroll);
    if (turns != end)
        scan_rows(x, s, turns, end, 1);
}

static void scan_piece(struct build *x, struct scope *s) {
    const struct loop_expr *first = op2(x, LOOP_MUL, x->part, number(x, x->piece));
    const struct loop_expr *end =
        op2(x, LOOP_MIN, number(x, x->f->length), op2(x, LOOP_ADD, first, number(x, x->piece)));
    struct loop_builder b;
    if (x->before)
        each_place(x, s, start_line);
    struct loop_for f = {"run", first, end, RUN_TERMS, false};
    const struct loop_expr *run = loop_open_for(s->builder, &f, &b);
    struct scope inside = scope_inside(s, &b);
    each_place(x, &inside, start_run);
    const struct loop_expr *run_end = op2(x, LOOP_ADD, run, number(x, RUN_TERMS));
    scan_run(x, &inside, run, op2(x, LOOP_MIN, end, run_end));
    if (x->before)
        each_place(x, &inside, end_run);
    loop_close(s->builder, &b);
    if (!x->stores)
        each_place(x, s, store_sum);
}

// ---- kernels

// Strips that the innermost group falls into; along, lines are dealt out one by one.
static int64_t n_strips(const struct build *x) {
    int64_t count = x->l->space.count[x->last];
    return x->f->is_along ? 1 : (count + x->grain - 1) / x->grain;
}

// Lines, or across rows of them: all groups but the axis and the innermost.
static int64_t n_outer(const struct build *x) {
    return x->f->n_lines / (x->f->is_along ? 1 : x->l->space.count[x->last]);
}

static void fix_outer(const struct build *x, struct scope *s, const struct loop_expr *outer) {
    for (int g = x->l->space.n_groups - 1; g >= 0; g--) {
        if (g == x->axis || (g == x->last && !x->f->is_along))
            continue;
        const struct loop_expr *size = number(x, x->l->space.count[g]);
        s->index[g] = loop_let(s->builder, "i", op2(x, LOOP_MOD, outer, size));
        outer = op2(x, LOOP_DIV, outer, size);
    }
}

// All lines of a block; `item` is a line and a piece of it, or a strip of lines and a piece.
static void lower_lines(struct build *x, const char *name, bool stores) {
    struct arena *a = x->l->arena;
    int64_t each = x->f->is_along ? x->grain : 1;
    const struct loop_expr *count = number(x, n_outer(x) * n_strips(x) * x->split);
    struct loop_builder b, c;
    struct loop_kernel *k = loop_kernel_new(x->l->program, name, loop_ceildiv(a, count, each), &b);
    x->stores = stores;
    x->open = state(x, "open");
    x->before = x->f->length > RUN_TERMS ? state(x, "before") : NULL;
    const struct loop_expr *first = op2(x, LOOP_MUL, loop_ref(a, k->block), number(x, each));
    struct loop_for f = {
        "item", first, op2(x, LOOP_MIN, count, op2(x, LOOP_ADD, first, number(x, each))), 1, false};
    const struct loop_expr *item = loop_open_for(&b, &f, &c);
    struct scope outer = {.lowering = x->l, .builder = &b, .lane_group = -1, .lanes = 1};
    struct scope s = scope_inside(&outer, &c);
    const struct loop_expr *rest = op2(x, LOOP_DIV, item, number(x, x->split));
    x->part = loop_let(&c, "piece", op2(x, LOOP_MOD, item, number(x, x->split)));
    x->line = loop_let(&c, "line", op2(x, LOOP_DIV, rest, number(x, n_strips(x))));
    const struct loop_expr *strip = op2(x, LOOP_MOD, rest, number(x, n_strips(x)));
    x->begin = loop_let(&c, "begin", op2(x, LOOP_MUL, strip, number(x, x->grain)));
    fix_outer(x, &s, x->line);
    scan_piece(x, &s);
    loop_close(&b, &c);
}

// What comes before each piece of a line.
static void lower_carries(struct build *x, const char *name) {
    struct arena *a = x->l->arena;
    const struct loop_expr *count = number(x, x->f->n_lines);
    struct loop_builder b, c, d;
    struct loop_kernel *k =
        loop_kernel_new(x->l->program, name, loop_ceildiv(a, count, CARRY_LINES), &b);
    struct loop_buffer *sum = loop_register_of(x->l->program, "sum", 1, 1, x->type);
    const struct loop_expr *first = op2(x, LOOP_MUL, loop_ref(a, k->block), number(x, CARRY_LINES));
    const struct loop_expr *end = op2(x, LOOP_ADD, first, number(x, CARRY_LINES)),
                           *zero = number(x, 0);
    struct loop_for lines = {"line", first, op2(x, LOOP_MIN, count, end), 1, false};
    const struct loop_expr *line = loop_open_for(&b, &lines, &c);
    loop_store(&c, sum, zero, neutral(x, 1), false);
    struct loop_for pieces = {"piece", zero, number(x, x->split), 1, false};
    const struct loop_expr *piece = loop_open_for(&c, &pieces, &d);
    const struct loop_expr *at = op2(x, LOOP_ADD, op2(x, LOOP_MUL, piece, count), line);
    const struct loop_expr *so_far = loop_load(a, sum, zero, 1, 1);
    loop_store(&d, x->carries, at, so_far, false);
    loop_store(&d, sum, zero, join(x, so_far, loop_load(a, x->sums, at, 1, 1)), false);
    loop_close(&c, &d);
    loop_close(&b, &c);
}

static struct loop_buffer *scratch(const struct build *x, const char *what) {
    struct loop_size size[] = {{x->split, NULL}, {x->f->n_lines, NULL}};
    return loop_global_of(x->l->program, arena_printf(x->l->arena, "%s_%s", x->node->name, what),
                          LOOP_SCRATCH, fold_storage(x->type), size, 2);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct build x = {.l = l, .f = form->scan};
    const char *name = stage->values[0];
    x.node = &l->region->graph->nodes[x.f->anchor];
    x.type = loop_arithmetic(x.node->dtype);
    x.op = op_infos[x.node->op].joins == OP_ADD ? LOOP_ADD : LOOP_MUL;
    x.vec = stage_number(stage, "vec", 0);
    x.unroll = stage_number(stage, "unroll", 0);
    x.grain = stage_number(stage, "grain", 0);
    x.split = stage_number(stage, "split", 0);
    x.stream = stage_word_is(stage, "store", "stream");
    x.asks = prefetch_is_long(l->region) && !x.node->detail->reverse;
    x.axis = scan_build_space(l, x.f);
    x.last = l->space.n_groups - 1;
    // Whole runs, so that vectors begin where those of a whole line do.
    int64_t runs = (x.f->length + RUN_TERMS - 1) / RUN_TERMS;
    x.piece = (runs + x.split - 1) / x.split * RUN_TERMS;
    if (x.split > 1) {
        x.sums = scratch(&x, "sums");
        x.carries = scratch(&x, "carries");
        lower_lines(&x, arena_printf(l->arena, "%s_sums", name), false);
        lower_carries(&x, arena_printf(l->arena, "%s_carries", name));
    }
    lower_lines(&x, arena_printf(l->arena, "%s_scan", name), true);
}

// ---- knobs

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct scan_form *f = form->scan;
    int split = stage_number(s, "split", 0), grain = stage_number(s, "grain", 0);
    if (!legal_vector(t, s, why) || !legal_lanes(s, form->lanes, why))
        return false;
    if (split > 1 && (int64_t)split * RUN_TERMS > f->length)
        return objection(why, "split",
                         "a line of %lld elements has no %d pieces of %d: the nearest is split 1",
                         (long long)f->length, split, RUN_TERMS);
    if (stage_word_is(s, "store", "cached"))
        return true;
    if (!f->is_along && grain % stage_number(s, "vec", 0) != 0)
        return objection(why, "store",
                         "store stream needs lines in whole vectors, and a block has %d: the "
                         "nearest is store cached",
                         grain);
    return legal_stream(s, f->is_along ? f->length : f->n_inner, why);
}

// No thread has much less to do than another.
static bool fills_threads(int64_t blocks, int64_t threads) {
    return blocks >= 4 * threads || (blocks > 0 && blocks % threads == 0);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    const struct scan_form *f = form->scan;
    struct region_work w;
    struct objection why;
    int64_t threads = t->n_threads > 0 ? t->n_threads : 1, blocks;
    int grain = 1, split = 1;
    if (f->is_along) {
        while (grain < 64 && grain * f->length < 16384 && f->n_lines / (2 * grain) >= 8 * threads)
            grain *= 2;
        blocks = f->n_lines / grain;
    } else {
        // A row of a strip is a stretch of memory, and the longer it is the better it is fetched:
        // 2048 x 4096 by two threads of a Xeon takes 1.77 ms by strips of 2048, by 512 2.12 ms.
        grain = 2048;
        while (grain > 64 && !fills_threads(f->n_lines / grain, threads))
            grain /= 2;
        blocks = f->n_lines / (grain < f->n_inner ? grain : f->n_inner);
    }
    while (split < 256 && blocks * split < threads && f->length / (2 * split) >= PIECE_MIN)
        split *= 2;
    if (split > 1)  // so that none waits for the last
        split = split < 128 && f->length / (4 * split) >= PIECE_MIN ? 2 * split : split;
    stage_set(s, "vec", 0, default_vec(t, form->lanes));
    // Eight vectors side by side: 2048 x 4096 of bf16 on two cores of an EPYC take 0.56 ms, four of
    // them 0.62 ms and one after the other 0.85 ms. Four rows in a turn: sums go through memory
    // once for four rows, and reads are in four places.
    stage_set(s, "unroll", 0,
              f->is_along      ? (form->lanes == 1 ? 2 : UNROLL_MAX)
              : f->length >= 4 ? 4
                               : 1);
    stage_set(s, "grain", 0, grain);
    stage_set(s, "split", 0, split);
    region_count(form->region, &w);
    stage_set_word(s, "store", is_long_stream(t, w.bytes_written) ? "stream" : "cached");
    if (!is_legal(form, t, s, &why))
        stage_set_word(s, "store", "cached");
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct scan_form *f = form->scan;
    int64_t grain = stage_number(s, "grain", 0), split = stage_number(s, "split", 0);
    int rows = stage_number(s, "unroll", 0);
    double work = (f->is_along ? 2.5 + 2.5 / rows : 1 + 1.0 / rows) * (split > 1 ? 1.7 : 1);
    double seconds = estimate_stream(form->region, t, s, work, 0.3) * (split > 1 ? 1.5 : 1);
    double blocks = (double)f->n_lines / (double)grain * (double)split;
    // Short stretches of a strip's rows are fetched line by line.
    double stretch = f->is_along ? 0 : 32.0 / (double)grain + 0.25 / rows;
    return seconds * (1 + stretch + (double)t->n_threads / (blocks + 0.1)) + blocks * 100e-9;
}

const struct emitter scan_cpu = {
    .name = "cpu",
    .summary = "a scan along any axis, by vectors",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
