// Limits and estimates of a block, and the loops by which a team of threads walks a row and
// combines partial results: registers, then shuffles within a warp, then shared memory.
#include "family/gpu.h"

#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "family/fold.h"
#include "loop/range.h"

// Terms that one accumulator takes before its sum is put aside: what honest f32 does.
enum { CHUNK_TERMS = 1024, CHUNK_RADIX = 8 };
// Registers that addresses, indices and temporaries take besides the data.
enum { REGISTERS_OVERHEAD = 32, REGISTERS_MAX = 255 };

// Legality.

int gpu_largest_vec(int64_t n_columns) {
    return n_columns % 4 == 0 ? 4 : n_columns % 2 == 0 ? 2 : 1;
}

bool gpu_legal_vec(const struct kernel_stage *s, int64_t n_columns, struct objection *why) {
    int vec = stage_number(s, "vec", 0);
    if (n_columns % vec == 0)
        return true;
    return objection(why, "vec",
                     "vec %d needs rows of a multiple of %d elements, but they have %lld: the "
                     "nearest is vec %d",
                     vec, vec, (long long)n_columns, gpu_largest_vec(n_columns));
}

int64_t gpu_registers_for(const struct target *t, int threads) {
    int64_t each = t->registers_per_sm / threads;
    return (each < REGISTERS_MAX ? each : REGISTERS_MAX) - REGISTERS_OVERHEAD;
}

bool gpu_legal_registers(const struct target *t, const struct gpu_demand *d,
                         struct objection *why) {
    int64_t room = gpu_registers_for(t, d->threads);
    if (d->floats <= room)
        return true;
    return objection(why, d->knob,
                     "%lld floats in registers of each of %d threads, but there is room for %lld: "
                     "the nearest is %s",
                     (long long)d->floats, d->threads, (long long)room, d->nearest);
}

bool gpu_legal_shared(const struct target *t, const char *knob, int64_t bytes, const char *nearest,
                      struct objection *why) {
    if (bytes <= t->shared_per_block)
        return true;
    return objection(why, knob,
                     "%lld bytes of shared memory, but a block has at most %lld: the nearest is %s",
                     (long long)bytes, (long long)t->shared_per_block, nearest);
}

int gpu_threads_along(int64_t width, int least, int most) {
    int best = least;
    double top = 0;
    for (int n = least; n <= most; n *= 2) {
        double used = (double)width / (double)((width + n - 1) / n * n);
        if (used >= 0.95 * top) {
            best = n;
            top = fmax(top, used);
        }
    }
    return best;
}

bool gpu_legal_grid(const char *knob, int64_t blocks, struct objection *why) {
    if (blocks <= INT32_MAX)
        return true;
    return objection(why, knob, "%lld blocks, but a launch has at most %d", (long long)blocks,
                     INT32_MAX);
}

// Estimates.

double gpu_bytes_per_s(const struct target *t) {
    return t->ceilings.present ? ceilings_bandwidth(&t->ceilings, 0.5) : 0.85 * t->peak_bytes_per_s;
}

double gpu_flops_per_s(const struct target *t) {
    // Two per clock in each of 128 lanes.
    return t->ceilings.present ? t->ceilings.f32_flops_per_s : 256.0 * t->sms * t->top_clock_hz;
}

double gpu_estimate_traffic(const struct target *t, const struct gpu_traffic *traffic) {
    double rate = gpu_bytes_per_s(t);
    double resident = floor(t->threads_per_sm / (double)traffic->threads) * t->sms;
    double busy = fmin(traffic->blocks, resident);
    // Little's law: what is under way must cover about 800 ns of latency.
    double under_way = busy * traffic->threads * traffic->in_flight;
    double share = fmin(1, under_way / (rate * 800e-9));
    // The last wave may leave multiprocessors idle; starting a block costs a little.
    double waves = traffic->blocks / resident;
    double tail = waves > 1 ? ceil(waves) / waves : 1;
    double start = waves * 0.4e-6;
    return traffic->bytes / (rate * share) * (1 + 0.3 * (tail - 1)) + start + 2e-6;
}

// Kernels and teams.

struct gpu_kernel gpu_open_kernel(struct lowering *l, const char *name,
                                  const struct loop_expr *grid, int threads,
                                  struct loop_builder *b) {
    struct gpu_kernel g = {.kernel = loop_kernel_new(l->program, name, grid, b)};
    g.thread = loop_kernel_threads(l->program, g.kernel, threads);
    g.block = loop_ref(l->arena, g.kernel->block);
    return g;
}

struct gpu_team gpu_make_team(struct arena *a, const struct loop_expr *thread, int threads,
                              int rows) {
    const struct loop_expr *n = loop_int(a, threads);
    return (struct gpu_team){.threads = threads,
                             .rows = rows,
                             .thread = thread,
                             .lane = loop_binary(a, LOOP_MOD, thread, n),
                             .row = loop_binary(a, LOOP_DIV, thread, n)};
}

// Folds.

static enum loop_op warp_op(enum loop_op across_lanes) {
    return across_lanes - LOOP_LANES_SUM + LOOP_WARP_SUM;
}

int64_t gpu_walk_steps(int64_t count, int vec, int threads) {
    int64_t step = (int64_t)vec * threads;
    return (count + step - 1) / step;
}

// Elements that one step of the whole team covers, and one chunk of steps.
static int64_t stride(const struct gpu_walk *w) {
    return (int64_t)w->vec * w->team->threads;
}

static int64_t chunk_of(const struct gpu_walk *w) {
    return stride(w) * (w->chunk ? w->chunk : CHUNK_TERMS);
}

void gpu_fold_init(struct gpu_fold *f, const struct gpu_walk *w, const struct node *n) {
    gpu_fold_init_of(f, w, n->op, loop_arithmetic(n->dtype), n->name);
}

void gpu_fold_init_of(struct gpu_fold *f, const struct gpu_walk *w, enum op op,
                      enum loop_dtype type, const char *name) {
    struct fold like = {0};
    fold_choose(&like, op);
    *f = (struct gpu_fold){.l = w->l, .name = name, .op = like.op, .across_lanes = like.across};
    f->identity = like.identity;
    f->type = type;
    f->across_warp = warp_op(like.across);
    struct arena *a = w->l->arena;
    int lanes = w->lanes ? w->lanes : w->vec;
    assert(lanes == 1 || type == LOOP_F32 || type == LOOP_MASK);
    f->part = loop_register_of(w->l->program, arena_printf(a, "%s_part", name), 1, lanes, type);
    f->cascade = cascade_for((w->length + chunk_of(w) - 1) / chunk_of(w), CHUNK_RADIX);
    // What is exact needs no chunks.
    bool rounds = op == OP_RSUM && (type == LOOP_F32 || type == LOOP_F64);
    if (rounds && w->length > chunk_of(w))
        f->total = loop_register_of(w->l->program, arena_printf(a, "%s_total", name),
                                    f->cascade.n_levels, lanes, type);
    if (w->edge)
        f->edge = loop_register_of(w->l->program, arena_printf(a, "%s_edge", name), 1, 1, type);
    struct loop_size warps = {w->team->rows * w->team->threads / GPU_WARP, NULL};
    if (w->team->threads > GPU_WARP && !w->apart)
        f->shared = loop_shared_of(w->l->program, arena_printf(a, "%s_warps", name),
                                   fold_storage(type), &warps, 1);
}

static const struct loop_expr *get_level(const struct gpu_fold *f, int level) {
    return loop_load(f->l->arena, f->total, loop_int(f->l->arena, level), f->total->lanes, 1);
}

static void put_level(const struct gpu_fold *f, struct loop_builder *b, int level,
                      const struct loop_expr *value) {
    loop_store(b, f->total, loop_int(f->l->arena, level), value, false);
}

static const struct loop_expr *get(const struct gpu_fold *f, const struct loop_buffer *r) {
    return loop_load(f->l->arena, r, loop_int(f->l->arena, 0), r->lanes, 1);
}

static void put(const struct gpu_fold *f, struct loop_builder *b, const struct loop_buffer *r,
                const struct loop_expr *value) {
    loop_store(b, r, loop_int(f->l->arena, 0), value, false);
}

void gpu_fold_add(struct gpu_fold *f, struct loop_builder *b, const struct loop_expr *value) {
    struct arena *a = f->l->arena;
    const struct loop_buffer *to = f->is_at_edge ? f->edge : f->part;
    put(f, b, to,
        loop_binary(a, f->op, get(f, to),
                    loop_broadcast(a, loop_cast(a, value, f->type), to->lanes)));
}

static void clear(struct gpu_walk *w, struct loop_builder *b, bool totals) {
    for (int i = 0; i < w->n_folds; i++) {
        struct gpu_fold *f = &w->folds[i];
        if (!totals)
            put(f, b, f->part, loop_number(w->l->arena, f->type, f->identity));
        for (int level = 0; totals && f->total && level < f->cascade.n_levels; level++)
            put_level(f, b, level, loop_number(w->l->arena, f->type, f->identity));
    }
}

static void carry(void *ctx, struct loop_builder *b, int level) {
    const struct gpu_fold *f = ctx;
    struct arena *a = f->l->arena;
    put_level(f, b, level, loop_binary(a, f->op, get_level(f, level), get_level(f, level - 1)));
    put_level(f, b, level - 1, loop_number(a, f->type, f->identity));
}

static void end_chunk(struct gpu_walk *w, struct loop_builder *b, const struct loop_expr *chunk) {
    for (int i = 0; i < w->n_folds; i++) {
        struct gpu_fold *f = &w->folds[i];
        if (!f->total)
            continue;
        put(f, b, f->total, loop_binary(w->l->arena, f->op, get(f, f->total), get(f, f->part)));
        cascade_carry(&f->cascade, b, chunk, carry, f);
    }
}

// All levels in the lowest.
static void end_chunks(struct gpu_walk *w, struct loop_builder *b) {
    for (int i = 0; i < w->n_folds; i++)
        for (int level = 1; w->folds[i].total && level < w->folds[i].cascade.n_levels; level++) {
            const struct gpu_fold *f = &w->folds[i];
            put(f, b, f->total,
                loop_binary(w->l->arena, f->op, get(f, f->total), get_level(f, level)));
        }
}

// What one thread has, as one number, over its warp.
static const struct loop_expr *fold_warp(struct gpu_fold *f, struct loop_builder *b) {
    struct arena *a = f->l->arena;
    const struct loop_expr *own = get(f, f->total ? f->total : f->part);
    own = loop_unary(a, f->across_lanes, own);
    if (f->edge)
        own = loop_binary(a, f->op, own, get(f, f->edge));
    own = loop_let(b, arena_printf(a, "%s_own", f->name), own);
    return loop_let(b, f->shared ? arena_printf(a, "%s_warp", f->name) : f->name,
                    loop_unary(a, f->across_warp, own));
}

// The warps of the team, from shared memory, in vectors where there are enough.
static const struct loop_expr *fold_team(struct gpu_fold *f, struct loop_builder *b,
                                         const struct gpu_team *team) {
    struct arena *a = f->l->arena;
    int warps = team->threads / GPU_WARP, vec = warps < 4 ? warps : 4;
    if (f->type != LOOP_F32)
        vec = 1;
    const struct loop_expr *first = loop_binary(a, LOOP_MUL, team->row, loop_int(a, warps));
    const struct loop_expr *all = loop_load(a, f->shared, first, vec, 1);
    for (int i = vec; i < warps; i += vec) {
        const struct loop_expr *at = loop_binary(a, LOOP_ADD, first, loop_int(a, i));
        all = loop_binary(a, f->op, all, loop_load(a, f->shared, at, vec, 1));
    }
    return loop_let(b, f->name, loop_unary(a, f->across_lanes, all));
}

static void finish(struct gpu_walk *w, struct loop_builder *b) {
    struct arena *a = w->l->arena;
    for (int i = 0; i < w->n_folds && w->apart; i++)
        w->folds[i].result =
            get(&w->folds[i], w->folds[i].total ? w->folds[i].total : w->folds[i].part);
    if (w->apart)
        return;
    const struct loop_expr *warp = loop_int(a, GPU_WARP), *one = loop_int(a, 1);
    for (int i = 0; i < w->n_folds; i++)
        w->folds[i].result = fold_warp(&w->folds[i], b);
    if (w->team->threads == GPU_WARP || w->n_folds == 0)
        return;
    struct loop_builder first;
    loop_open_if(b, loop_binary(a, LOOP_MOD, w->team->thread, warp), one, &first);
    for (int i = 0; i < w->n_folds; i++)
        loop_store(&first, w->folds[i].shared, loop_binary(a, LOOP_DIV, w->team->thread, warp),
                   w->folds[i].result, false);
    loop_close(b, &first);
    loop_barrier(b);
    for (int i = 0; i < w->n_folds; i++)
        w->folds[i].result = fold_team(&w->folds[i], b, w->team);
}

// Walks.

static void walk_items(struct gpu_walk *w, struct loop_builder *b, gpu_walk_fn fn, void *ctx) {
    struct arena *a = w->l->arena;
    struct loop_builder inner, guarded;
    struct loop_for f = {"item", loop_int(a, 0), loop_int(a, w->items), 1, true};
    const struct loop_expr *item = loop_open_for(b, &f, &inner);
    const struct loop_expr *j = loop_binary(a, LOOP_MUL, item, loop_int(a, stride(w)));
    const struct loop_expr *own = loop_binary(a, LOOP_MUL, w->team->lane, loop_int(a, w->vec));
    j = loop_binary(a, LOOP_ADD, w->begin, loop_binary(a, LOOP_ADD, j, own));
    j = loop_let(&inner, "j", j);
    loop_open_if(&inner, j, w->end, &guarded);
    fn(ctx, &guarded, j, item);
    loop_close(&inner, &guarded);
    loop_close(b, &inner);
}

static void walk_edge(struct gpu_walk *w, struct loop_builder *b, gpu_walk_fn fn, void *ctx) {
    struct loop_builder inner;
    for (int i = 0; i < w->n_folds; i++) {
        put(&w->folds[i], b, w->folds[i].edge,
            loop_number(w->l->arena, w->folds[i].type, w->folds[i].identity));
        w->folds[i].is_at_edge = true;
    }
    loop_open_if(b, w->edge->who, w->edge->count, &inner);
    fn(ctx, &inner, loop_let(&inner, "j", w->edge->at), NULL);
    loop_close(b, &inner);
    for (int i = 0; i < w->n_folds; i++)
        w->folds[i].is_at_edge = false;
}

static void walk_loop(struct gpu_walk *w, struct loop_builder *b, const struct loop_expr *begin,
                      const struct loop_expr *end, gpu_walk_fn fn, void *ctx) {
    struct arena *a = w->l->arena;
    struct loop_builder inner, one;
    const struct loop_expr *own = loop_binary(a, LOOP_MUL, w->team->lane, loop_int(a, w->vec));
    if (w->unroll > 1) {
        if (end->op == LOOP_MIN)  // said once
            end = loop_let(b, "end", end);
        // Whole batches of the team first: no thread has to ask whether it is beyond the end.
        const struct loop_expr *batch = loop_int(a, stride(w) * w->unroll);
        const struct loop_expr *n = loop_binary(a, LOOP_SUB, end, begin);
        n = loop_binary(a, LOOP_MUL, loop_binary(a, LOOP_DIV, n, batch), batch);
        const struct loop_expr *middle = loop_let(b, "middle", loop_binary(a, LOOP_ADD, begin, n));
        struct loop_for f = {"at", begin, middle, stride(w) * w->unroll, false};
        const struct loop_expr *at = loop_open_for(b, &f, &inner);
        struct loop_for u = {"step", loop_int(a, 0), loop_int(a, w->unroll), 1, true};
        const struct loop_expr *step = loop_open_for(&inner, &u, &one);
        const struct loop_expr *j = loop_binary(a, LOOP_MUL, step, loop_int(a, stride(w)));
        j = loop_binary(a, LOOP_ADD, at, loop_binary(a, LOOP_ADD, j, own));
        fn(ctx, &one, loop_let(&one, "j", j), loop_int(a, 0));
        loop_close(&inner, &one);
        loop_close(b, &inner);
        begin = middle;
    }
    struct loop_for f = {"j", loop_binary(a, LOOP_ADD, begin, own), end, stride(w), false};
    const struct loop_expr *j = loop_open_for(b, &f, &inner);
    fn(ctx, &inner, j, loop_int(a, 0));
    loop_close(b, &inner);
}

static void walk_chunks(struct gpu_walk *w, struct loop_builder *b, gpu_walk_fn fn, void *ctx) {
    struct arena *a = w->l->arena;
    struct loop_builder inner;
    const struct loop_expr *run = loop_int(a, chunk_of(w));
    // Where `end` is the smaller of two, each chunk asks for it: one beyond it is empty.
    int64_t first;
    const struct loop_expr *last = range_constant(w->begin, &first)
                                       ? w->end
                                       : loop_binary(a, LOOP_ADD, w->begin, loop_int(a, w->length));
    struct loop_for f = {"chunk", w->begin, last, chunk_of(w), false};
    clear(w, b, true);
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, begin, run);
    clear(w, &inner, false);
    walk_loop(w, &inner, begin, loop_binary(a, LOOP_MIN, w->end, end), fn, ctx);
    end_chunk(w, &inner, loop_binary(a, LOOP_DIV, loop_binary(a, LOOP_SUB, begin, w->begin), run));
    loop_close(b, &inner);
    end_chunks(w, b);
}

void gpu_walk_build(struct gpu_walk *w, struct loop_builder *b, gpu_walk_fn fn, void *ctx) {
    bool chunks = false;
    for (int i = 0; i < w->n_folds; i++)
        chunks |= w->folds[i].total != NULL;
    assert(!chunks || w->items == 0);
    if (w->edge)
        walk_edge(w, b, fn, ctx);
    if (chunks) {
        walk_chunks(w, b, fn, ctx);
    } else {
        clear(w, b, false);
        if (w->items > 0)
            walk_items(w, b, fn, ctx);
        else
            walk_loop(w, b, w->begin, w->end, fn, ctx);
    }
    finish(w, b);
}
