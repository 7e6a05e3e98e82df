// Results of conv's `wgmma` emitter: the sums of a tile become the stage's values.
//
// A column is a cell of the grid; where its window reaches beyond the border there is no result. To
// say which result it is takes a few divisions, so columns are walked outside and rows inside.
#include "family/conv_wgmma_build.h"

// Where the sums of a thread lie in the tile.
struct thread_sums {
    const struct loop_expr *lane, *warp;  // the warp among those of the block
    const struct loop_expr *first;        // row of the tile that the warp begins with
};

// What a column is: an image, and places along the axes.
struct cell {
    const struct loop_expr *image, *at[SPATIAL_MAX];
};

static struct axis_map identity(const struct conv_build *x) {
    return map_identity(x->l->region->graph->nodes[x->f->anchor].shape.rank);
}

static struct cell split_column(const struct conv_build *x, struct loop_builder *b,
                                const struct loop_expr *column) {
    struct cell c;
    const struct loop_expr *flat = rest(x, column, x->z.cells);
    c.image = loop_let(b, "image", quotient(x, column, x->z.cells));
    for (int i = x->f->n_axes - 1; i >= 0; i--) {
        c.at[i] = loop_let(b, "at", i == 0 ? flat : rest(x, flat, x->z.grid[i]));
        flat = quotient(x, flat, x->z.grid[i]);
    }
    return c;
}

enum { GUARDS_MAX = SPATIAL_MAX + 1 };

// Inside the result? Returns how many conditions were opened; the last one is where to go on.
static int open_cell(const struct conv_build *x, struct loop_builder *b,
                     const struct loop_expr *column, const struct cell *c,
                     struct loop_builder inner[GUARDS_MAX]) {
    int n = 0;
    loop_open_if(b, column, num(x, x->z.columns), &inner[n++]);
    for (int i = 0; i < x->f->n_axes; i++)
        if (x->class->axis[i].out < x->z.grid[i]) {
            loop_open_if(&inner[n - 1], c->at[i], num(x, x->class->axis[i].out), &inner[n]);
            n++;
        }
    return n;
}

static void close_cell(struct loop_builder *b, struct loop_builder inner[GUARDS_MAX], int n) {
    for (int i = n - 1; i >= 0; i--)
        loop_close(i == 0 ? b : &inner[i - 1], &inner[i]);
}

static struct scope scope_at(const struct conv_build *x, struct loop_builder *b,
                             const struct loop_expr *row, const struct cell *c, int lanes) {
    const struct space *space = &x->l->space;
    struct scope s = scope_inside(x->top, b);
    const struct loop_expr *flat = num(x, 0);
    s.index[space->group[0]] = c->image;
    s.index[space->group[1]] = add(x, times(x, x->group, x->f->out), row);
    for (int i = 0; i < x->f->n_axes; i++) {
        const struct conv_axis *axis = &x->class->axis[i];
        flat = add(x, times(x, flat, axis->out), c->at[i]);
        if (x->f->is_strided)
            s.index[space->group[2 + i]] =
                add(x, times(x, c->at[i], axis->out_step), num(x, axis->out_first));
    }
    if (!x->f->is_strided)
        scope_split(&s, flat, x->first_group, space->n_groups);
    s.lane_group = lanes > 1 ? space->n_groups - 1 : s.lane_group;
    s.lanes = lanes;
    return s;
}

static void define(const struct conv_build *x, struct scope *s, const struct loop_expr *sum) {
    struct axis_map map = identity(x);
    const char *name = x->l->region->graph->nodes[x->f->anchor].name;
    point_define(s, x->f->anchor, &map, loop_let(s->builder, name, sum));
}

// The sums of rows `part` (of 64) and `half` (of 8), columns from 8 * `j` on.
static const struct loop_expr *sum_at(const struct conv_build *x, const struct loop_expr *part,
                                      const struct loop_expr *half, const struct loop_expr *j) {
    const struct loop_expr *at =
        add(x, times(x, part, x->z.tile_columns / 4), add(x, times(x, j, 2), half));
    return loop_load(x->a, x->total ? x->total : x->sum, at, 2, 1);
}

// Can columns be `lanes` at a time, for what is stored and for what is read?
static bool has_lanes(const struct conv_build *x, int lanes) {
    return conv_wgmma_piece(x->f, &x->z, 8 / lanes) % lanes == 0 &&
           space_lanes(&x->l->space, x->l->space.n_groups - 1) % lanes == 0;
}

// ---- results straight from registers

static void store_rows(const struct conv_build *x, struct loop_builder *b,
                       const struct thread_sums *p, const struct cell *c, const struct loop_expr *j,
                       const struct loop_expr *lane, int lanes) {
    struct loop_builder by_row, guard;
    struct axis_map map = identity(x);
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.own / 32, &by_row);
    const struct loop_expr *part = quotient(x, i, 2), *half = rest(x, i, 2);
    const struct loop_expr *row = add(x, times(x, part, WGMMA_ROWS), times(x, half, 8));
    row = add(x, p->first, add(x, row, quotient(x, p->lane, 4)));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, num(x, x->f->out), &guard);
    struct scope s = scope_at(x, &guard, row, c, lanes);
    const struct loop_expr *sum = sum_at(x, part, half, j);
    define(x, &s, lanes == 1 ? loop_lane(x->a, sum, lane) : sum);
    for (int v = 0; v < x->l->region->n_values; v++)
        if (!x->passage[v])
            point_store(&s, v, &map, false);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

static void store_straight(const struct conv_build *x, struct loop_builder *b,
                           const struct thread_sums *p) {
    struct loop_builder by_column, by_lane, guard[GUARDS_MAX];
    int lanes = has_lanes(x, 2) ? 2 : 1;
    const struct loop_expr *j = open_unrolled(x, b, "j", x->z.tile_columns / 8, &by_column);
    const struct loop_expr *lane = open_unrolled(x, &by_column, "lane", 2 / lanes, &by_lane);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, p->lane, 4), 2));
    column = add(x, x->column0, add(x, column, lane));
    column = loop_let(&by_lane, "column", column);
    struct cell c = split_column(x, &by_lane, column);
    int n = open_cell(x, &by_lane, column, &c, guard);
    store_rows(x, &guard[n - 1], p, &c, j, lane, lanes);
    close_cell(&by_lane, guard, n);
    loop_close(&by_column, &by_lane);
    loop_close(b, &by_column);
}

// ---- by way of shared memory, 128 bytes of 16 rows of a warp at a time

// Columns that pass at once: rows of 128 bytes.
static int columns_of(const struct loop_buffer *passage) {
    return 128 / (int)dtype_size(passage->dtype, 1);
}

// Pieces of 16 bytes change places, so that eight rows lie in different banks.
static const struct loop_expr *passage_at(const struct conv_build *x,
                                          const struct loop_buffer *passage,
                                          const struct thread_sums *p, const struct loop_expr *row,
                                          const struct loop_expr *column) {
    int line = columns_of(passage), each = line / 8;
    const struct loop_expr *at = add(x, times(x, p->warp, 16), row);
    const struct loop_expr *piece = loop_swizzle(x->a, row, quotient(x, column, each), 128);
    return add(x, times(x, at, line), add(x, times(x, piece, each), rest(x, column, each)));
}

// Which part of the sums passes: 64 rows of the warpgroup, some columns of the tile.
struct store_part {
    int value, width;
    const struct loop_expr *part, *columns;
};

static const struct loop_expr *passing_row(const struct conv_build *x, const struct thread_sums *p,
                                           const struct store_part *g,
                                           const struct loop_expr *own) {
    return add(x, p->first, add(x, times(x, g->part, WGMMA_ROWS), own));
}

static void fill_rows(const struct conv_build *x, struct loop_builder *b,
                      const struct thread_sums *p, const struct store_part *g, const struct cell *c,
                      const struct loop_expr *j, const struct loop_expr *lane, int lanes) {
    struct loop_builder by_row, guard;
    struct axis_map map = identity(x);
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &by_row);
    const struct loop_expr *own = add(x, times(x, half, 8), quotient(x, p->lane, 4));
    const struct loop_expr *row = loop_let(&by_row, "row", passing_row(x, p, g, own));
    bool is_read = x->reads_rows || x->reads_places;
    loop_open_if(&by_row, is_read ? row : num(x, 0), num(x, x->f->out), &guard);
    struct scope s = scope_at(x, &guard, row, c, lanes);
    const struct loop_expr *sum =
        sum_at(x, g->part, half, add(x, times(x, g->columns, g->width / 8), j));
    define(x, &s, lanes == 1 ? loop_lane(x->a, sum, lane) : sum);
    const struct loop_expr *column =
        add(x, times(x, j, 8), add(x, times(x, rest(x, p->lane, 4), 2), lane));
    loop_store(&guard, x->passage[g->value], passage_at(x, x->passage[g->value], p, own, column),
               point_stored(&s, g->value, &map), false);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

static void fill_passage(const struct conv_build *x, struct loop_builder *b,
                         const struct thread_sums *p, const struct store_part *g) {
    struct loop_builder by_column, by_lane, guard[GUARDS_MAX];
    int lanes = has_lanes(x, 2) ? 2 : 1;
    const struct loop_expr *j = open_unrolled(x, b, "j", g->width / 8, &by_column);
    const struct loop_expr *lane = open_unrolled(x, &by_column, "lane", 2 / lanes, &by_lane);
    const struct loop_expr *column = add(x, times(x, g->columns, g->width), times(x, j, 8));
    column = add(x, column, add(x, times(x, rest(x, p->lane, 4), 2), lane));
    column = loop_let(&by_lane, "column", add(x, x->column0, column));
    // What is stored nowhere may pass, unless it is made of something that is not there.
    struct cell c = {num(x, 0), {num(x, 0), num(x, 0), num(x, 0)}};
    if (x->reads_places)
        c = split_column(x, &by_lane, column);
    int n = open_cell(x, &by_lane, x->reads_places ? column : num(x, 0), &c, guard);
    fill_rows(x, &guard[n - 1], p, g, &c, j, lane, lanes);
    close_cell(&by_lane, guard, n);
    loop_close(&by_column, &by_lane);
    loop_close(b, &by_column);
}

// Neighbouring threads have neighbouring pieces of a row.
static void empty_passage(const struct conv_build *x, struct loop_builder *b,
                          const struct thread_sums *p, const struct store_part *g) {
    struct loop_builder inner, guard[GUARDS_MAX], inside;
    struct axis_map map = identity(x);
    const struct shape *shape = &x->l->region->graph->nodes[x->l->region->value[g->value]].shape;
    const struct loop_buffer *passage = x->passage[g->value];
    int vec = conv_wgmma_piece(x->f, &x->z, (int)dtype_size(passage->dtype, 1)),
        per = g->width / vec;
    const struct loop_expr *i = open_unrolled(x, b, "i", 16 * per / GPU_WARP, &inner);
    const struct loop_expr *own, *piece;
    if (per <= GPU_WARP) {
        own = add(x, times(x, i, GPU_WARP / per), quotient(x, p->lane, per));
        piece = rest(x, p->lane, per);
    } else {
        own = quotient(x, i, per / GPU_WARP);
        piece = add(x, times(x, rest(x, i, per / GPU_WARP), GPU_WARP), p->lane);
    }
    piece = times(x, piece, vec);
    const struct loop_expr *column = add(x, times(x, g->columns, g->width), piece);
    column = loop_let(&inner, "column", add(x, x->column0, column));
    struct cell c = split_column(x, &inner, column);
    int n = open_cell(x, &inner, column, &c, guard);
    const struct loop_expr *row = loop_let(&guard[n - 1], "row", passing_row(x, p, g, own));
    loop_open_if(&guard[n - 1], row, num(x, x->f->out), &inside);
    struct scope s = scope_at(x, &inside, row, &c, vec);
    loop_store(&inside, x->l->target[g->value], point_index(&s, shape, &map),
               loop_load(x->a, passage, passage_at(x, passage, p, own, piece), vec, 1), false);
    loop_close(&guard[n - 1], &inside);
    close_cell(&inner, guard, n);
    loop_close(b, &inner);
}

static void store_by_passage(const struct conv_build *x, struct loop_builder *b,
                             const struct thread_sums *p, int v) {
    struct loop_builder by_columns, by_part;
    struct store_part g = {.value = v, .width = columns_of(x->passage[v])};
    g.columns = open_unrolled(x, b, "c", x->z.tile_columns / g.width, &by_columns);
    g.part = open_unrolled(x, &by_columns, "part", x->z.own / WGMMA_ROWS, &by_part);
    // Nobody reads what was there before.
    loop_intrinsic(&by_part, INTRINSIC_WARP_SYNC, NULL);
    fill_passage(x, &by_part, p, &g);
    loop_intrinsic(&by_part, INTRINSIC_WARP_SYNC, NULL);
    empty_passage(x, &by_part, p, &g);
    loop_close(&by_columns, &by_part);
    loop_close(b, &by_columns);
}

// ---- what products of parts cannot say

// The parts of an infinite factor make NaN of what is infinite. A warp that has a sum which is not
// finite computes its part of the tile again, term by term. 1 where it has to.
static const struct loop_expr *find_spoiled(const struct conv_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    struct loop_buffer *check = loop_register(x->l->program, "check", 1, 2);
    const struct loop_expr *zero = num(x, 0), *nothing = loop_real(x->a, 0);
    loop_store(b, check, zero, nothing, false);
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    const struct loop_expr *v = loop_load(x->a, x->total ? x->total : x->sum, i, 2, 1);
    v = loop_binary(x->a, LOOP_MUL, v, loop_broadcast(x->a, nothing, 2));
    loop_store(&inner, check, zero,
               loop_binary(x->a, LOOP_ADD, loop_load(x->a, check, zero, 2, 1), v), false);
    loop_close(b, &inner);
    const struct loop_expr *all = loop_load(x->a, check, zero, 2, 1);
    const struct loop_expr *own =
        loop_unary(x->a, LOOP_LANES_ANY, loop_binary(x->a, LOOP_NE, all, all));
    const struct loop_expr *warp =
        loop_let(b, "any", loop_unary(x->a, LOOP_WARP_ANY, loop_let(b, "own_any", own)));
    return loop_let(b, "spoiled", loop_to_index(x->a, loop_cast(x->a, warp, LOOP_I32), 0, 1));
}

struct terms {
    struct loop_buffer *word[2], *factor, *other, *term;
};

// Element `at` of an operand, of both parts.
static const struct loop_expr *join(const struct conv_build *x, struct loop_builder *b,
                                    const struct terms *t, const struct conv_side *side,
                                    struct loop_buffer *to, const struct loop_expr *at) {
    const struct loop_expr *zero = num(x, 0);
    at = loop_let(b, "at", at);
    for (int i = 0; i < 2; i++)
        loop_store(b, t->word[i], zero, loop_load(x->a, side->from[i], at, 1, 1), false);
    loop_intrinsic(b, INTRINSIC_JOIN_TF32,
                   (struct loop_operand[]){{to, zero}, {t->word[0], zero}, {t->word[1], zero}});
    return loop_load(x->a, to, zero, 1, 1);
}

// One element, term by term.
static const struct loop_expr *sum_terms(const struct conv_build *x, struct loop_builder *b,
                                         const struct terms *t, const struct loop_expr *row,
                                         const struct loop_expr *column) {
    struct loop_builder by_tap, by_term;
    const struct conv_wgmma_sizes *z = &x->z;
    const struct loop_expr *zero = num(x, 0);
    loop_store(b, t->term, zero, loop_real(x->a, 0), false);
    struct loop_for f = {"tap", zero, num(x, z->outer), 1, false};
    const struct loop_expr *tap = loop_open_for(b, &f, &by_tap);
    const struct loop_expr *left = add(x, times(x, x->group, x->f->out), row);
    left = times(x, left, z->slices * conv_slice(z));
    left = loop_let(&by_tap, "left", add(x, left, times(x, tap, z->subs * conv_slice(z))));
    const struct loop_expr *right = add(x, times(x, x->group, z->rows), column);
    right = times(x, add(x, right, conv_tap_rows(x, tap)), z->row);
    right = loop_let(&by_tap, "right", right);
    f = (struct loop_for){"k", zero, num(x, z->run), 1, false};
    const struct loop_expr *k = loop_open_for(&by_tap, &f, &by_term);
    const struct loop_expr *p = join(x, &by_term, t, &x->weights, t->factor, add(x, left, k));
    const struct loop_expr *q = join(x, &by_term, t, &x->image, t->other, add(x, right, k));
    loop_store(&by_term, t->term, zero,
               loop_ternary(x->a, LOOP_FMA, p, q, loop_load(x->a, t->term, zero, 1, 1)), false);
    loop_close(&by_tap, &by_term);
    loop_close(b, &by_tap);
    return loop_load(x->a, t->term, zero, 1, 1);
}

static void store_again(const struct conv_build *x, struct loop_builder *b,
                        const struct thread_sums *p) {
    struct loop_program *program = x->l->program;
    struct terms t = {.factor = loop_register(program, "factor", 1, 1),
                      .other = loop_register(program, "other", 1, 1),
                      .term = loop_register(program, "term", 1, 1)};
    for (int i = 0; i < 2; i++)
        t.word[i] = loop_register_of(program, i ? "low_word" : "high_word", 1, 1, LOOP_I32);
    struct loop_builder by_column, guard[GUARDS_MAX], by_row, inside;
    struct axis_map map = identity(x);
    struct loop_for f = {"j", num(x, 0), num(x, x->z.tile_columns / 4), 1, false};
    const struct loop_expr *column = times(x, loop_open_for(b, &f, &by_column), 4);
    column = add(x, x->column0, add(x, column, rest(x, p->lane, 4)));
    column = loop_let(&by_column, "column", column);
    struct cell c = split_column(x, &by_column, column);
    int n = open_cell(x, &by_column, column, &c, guard);
    f = (struct loop_for){"i", num(x, 0), num(x, x->z.own / 32), 1, false};
    const struct loop_expr *i = loop_open_for(&guard[n - 1], &f, &by_row);
    const struct loop_expr *row =
        add(x, times(x, quotient(x, i, 2), WGMMA_ROWS), times(x, rest(x, i, 2), 8));
    row = add(x, p->first, add(x, row, quotient(x, p->lane, 4)));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, num(x, x->f->out), &inside);
    const struct loop_expr *sum = sum_terms(x, &inside, &t, row, column);
    struct scope s = scope_at(x, &inside, row, &c, 1);
    define(x, &s, sum);
    for (int v = 0; v < x->l->region->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&by_row, &inside);
    loop_close(&guard[n - 1], &by_row);
    close_cell(&by_column, guard, n);
    loop_close(b, &by_column);
}

// ---- a tile

static void store_tile(const struct conv_build *x, struct loop_builder *b,
                       const struct thread_sums *p) {
    bool straight = false;
    for (int v = 0; v < x->l->region->n_values; v++) {
        straight |= !x->passage[v];
        if (x->passage[v])
            store_by_passage(x, b, p, v);
    }
    if (straight)
        store_straight(x, b, p);
}

void conv_wgmma_store(struct conv_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    struct thread_sums p;
    p.lane = loop_let(b, "lane", rest(x, x->thread, GPU_WARP));
    p.warp = loop_let(b, "warp", quotient(x, x->thread, GPU_WARP));
    const struct loop_expr *own =
        add(x, times(x, x->consumer, x->z.own), times(x, rest(x, p.warp, 4), 16));
    p.first = loop_let(b, "own", add(x, x->row0, own));
    if (x->z.parts == 1) {
        store_tile(x, b, &p);
        return;
    }
    const struct loop_expr *spoiled = find_spoiled(x, b);
    loop_open_if(b, spoiled, num(x, 1), &inner);
    store_tile(x, &inner, &p);
    loop_close(b, &inner);
    loop_open_if(b, num(x, 0), spoiled, &inner);
    store_again(x, &inner, &p);
    loop_close(b, &inner);
}
