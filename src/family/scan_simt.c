// A scan on a GPU: memory is read once and written once, as long as one block has a whole line.
//
// A line is walked tile by tile; what came before a tile is carried in a register. Along (elements
// of a line are neighbours) a team of threads has a line: each warp takes a part of the tile, in
// vectors, `items` of them one after the other, each scanned within lanes and across the warp.
// Across (elements of neighbouring lines are neighbours) a thread has a vector of lines, and as a
// part of the tile `items` elements that follow each other. Either way the parts' sums meet in
// shared memory, where everybody adds up those before its own, in the same order; two sets of them
// take turns, so that a tile needs one barrier.
//
// Where lines are few, blocks share them: sums of pieces, sums of those before each piece, and then
// the scan, which reads everything again. (Looking back at what other blocks have published would
// read once; it needs blocks that wait for each other, which the loop language has for block groups
// only.)
#include "base/arena.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/scan_form.h"
#include "ir/detail.h"

static const int threads_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -1};
static const int lines_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, -1};
static const int vec_grid[] = {1, 2, 4, 8, -1};
static const int items_grid[] = {1, 2, 4, 8, 16, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, -1};

static const struct knob knobs[] = {
    {.name = "threads", .summary = "threads per line", .n_parts = 1, .grid = {threads_grid}},
    {.name = "lines",
     .summary = "lines per block (across: vectors of them)",
     .n_parts = 1,
     .grid = {lines_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "items",
     .summary = "vectors of a thread that are scanned together",
     .n_parts = 1,
     .grid = {items_grid}},
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "blocks per line",
     .n_parts = 1,
     .grid = {split_grid}},
    KNOB_GPU_STORE,
    {0},
};

enum { ITEMS_FLOATS_MAX = 64, CARRY_BLOCK = 128 };

struct choice {
    int threads, lines, vec, items, split;
};

static struct choice read_choice(const struct kernel_stage *s) {
    return (struct choice){stage_number(s, "threads", 0), stage_number(s, "lines", 0),
                           stage_number(s, "vec", 0), stage_number(s, "items", 0),
                           stage_number(s, "split", 0)};
}

// Elements of a line that its threads take at a time.
static int64_t tile_of(const struct scan_form *f, const struct choice *c) {
    return (int64_t)c->threads * c->items * (f->is_along ? c->vec : 1);
}

// Elements of a piece: whole tiles.
static int64_t piece_of(const struct scan_form *f, const struct choice *c) {
    int64_t tile = tile_of(f, c), n_tiles = (f->length + tile - 1) / tile;
    return (n_tiles + c->split - 1) / c->split * tile;
}

static int64_t n_groups(const struct scan_form *f, const struct choice *c) {
    int64_t each = (int64_t)c->lines * (f->is_along ? 1 : c->vec);
    return (f->n_lines + each - 1) / each;
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct scan_form *f = form->scan;
    struct choice c = read_choice(s);
    if (form->lanes % c.vec != 0)
        return objection(why, "vec",
                         "vec %d needs a last axis of a multiple of %d elements, and %lld go "
                         "together: the nearest is vec %d",
                         c.vec, c.vec, (long long)form->lanes, gpu_largest_vec(form->lanes));
    if (f->is_along && c.threads < GPU_WARP)
        return objection(why, "threads",
                         "threads lie along what is scanned, a warp at least: the nearest is "
                         "threads 32");
    if (c.threads * c.lines > GPU_BLOCK_MAX || c.threads * c.lines < GPU_WARP)
        return objection(why, "lines",
                         "%d lines of %d threads are %d threads a block, which has %d to %d: the "
                         "nearest is lines %d",
                         c.lines, c.threads, c.threads * c.lines, GPU_WARP, GPU_BLOCK_MAX,
                         c.threads >= GPU_WARP ? 1 : GPU_WARP);
    if (c.items * c.vec > ITEMS_FLOATS_MAX)
        return objection(why, "items",
                         "%d floats of a thread under way, above %d: the nearest is "
                         "items %d",
                         c.items * c.vec, ITEMS_FLOATS_MAX, ITEMS_FLOATS_MAX / c.vec);
    if (c.split > 1 && tile_of(f, &c) * c.split > f->length)
        return objection(why, "split",
                         "a line of %lld elements has no %d pieces of %lld: the nearest is split 1",
                         (long long)f->length, c.split, (long long)tile_of(f, &c));
    int parts = f->is_along ? c.threads * c.lines / GPU_WARP : c.threads * c.lines * c.vec;
    return gpu_legal_shared(t, "lines", 2LL * 8 * parts, "half as many lines", why) &&
           gpu_legal_grid("split", n_groups(f, &c) * c.split, why);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    const struct scan_form *f = form->scan;
    struct choice c = {.vec = gpu_largest_vec(form->lanes), .items = 4, .split = 1};
    if (f->is_along) {
        c.threads = 256;
        while (c.threads > GPU_WARP && tile_of(f, &c) > f->length)
            c.threads /= 2;
        c.lines = c.threads < 128 ? 128 / c.threads : 1;
    } else {
        c.lines = 32;
        c.items = 8;
        c.threads = 16;
        while (c.vec > 1 && n_groups(f, &c) < 4 * t->sms)
            c.vec /= 2;
        while (c.threads > 1 && tile_of(f, &c) > f->length)
            c.threads /= 2;
    }
    while (c.split < 4096 && n_groups(f, &c) * c.split < 2 * t->sms &&
           tile_of(f, &c) * c.split * 4 <= f->length)
        c.split *= 2;
    stage_set(s, "threads", 0, c.threads);
    stage_set(s, "lines", 0, c.lines);
    stage_set(s, "vec", 0, c.vec);
    stage_set(s, "items", 0, c.items);
    stage_set(s, "split", 0, c.split);
}

struct build {
    struct lowering *l;
    const struct scan_form *f;
    const struct node *node;
    struct choice c;
    bool stream;
    int axis;  // its group
    enum loop_dtype type;
    enum loop_op op;
    int n_parts;  // of a tile, whose sums meet
    struct gpu_kernel kernel;
    struct loop_buffer *sums, *carries;  // scratch, per line and piece; NULL: one block has it all
    struct loop_buffer *item, *start;    // what a thread has, and what comes before each of it
    struct loop_buffer *run, *carry;     // of the part so far; what comes before the tile
    struct loop_buffer *ahead;           // what comes before the part
    struct loop_buffer *meet;            // sums of parts, two sets of them; NULL: there is one part
    const struct loop_expr *part;        // which of them
    const struct loop_expr *line, *at, *piece;  // `at`: the line, or the last one
};

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *join(const struct build *x, const struct loop_expr *p,
                                    const struct loop_expr *q) {
    return op2(x, x->op, p, q);
}

static const struct loop_expr *get(const struct build *x, const struct loop_buffer *b,
                                   const struct loop_expr *at) {
    return loop_load(x->l->arena, b, at ? at : number(x, 0), b->lanes, 1);
}

static void put(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                const struct loop_expr *at, const struct loop_expr *e) {
    loop_store(b, to, at ? at : number(x, 0), loop_broadcast(x->l->arena, e, to->lanes), false);
}

static const struct loop_expr *neutral(const struct build *x) {
    return loop_number(x->l->arena, x->type, op_infos[x->node->op].identity);
}

static struct loop_buffer *reg(const struct build *x, const char *name, int64_t count, int lanes) {
    return loop_register_of(x->l->program, name, count, lanes, x->type);
}

// ---- where things are

// Vectors of `lines` side by side, or the line alone.
static int width(const struct build *x) {
    return x->f->is_along ? 1 : x->c.vec;
}

// Which line, which piece of it, and which part of its tiles the thread has. Threads beyond the
// last line follow the last one, and come to barriers with it.
static void place(struct build *x, struct scope *s) {
    struct arena *a = x->l->arena;
    int lines = x->c.lines, threads = x->c.threads;
    const struct loop_expr *thread = x->kernel.thread, *split = number(x, x->c.split);
    const struct loop_expr *group = op2(x, LOOP_DIV, x->kernel.block, split);
    x->piece = op2(x, LOOP_MOD, x->kernel.block, split);
    struct gpu_team team = gpu_make_team(a, thread, threads, lines);
    const struct loop_expr *own =
        x->f->is_along ? team.row : op2(x, LOOP_MOD, thread, number(x, lines));
    x->part = x->f->is_along ? op2(x, LOOP_DIV, team.lane, number(x, GPU_WARP))
                             : op2(x, LOOP_DIV, thread, number(x, lines));
    const struct loop_expr *at = op2(x, LOOP_ADD, op2(x, LOOP_MUL, group, number(x, lines)), own);
    x->line = loop_let(s->builder, "line", op2(x, LOOP_MUL, at, number(x, width(x))));
    const struct loop_expr *last = number(x, x->f->n_lines - width(x));
    x->at = loop_let(s->builder, "at", op2(x, LOOP_MIN, x->line, last));
    const struct loop_expr *inner = number(x, x->f->n_inner);
    scope_split(s, op2(x, LOOP_DIV, x->at, inner), 0, x->axis);
    scope_split(s, op2(x, LOOP_MOD, x->at, inner), x->axis + 1, x->l->space.n_groups);
    s->lanes = x->c.vec;
    s->lane_group = x->f->is_along ? x->axis : x->l->space.n_groups - 1;
}

// The first element that the thread has as number `item` of a tile, in the order of the scan.
static const struct loop_expr *position(const struct build *x, const struct loop_expr *tile,
                                        const struct loop_expr *item) {
    const struct loop_expr *at =
        op2(x, LOOP_ADD, op2(x, LOOP_MUL, x->part, number(x, x->c.items)), item);
    if (x->f->is_along) {
        const struct loop_expr *lane = op2(x, LOOP_MOD, x->kernel.thread, number(x, GPU_WARP));
        at = op2(x, LOOP_ADD, op2(x, LOOP_MUL, at, number(x, GPU_WARP)), lane);
        at = op2(x, LOOP_MUL, at, number(x, x->c.vec));
    }
    return op2(x, LOOP_ADD, tile, at);
}

// A scope at that element, or, backwards, at the lowest of the vector that it begins.
static struct scope scope_at(const struct build *x, struct scope *outer, struct loop_builder *b,
                             const struct loop_expr *at) {
    struct scope s = scope_inside(outer, b);
    int64_t each = x->f->is_along ? x->c.vec : 1;
    s.index[x->axis] =
        x->node->detail->reverse ? op2(x, LOOP_SUB, number(x, x->f->length - each), at) : at;
    s.lanes = x->c.vec;
    s.lane_group = outer->lane_group;
    return s;
}

static const struct loop_expr *in_order(const struct build *x, const struct loop_expr *e) {
    bool turns = x->f->is_along && x->node->detail->reverse;
    return turns ? loop_unary(x->l->arena, LOOP_LANES_REVERSED, e) : e;
}

// ---- a tile

static void load_items(struct build *x, struct scope *outer, const struct loop_expr *tile,
                       const struct loop_expr *end) {
    struct arena *a = x->l->arena;
    struct loop_builder b, inside;
    struct loop_for f = {"item", number(x, 0), number(x, x->c.items), 1, true};
    const struct loop_expr *item = loop_open_for(outer->builder, &f, &b);
    const struct loop_expr *at = loop_let(&b, "p", position(x, tile, item));
    put(x, &b, x->item, item, neutral(x));
    loop_open_if(&b, at, end, &inside);
    struct scope s = scope_at(x, outer, &inside, at);
    struct axis_map map = map_identity(x->node->shape.rank);
    const struct loop_expr *e = point_value(&s, x->node->arg[0], &map);
    if (e->dtype != x->type)
        e = loop_cast(a, e, x->type);
    put(x, &inside, x->item, item, in_order(x, loop_broadcast(a, e, x->c.vec)));
    loop_close(&b, &inside);
    loop_close(outer->builder, &b);
}

// `start` of every item within the part, and in `run` the part's own sum.
static void scan_items(struct build *x, struct loop_builder *outer) {
    struct arena *a = x->l->arena;
    bool adds = x->op == LOOP_ADD;
    struct loop_builder b;
    put(x, outer, x->run, NULL, neutral(x));
    struct loop_for f = {"item", number(x, 0), number(x, x->c.items), 1, true};
    const struct loop_expr *item = loop_open_for(outer, &f, &b);
    const struct loop_expr *own = get(x, x->item, item), *run = get(x, x->run, NULL);
    if (x->f->is_along) {
        own = loop_let(&b, "own", loop_unary(a, adds ? LOOP_LANES_SUM : LOOP_LANES_PROD, own));
        const struct loop_expr *before = loop_let(
            &b, "before", loop_unary(a, adds ? LOOP_WARP_BEFORE_SUM : LOOP_WARP_BEFORE_PROD, own));
        put(x, &b, x->start, item, join(x, run, before));
        own = loop_let(&b, "upto", join(x, before, own));
        own = loop_let(&b, "last", loop_unary(a, LOOP_WARP_LAST, own));
    } else {
        put(x, &b, x->start, item, run);
    }
    put(x, &b, x->run, NULL, join(x, run, own));
    loop_close(outer, &b);
}

// Where the sum of part number `part` lies among those of the set that this tile uses.
static const struct loop_expr *meeting_place(const struct build *x, const struct loop_expr *set,
                                             const struct loop_expr *part) {
    int lines = x->c.lines;
    const struct loop_expr *row, *column;
    if (x->f->is_along) {
        row = op2(x, LOOP_DIV, x->kernel.thread, number(x, x->c.threads));
        return op2(x, LOOP_ADD, op2(x, LOOP_MUL, set, number(x, (int64_t)lines * x->n_parts)),
                   op2(x, LOOP_ADD, op2(x, LOOP_MUL, row, number(x, x->n_parts)), part));
    }
    column = op2(x, LOOP_MOD, x->kernel.thread, number(x, lines));
    row = op2(x, LOOP_ADD, op2(x, LOOP_MUL, set, number(x, x->n_parts)), part);
    return op2(x, LOOP_MUL, op2(x, LOOP_ADD, op2(x, LOOP_MUL, row, number(x, lines)), column),
               number(x, x->c.vec));
}

// What comes before the thread's part of the tile; `carry` moves on to the next tile.
static const struct loop_expr *meet(struct build *x, struct loop_builder *b,
                                    const struct loop_expr *set) {
    struct arena *a = x->l->arena;
    struct loop_builder first;
    const struct loop_expr *before = loop_let(b, "before", get(x, x->carry, NULL));
    if (!x->meet) {
        put(x, b, x->carry, NULL, join(x, before, get(x, x->run, NULL)));
        return before;
    }
    const struct loop_expr *at = meeting_place(x, set, x->part);
    if (x->f->is_along) {
        const struct loop_expr *lane = op2(x, LOOP_MOD, x->kernel.thread, number(x, GPU_WARP));
        loop_open_if(b, lane, number(x, 1), &first);
        loop_store(&first, x->meet, at, get(x, x->run, NULL), false);
        loop_close(b, &first);
    } else {
        loop_store(b, x->meet, at, get(x, x->run, NULL), false);
    }
    loop_barrier(b);
    // In order, so that all parts agree: what comes before the own one is put aside in passing.
    put(x, b, x->ahead, NULL, before);
    struct loop_for f = {"part", number(x, 0), number(x, x->n_parts), 1, true};
    const struct loop_expr *part = loop_open_for(b, &f, &first);
    const struct loop_expr *other = loop_load(a, x->meet, meeting_place(x, set, part), width(x), 1);
    const struct loop_expr *all = loop_let(&first, "all", join(x, get(x, x->carry, NULL), other));
    const struct loop_expr *is_ahead =
        op2(x, LOOP_LT, loop_cast(a, part, LOOP_I32), loop_cast(a, x->part, LOOP_I32));
    put(x, &first, x->carry, NULL, all);
    put(x, &first, x->ahead, NULL,
        loop_ternary(a, LOOP_SELECT, loop_broadcast(a, is_ahead, width(x)), all,
                     get(x, x->ahead, NULL)));
    loop_close(b, &first);
    return get(x, x->ahead, NULL);
}

static void store_items(struct build *x, struct scope *outer, const struct loop_expr *tile,
                        const struct loop_expr *end, const struct loop_expr *before) {
    struct arena *a = x->l->arena;
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(x->node->shape.rank);
    struct loop_builder b, is_line, inside;
    loop_open_if(outer->builder, x->line, number(x, x->f->n_lines), &is_line);
    struct loop_for f = {"item", number(x, 0), number(x, x->c.items), 1, true};
    const struct loop_expr *item = loop_open_for(&is_line, &f, &b);
    const struct loop_expr *at = loop_let(&b, "p", position(x, tile, item));
    loop_open_if(&b, at, end, &inside);
    struct scope s = scope_at(x, outer, &inside, at);
    const struct loop_expr *own = get(x, x->item, item);
    const struct loop_expr *e = join(x, before, get(x, x->start, item));
    bool adds = x->op == LOOP_ADD, exclusive = x->node->detail->exclusive;
    if (x->f->is_along) {
        const struct loop_expr *lanes =
            loop_unary(a, adds ? LOOP_LANES_BEFORE_SUM : LOOP_LANES_BEFORE_PROD, own);
        e = loop_let(&inside, "before", e);
        e = join(x, e, exclusive ? lanes : join(x, lanes, own));
        e = in_order(x, e);
    } else if (!exclusive) {
        e = join(x, e, own);
    }
    point_define(&s, x->f->anchor, &map, loop_let(&inside, x->node->name, e));
    for (int i = 0; i < r->n_values; i++)
        point_store(&s, i, &map, x->stream);
    loop_close(&b, &inside);
    loop_close(&is_line, &b);
    loop_close(outer->builder, &is_line);
}

// ---- kernels

// Where the sum of a piece lies in scratch.
static const struct loop_expr *piece_index(const struct build *x, const struct loop_expr *line,
                                           const struct loop_expr *piece) {
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, piece, number(x, x->f->n_lines)), line);
}

// The thread that has the first part of a line says what the whole piece is.
static void store_sum(struct build *x, struct loop_builder *b) {
    struct loop_builder first, inside;
    const struct loop_expr *who =
        x->f->is_along ? op2(x, LOOP_MOD, x->kernel.thread, number(x, x->c.threads)) : x->part;
    loop_open_if(b, who, number(x, 1), &first);
    loop_open_if(&first, x->line, number(x, x->f->n_lines), &inside);
    loop_store(&inside, x->sums, piece_index(x, x->line, x->piece), get(x, x->carry, NULL), false);
    loop_close(&first, &inside);
    loop_close(b, &first);
}

// All tiles of the block's piece: with `stores` the results, else their sum alone.
static void lower_tiles(struct build *x, const char *name, bool stores) {
    struct arena *a = x->l->arena;
    int64_t tile = tile_of(x->f, &x->c), piece = piece_of(x->f, &x->c);
    struct loop_builder b, c;
    x->kernel = gpu_open_kernel(x->l, name, number(x, n_groups(x->f, &x->c) * x->c.split),
                                x->c.threads * x->c.lines, &b);
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1, .builder = &b};
    x->item = reg(x, "item", x->c.items, x->c.vec);
    x->start = reg(x, "start", x->c.items, width(x));
    x->run = reg(x, "run", 1, width(x));
    x->carry = reg(x, "carry", 1, width(x));
    x->ahead = reg(x, "ahead", 1, width(x));
    struct loop_size parts = {2LL * x->n_parts * x->c.lines * width(x), NULL};
    if (x->n_parts > 1)
        x->meet = loop_shared_of(x->l->program, arena_printf(a, "%s_parts", x->node->name),
                                 fold_storage(x->type), &parts, 1);
    place(x, &outer);
    const struct loop_expr *begin = op2(x, LOOP_MUL, x->piece, number(x, piece));
    // Whole tiles; what lies beyond the line is asked for element by element.
    const struct loop_expr *last = op2(x, LOOP_ADD, begin, number(x, piece));
    const struct loop_expr *end = number(x, x->f->length);
    put(x, &b, x->carry, NULL,
        stores && x->carries
            ? loop_load(a, x->carries, piece_index(x, x->at, x->piece), width(x), 1)
            : neutral(x));
    struct loop_for tiles = {"tile", begin, last, tile, false};
    const struct loop_expr *at = loop_open_for(&b, &tiles, &c);
    struct scope s = scope_inside(&outer, &c);
    s.lanes = outer.lanes;
    s.lane_group = outer.lane_group;
    load_items(x, &s, at, end);
    scan_items(x, &c);
    const struct loop_expr *set = op2(
        x, LOOP_MOD, op2(x, LOOP_DIV, op2(x, LOOP_SUB, at, begin), number(x, tile)), number(x, 2));
    const struct loop_expr *before = meet(x, &c, loop_let(&c, "set", set));
    if (stores)
        store_items(x, &s, at, end, before);
    loop_close(&b, &c);
    if (!stores)
        store_sum(x, &b);
}

// What comes before each piece of a line: a thread for every line.
static void lower_carries(struct build *x, const char *name) {
    struct arena *a = x->l->arena;
    const struct loop_expr *count = number(x, x->f->n_lines);
    struct loop_builder b, inside, c;
    struct gpu_kernel k =
        gpu_open_kernel(x->l, name, loop_ceildiv(a, count, CARRY_BLOCK), CARRY_BLOCK, &b);
    const struct loop_expr *line = op2(x, LOOP_MUL, k.block, number(x, CARRY_BLOCK));
    line = loop_let(&b, "line", op2(x, LOOP_ADD, line, k.thread));
    loop_open_if(&b, line, count, &inside);
    struct loop_buffer *before = reg(x, "carry", 1, 1);
    put(x, &inside, before, NULL, neutral(x));
    struct loop_for pieces = {"piece", number(x, 0), number(x, x->c.split), 1, false};
    const struct loop_expr *piece = loop_open_for(&inside, &pieces, &c);
    const struct loop_expr *at = loop_let(&c, "at", piece_index(x, line, piece));
    loop_store(&c, x->carries, at, get(x, before, NULL), false);
    put(x, &c, before, NULL, join(x, get(x, before, NULL), loop_load(a, x->sums, at, 1, 1)));
    loop_close(&inside, &c);
    loop_close(&b, &inside);
}

static struct loop_buffer *scratch(const struct build *x, const char *what) {
    struct loop_size size[] = {{x->c.split, NULL}, {x->f->n_lines, NULL}};
    return loop_global_of(x->l->program, arena_printf(x->l->arena, "%s_%s", x->node->name, what),
                          LOOP_SCRATCH, fold_storage(x->type), size, 2);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct build x = {.l = l, .f = form->scan, .c = read_choice(stage)};
    const char *name = stage->values[0];
    x.node = &l->region->graph->nodes[x.f->anchor];
    x.stream = stage_word_is(stage, "store", "stream");
    x.axis = scan_build_space(l, x.f);
    x.type = loop_arithmetic(x.node->dtype);
    x.op = op_infos[x.node->op].joins == OP_ADD ? LOOP_ADD : LOOP_MUL;
    x.n_parts = x.f->is_along ? x.c.threads / GPU_WARP : x.c.threads;
    if (x.c.split > 1) {
        x.sums = scratch(&x, "sums");
        x.carries = scratch(&x, "carries");
        lower_tiles(&x, arena_printf(a, "%s_sums", name), false);
        lower_carries(&x, arena_printf(a, "%s_carries", name));
    }
    lower_tiles(&x, arena_printf(a, "%s_scan", name), true);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct scan_form *f = form->scan;
    struct choice c = read_choice(s);
    struct region_work w;
    region_count(form->region, &w);
    struct gpu_traffic traffic = {.bytes = w.bytes_read * (c.split > 1 ? 2 : 1) + w.bytes_written,
                                  .blocks = (double)(n_groups(f, &c) * c.split),
                                  .threads = c.threads * c.lines,
                                  .in_flight = 4.0 * c.vec * c.items};
    // A tile's threads wait for one another; several blocks of a multiprocessor hide it.
    double waits = (double)piece_of(f, &c) / (double)tile_of(f, &c) * 1e-6;
    double waves = traffic.blocks * traffic.threads / ((double)t->sms * t->threads_per_sm);
    double narrow = 1 + 0.1 * (4.0 / (c.vec < 4 ? c.vec : 4) - 1);
    double memory = gpu_estimate_traffic(t, &traffic) * narrow;
    double chain = waits * (waves > 1 ? waves : 1);
    double compute = (w.flops + 16 * w.slow_flops) / (0.5 * gpu_flops_per_s(t));
    double most = memory > compute ? memory : compute;
    return (most > chain ? most + 0.1 * chain : chain + 0.1 * most) + (c.split > 1 ? 4e-6 : 0);
}

const struct emitter scan_simt = {
    .name = "simt",
    .summary = "a scan along any axis",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
