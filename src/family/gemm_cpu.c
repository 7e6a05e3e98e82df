// gemm: one matrix product, its operands computed on the way in, its result on the way
// out. A block computes a tile of the result in three movements per step along K: copy
// (pack) a slice of the operands into local arrays in the order they will be read, run
// the micro-kernel over pairs of panels, add to the tile. Then the epilogue stores it.
//
//      packed rhs: panels of micro N columns, each  [k][column]
//      packed lhs: panels of micro M rows, each     [k][row]
//
// Panels at the edge are filled up with zeros, so there is one micro-kernel and no guard
// in it. Partial sums of K / tile K steps are added up by a cascade, which bounds their error.
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "family/cascade.h"
#include "family/emitter.h"
#include "family/gemm_form.h"
#include "family/sweep.h"
#include "loop/range.h"

static const int vec_grid[] = {4, 8, 16, -1};
static const int tile_grid[] = {16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, -1};
static const int depth_grid[] = {32, 64, 128, 256, 384, 512, 1024, -1};
static const int micro_rows_grid[] = {1, 2, 4, 6, 8, 12, 16, -1};
static const int micro_columns_grid[] = {4, 8, 16, 32, 48, 64, -1};
static const char *const pack_words[] = {"none", "rhs", "both", NULL};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "rows, columns and depth that a block works on",
     .n_parts = 3,
     .grid = {tile_grid, tile_grid, depth_grid}},
    {.name = "micro",
     .summary = "rows and columns held in registers",
     .n_parts = 2,
     .grid = {micro_rows_grid, micro_columns_grid}},
    {.name = "pack",
     .change = CHANGE_LAYOUT,
     .summary = "operands copied into the order of use",
     .words = pack_words},
    {.name = "vec", .summary = "lanes of a vector", .n_parts = 1, .grid = {vec_grid}},
    {0},
};

enum { STEPS_RADIX = 32 };  // steps along K whose sums are added in one chain

struct sizes {
    int64_t m, n, k;                 // of the problem
    int64_t tile_m, tile_n, tile_k;  // of a block, no more than needed
    int micro_m, micro_n, lanes, n_vectors;
    bool pack_lhs, pack_rhs;
    struct cascade cascade;  // of steps along K
};

static int64_t tile_of(int64_t size, int64_t tile, int64_t micro) {
    int64_t whole = (size + micro - 1) / micro * micro;
    return tile < whole ? tile : whole;
}

static struct sizes read_sizes(const struct gemm_form *f, const struct kernel_stage *s) {
    struct sizes z = {.m = f->m, .n = f->n, .k = f->k};
    z.micro_m = stage_number(s, "micro", 0);
    z.micro_n = stage_number(s, "micro", 1);
    z.lanes = stage_number(s, "vec", 0);
    z.n_vectors = z.micro_n / z.lanes;
    z.tile_m = tile_of(f->m, stage_number(s, "tile", 0), z.micro_m);
    z.tile_n = tile_of(f->n, stage_number(s, "tile", 1), z.micro_n);
    z.tile_k = tile_of(f->k, stage_number(s, "tile", 2), 1);
    z.pack_lhs = stage_word_is(s, "pack", "both");
    z.pack_rhs = !stage_word_is(s, "pack", "none");
    z.cascade = cascade_for((z.k + z.tile_k - 1) / z.tile_k, STEPS_RADIX);
    return z;
}

static bool legal_micro(const struct target *t, const struct kernel_stage *s,
                        struct objection *why) {
    int m = stage_number(s, "micro", 0), n = stage_number(s, "micro", 1);
    int vec = stage_number(s, "vec", 0);
    if (n % vec != 0)
        return objection(why, "micro",
                         "micro %dx%d: %d columns are no multiple of vec %d: the "
                         "nearest is %dx%d",
                         m, n, n, vec, m, n < vec ? vec : n / vec * vec);
    int registers = t->vector_bytes >= 64 ? 32 : 16;
    int used = m * (n / vec) + n / vec + 1;
    if (used > registers) {
        int fits = (registers - 1 - n / vec) / (n / vec);
        return objection(why, "micro",
                         "micro %dx%d with vec %d takes %d vector registers of %d: "
                         "the nearest is %dx%d",
                         m, n, vec, used, registers, knob_at_most(&knobs[1], 0, fits), n);
    }
    return true;
}

static bool legal_tile(const struct kernel_stage *s, struct objection *why) {
    static const char *const words[] = {"rows", "columns"};
    for (int i = 0; i < 2; i++) {
        int tile = stage_number(s, "tile", i), micro = stage_number(s, "micro", i);
        if (tile % micro == 0)
            continue;
        int nearest = tile;
        for (int j = 0; knobs[0].grid[i][j] >= 0; j++) {
            int value = knobs[0].grid[i][j];
            if (value % micro == 0 &&
                (nearest % micro != 0 || abs(value - tile) < abs(nearest - tile)))
                nearest = value;
        }
        return objection(why, "tile",
                         "a tile of %d %s is no multiple of the %d of micro: the "
                         "nearest is %d",
                         tile, words[i], micro, nearest);
    }
    return true;
}

static int64_t local_bytes(const struct sizes *z) {
    return 4 *
           (z->tile_m * z->tile_n * z->cascade.n_levels +
            (z->pack_lhs ? z->tile_m * z->tile_k : 0) + (z->pack_rhs ? z->tile_n * z->tile_k : 0));
}

// The tile made smaller, its largest part first, until its local arrays fit.
static struct kernel_stage shrink(const struct gemm_form *f, const struct kernel_stage *s) {
    struct kernel_stage fits = *s;
    for (;;) {
        struct sizes z = read_sizes(f, &fits);
        if (local_bytes(&z) <= LOCAL_BYTES_MAX)
            return fits;
        int part = 0;
        for (int i = 1; i < 3; i++)
            if (stage_number(&fits, "tile", i) > stage_number(&fits, "tile", part))
                part = i;
        int micro = part < 2 ? stage_number(s, "micro", part) : 1;
        int at = knob_position(&knobs[0], part, stage_number(&fits, "tile", part));
        do
            at--;
        while (at > 0 && knobs[0].grid[part][at] % micro != 0);
        assert(at >= 0);
        stage_set(&fits, "tile", part, knobs[0].grid[part][at]);
    }
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct gemm_form *f = form->gemm;
    if (!legal_vector(t, s, why) || !legal_micro(t, s, why) || !legal_tile(s, why))
        return false;
    struct sizes z = read_sizes(f, s);
    if (local_bytes(&z) > LOCAL_BYTES_MAX) {
        struct kernel_stage fits = shrink(f, s);
        return objection(why, "tile",
                         "tile %dx%dx%d needs %lld bytes of local arrays, above %d: the nearest is "
                         "%dx%dx%d",
                         stage_number(s, "tile", 0), stage_number(s, "tile", 1),
                         stage_number(s, "tile", 2), (long long)local_bytes(&z), LOCAL_BYTES_MAX,
                         stage_number(&fits, "tile", 0), stage_number(&fits, "tile", 1),
                         stage_number(&fits, "tile", 2));
    }
    if (!z.pack_lhs && !f->lhs_is_plain)
        return objection(why, "pack",
                         "the left operand is computed on the way in: it needs pack "
                         "both");
    if (!z.pack_rhs && (!f->rhs_is_plain || !f->rhs_is_contiguous))
        return objection(why, "pack", "the right operand is %s: it needs pack rhs",
                         f->rhs_is_plain ? "transposed" : "computed on the way in");
    if (!z.pack_rhs && f->n % z.micro_n != 0)
        return objection(why, "pack",
                         "without packing %lld columns must be a multiple of the %d of "
                         "micro: the nearest is pack rhs",
                         (long long)f->n, z.micro_n);
    return true;
}

// What building one kernel needs.
struct build {
    struct lowering *l;
    struct arena *a;
    const struct gemm_form *form;
    struct sizes z;
    struct loop_buffer *lhs, *rhs, *tile;             // local arrays; lhs, rhs may be NULL
    struct loop_buffer *level[CASCADE_LEVELS_MAX];    // sums of steps; level 0 is the tile
    const struct loop_expr *row0, *column0, *depth0;  // where the tile and the step begin
    const struct loop_expr *rows, *columns, *depth;   // how much of it is there
};

static const struct loop_expr *add(const struct build *b, const struct loop_expr *x,
                                   const struct loop_expr *y) {
    return loop_binary(b->a, LOOP_ADD, x, y);
}

static const struct loop_expr *times(const struct build *b, const struct loop_expr *x, int64_t y) {
    return loop_binary(b->a, LOOP_MUL, x, loop_int(b->a, y));
}

// Element (k, along) of panel `panel` of a packed operand whose panels are `width` wide.
static const struct loop_expr *packed(const struct build *b, const struct loop_expr *panel,
                                      const struct loop_expr *k, const struct loop_expr *along,
                                      int width) {
    const struct loop_expr *row = add(b, times(b, panel, b->z.tile_k), k);
    return add(b, times(b, row, width), along);
}

// One operand's packing: `along` is the axis that stays (rows of lhs, columns of rhs).
struct packing {
    struct loop_buffer *to;
    node_id node;
    const struct axis_map *map;
    int group, width;
    const struct loop_expr *first, *count;  // of `along`
    int lanes;                              // 1: element by element, walking along k
};

static const struct loop_expr *operand(const struct build *b, struct scope *s,
                                       const struct packing *p, const struct loop_expr *along,
                                       const struct loop_expr *k) {
    s->index[p->group] = add(b, p->first, along);
    s->index[b->form->group_k] = add(b, b->depth0, k);
    return point_value(s, p->node, p->map);
}

// Panels that are whole, read in vectors across the panel.
static void pack_vectors(const struct build *b, struct scope *outer, const struct packing *p,
                         const struct loop_expr *panels) {
    struct loop_builder by_panel, by_k, by_vector;
    struct loop_for f = {"panel", loop_int(b->a, 0), panels, 1, false};
    const struct loop_expr *panel = loop_open_for(outer->builder, &f, &by_panel);
    struct loop_for g = {"k", loop_int(b->a, 0), b->depth, 1, false};
    const struct loop_expr *k = loop_open_for(&by_panel, &g, &by_k);
    struct loop_for h = {"v", loop_int(b->a, 0), loop_int(b->a, p->width), p->lanes, true};
    const struct loop_expr *v = loop_open_for(&by_k, &h, &by_vector);
    struct scope s = scope_inside(outer, &by_vector);
    s.lane_group = p->group;
    s.lanes = p->lanes;
    const struct loop_expr *e = operand(b, &s, p, add(b, times(b, panel, p->width), v), k);
    loop_store(&by_vector, p->to, packed(b, panel, k, v, p->width),
               loop_broadcast(b->a, e, p->lanes), false);
    loop_close(&by_k, &by_vector);
    loop_close(&by_panel, &by_k);
    loop_close(outer->builder, &by_panel);
}

// Panels element by element, from number `from` on; what is not there becomes zero.
static void pack_elements(const struct build *b, struct scope *outer, const struct packing *p,
                          const struct loop_expr *from) {
    struct loop_builder by_panel, inner, by_k;
    struct arena *a = b->a;
    const struct loop_expr *zero = loop_int(a, 0);
    struct loop_for f = {"panel", from, loop_ceildiv(a, p->count, p->width), 1, false};
    if (range_at_most(f.end, f.begin))
        return;
    const struct loop_expr *panel = loop_open_for(outer->builder, &f, &by_panel);
    const struct loop_expr *there =
        loop_binary(a, LOOP_MIN, loop_int(a, p->width),
                    loop_binary(a, LOOP_SUB, p->count, times(b, panel, p->width)));
    struct loop_for g = {"lane", zero, there, 1, false};
    const struct loop_expr *lane = loop_open_for(&by_panel, &g, &inner);
    struct loop_for h = {"k", zero, b->depth, 1, false};
    const struct loop_expr *k = loop_open_for(&inner, &h, &by_k);
    struct scope s = scope_inside(outer, &by_k);
    const struct loop_expr *e = operand(b, &s, p, add(b, times(b, panel, p->width), lane), k);
    loop_store(&by_k, p->to, packed(b, panel, k, lane, p->width), e, false);
    loop_close(&inner, &by_k);
    loop_close(&by_panel, &inner);

    struct loop_for rest = {"lane", there, loop_int(a, p->width), 1, false};
    lane = loop_open_for(&by_panel, &rest, &inner);
    k = loop_open_for(&inner, &h, &by_k);
    loop_store(&by_k, p->to, packed(b, panel, k, lane, p->width), loop_real(a, 0), false);
    loop_close(&inner, &by_k);
    loop_close(&by_panel, &inner);
    loop_close(outer->builder, &by_panel);
}

static void pack(const struct build *b, struct scope *s, const struct packing *p) {
    if (p->lanes == 1) {
        pack_elements(b, s, p, loop_int(b->a, 0));
        return;
    }
    const struct loop_expr *whole = loop_binary(b->a, LOOP_DIV, p->count, loop_int(b->a, p->width));
    pack_vectors(b, s, p, whole);
    pack_elements(b, s, p, whole);
}

// Row `i` of the left operand's panel at depth k.
static const struct loop_expr *lhs_element(const struct build *b, struct scope *s,
                                           const struct loop_expr *panel, const struct loop_expr *k,
                                           const struct loop_expr *i) {
    if (b->lhs)
        return loop_load(b->a, b->lhs, packed(b, panel, k, i, b->z.micro_m), 1, 1);
    // Rows beyond the last read it again; their results are never stored.
    const struct loop_expr *row = add(b, b->row0, add(b, times(b, panel, b->z.micro_m), i));
    const struct loop_expr *end =
        loop_binary(b->a, LOOP_SUB, b->l->space.extent[b->form->group_m], loop_int(b->a, 1));
    s->index[b->form->group_m] = loop_binary(b->a, LOOP_MIN, end, row);
    s->index[b->form->group_k] = add(b, b->depth0, k);
    return point_value(s, b->form->lhs, &b->form->lhs_map);
}

static const struct loop_expr *rhs_vector(const struct build *b, struct scope *s,
                                          const struct loop_expr *panel, const struct loop_expr *k,
                                          const struct loop_expr *v) {
    const struct loop_expr *column = times(b, v, b->z.lanes);
    if (b->rhs)
        return loop_load(b->a, b->rhs, packed(b, panel, k, column, b->z.micro_n), b->z.lanes, 1);
    s->index[b->form->group_n] = add(b, b->column0, add(b, times(b, panel, b->z.micro_n), column));
    s->index[b->form->group_k] = add(b, b->depth0, k);
    s->lane_group = b->form->group_n;
    s->lanes = b->z.lanes;
    return point_value(s, b->form->rhs, &b->form->rhs_map);
}

struct registers {
    struct loop_buffer *sum, *rhs;
};

static void multiply(const struct build *b, struct scope *outer, const struct registers *reg,
                     const struct loop_expr *row_panel, const struct loop_expr *column_panel) {
    struct arena *a = b->a;
    const struct sizes *z = &b->z;
    const struct loop_expr *zero = loop_int(a, 0);
    struct loop_builder by_k, by_vector, by_row, by_both;
    struct loop_for f = {"k", zero, b->depth, 1, false};
    const struct loop_expr *k = loop_open_for(outer->builder, &f, &by_k);
    struct loop_for g = {"v", zero, loop_int(a, z->n_vectors), 1, true};
    const struct loop_expr *v = loop_open_for(&by_k, &g, &by_vector);
    struct scope s = scope_inside(outer, &by_vector);
    loop_store(&by_vector, reg->rhs, v, rhs_vector(b, &s, column_panel, k, v), false);
    loop_close(&by_k, &by_vector);

    struct loop_for h = {"i", zero, loop_int(a, z->micro_m), 1, true};
    const struct loop_expr *i = loop_open_for(&by_k, &h, &by_row);
    s = scope_inside(outer, &by_row);
    const struct loop_expr *x = loop_let(&by_row, "row", lhs_element(b, &s, row_panel, k, i));
    v = loop_open_for(&by_row, &g, &by_both);
    const struct loop_expr *at = add(b, times(b, i, z->n_vectors), v);
    loop_store(&by_both, reg->sum, at,
               loop_ternary(a, LOOP_FMA, x, loop_load(a, reg->rhs, v, z->lanes, 1),
                            loop_load(a, reg->sum, at, z->lanes, 1)),
               false);
    loop_close(&by_row, &by_both);
    loop_close(&by_k, &by_row);
    loop_close(outer->builder, &by_k);
}

// Set the tile on the first step along K, add to it on the others.
static void write_tile(const struct build *b, struct loop_builder *builder,
                       const struct registers *reg, const struct loop_expr *row_panel,
                       const struct loop_expr *column_panel) {
    struct arena *a = b->a;
    const struct sizes *z = &b->z;
    const struct loop_expr *zero = loop_int(a, 0), *one = loop_int(a, 1);
    for (int first = 1; first >= 0; first--) {
        struct loop_builder guard, by_row, by_vector;
        loop_open_if(builder, first ? b->depth0 : zero, first ? one : b->depth0, &guard);
        struct loop_for h = {"i", zero, loop_int(a, z->micro_m), 1, true};
        const struct loop_expr *i = loop_open_for(&guard, &h, &by_row);
        struct loop_for g = {"v", zero, loop_int(a, z->n_vectors), 1, true};
        const struct loop_expr *v = loop_open_for(&by_row, &g, &by_vector);
        const struct loop_expr *row = add(b, times(b, row_panel, z->micro_m), i);
        const struct loop_expr *column =
            add(b, times(b, column_panel, z->micro_n), times(b, v, z->lanes));
        const struct loop_expr *to = add(b, times(b, row, z->tile_n), column);
        const struct loop_expr *e =
            loop_load(a, reg->sum, add(b, times(b, i, z->n_vectors), v), z->lanes, 1);
        if (!first)
            e = loop_binary(a, LOOP_ADD, loop_load(a, b->tile, to, z->lanes, 1), e);
        loop_store(&by_vector, b->tile, to, e, false);
        loop_close(&by_row, &by_vector);
        loop_close(&guard, &by_row);
        loop_close(builder, &guard);
    }
}

static void build_micro(const struct build *b, struct scope *outer, const struct registers *reg) {
    struct arena *a = b->a;
    const struct loop_expr *zero = loop_int(a, 0);
    struct loop_builder by_column, by_row, clearing;
    struct loop_for f = {"column_panel", zero, loop_ceildiv(a, b->columns, b->z.micro_n), 1, false};
    const struct loop_expr *column_panel = loop_open_for(outer->builder, &f, &by_column);
    struct loop_for g = {"row_panel", zero, loop_ceildiv(a, b->rows, b->z.micro_m), 1, false};
    const struct loop_expr *row_panel = loop_open_for(&by_column, &g, &by_row);
    struct loop_for h = {"i", zero, loop_int(a, reg->sum->count), 1, true};
    const struct loop_expr *i = loop_open_for(&by_row, &h, &clearing);
    loop_store(&clearing, reg->sum, i, loop_real(a, 0), false);
    loop_close(&by_row, &clearing);
    struct scope s = scope_inside(outer, &by_row);
    multiply(b, &s, reg, row_panel, column_panel);
    write_tile(b, &by_row, reg, row_panel, column_panel);
    loop_close(&by_column, &by_row);
    loop_close(outer->builder, &by_column);
}

// to = to + from, and from = 0 unless it is NULL: then to = 0.
static void add_tiles(const struct build *b, struct loop_builder *outer,
                      const struct loop_buffer *to, const struct loop_buffer *from) {
    struct arena *a = b->a;
    int lanes = b->z.lanes;
    struct loop_builder inner;
    struct loop_for f = {"i", loop_int(a, 0), loop_int(a, to->count), lanes, false};
    const struct loop_expr *i = loop_open_for(outer, &f, &inner);
    const struct loop_expr *zero = loop_broadcast(a, loop_real(a, 0), lanes);
    const struct loop_expr *old = loop_load(a, to, i, lanes, 1);
    loop_store(&inner, to, i,
               from ? loop_binary(a, LOOP_ADD, old, loop_load(a, from, i, lanes, 1)) : zero, false);
    if (from)
        loop_store(&inner, from, i, zero, false);
    loop_close(outer, &inner);
}

static void carry(void *ctx, struct loop_builder *builder, int level) {
    const struct build *b = ctx;
    add_tiles(b, builder, b->level[level], b->level[level - 1]);
}

static void build_steps(struct build *b, struct scope *outer) {
    struct arena *a = b->a;
    const struct sizes *z = &b->z;
    struct registers reg = {
        loop_register(b->l->program, "sum", (int64_t)z->micro_m * z->n_vectors, z->lanes),
        loop_register(b->l->program, "column", z->n_vectors, z->lanes)};
    struct loop_builder step;
    for (int level = 1; level < z->cascade.n_levels; level++)
        add_tiles(b, outer->builder, b->level[level], NULL);
    const struct loop_expr *k = b->l->space.extent[b->form->group_k];
    struct loop_for f = {"k0", loop_int(a, 0), k, z->tile_k, false};
    b->depth0 = loop_open_for(outer->builder, &f, &step);
    b->depth =
        loop_binary(a, LOOP_MIN, loop_int(a, z->tile_k), loop_binary(a, LOOP_SUB, k, b->depth0));
    struct scope s = scope_inside(outer, &step);
    const struct gemm_form *form = b->form;
    struct packing lhs = {b->lhs,     form->lhs, &form->lhs_map, form->group_m,
                          z->micro_m, b->row0,   b->rows,        1};
    struct packing rhs = {
        b->rhs,     form->rhs,  &form->rhs_map, form->group_n,
        z->micro_n, b->column0, b->columns,     form->rhs_is_contiguous ? z->lanes : 1};
    if (b->rhs)
        pack(b, &s, &rhs);
    if (b->lhs)
        pack(b, &s, &lhs);
    build_micro(b, &s, &reg);
    cascade_carry(&z->cascade, &step, loop_binary(a, LOOP_DIV, b->depth0, loop_int(a, z->tile_k)),
                  carry, b);
    loop_close(outer->builder, &step);
    for (int level = 1; level < z->cascade.n_levels; level++)
        add_tiles(b, outer->builder, b->tile, b->level[level]);
}

struct epilogue {
    struct build *build;
    const struct sweep *sweep;
    const struct loop_expr *row;  // of the tile
};

static void finish(void *ctx, struct scope *s, const struct loop_expr *copy) {
    const struct epilogue *e = ctx;
    const struct build *b = e->build;
    const struct region *r = b->l->region;
    (void)copy;
    const struct loop_expr *at = add(b, times(b, e->row, b->z.tile_n), sweep_position(e->sweep, s));
    const struct loop_expr *value = loop_load(b->a, b->tile, at, s->lanes, 1);
    struct axis_map map = map_identity(r->graph->nodes[b->form->anchor].shape.rank);
    point_define(s, b->form->anchor, &b->form->at,
                 loop_let(s->builder, r->graph->nodes[b->form->anchor].name, value));
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

static void build_epilogue(struct build *b, struct scope *outer) {
    struct arena *a = b->a;
    struct loop_builder by_row;
    struct loop_for f = {"i", loop_int(a, 0), b->rows, 1, false};
    const struct loop_expr *i = loop_open_for(outer->builder, &f, &by_row);
    struct scope s = scope_inside(outer, &by_row);
    s.index[b->form->group_m] = add(b, b->row0, i);
    struct sweep w = {.name = "j", .group = b->form->group_n, .begin = loop_int(a, 0)};
    w.end = b->columns;
    w.offset = b->column0;
    w.multiple = sweep_multiple(b->z.n, b->z.tile_n);
    w.lanes = b->z.lanes;
    w.unroll = 1;
    struct epilogue e = {b, &w, i};
    sweep_build(&s, &w, finish, &e);
    loop_close(outer->builder, &by_row);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    const struct gemm_form *f = form->gemm;
    gemm_build_space(l, f);
    struct build b = {.l = l, .a = a, .form = f, .z = read_sizes(f, stage)};
    const struct sizes *z = &b.z;
    struct scope s = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *m = l->space.extent[f->group_m], *n = l->space.extent[f->group_n];
    const struct loop_expr *across = loop_ceildiv(a, n, z->tile_n);
    const struct loop_expr *down = loop_ceildiv(a, m, z->tile_m);
    const struct loop_expr *tiles = loop_binary(a, LOOP_MUL, down, across);
    const struct loop_expr *batch = scope_count(&s, 0, f->group_m);
    struct loop_builder builder;
    struct loop_kernel *k =
        loop_kernel_new(l->program, arena_printf(a, "%s_gemm", stage->values[0]),
                        loop_binary(a, LOOP_MUL, batch, tiles), &builder);
    s.builder = &builder;
    const struct loop_expr *block = loop_ref(a, k->block);
    scope_split(&s, loop_binary(a, LOOP_DIV, block, tiles), 0, f->group_m);
    const struct loop_expr *tile = loop_binary(a, LOOP_MOD, block, tiles);
    b.row0 =
        loop_let(&builder, "row0", times(&b, loop_binary(a, LOOP_DIV, tile, across), z->tile_m));
    b.column0 =
        loop_let(&builder, "column0", times(&b, loop_binary(a, LOOP_MOD, tile, across), z->tile_n));
    b.rows = loop_let(
        &builder, "rows",
        loop_binary(a, LOOP_MIN, loop_int(a, z->tile_m), loop_binary(a, LOOP_SUB, m, b.row0)));
    b.columns = loop_let(
        &builder, "columns",
        loop_binary(a, LOOP_MIN, loop_int(a, z->tile_n), loop_binary(a, LOOP_SUB, n, b.column0)));
    struct loop_size shape[2] = {{z->tile_m, NULL}, {z->tile_n, NULL}};
    b.tile = b.level[0] = loop_local(l->program, "tile", shape, 2);
    for (int i = 1; i < z->cascade.n_levels; i++)
        b.level[i] = loop_local(l->program, "tiles", shape, 2);
    if (z->pack_lhs)
        b.lhs = loop_local(l->program, "lhs",
                           (struct loop_size[]){{z->tile_m, NULL}, {z->tile_k, NULL}}, 2);
    if (z->pack_rhs)
        b.rhs = loop_local(l->program, "rhs",
                           (struct loop_size[]){{z->tile_k, NULL}, {z->tile_n, NULL}}, 2);
    build_steps(&b, &s);
    build_epilogue(&b, &s);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct gemm_form *f = form->gemm;
    struct sizes z = read_sizes(f, s);
    double threads = t->n_threads > 0 ? t->n_threads : 1;
    double peak = t->ceilings.present ? t->ceilings.f32_flops_per_s : 1e11 * threads;
    // A micro-kernel wants enough sums in flight and few loads for each of them.
    double sums = (double)z.micro_m * z.n_vectors;
    double loads = (double)(z.micro_m + z.n_vectors) / sums;
    double share =
        fmin(1, 4.0 * z.lanes / t->vector_bytes) * fmin(1, sums / 8) / fmax(1, loads * 1.2);
    double rows = ceil((double)f->m / z.micro_m) * z.micro_m;
    double columns = ceil((double)f->n / z.micro_n) * z.micro_n;
    double flops = 2.0 * (double)f->batch * rows * columns * (double)f->k;
    double tiles = (double)f->batch * ceil((double)z.m / (double)z.tile_m) *
                   ceil((double)z.n / (double)z.tile_n);
    double waves = ceil(tiles / threads) * threads / tiles;
    // Every element that is packed takes about two cycles, seen against the peak rate.
    double packed = (z.pack_lhs ? 1.0 / (double)z.tile_n : 0.2 / z.micro_n) +
                    (z.pack_rhs ? 1.0 / (double)z.tile_m : 0.5 / z.micro_m);
    double spill = (double)local_bytes(&z) > (double)t->l2_bytes ? 1.3 : 1;
    // A panel of the right operand is read for every panel of rows: better from the first cache.
    double panel = (double)z.tile_k * z.micro_n * 4, far = panel > t->l1_bytes / 2 ? 1.05 : 1;
    return flops / (peak * share) * waves * spill * far * (1 + 16 * packed);
}

// What a stage begins with: of some micro-kernels and tiles the legal one that should be fastest.
static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    static const int micro[] = {8, 6, 12, 4}, tile_m[] = {64, 96, 128},
                     tile_n[] = {64, 128, 192, 256}, depth[] = {128, 256};
    int vec = t->vector_bytes >= 64 ? 16 : t->vector_bytes >= 32 ? 8 : 4;
    struct kernel_stage best = *s;
    double least = INFINITY;
    stage_set(s, "vec", 0, vec);
    stage_set(s, "micro", 1, 2 * vec);
    stage_set_word(s, "pack", "both");
    for (int i = 0; i < 4 * 3 * 4 * 2; i++) {
        struct objection why;
        stage_set(s, "micro", 0, micro[i % 4]);
        stage_set(s, "tile", 0, tile_m[i / 4 % 3]);
        stage_set(s, "tile", 1, tile_n[i / 12 % 4]);
        stage_set(s, "tile", 2, depth[i / 48]);
        double seconds = is_legal(f, t, s, &why) ? estimate(f, t, s) : INFINITY;
        if (seconds < least) {
            least = seconds;
            best = *s;
        }
    }
    *s = best;
}

const struct emitter gemm_cpu = {
    .name = "cpu",
    .summary = "a matrix product with elementwise work before and after",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .accepts = gemm_sums_floats,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
