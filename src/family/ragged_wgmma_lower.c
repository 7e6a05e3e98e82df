// The walk over groups of ragged's `wgmma` emitter. gemm_wgmma_lower.c has what is done with a
// tile; ragged_wgmma.c says why.
//
//   for every group:
//       tiles, from its offsets
//       for every tile of it that is the block's:
//           copy the slices, or multiply and store
//       the number of tiles so far, modulo the number of blocks
//
// Tiles are numbered through all groups and dealt out in turns, so that a block that walks over all
// groups knows which are its own without a search, and no table of them is made before. Those that
// copy and those that multiply make the same walk, each with numbers of their own. Slices are
// counted over all tiles of the block, which says in what slot one is and for the how-manieth time.
//
// Of ragged_matmul rows before the first group and behind the last are groups as well, whose rows
// are not read: their results are 0. Of ragged_outer a group without rows has one slice of zeros.
#include "family/gemm_wgmma_build.h"
#include "family/ragged_wgmma.h"

// Numbers that a walk keeps: slices so far; of ragged_matmul the row where the last group ended,
// and tiles so far modulo the number of blocks.
enum { COUNT, ABOVE, BEFORE, NUMBERS };

struct groups {
    const struct ragged_form *f;
    struct loop_buffer *number;
};

static const struct loop_expr *minus(const struct wgmma_build *x, const struct loop_expr *p,
                                     const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_SUB, p, q);
}

// An index that lies in this range, which is not seen from the expression.
static const struct loop_expr *within(const struct wgmma_build *x, const struct loop_expr *p,
                                      int64_t low, int64_t high) {
    return loop_to_index(x->a, loop_cast(x->a, p, LOOP_I32), low, high);
}

static const struct loop_expr *larger(const struct wgmma_build *x, const struct loop_expr *p,
                                      const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_MAX, p, q);
}

static const struct loop_expr *get(const struct wgmma_build *x, const struct groups *c,
                                   struct loop_builder *b, const char *name, int which,
                                   int64_t high) {
    const struct loop_expr *v = loop_load(x->a, c->number, num(x, which), 1, 1);
    return loop_let(b, name, loop_to_index(x->a, v, 0, high));
}

static void put(const struct wgmma_build *x, const struct groups *c, struct loop_builder *b,
                int which, const struct loop_expr *v) {
    loop_store(b, c->number, num(x, which), loop_cast(x->a, v, LOOP_I32), false);
}

static const struct loop_expr *offset_at(const struct wgmma_build *x, const struct groups *c,
                                         struct loop_builder *b, const char *name,
                                         const struct loop_expr *at) {
    const struct loop_expr *v = loop_load(x->a, x->l->buffer[c->f->offsets], at, 1, 1);
    return loop_let(b, name, loop_to_index(x->a, v, 0, c->f->rows));
}

// The block's tiles of a group that has `tiles`, the first of which has number `before` modulo the
// number of blocks.
static const struct loop_expr *open_own(struct wgmma_build *x, const struct groups *c,
                                        struct wgmma_loops *loops, const struct loop_expr *before,
                                        const struct loop_expr *tiles) {
    const struct loop_expr *first = add(x, x->block, minus(x, num(x, x->blocks), before));
    first = loop_let(&loops->at[0], "first", rest(x, first, x->blocks));
    struct loop_for f = {"tile", first, tiles, x->blocks, false};
    const struct loop_expr *tile = loop_open_for(&loops->at[0], &f, &loops->at[1]);
    loops->n = 2;
    x->count = get(x, c, &loops->at[1], "so_far", COUNT, INT32_MAX / 2);
    x->first_slice = num(x, 0);
    x->batch = scope_inside(x->top, &loops->at[1]);
    return tile;
}

// ---- ragged_outer: all tiles of a matrix, by the rows of its group

static void open_outer(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops) {
    const struct groups *c = x->walk->ctx;
    struct loop_builder *in = &loops->at[0];
    int64_t down = (x->z.m + x->z.lhs.width - 1) / x->z.lhs.width;
    int64_t tiles = down * ((x->z.n + x->z.rhs.width - 1) / x->z.rhs.width);
    put(x, c, b, COUNT, num(x, 0));
    struct loop_for f = {"group", num(x, 0), num(x, c->f->groups), 1, false};
    x->matrix = loop_open_for(b, &f, in);
    x->first_k = offset_at(x, c, in, "begin", x->matrix);
    x->cut = offset_at(x, c, in, "end", add(x, x->matrix, num(x, 1)));
    const struct loop_expr *rows = larger(x, minus(x, x->cut, x->first_k), num(x, 1));
    x->n_slices = loop_let(in, "slices", loop_ceildiv(x->a, rows, x->z.depth));
    // Errors of a sum grow with its terms, what is allowed for with the root of all.
    if (x->z.chunk) {
        const struct loop_expr *more = smaller(x, quotient(x, x->n_slices, 8), num(x, 3));
        x->chunk = loop_let(in, "each", add(x, times(x, more, 2), num(x, x->z.chunk)));
    }
    const struct loop_expr *before = rest(x, times(x, x->matrix, tiles), x->blocks);
    const struct loop_expr *tile = open_own(x, c, loops, before, num(x, tiles));
    x->batch.index[x->l->space.group[0]] = x->matrix;
    x->rows_end = x->l->space.extent[x->lhs.group];
    wgmma_place_tile(x, &loops->at[1], tile, num(x, down));
}

static void close_tile(struct wgmma_build *x, struct wgmma_loops *loops) {
    put(x, x->walk->ctx, &loops->at[1], COUNT, add(x, x->count, x->n_slices));
    loop_close(&loops->at[0], &loops->at[1]);
}

static void close_outer(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops) {
    close_tile(x, loops);
    loop_close(b, &loops->at[0]);
}

// ---- ragged_matmul: rows of a group

// Group number `e` - 1; the first and the one behind the last are rows of no
// group.
static void find_group(struct wgmma_build *x, const struct groups *c, struct loop_builder *b,
                       const struct loop_expr *e) {
    int64_t groups = c->f->groups;
    const struct loop_expr *end = offset_at(x, c, b, "offset", smaller(x, e, num(x, groups)));
    end = larger(x, end, times(x, quotient(x, e, groups + 1), c->f->rows));
    x->rows_end = loop_let(b, "end", end);
    const struct loop_expr *is_some =
        loop_binary(x->a, LOOP_MUL, smaller(x, e, num(x, 1)),
                    smaller(x, minus(x, num(x, groups + 1), e), num(x, 1)));
    is_some = loop_let(b, "is_some", is_some);
    x->cut = loop_let(b, "read_end", loop_binary(x->a, LOOP_MUL, x->rows_end, is_some));
    x->n_slices = loop_let(b, "slices", add(x, times(x, is_some, x->z.slices - 1), num(x, 1)));
    x->matrix = loop_let(b, "group", within(x, minus(x, e, num(x, 1)), 0, groups - 1));
}

static void open_rows(struct wgmma_build *x, struct loop_builder *b, struct wgmma_loops *loops) {
    const struct groups *c = x->walk->ctx;
    struct loop_builder *in = &loops->at[0];
    int64_t right = (x->z.n + x->z.rhs.width - 1) / x->z.rhs.width;
    for (int i = 0; i < NUMBERS; i++)
        put(x, c, b, i, num(x, 0));
    struct loop_for f = {"e", num(x, 0), num(x, c->f->groups + 2), 1, false};
    const struct loop_expr *e = loop_open_for(b, &f, in);
    const struct loop_expr *begin = get(x, c, in, "begin", ABOVE, c->f->rows);
    find_group(x, c, in, e);
    const struct loop_expr *rows = within(x, minus(x, x->rows_end, begin), 0, c->f->rows);
    const struct loop_expr *down = loop_let(in, "down", loop_ceildiv(x->a, rows, x->z.lhs.width));
    const struct loop_expr *tiles = loop_let(in, "tiles", times(x, down, right));
    const struct loop_expr *before = get(x, c, in, "before", BEFORE, x->blocks - 1);
    put(x, c, in, BEFORE, rest(x, add(x, before, tiles), x->blocks));
    put(x, c, in, ABOVE, x->rows_end);
    const struct loop_expr *tile = open_own(x, c, loops, before, tiles);
    wgmma_place_tile(x, &loops->at[1], tile, down);
    x->lhs.first = loop_let(&loops->at[1], "first_row", add(x, begin, x->lhs.first));
}

void ragged_wgmma_lower(struct lowering *l, const struct form *f,
                        const struct kernel_stage *stage) {
    struct gemm_form form = ragged_as_gemm(f);
    struct wgmma_build x = {.l = l, .a = l->arena, .form = &form, .name = stage->values[0]};
    struct groups c = {.f = f->ragged};
    ragged_build_space(l, f->ragged);
    x.z = ragged_wgmma_sizes(f, stage);
    double tiles = ragged_wgmma_tiles(f->ragged, &x.z);
    x.more = true;
    x.blocks = tiles < l->sms ? (int64_t)tiles : l->sms;
    x.lhs = (struct wgmma_tile){.s = &x.z.lhs, .group = l->space.group[form.group_m]};
    x.rhs = (struct wgmma_tile){.s = &x.z.rhs, .group = l->space.group[form.group_n]};
    c.number = loop_register_of(l->program, "number", NUMBERS, 1, LOOP_I32);
    struct wgmma_walk rows = {open_rows, close_outer, &c}, outer = {open_outer, close_outer, &c};
    x.walk = f->ragged->is_outer ? &outer : &rows;
    wgmma_build_kernel(&x, "groups");
}
