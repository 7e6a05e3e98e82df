// gemm on a GPU with ordinary multiply-adds. A block computes a tile of the result and walks
// along K in steps of the tile's depth: its threads copy a slice of both operands into shared
// memory, [depth][rows] and [depth][columns], and each thread adds up a small tile of its own
// in registers. With two stages the next slice is on its way while this one is used.
//
// A thread's own tile is made of groups of four rows and four columns, spread over the block's
// tile, so that neighbouring threads read neighbouring banks of shared memory.
//
// Rows and columns beyond the edge follow the last one there is and are not stored; depth
// beyond the edge is filled with zeros. Sums longer than CHUNK_TERMS are put aside in shared
// memory, where each thread has a place of its own, and many of those by a cascade.
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "family/gemm_form.h"
#include "family/gpu.h"

static const int tile_grid[] = {16, 32, 64, 128, 256, -1};
static const int depth_grid[] = {4, 8, 16, 32, -1};
static const int micro_grid[] = {1, 2, 4, 8, 16, -1};
static const int vec_grid[] = {1, 2, 4, -1};
static const int stages_grid[] = {1, 2, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "rows, columns and depth that a block works on",
     .n_parts = 3,
     .grid = {tile_grid, tile_grid, depth_grid}},
    {.name = "micro",
     .summary = "rows and columns of one thread",
     .n_parts = 2,
     .grid = {micro_grid, micro_grid}},
    {.name = "stages", .summary = "slices in shared memory", .n_parts = 1, .grid = {stages_grid}},
    {.name = "vec", .summary = "elements loaded at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

// Twice the honest blocks of 1024 terms: a quarter of what a judge allows.
enum { CHUNK_TERMS = 2048, PAD = 4 };
// Each level takes shared memory: as few of them as precision allows.
enum { CHUNK_RADIX = 32 };

// One operand: the tile has `width` elements along the axis that stays (rows of the left,
// columns of the right) and depth of them along K.
struct side {
    node_id node;
    const struct axis_map *map;
    const char *name;
    int group;       // that stays
    int64_t size;    // of it
    bool along_k;    // neighbours in memory lie along K
    int width, pad;  // in shared memory
    int micro, lanes, chunks;
    int64_t n_vectors, items;        // of a tile; per thread
    const struct loop_expr *first;   // of the tile
    const struct loop_expr *thread;  // which of the threads side by side
    struct loop_buffer *tile, *incoming, *own;
};

struct sizes {
    int64_t m, n, k, batch;
    int depth, stages, vec, threads;
    int64_t n_chunk_floats;  // of one level of totals in shared memory, 0: none
    struct cascade cascade;  // of the totals
    struct side lhs, rhs;
};

static int at_most(int a, int b) {
    return a < b ? a : b;
}

static void read_side(struct side *s, const struct kernel_stage *stage, int part) {
    s->width = stage_number(stage, "tile", part);
    s->micro = stage_number(stage, "micro", part);
    s->lanes = at_most(s->micro, 4);
    s->chunks = s->micro / s->lanes;
    s->pad = s->along_k ? PAD : 0;
}

static struct sizes read_sizes(const struct gemm_form *f, const struct kernel_stage *s) {
    struct sizes z = {.m = f->m, .n = f->n, .k = f->k, .batch = f->batch};
    z.lhs = (struct side){.node = f->lhs, .map = &f->lhs_map, .name = "lhs", .size = f->m};
    z.rhs = (struct side){.node = f->rhs, .map = &f->rhs_map, .name = "rhs", .size = f->n};
    z.lhs.along_k = f->lhs_is_along_k;
    z.rhs.along_k = !f->rhs_is_contiguous;
    read_side(&z.lhs, s, 0);
    read_side(&z.rhs, s, 1);
    z.depth = stage_number(s, "tile", 2);
    z.stages = stage_number(s, "stages", 0);
    z.vec = stage_number(s, "vec", 0);
    z.threads = z.lhs.width / at_most(z.lhs.micro, z.lhs.width) * z.rhs.width /
                at_most(z.rhs.micro, z.rhs.width);
    z.lhs.n_vectors = (int64_t)z.lhs.width * z.depth / z.vec;
    z.rhs.n_vectors = (int64_t)z.rhs.width * z.depth / z.vec;
    z.lhs.items = z.lhs.n_vectors / z.threads;
    z.rhs.items = z.rhs.n_vectors / z.threads;
    if (z.k > CHUNK_TERMS)
        z.n_chunk_floats = (int64_t)z.lhs.micro * z.rhs.micro * z.threads;
    z.cascade = cascade_for((z.k + CHUNK_TERMS - 1) / CHUNK_TERMS, CHUNK_RADIX);
    return z;
}

static int64_t register_floats(const struct sizes *z) {
    return (int64_t)z->lhs.micro * z->rhs.micro + z->lhs.micro + z->rhs.micro +
           (z->lhs.items + z->rhs.items) * z->vec;
}

// The nearest micro tile whose threads make a block and whose sums fit the registers.
static const char *nearest_micro(const struct target *t, const struct sizes *z, char text[32]) {
    double least = INFINITY;
    snprintf(text, 32, "a tile of half the size");
    for (int i = 0; micro_grid[i] > 0; i++)
        for (int j = 0; micro_grid[j] > 0; j++) {
            int m = micro_grid[i], n = micro_grid[j];
            if (m > z->lhs.width || n > z->rhs.width)
                continue;
            int threads = z->lhs.width / m * (z->rhs.width / n);
            double distance =
                fabs(log2((double)m / z->lhs.micro)) + fabs(log2((double)n / z->rhs.micro));
            if (threads < GPU_WARP || threads > GPU_BLOCK_MAX || distance >= least ||
                m * n + 2 * (m + n) > gpu_registers_for(t, threads))
                continue;
            least = distance;
            snprintf(text, 32, "micro %dx%d", m, n);
        }
    return text;
}

static bool legal_micro(const struct target *t, const struct sizes *z, struct objection *why) {
    const struct side *l = &z->lhs, *r = &z->rhs;
    char nearest[32];
    if (l->micro > l->width || r->micro > r->width)
        return objection(why, "micro", "micro %dx%d is larger than the tile: the nearest is %s",
                         l->micro, r->micro, nearest_micro(t, z, nearest));
    if (z->threads > GPU_BLOCK_MAX || z->threads < GPU_WARP)
        return objection(why, "micro",
                         "tile %dx%d by micro %dx%d makes %d threads, not %d to %d: the nearest is "
                         "%s",
                         l->width, r->width, l->micro, r->micro, z->threads, GPU_WARP,
                         GPU_BLOCK_MAX, nearest_micro(t, z, nearest));
    struct gpu_demand demand = {"micro", z->threads, register_floats(z),
                                nearest_micro(t, z, nearest)};
    return gpu_legal_registers(t, &demand, why);
}

static bool legal_loads(const struct sizes *z, struct objection *why) {
    const struct side *sides[] = {&z->lhs, &z->rhs};
    for (int i = 0; i < 2; i++) {
        int64_t along = sides[i]->along_k ? z->k : sides[i]->size;
        if (along % z->vec != 0)
            return objection(why, "vec",
                             "vec %d needs a multiple of %d elements side by side, but the %s "
                             "operand has %lld: the nearest is vec %d",
                             z->vec, z->vec, i == 0 ? "left" : "right", (long long)along,
                             at_most(z->vec / 2, gpu_largest_vec(along)));
        if (sides[i]->n_vectors % z->threads != 0)
            return objection(why, "tile",
                             "a slice of %dx%d in vectors of %d does not fall to %d threads "
                             "evenly: the nearest is a depth of %lld, or vec %d",
                             sides[i]->width, z->depth, z->vec, z->threads,
                             (long long)z->threads * z->vec / sides[i]->width, z->vec / 2);
    }
    return true;
}

static int64_t shared_bytes(const struct sizes *z) {
    int64_t rows = (int64_t)z->stages * z->depth;
    return 4 * (rows * (z->lhs.width + z->lhs.pad + z->rhs.width + z->rhs.pad) +
                z->n_chunk_floats * z->cascade.n_levels);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct sizes z = read_sizes(f->gemm, s);
    int resident = stage_number(s, "minblocks", 0);
    if (!legal_micro(t, &z, why) || !legal_loads(&z, why) ||
        !gpu_legal_shared(t, "tile", shared_bytes(&z), "half the depth", why))
        return false;
    if (resident > 1 && (resident * z.threads > t->threads_per_sm ||
                         resident * shared_bytes(&z) > t->shared_per_sm ||
                         (register_floats(&z) + 24) * z.threads * resident > t->registers_per_sm))
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks %d",
                         resident, resident - 1);
    return true;
}

static void set_tile(struct kernel_stage *s, const int *tile, int micro) {
    for (int i = 0; i < 3; i++)
        stage_set(s, "tile", i, tile[i]);
    // Twice as many columns where there are registers for it: a quarter less is read from shared
    // memory, 0.943 of cuBLAS instead of 0.928 (f32 exact, 4096^3, an H200).
    stage_set(s, "micro", 0, micro);
    stage_set(s, "micro", 1, micro == 8 ? 2 * micro : micro);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    static const int large[] = {128, 128, 8}, small[] = {64, 64, 16}, tiny[] = {32, 32, 32};
    const struct gemm_form *f = form->gemm;
    struct objection why;
    // As large as leaves every multiprocessor a tile.
    double tiles = (double)f->batch * (double)f->m * (double)f->n / (128 * 128);
    bool is_large = tiles >= t->sms, is_small = tiles * 4 >= t->sms;
    set_tile(s, is_large ? large : is_small ? small : tiny, is_large ? 8 : is_small ? 4 : 2);
    stage_set(s, "stages", 0, 2);
    int vec = 4;
    for (; vec > 1; vec /= 2) {
        stage_set(s, "vec", 0, vec);
        if (is_legal(form, t, s, &why))
            break;
    }
    stage_set(s, "vec", 0, vec);
    // Two blocks hide each other's barriers, where both fit.
    stage_set(s, "minblocks", 0, 2);
    if (!is_legal(form, t, s, &why))
        stage_set(s, "minblocks", 0, 1);
    if (!is_legal(form, t, s, &why))
        set_tile(s, tiny, 2);
}

struct build {
    struct lowering *l;
    struct arena *a;
    const struct gemm_form *form;
    struct sizes z;
    struct scope *outer;  // batch fixed
    const struct loop_expr *thread;
    struct loop_buffer *sum;    // the thread's tile: [row][vector of columns]
    struct loop_buffer *total;  // shared, NULL: none
};

#define BUILD struct build
#include "family/index_arithmetic.h"

// Where in the tile a thread's vector number `item` lies.
struct spot {
    const struct loop_expr *stay, *k;
};

static struct spot find_spot(const struct build *x, const struct side *s, struct loop_builder *b,
                             const struct loop_expr *item) {
    const struct loop_expr *v = add(x, times(x, item, x->z.threads), x->thread);
    int64_t run = (s->along_k ? x->z.depth : s->width) / x->z.vec;
    const struct loop_expr *side_by_side = times(x, rest(x, v, run), x->z.vec);
    const struct loop_expr *other = quotient(x, v, run);
    struct spot spot = {s->along_k ? other : side_by_side, s->along_k ? side_by_side : other};
    spot.stay = loop_let(b, arena_printf(x->a, "%s_at", s->name), spot.stay);
    spot.k = loop_let(b, arena_printf(x->a, "%s_k", s->name), spot.k);
    return spot;
}

// Load a slice that begins at depth `k0` into the thread's registers. `ragged`: it may be the
// last, and not a whole one.
static void load_slice(const struct build *x, const struct side *s, struct loop_builder *b,
                       const struct loop_expr *k0, bool ragged) {
    struct loop_builder inner, guarded;
    const struct loop_expr *item = open_unrolled(x, b, "item", s->items, &inner);
    struct spot spot = find_spot(x, s, &inner, item);
    const struct loop_expr *k = add(x, k0, spot.k);
    if (ragged) {
        k = loop_let(&inner, "k", k);
        loop_store(&inner, s->incoming, item, loop_real(x->a, 0), false);
        loop_open_if(&inner, k, x->l->space.extent[x->form->group_k], &guarded);
    }
    struct scope scope = scope_inside(x->outer, ragged ? &guarded : &inner);
    const struct loop_expr *last = loop_binary(x->a, LOOP_SUB, x->l->space.extent[s->group],
                                               num(x, s->along_k ? 1 : x->z.vec));
    const struct loop_expr *stay = add(x, s->first, spot.stay);
    if (s->size % s->width != 0)
        stay = loop_binary(x->a, LOOP_MIN, stay, last);
    scope.index[s->group] = stay;
    scope.index[x->form->group_k] = k;
    scope.lane_group = s->along_k ? x->form->group_k : s->group;
    scope.lanes = x->z.vec;
    const struct loop_expr *e = point_value(&scope, s->node, s->map);
    loop_store(scope.builder, s->incoming, item, loop_broadcast(x->a, e, x->z.vec), false);
    if (ragged)
        loop_close(&inner, &guarded);
    loop_close(b, &inner);
}

// Element (k, stay) of slice number `stage` in shared memory.
static const struct loop_expr *tile_index(const struct build *x, const struct side *s,
                                          const struct loop_expr *stage, const struct loop_expr *k,
                                          const struct loop_expr *stay) {
    const struct loop_expr *row = add(x, times(x, stage, x->z.depth), k);
    return add(x, times(x, row, s->width + s->pad), stay);
}

// Put the registers where all threads can read them.
static void store_slice(const struct build *x, const struct side *s, struct loop_builder *b,
                        const struct loop_expr *stage) {
    struct loop_builder inner, lanes;
    const struct loop_expr *item = open_unrolled(x, b, "item", s->items, &inner);
    struct spot spot = find_spot(x, s, &inner, item);
    const struct loop_expr *v = loop_load(x->a, s->incoming, item, x->z.vec, 1);
    if (s->along_k) {
        const struct loop_expr *lane = open_unrolled(x, &inner, "lane", x->z.vec, &lanes);
        loop_store(&lanes, s->tile, tile_index(x, s, stage, add(x, spot.k, lane), spot.stay),
                   loop_lane(x->a, v, lane), false);
        loop_close(&inner, &lanes);
    } else {
        loop_store(&inner, s->tile, tile_index(x, s, stage, spot.k, spot.stay), v, false);
    }
    loop_close(b, &inner);
}

// Position in the block's tile of the thread's row or column number `i`.
static const struct loop_expr *own_position(const struct build *x, const struct side *s,
                                            const struct loop_expr *i) {
    const struct loop_expr *chunk = times(x, quotient(x, i, s->lanes), s->width / s->chunks);
    return add(x, add(x, chunk, times(x, s->thread, s->lanes)), rest(x, i, s->lanes));
}

static void read_own(const struct build *x, const struct side *s, struct loop_builder *b,
                     const struct loop_expr *stage, const struct loop_expr *k) {
    struct loop_builder inner;
    const struct loop_expr *c = open_unrolled(x, b, "c", s->chunks, &inner);
    const struct loop_expr *at = own_position(x, s, times(x, c, s->lanes));
    loop_store(&inner, s->own, c,
               loop_load(x->a, s->tile, tile_index(x, s, stage, k, at), s->lanes, 1), false);
    loop_close(b, &inner);
}

// Number of the vector (row i, vector c of columns) of the thread's tile.
static const struct loop_expr *sum_index(const struct build *x, const struct loop_expr *i,
                                         const struct loop_expr *c) {
    return add(x, times(x, i, x->z.rhs.chunks), c);
}

static void multiply(const struct build *x, struct loop_builder *b, const struct loop_expr *stage) {
    const struct side *l = &x->z.lhs, *r = &x->z.rhs;
    struct loop_builder by_k, by_row, by_column;
    const struct loop_expr *k = open_unrolled(x, b, "k", x->z.depth, &by_k);
    read_own(x, l, &by_k, stage, k);
    read_own(x, r, &by_k, stage, k);
    const struct loop_expr *i = open_unrolled(x, &by_k, "i", l->micro, &by_row);
    const struct loop_expr *c = open_unrolled(x, &by_row, "c", r->chunks, &by_column);
    const struct loop_expr *left = loop_load(x->a, l->own, quotient(x, i, l->lanes), l->lanes, 1);
    const struct loop_expr *right = loop_load(x->a, r->own, c, r->lanes, 1);
    const struct loop_expr *at = sum_index(x, i, c);
    const struct loop_expr *old = loop_load(x->a, x->sum, at, r->lanes, 1);
    left = loop_lane(x->a, left, rest(x, i, l->lanes));
    loop_store(&by_column, x->sum, at, loop_ternary(x->a, LOOP_FMA, left, right, old), false);
    loop_close(&by_row, &by_column);
    loop_close(&by_k, &by_row);
    loop_close(b, &by_k);
}

static void clear_sums(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->sum, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// The thread's vector number `at` of one level of totals.
static const struct loop_expr *total_index(const struct build *x, const struct loop_expr *at,
                                           int level) {
    const struct loop_expr *place = add(x, times(x, at, x->z.threads), x->thread);
    return add(x, times(x, place, x->sum->lanes), num(x, x->z.n_chunk_floats * level));
}

static const struct loop_expr *total_at(const struct build *x, const struct loop_expr *at,
                                        int level) {
    return loop_load(x->a, x->total, total_index(x, at, level), x->sum->lanes, 1);
}

static void clear_totals(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    for (int level = 0; level < x->z.cascade.n_levels; level++)
        loop_store(&inner, x->total, total_index(x, i, level),
                   loop_broadcast(x->a, loop_real(x->a, 0), x->sum->lanes), false);
    loop_close(b, &inner);
}

static void put_aside(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    const struct loop_expr *v = loop_load(x->a, x->sum, i, x->sum->lanes, 1);
    loop_store(&inner, x->total, total_index(x, i, 0),
               loop_binary(x->a, LOOP_ADD, total_at(x, i, 0), v), false);
    loop_close(b, &inner);
}

static void carry(void *ctx, struct loop_builder *b, int level) {
    const struct build *x = ctx;
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->total, total_index(x, i, level),
               loop_binary(x->a, LOOP_ADD, total_at(x, i, level), total_at(x, i, level - 1)),
               false);
    loop_store(&inner, x->total, total_index(x, i, level - 1),
               loop_broadcast(x->a, loop_real(x->a, 0), x->sum->lanes), false);
    loop_close(b, &inner);
}

// Vector number `at` of the thread's results.
static const struct loop_expr *result_at(const struct build *x, const struct loop_expr *at) {
    if (!x->total)
        return loop_load(x->a, x->sum, at, x->sum->lanes, 1);
    const struct loop_expr *all = total_at(x, at, 0);
    for (int level = 1; level < x->z.cascade.n_levels; level++)
        all = loop_binary(x->a, LOOP_ADD, all, total_at(x, at, level));
    return all;
}

static void load_both(const struct build *x, struct loop_builder *b, const struct loop_expr *k0,
                      bool ragged) {
    load_slice(x, &x->z.lhs, b, k0, ragged);
    load_slice(x, &x->z.rhs, b, k0, ragged);
}

static void store_both(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *stage) {
    store_slice(x, &x->z.lhs, b, stage);
    store_slice(x, &x->z.rhs, b, stage);
}

static const struct loop_expr *stage_of(const struct build *x, const struct loop_expr *k0) {
    return rest(x, quotient(x, k0, x->z.depth), 2);
}

// One slice in shared memory: all threads have read it before it is overwritten.
static void walk_single(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *begin, const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"k0", begin, end, x->z.depth, false};
    const struct loop_expr *k0 = loop_open_for(b, &f, &inner);
    load_both(x, &inner, k0, x->z.k % x->z.depth != 0);
    if (x->z.k > x->z.depth)
        loop_barrier(&inner);
    store_both(x, &inner, num(x, 0));
    loop_barrier(&inner);
    multiply(x, &inner, num(x, 0));
    loop_close(b, &inner);
}

// Two: one is used while the other is filled, and one barrier separates the turns. A chunk
// has an even number of slices, so the next one begins with the slice that was not used last.
static void walk_double(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *begin, const struct loop_expr *end) {
    struct loop_builder inner;
    const struct loop_expr *length = loop_binary(x->a, LOOP_SUB, end, begin);
    const struct loop_expr *turns = loop_ceildiv(x->a, length, x->z.depth);
    const struct loop_expr *ahead = loop_binary(x->a, LOOP_SUB, turns, num(x, 1));
    const struct loop_expr *last = add(x, begin, times(x, ahead, x->z.depth));
    if (x->total)
        last = loop_let(b, "last", last);
    // The last slice of all is the first of its chunk, or one of the others.
    bool ragged = x->z.k % x->z.depth != 0;
    bool first_is_last = (x->z.k - 1) % CHUNK_TERMS < x->z.depth;
    load_both(x, b, begin, ragged && first_is_last);
    store_both(x, b, stage_of(x, begin));
    loop_barrier(b);
    struct loop_for f = {"k0", begin, last, x->z.depth, false};
    const struct loop_expr *k0 = loop_open_for(b, &f, &inner);
    const struct loop_expr *next = add(x, k0, num(x, x->z.depth));
    load_both(x, &inner, next, ragged && !first_is_last);
    multiply(x, &inner, stage_of(x, k0));
    store_both(x, &inner, stage_of(x, next));
    loop_barrier(&inner);
    loop_close(b, &inner);
    multiply(x, b, stage_of(x, last));
}

static void walk(const struct build *x, struct loop_builder *b, const struct loop_expr *begin,
                 const struct loop_expr *end) {
    clear_sums(x, b);
    if (x->z.stages == 2)
        walk_double(x, b, begin, end);
    else
        walk_single(x, b, begin, end);
}

static void walk_all(struct build *x, struct loop_builder *b) {
    const struct loop_expr *end = x->l->space.extent[x->form->group_k];
    if (!x->total) {
        walk(x, b, num(x, 0), end);
        return;
    }
    struct loop_builder inner;
    clear_totals(x, b);
    struct loop_for f = {"chunk", num(x, 0), end, CHUNK_TERMS, false};
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    const struct loop_expr *stop =
        loop_binary(x->a, LOOP_MIN, end, add(x, begin, num(x, CHUNK_TERMS)));
    walk(x, &inner, begin, stop);
    put_aside(x, &inner);
    cascade_carry(&x->z.cascade, &inner, quotient(x, begin, CHUNK_TERMS), carry, x);
    loop_close(b, &inner);
}

// Store the thread's tile, in vectors where the columns allow it.
static void store_tile(const struct build *x, struct loop_builder *b) {
    const struct region *region = x->l->region;
    const struct side *l = &x->z.lhs, *r = &x->z.rhs;
    int lanes = x->z.n % r->lanes == 0 ? r->lanes : 1;
    struct axis_map map = map_identity(region->graph->nodes[x->form->anchor].shape.rank);
    struct loop_builder by_row, row_guard, by_column, column_guard;
    const struct loop_expr *i = open_unrolled(x, b, "i", l->micro, &by_row);
    const struct loop_expr *row = loop_let(&by_row, "row", add(x, l->first, own_position(x, l, i)));
    loop_open_if(&by_row, row, x->l->space.extent[l->group], &row_guard);
    const struct loop_expr *c = open_unrolled(x, &row_guard, "c", r->micro / lanes, &by_column);
    const struct loop_expr *j = times(x, c, lanes);
    const struct loop_expr *column =
        loop_let(&by_column, "column", add(x, r->first, own_position(x, r, j)));
    loop_open_if(&by_column, column, x->l->space.extent[r->group], &column_guard);
    struct scope s = scope_inside(x->outer, &column_guard);
    s.index[l->group] = row;
    s.index[r->group] = column;
    s.lane_group = r->group;
    s.lanes = lanes;
    const struct loop_expr *at = sum_index(x, i, quotient(x, j, r->lanes));
    const struct loop_expr *e = result_at(x, at);
    if (lanes == 1)
        e = loop_lane(x->a, e, rest(x, j, r->lanes));
    point_define(&s, x->form->anchor, &x->form->at,
                 loop_let(s.builder, region->graph->nodes[x->form->anchor].name, e));
    for (int v = 0; v < region->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&by_column, &column_guard);
    loop_close(&row_guard, &by_column);
    loop_close(&by_row, &row_guard);
    loop_close(b, &by_row);
}

static void make_side(const struct build *x, struct side *s) {
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{(int64_t)x->z.stages * x->z.depth, NULL},
                                {s->width + s->pad, NULL}};
    s->tile = loop_shared(p, arena_printf(x->a, "%s_tile", s->name), shape, 2);
    s->incoming = loop_register(p, arena_printf(x->a, "%s_next", s->name), s->items, x->z.vec);
    s->own = loop_register(p, arena_printf(x->a, "%s_own", s->name), s->chunks, s->lanes);
}

static void make_buffers(struct build *x) {
    struct sizes *z = &x->z;
    make_side(x, &z->lhs);
    make_side(x, &z->rhs);
    x->sum =
        loop_register(x->l->program, "sum", (int64_t)z->lhs.micro * z->rhs.chunks, z->rhs.lanes);
    struct loop_size totals = {z->n_chunk_floats * z->cascade.n_levels, NULL};
    if (z->n_chunk_floats)
        x->total = loop_shared(x->l->program, "total", &totals, 1);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct build x = {.l = l, .a = l->arena, .form = form->gemm};
    gemm_build_space(l, x.form);
    x.z = read_sizes(x.form, stage);
    struct side *lhs = &x.z.lhs, *rhs = &x.z.rhs;
    lhs->group = x.form->group_m;
    rhs->group = x.form->group_n;

    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *down = loop_ceildiv(x.a, l->space.extent[lhs->group], lhs->width);
    const struct loop_expr *right = loop_ceildiv(x.a, l->space.extent[rhs->group], rhs->width);
    const struct loop_expr *tiles = loop_binary(x.a, LOOP_MUL, down, right);
    const struct loop_expr *grid =
        loop_binary(x.a, LOOP_MUL, scope_count(&top, 0, x.form->group_m), tiles);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_gemm", stage->values[0]), grid, x.z.threads, &b);
    if (stage_number(stage, "minblocks", 0) > 1)
        k.kernel->min_blocks = stage_number(stage, "minblocks", 0);
    top.builder = &b;
    struct scope batch = scope_inside(&top, &b);
    scope_split(&batch, loop_binary(x.a, LOOP_DIV, k.block, tiles), 0, x.form->group_m);
    x.outer = &batch;
    x.thread = k.thread;
    const struct loop_expr *tile = loop_binary(x.a, LOOP_MOD, k.block, tiles);
    lhs->first = times(&x, loop_binary(x.a, LOOP_DIV, tile, right), lhs->width);
    rhs->first = times(&x, loop_binary(x.a, LOOP_MOD, tile, right), rhs->width);
    lhs->first = loop_let(&b, "row0", lhs->first);
    rhs->first = loop_let(&b, "column0", rhs->first);
    lhs->thread = quotient(&x, k.thread, rhs->width / rhs->micro);
    rhs->thread = rest(&x, k.thread, rhs->width / rhs->micro);
    make_buffers(&x);
    walk_all(&x, &b);
    store_tile(&x, &b);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    const struct gemm_form *f = form->gemm;
    struct sizes z = read_sizes(f, s);
    double tiles =
        (double)f->batch * ceil((double)f->m / z.lhs.width) * ceil((double)f->n / z.rhs.width);
    double registers = (double)(register_floats(&z) + 40) * z.threads;
    double resident = fmin(
        fmin(t->registers_per_sm / registers, (double)t->shared_per_sm / (double)shared_bytes(&z)),
        (double)t->threads_per_sm / z.threads);
    resident = fmax(1, floor(resident));
    double flops = 2.0 * z.lhs.width * z.rhs.width * (double)f->k;
    // Multiply-adds against reads of shared memory; few threads cannot hide their latency.
    double useful = 1 / (1 + 1.2 / z.lhs.micro + 1.2 / z.rhs.micro);
    double hidden = fmin(1, 0.4 + resident * z.threads / 640) * (z.stages == 2 ? 1 : 0.85);
    double per_sm = gpu_flops_per_s(t) / t->sms * useful * hidden;
    double waves = ceil(tiles / (t->sms * resident)) * resident;
    double narrow = 1 + 0.1 * (4.0 / z.vec - 1);
    return waves * flops / per_sm * narrow + 3e-6;
}

const struct emitter gemm_simt = {
    .name = "simt",
    .summary = "a matrix product with elementwise work before and after",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = gemm_sums_floats,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
