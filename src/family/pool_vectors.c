// Pooling of planes on a GPU by vectors: windows of two axes or more, of a value that is in memory.
//
// A thread has `columns` results side by side and `items` rows of them. Of each row that their
// windows cover it loads the vectors of 16 bytes that hold it, once, folds the part of every window
// that lies in the row, and joins that to the results below each other. Rows of results may begin
// anywhere (511 of them, of 512), so results go through shared memory, where a block's lie as they
// shall in memory, and leave it in vectors that are aligned there.
#include <math.h>

#include "base/arena.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/pool_windows.h"
#include "ir/detail.h"

static const int threads_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int lines_grid[] = {1, 2, 4, 8, 16, -1};
static const int items_grid[] = {1, 2, 4, 8, 16, -1};
static const int columns_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    KNOB_THREADS_ALONG(threads_grid),
    KNOB_LINES(lines_grid),
    {.name = "items",
     .summary = "results of a thread below each other",
     .n_parts = 1,
     .grid = {items_grid}},
    {.name = "columns",
     .summary = "results of a thread side by side",
     .n_parts = 1,
     .grid = {columns_grid}},
    {0},
};

enum { LOADS_MAX = 128, VECTOR_BYTES = 16, COLUMNS_MAX = 8 };

struct choice {
    int threads, lines, items, columns;
};

static struct choice read_choice(const struct kernel_stage *s) {
    return (struct choice){stage_number(s, "threads", 0), stage_number(s, "lines", 0),
                           stage_number(s, "items", 0), stage_number(s, "columns", 0)};
}

// What the emitter knows of a pooling.
struct pool {
    const struct node *node, *from;
    const struct window *w;
    int rank, last;                        // of the values; the window's last axis
    int vec, vec_out;                      // elements of 16 bytes, of what is read and stored
    int64_t width, rows, columns, planes;  // of a row that is read; of the results
};

static struct pool find_pool(const struct form *f) {
    const struct graph *g = f->region->graph;
    struct pool p = {.node = &g->nodes[f->anchor]};
    p.from = &g->nodes[p.node->arg[0]];
    p.w = &p.node->detail->window;
    p.rank = p.node->shape.rank;
    p.last = p.w->n_axes - 1;
    p.vec = VECTOR_BYTES * 8 / dtype_infos[p.from->dtype].bits;
    p.vec_out = VECTOR_BYTES * 8 / dtype_infos[g->nodes[f->region->value[0]].dtype].bits;
    p.width = p.from->shape.size[p.rank - 1];
    p.rows = p.node->shape.size[p.rank - 2];
    p.columns = p.node->shape.size[p.rank - 1];
    p.planes = shape_count(&p.node->shape) / (p.rows * p.columns);
    return p;
}

static bool is_vector_type(enum dtype t) {
    return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct region *r = f->region;
    const struct node *n = &r->graph->nodes[f->anchor];
    const struct node *value = &r->graph->nodes[r->value[0]];
    return (n->detail->window.n_axes > 1 && r->is_leaf[n->arg[0]] && r->n_values == 1 &&
            is_vector_type(r->graph->nodes[n->arg[0]].dtype) && is_vector_type(value->dtype) &&
            shape_equal(&value->shape, &n->shape)) ||
           objection(why, NULL,
                     "vectors are for windows of two axes or more, over floats that are in memory, "
                     "and one value of them");
}

// ---- which rows and vectors a thread reads

// Elements of a row that a thread's windows cover, from `first` on, counted from where its first
// window would begin without padding.
static int64_t first_of(const struct pool *p) {
    return -p->w->before[p->last];
}

static int64_t end_of(const struct pool *p, int columns) {
    return first_of(p) + (columns - 1) * p->w->stride[p->last] +
           (p->w->size[p->last] - 1) * p->w->dilation[p->last] + 1;
}

static int64_t floor_to(int64_t value, int64_t step) {
    int64_t rest = value % step;
    return value - (rest < 0 ? rest + step : rest);
}

static int64_t n_vectors(const struct pool *p, int columns) {
    return (floor_to(end_of(p, columns) - 1, p->vec) - floor_to(first_of(p), p->vec)) / p->vec + 1;
}

static int64_t n_loads(const struct pool *p, const struct choice *c) {
    return pool_outer_taps(p->w) * pool_used_rows(p->w, c->items) * n_vectors(p, c->columns);
}

static int64_t groups_of(const struct pool *p, const struct choice *c) {
    return (p->rows + c->items - 1) / c->items;
}

static int64_t lines_of(const struct pool *p, const struct choice *c) {
    return p->planes * groups_of(p, c);
}

static int64_t blocks_of(const struct pool *p, const struct choice *c) {
    return (lines_of(p, c) + c->lines - 1) / c->lines;
}

static int64_t tile_of(const struct pool *p, const struct choice *c) {
    int64_t results = (int64_t)c->lines * c->items * p->columns;
    return (results + 2 * p->vec_out - 2) / p->vec_out * p->vec_out;
}

static bool legal_place(const struct pool *p, const struct choice *c, struct objection *why) {
    if (p->width % p->vec != 0 || c->columns * p->w->stride[p->last] % p->vec != 0)
        return objection(why, "columns",
                         "rows of %lld, and %d columns with stride %lld, do not begin at multiples "
                         "of %d elements: the nearest is more columns, or pool as simt",
                         (long long)p->width, c->columns, (long long)p->w->stride[p->last], p->vec);
    if ((int64_t)c->threads * c->columns < p->columns)
        return objection(why, "threads",
                         "%d threads of %d columns have fewer than the %lld of a row: the nearest "
                         "is more threads",
                         c->threads, c->columns, (long long)p->columns);
    return true;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct pool p = find_pool(f);
    struct choice c = read_choice(s);
    if (c.threads * c.lines > GPU_BLOCK_MAX)
        return objection(why, "lines",
                         "%d lines of %d threads are %d threads a block, above %d: the nearest is "
                         "lines %d",
                         c.lines, c.threads, c.threads * c.lines, GPU_BLOCK_MAX,
                         GPU_BLOCK_MAX / c.threads);
    if (!legal_place(&p, &c, why))
        return false;
    if (c.items > 1 && n_loads(&p, &c) > LOADS_MAX)
        return objection(why, "items", "%lld loads of a thread, above %d: the nearest is items %d",
                         (long long)n_loads(&p, &c), LOADS_MAX, c.items / 2);
    struct gpu_demand demand = {"items", c.threads * c.lines,
                                (int64_t)(c.items + 1) * c.columns + 2 * p.vec, "half as many"};
    enum dtype type = f->region->graph->nodes[f->region->value[0]].dtype;
    return gpu_legal_registers(t, &demand, why) &&
           gpu_legal_shared(t, "lines", dtype_size(type, tile_of(&p, &c)), "fewer lines", why) &&
           gpu_legal_grid("threads", blocks_of(&p, &c), why);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct pool p = find_pool(f);
    struct choice c = {.threads = 32, .lines = 1, .items = 1, .columns = 4};
    // Windows of 4 x 4 over 32 x 64 x 512 x 512 on an H200: 91% of reach with two items and 83 to
    // 86% with more, in bf16 81% with eight and 58% with two. With a stride few rows are shared.
    if (p.w->stride[p.last] == 1)
        c.items = p.vec > 4 ? 8 : 2;
    while (c.columns < COLUMNS_MAX && c.columns * p.w->stride[p.last] % p.vec != 0)
        c.columns *= 2;
    while (c.columns > 2 && c.columns / 2 * p.w->stride[p.last] % p.vec == 0 &&
           p.columns <= 32LL * c.columns / 2)
        c.columns /= 2;
    while (c.threads < 1024 && (int64_t)c.threads * c.columns < p.columns)
        c.threads *= 2;
    while (c.threads * c.lines < (p.w->stride[p.last] == 1 ? 64 : 128))
        c.lines *= 2;
    while (c.items > 1 && (n_loads(&p, &c) > LOADS_MAX / 2 ||
                           blocks_of(&p, &c) * c.threads * c.lines < 1024LL * t->sms))
        c.items /= 2;
    stage_set(s, "threads", 0, c.threads);
    stage_set(s, "lines", 0, c.lines);
    stage_set(s, "items", 0, c.items);
    stage_set(s, "columns", 0, c.columns);
}

// ---- the kernel

struct build {
    struct lowering *l;
    struct pool p;
    struct choice c;
    node_id anchor, value;
    enum loop_op op;
    double identity;
    struct loop_buffer *sum, *tile;
    const struct loop_expr *first, *column;  // of the thread: a row, and a column, of the results
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *both(const struct build *x, const struct loop_expr *p,
                                    const struct loop_expr *q) {
    return !p ? q : !q ? p : op2(x, LOOP_AND, p, q);
}

// What is `ok`, or what changes nothing.
static const struct loop_expr *where(const struct build *x, const struct loop_expr *ok,
                                     const struct loop_expr *value) {
    struct arena *a = x->l->arena;
    return ok ? loop_ternary(a, LOOP_SELECT, ok, value, loop_real(a, x->identity)) : value;
}

// Where tap number `tap` of the window along `axis` reads for result `out`, of `n_out`; conditions
// are there where they can fail.
static const struct loop_expr *coordinate(const struct build *x, int axis, int64_t tap,
                                          const struct loop_expr *out, int64_t n_out,
                                          const struct loop_expr **ok) {
    const struct window *w = x->p.w;
    int64_t ahead = tap * w->dilation[axis] - w->before[axis];
    int64_t size = x->p.from->shape.size[x->p.rank - w->n_axes + axis];
    int64_t most = (n_out - 1) * w->stride[axis] + ahead;
    const struct loop_expr *at = op2(x, LOOP_MUL, out, number(x, w->stride[axis])), *own;
    own = at = op2(x, LOOP_ADD, at, number(x, ahead));
    if (ahead < 0) {
        *ok = both(x, *ok, op2(x, LOOP_LE, number(x, 0), own));
        at = op2(x, LOOP_MAX, at, number(x, 0));
    }
    if (most >= size) {
        *ok = both(x, *ok, op2(x, LOOP_LT, own, number(x, size)));
        at = op2(x, LOOP_MIN, at, number(x, size - 1));
    }
    return at;
}

// The elements of one row that the thread's windows cover, `base` being where the row begins.
static void load_row(const struct build *x, struct loop_builder *b, const struct loop_expr *base,
                     const struct loop_expr **element) {
    struct arena *a = x->l->arena;
    const struct pool *p = &x->p;
    int64_t first = first_of(p), end = end_of(p, x->c.columns);
    int64_t most = ((p->columns - 1) / x->c.columns) * x->c.columns * p->w->stride[p->last];
    const struct loop_expr *own = op2(x, LOOP_MUL, x->column, number(x, p->w->stride[p->last]));
    for (int64_t at = floor_to(first, p->vec); at < end; at += p->vec) {
        const struct loop_expr *ok = NULL, *from = op2(x, LOOP_ADD, own, number(x, at)), *v = from;
        if (at < 0) {
            ok = op2(x, LOOP_LE, number(x, 0), v);
            from = op2(x, LOOP_MAX, from, number(x, 0));
        }
        if (most + at >= p->width) {
            ok = both(x, ok, op2(x, LOOP_LT, v, number(x, p->width)));
            from = op2(x, LOOP_MIN, from, number(x, p->width - p->vec));
        }
        v = loop_load(a, x->l->buffer[p->node->arg[0]], op2(x, LOOP_ADD, base, from), p->vec, 1);
        v = loop_let(b, "v", v);
        for (int64_t i = at < first ? first : at; i < at + p->vec && i < end; i++)
            element[i - first] = where(x, ok, loop_lane(a, v, number(x, i - at)));
    }
}

// Each window's part of a row, joined to all results of the column whose window has the row.
static void fold_row(const struct build *x, struct loop_builder *b, int row,
                     const struct loop_expr *const *element, const struct loop_expr *ok) {
    const struct window *w = x->p.w;
    int last = x->p.last;
    for (int j = 0; j < x->c.columns; j++) {
        const struct loop_expr *all = NULL;
        for (int64_t k = 0; k < w->size[last]; k++) {
            const struct loop_expr *e = element[j * w->stride[last] + k * w->dilation[last]];
            all = all ? op2(x, x->op, all, e) : e;
        }
        all = loop_let(b, "row", where(x, ok, all));
        for (int item = 0; item < x->c.items; item++) {
            const struct loop_expr *at = number(x, (int64_t)item * x->c.columns + j);
            if (pool_tap(w, item, row) >= 0)
                loop_store(b, x->sum, at,
                           op2(x, x->op, loop_load(x->l->arena, x->sum, at, 1, 1), all), false);
        }
    }
}

// All rows of one plane of taps; `base` is where the plane begins.
static void fold_plane(const struct build *x, struct loop_builder *b, const struct loop_expr *base,
                       const struct loop_expr *plane_ok) {
    const struct loop_expr **element = arena_array(x->l->arena, const struct loop_expr *,
                                                   end_of(&x->p, x->c.columns) - first_of(&x->p));
    for (int row = 0; row < pool_covered_rows(x->p.w, x->c.items); row++) {
        int item = 0;
        while (item < x->c.items && pool_tap(x->p.w, item, row) < 0)
            item++;
        if (item == x->c.items)
            continue;
        const struct loop_expr *ok = plane_ok, *out = op2(x, LOOP_ADD, x->first, number(x, item));
        // Items of the last group may lie beyond the last result.
        const struct loop_expr *at =
            coordinate(x, x->p.last - 1, pool_tap(x->p.w, item, row), out,
                       (groups_of(&x->p, &x->c) - 1) * x->c.items + item + 1, &ok);
        at = op2(x, LOOP_ADD, base, op2(x, LOOP_MUL, at, number(x, x->p.width)));
        load_row(x, b, loop_let(b, "base", at), element);
        fold_row(x, b, row, element, ok);
    }
}

static void fold_planes(const struct build *x, const struct scope *s) {
    const struct window *w = x->p.w;
    int lead = x->p.rank - w->n_axes;
    for (int64_t t = 0; t < pool_outer_taps(w); t++) {
        const struct loop_expr *ok = NULL, *base = number(x, 0);
        int64_t below = pool_outer_taps(w), rest = t;
        for (int i = 0; i < x->p.rank - 2; i++) {
            const struct loop_expr *at = s->index[x->l->space.group[i]];
            if (i >= lead) {
                below /= w->size[i - lead];
                at = coordinate(x, i - lead, rest / below, at, x->p.node->shape.size[i], &ok);
                rest %= below;
            }
            base = op2(x, LOOP_MUL, base, number(x, x->p.from->shape.size[i]));
            base = op2(x, LOOP_ADD, base, at);
        }
        base = op2(x, LOOP_MUL, base, number(x, x->p.from->shape.size[x->p.rank - 2] * x->p.width));
        if (x->l->offset && x->l->offset[x->p.node->arg[0]])
            base = op2(x, LOOP_ADD, base, x->l->offset[x->p.node->arg[0]]);
        fold_plane(x, s->builder, base, ok);
    }
}

// A result of the thread to the tile; `begin` is where element 0 of it lies among all results.
static void put_result(const struct build *x, struct scope *s, int number_of,
                       const struct loop_expr *begin) {
    struct axis_map map = map_identity(x->p.rank);
    const struct loop_expr *sum = loop_load(x->l->arena, x->sum, number(x, number_of), 1, 1);
    point_define(s, x->anchor, &map, loop_let(s->builder, x->p.node->name, sum));
    const struct loop_expr *at = point_index(s, &x->p.node->shape, &map);
    loop_store(s->builder, x->tile, op2(x, LOOP_SUB, at, begin), point_value(s, x->value, &map),
               false);
}

static void put_results(const struct build *x, struct scope *s, const struct loop_expr *begin) {
    const struct space *space = &x->l->space;
    for (int item = 0; item < x->c.items; item++) {
        struct loop_builder is_row, is_column;
        const struct loop_expr *row = op2(x, LOOP_ADD, x->first, number(x, item));
        loop_open_if(s->builder, row, number(x, x->p.rows), &is_row);
        for (int j = 0; j < x->c.columns; j++) {
            // The thread's first column is one of the row's.
            const struct loop_expr *column = op2(x, LOOP_ADD, x->column, number(x, j));
            if (j > 0)
                loop_open_if(&is_row, column, number(x, x->p.columns), &is_column);
            struct scope one = scope_inside(s, j > 0 ? &is_column : &is_row);
            one.index[space->group[x->p.rank - 2]] = row;
            one.index[space->group[x->p.rank - 1]] = column;
            put_result(x, &one, item * x->c.columns + j, begin);
            if (j > 0)
                loop_close(&is_row, &is_column);
        }
        loop_close(s->builder, &is_row);
    }
}

// Elements of the tile from `shift` to `end` to the results, in vectors where all of one is there.
static void copy_tile(const struct build *x, struct loop_builder *b, const struct gpu_kernel *k,
                      const struct loop_expr *begin, const struct loop_expr *shift,
                      const struct loop_expr *end) {
    struct arena *a = x->l->arena;
    int vec = x->p.vec_out;
    struct loop_builder each, whole, part, in[2];
    struct loop_buffer *to = x->l->target[0];
    const struct loop_expr *offset = x->l->target_offset[0];
    begin = offset ? op2(x, LOOP_ADD, begin, offset) : begin;
    struct loop_for f = {"j", op2(x, LOOP_MUL, k->thread, number(x, vec)), end,
                         (int64_t)x->c.threads * x->c.lines * vec, false};
    const struct loop_expr *j = loop_open_for(b, &f, &each);
    const struct loop_expr *inside =
        op2(x, LOOP_MIN, op2(x, LOOP_SUB, j, shift),
            op2(x, LOOP_SUB, end, op2(x, LOOP_ADD, j, number(x, vec))));
    inside = loop_let(&each, "inside", inside);
    loop_open_if(&each, number(x, -1), inside, &whole);
    loop_store(&whole, to, op2(x, LOOP_ADD, begin, j), loop_load(a, x->tile, j, vec, 1), false);
    loop_close(&each, &whole);
    loop_open_if(&each, inside, number(x, 0), &part);
    for (int e = 0; e < vec; e++) {
        const struct loop_expr *at = op2(x, LOOP_ADD, j, number(x, e));
        loop_open_if(&part, op2(x, LOOP_SUB, shift, number(x, 1)), at, &in[0]);
        loop_open_if(&in[0], at, end, &in[1]);
        loop_store(&in[1], to, op2(x, LOOP_ADD, begin, at), loop_load(a, x->tile, at, 1, 1), false);
        loop_close(&in[0], &in[1]);
        loop_close(&part, &in[0]);
    }
    loop_close(&each, &part);
    loop_close(b, &each);
}

// Where the results of a line begin, or those of the line behind the last one.
static const struct loop_expr *line_begin(const struct build *x, const struct loop_expr *line) {
    const struct loop_expr *groups = number(x, groups_of(&x->p, &x->c));
    const struct loop_expr *plane = op2(x, LOOP_DIV, line, groups);
    const struct loop_expr *row =
        op2(x, LOOP_MUL, op2(x, LOOP_MOD, line, groups), number(x, x->c.items));
    row = op2(x, LOOP_ADD, op2(x, LOOP_MUL, plane, number(x, x->p.rows)), row);
    return op2(x, LOOP_MUL, row, number(x, x->p.columns));
}

static void build_line(struct build *x, struct loop_builder *b, const struct loop_expr *line,
                       const struct loop_expr *begin) {
    struct scope s = {.lowering = x->l, .lane_group = -1, .lanes = 1, .builder = b};
    const struct loop_expr *groups = number(x, groups_of(&x->p, &x->c));
    const struct loop_expr *rest = op2(x, LOOP_DIV, line, groups);
    for (int i = x->p.rank - 3; i >= 0; i--) {
        const struct loop_expr *size = number(x, x->p.node->shape.size[i]);
        s.index[x->l->space.group[i]] = loop_let(b, "i", i ? op2(x, LOOP_MOD, rest, size) : rest);
        rest = op2(x, LOOP_DIV, rest, size);
    }
    x->first = op2(x, LOOP_MUL, op2(x, LOOP_MOD, line, groups), number(x, x->c.items));
    x->first = loop_let(b, "first", x->first);
    for (int i = 0; i < x->c.items * x->c.columns; i++)
        loop_store(b, x->sum, number(x, i), loop_real(x->l->arena, x->identity), false);
    fold_planes(x, &s);
    put_results(x, &s, begin);
}

static void build_space(struct build *x) {
    struct space *s = &x->l->space;
    *s = (struct space){0};
    for (int i = 0; i < x->p.rank; i++)
        space_add(s, point_size(x->l, &x->p.node->shape, i));
    for (int i = 0; i < s->n_axes; i++)
        space_separate(s, i);
    space_finish(x->l->arena, s);
}

static void build_kernel(struct build *x, const char *name) {
    struct loop_builder b, some, has;
    struct gpu_kernel k = gpu_open_kernel(x->l, name, number(x, blocks_of(&x->p, &x->c)),
                                          x->c.threads * x->c.lines, &b);
    const struct loop_expr *threads = number(x, x->c.threads), *all;
    const struct loop_expr *line = op2(x, LOOP_MUL, k.block, number(x, x->c.lines));
    all = number(x, lines_of(&x->p, &x->c));
    const struct loop_expr *from = loop_let(&b, "from", line_begin(x, line));
    const struct loop_expr *to = op2(x, LOOP_ADD, line, number(x, x->c.lines));
    to = loop_let(&b, "next", op2(x, LOOP_MIN, to, all));
    to = loop_let(&b, "to", line_begin(x, to));
    const struct loop_expr *shift = op2(x, LOOP_MOD, from, number(x, x->p.vec_out));
    shift = loop_let(&b, "shift", shift);
    const struct loop_expr *begin = loop_let(&b, "begin", op2(x, LOOP_SUB, from, shift));
    line = loop_let(&b, "line", op2(x, LOOP_ADD, line, op2(x, LOOP_DIV, k.thread, threads)));
    x->column = op2(x, LOOP_MUL, op2(x, LOOP_MOD, k.thread, threads), number(x, x->c.columns));
    x->column = loop_let(&b, "column", x->column);
    loop_open_if(&b, line, all, &some);
    loop_open_if(&some, x->column, number(x, x->p.columns), &has);
    build_line(x, &has, line, begin);
    loop_close(&some, &has);
    loop_close(&b, &some);
    loop_barrier(&b);
    const struct loop_expr *end = op2(x, LOOP_ADD, shift, op2(x, LOOP_SUB, to, from));
    copy_tile(x, &b, &k, begin, shift, loop_let(&b, "end", end));
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .p = find_pool(f), .c = read_choice(stage), .anchor = f->anchor};
    x.value = l->region->value[0];
    struct fold like = {0};
    fold_choose(&like, x.p.node->op);
    x.op = like.op;
    x.identity = like.identity;
    build_space(&x);
    x.sum = loop_register(l->program, arena_printf(l->arena, "%s_fold", x.p.node->name),
                          (int64_t)x.c.items * x.c.columns, 1);
    struct loop_size size = {tile_of(&x.p, &x.c), NULL};
    x.tile = loop_shared_of(l->program, "tile", l->region->graph->nodes[x.value].dtype, &size, 1);
    build_kernel(&x, arena_printf(l->arena, "%s_pool", stage->values[0]));
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct pool p = find_pool(f);
    struct choice c = read_choice(s);
    struct region_work w;
    region_count(f->region, &w);
    double loads = (double)n_loads(&p, &c);
    struct gpu_traffic traffic = {.bytes = w.bytes_read + w.bytes_written,
                                  .blocks = (double)blocks_of(&p, &c),
                                  .threads = c.threads * c.lines,
                                  .in_flight = VECTOR_BYTES * fmin(8, loads)};
    // Loads through the first cache, 128 bytes a clock of each multiprocessor; what is folded; and
    // results, which go to shared memory one by one.
    double results = (double)c.items * c.columns;
    double taps = (double)(pool_covered_rows(p.w, c.items) * p.w->size[p.last]) / c.items *
                  (double)pool_outer_taps(p.w);
    double each = loads / results * VECTOR_BYTES / 128 + (taps + 8) / 128;
    double used = (double)p.columns / ((double)c.threads * c.columns);
    double compute = each * (double)shape_count(&p.node->shape) / (t->sms * t->top_clock_hz) / used;
    double memory = gpu_estimate_traffic(t, &traffic);
    // With a stride neighbours' vectors lie apart: a warp's loads take more sectors than it needs
    // at once (averages of 11 x 11 with stride 11: 63% of reach, 94% by single loads).
    double apart = p.w->stride[p.last] > 1 ? 3 : 1;
    return apart * (memory > compute ? memory + 0.1 * compute : compute + 0.1 * memory);
}

const struct emitter pool_vectors = {
    .name = "vectors",
    .summary = "a pooling of planes in memory, by vectors of 16 bytes",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
