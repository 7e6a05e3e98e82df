// The loops of attention's `wgmma` emitter; attention_wgmma.c says what they compute and why so.
//
//   one thread of the first warpgroup:         each of the other warpgroups, with 64 queries:
//       for every tile of queries:                 for every tile of queries:
//           bring the queries                          scores of the first keys; softmax
//           for every tile of keys:                    for every tile of keys but the first:
//               wait until the slot is empty               start its scores = queries * keys
//               bring keys and values                      start results += exponentials * values
//                                                          wait for the scores; softmax
//                                                          wait for the results; scale them
//                                                      the last results; divide, store
//
// Tiles of keys are counted over all tiles of queries of a block: number c is in slot c % stages,
// which is filled for the (c / stages)-th time. Keys and values have barriers of their own: keys
// are given back as soon as scores are there.
//
// What lies beyond the last query or key is zero by the copy engine; such keys are masked, such
// queries are not stored.
#include "family/attention_build.h"
#include "family/attention_wgmma.h"

struct wgmma {
    struct attention_build x;
    struct attention_wgmma_sizes z;
    struct scope *top, batch;
    int64_t blocks;
    bool more;                                        // some have more than one tile of queries
    const struct loop_expr *block, *consumer, *turn;  // turn: number of the warpgroup in the block
    const struct loop_expr *round, *before, *end;  // of tiles of queries; tiles of keys before, and
                                                   // of this one
};

// ---- which tile

// Queries of the block and which head's they are. Of a causal mask the last ones have most keys,
// and begin first, those of `group` heads together.
static void place_tile(struct wgmma *w, struct loop_builder *b, const struct loop_expr *tile) {
    struct attention_build *x = &w->x;
    int64_t per = w->z.group * w->z.down;
    const struct loop_expr *inside = rest(x, tile, per);
    const struct loop_expr *head =
        add(x, times(x, quotient(x, tile, per), w->z.group), rest(x, inside, w->z.group));
    const struct loop_expr *row = quotient(x, inside, w->z.group);
    if (x->f->is_causal)
        row = op(x, LOOP_SUB, num(x, w->z.down - 1), row);
    w->batch = scope_inside(w->top, b);
    scope_split(&w->batch, loop_let(b, "head", head), 0, x->l->space.group[x->f->axis_m]);
    x->outer = &w->batch;
    x->first = loop_let(b, "row0", times(x, row, x->z.rows));
    w->end = attention_count_tiles(x, b);
}

// A walk over the block's tiles of queries.
static void open_tiles(struct wgmma *w, struct loop_builder *b, struct loop_builder *inner) {
    struct attention_build *x = &w->x;
    const struct loop_expr *end = w->more ? num(x, w->z.tiles) : add(x, w->block, num(x, 1));
    struct loop_for f = {"tile", w->block, end, w->blocks, false};
    const struct loop_expr *tile = loop_open_for(b, &f, inner);
    w->round = w->more ? loop_let(inner, "round", quotient(x, tile, w->blocks)) : num(x, 0);
    place_tile(w, inner, tile);
    // Without a causal mask all tiles of queries have as many.
    w->before = num(x, 0);
    if (w->more)
        w->before = loop_let(inner, "before", op(x, LOOP_MUL, w->round, w->end));
}

// ---- slots

static const struct loop_expr *slot_of(const struct wgmma *w, const struct loop_expr *count) {
    return rest(&w->x, count, w->z.stages);
}

static const struct loop_expr *phase_of(const struct wgmma *w, const struct loop_expr *count) {
    return rest(&w->x, quotient(&w->x, count, w->z.stages), 2);
}

static void await(struct loop_builder *b, const struct loop_buffer *barrier,
                  const struct loop_expr *at, const struct loop_expr *phase) {
    loop_intrinsic(b, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{barrier, at}, {NULL, phase}});
}

// One thread says it for its warpgroup.
static void release(const struct wgmma *w, struct loop_builder *b,
                    const struct loop_buffer *barrier, const struct loop_expr *slot) {
    struct loop_builder one;
    loop_open_if(b, rest(&w->x, w->x.thread, WGMMA_GROUP), num(&w->x, 1), &one);
    loop_intrinsic(&one, INTRINSIC_MBARRIER_ARRIVE, (struct loop_operand[]){{barrier, slot}});
    loop_close(b, &one);
}

// ---- the one that copies

// Where the tile's head lies, along the axes of a map besides its rows and their elements.
struct heads {
    const struct loop_expr *at[LOOP_MAP_RANK_MAX];
};

static struct heads find_heads(struct wgmma *w, struct loop_builder *b,
                               const struct attention_tile *t, const char *name) {
    struct attention_build *x = &w->x;
    struct heads h = {{NULL}};
    const struct loop_map *map = t->map->map;
    struct scope s = scope_inside(&w->batch, b);
    s.index[t->group_row] = num(x, 0);
    s.index[t->group_column] = num(x, 0);
    const struct shape *shape = &x->l->region->graph->nodes[t->side->leaf].shape;
    const struct loop_expr *flat =
        loop_let(b, arena_printf(x->a, "%s_at", name), point_index(&s, shape, &t->side->map));
    for (int i = 2; i < map->rank; i++)
        h.at[i] = rest(x, quotient(x, flat, map->strides[i]), map->dims[i]);
    return h;
}

// Brings rows from `first` on to a slot, once it is empty (no phase: it always is): boxes of 64
// elements of some rows, those of a row one after the other.
static void bring(const struct wgmma *w, struct loop_builder *b, const struct attention_tile *t,
                  const struct heads *h, const struct loop_expr *slot,
                  const struct loop_expr *phase, const struct loop_expr *first) {
    const struct attention_build *x = &w->x;
    const struct loop_map *map = t->map->map;
    struct loop_builder by_rows, by_box;
    int64_t across = t->length / WGMMA_DEPTH, box = t->box_rows * WGMMA_DEPTH;
    if (phase)
        await(b, t->empty, slot, phase);
    loop_intrinsic(
        b, INTRINSIC_MBARRIER_EXPECT,
        (struct loop_operand[]){{t->full, slot}, {NULL, num(x, 2 * t->rows * t->length)}});
    const struct loop_expr *i = open_unrolled(x, b, "i", t->rows / t->box_rows, &by_rows);
    const struct loop_expr *j = open_unrolled(x, &by_rows, "j", across, &by_box);
    const struct loop_expr *to = times(x, slot, t->rows * t->length);
    to = add(x, to, times(x, add(x, times(x, i, across), j), box));
    struct loop_operand o[INTRINSIC_OPERANDS_MAX] = {
        {t->buffer, to},
        {t->map, NULL},
        {t->full, slot},
        {NULL, times(x, j, WGMMA_DEPTH)},
        {NULL, add(x, first, times(x, i, t->box_rows))}};
    for (int d = 2; d < map->rank; d++)
        o[3 + d] = (struct loop_operand){NULL, h->at[d]};
    loop_intrinsic(&by_box, INTRINSIC_BULK_COPY2 + (enum loop_intrinsic)(map->rank - 2), o);
    loop_close(&by_rows, &by_box);
    loop_close(b, &by_rows);
}

static void produce(struct wgmma *w, struct loop_builder *b) {
    struct attention_build *x = &w->x;
    struct loop_builder by_tile, by_keys;
    open_tiles(w, b, &by_tile);
    struct heads q = find_heads(w, &by_tile, &x->q, "q"), k = find_heads(w, &by_tile, &x->k, "k"),
                 v = find_heads(w, &by_tile, &x->v, "v");
    // Before it was filled for the first time it is empty.
    bring(w, &by_tile, &x->q, &q, num(x, 0),
          w->more ? rest(x, add(x, w->round, num(x, 1)), 2) : NULL, x->first);
    // Few registers are left for this warpgroup; see gemm_wgmma_lower.c.
    struct loop_for f = {"j", num(x, 0), w->end, 1, false};
    const struct loop_expr *j = loop_open_for(&by_tile, &f, &by_keys);
    loop_keep_rolled(&by_keys);
    const struct loop_expr *count = loop_let(&by_keys, "count", add(x, w->before, j));
    const struct loop_expr *slot = loop_let(&by_keys, "slot", slot_of(w, count));
    const struct loop_expr *phase =
        loop_let(&by_keys, "phase", phase_of(w, add(x, count, num(x, w->z.stages))));
    bring(w, &by_keys, &x->k, &k, slot, phase, times(x, j, x->z.keys));
    bring(w, &by_keys, &x->v, &v, slot, phase, times(x, j, x->z.keys));
    loop_close(&by_tile, &by_keys);
    loop_close(b, &by_tile);
}

// ---- those that multiply

static enum loop_intrinsic product(const struct wgmma *w, enum loop_intrinsic f16,
                                   enum loop_intrinsic bf16, int64_t columns) {
    enum loop_intrinsic first = w->x.f->storage == DTYPE_F16 ? f16 : bf16;
    return first + (enum loop_intrinsic)(columns / WGMMA_DEPTH - 1);
}

static void wait_products(const struct wgmma *w, struct loop_builder *b, int groups) {
    loop_intrinsic(b, INTRINSIC_WGMMA_WAIT, (struct loop_operand[]){{NULL, num(&w->x, groups)}});
}

// Warpgroups multiply one after the other, in a ring; the first has its turn from the beginning.
static void take_turn(const struct wgmma *w, struct loop_builder *b) {
    if (w->z.turns)
        loop_intrinsic(b, INTRINSIC_TURN_TAKE, (struct loop_operand[]){{NULL, w->turn}});
}

static void give_turn(const struct wgmma *w, struct loop_builder *b) {
    const struct attention_build *x = &w->x;
    if (!w->z.turns)
        return;
    const struct loop_expr *next = add(x, rest(x, w->turn, w->z.consumers), num(x, 1));
    loop_intrinsic(b, INTRINSIC_TURN_GIVE, (struct loop_operand[]){{NULL, next}});
}

// Scores = queries * keys of a slot, 16 elements of a row at a time.
static void start_scores(const struct wgmma *w, struct loop_builder *b,
                         const struct loop_expr *slot) {
    const struct attention_build *x = &w->x;
    enum loop_intrinsic by = product(w, INTRINSIC_WGMMA_F16_64, INTRINSIC_WGMMA_BF16_64, x->z.keys);
    const struct loop_expr *own = times(x, w->consumer, (int64_t)WGMMA_ROWS * WGMMA_DEPTH);
    const struct loop_expr *keys = times(x, slot, x->k.rows * x->k.length);
    for (int64_t step = 0; step < x->f->depth / WGMMA_STEP; step++) {
        int64_t box = step * WGMMA_STEP / WGMMA_DEPTH, inside = step * WGMMA_STEP % WGMMA_DEPTH;
        loop_intrinsic(
            b, by,
            (struct loop_operand[]){
                {x->score, num(x, 0)},
                {x->q.buffer, add(x, own, num(x, box * x->q.rows * WGMMA_DEPTH + inside))},
                {x->k.buffer, add(x, keys, num(x, box * x->k.rows * WGMMA_DEPTH + inside))},
                {NULL, num(x, 0)},
                {NULL, num(x, 0)},
                {NULL, num(x, step > 0)}});
    }
    loop_intrinsic(b, INTRINSIC_WGMMA_COMMIT, NULL);
}

// Results += exponentials * values of a slot, 16 keys at a time, small parts first.
static void start_results(const struct wgmma *w, struct loop_builder *b,
                          const struct loop_expr *slot, const struct loop_expr *adds) {
    const struct attention_build *x = &w->x;
    enum loop_intrinsic by =
        product(w, INTRINSIC_WGMMA_WORDS_F16_64, INTRINSIC_WGMMA_WORDS_BF16_64, x->v.length);
    const struct loop_expr *values = times(x, slot, x->v.rows * x->v.length);
    for (int part = x->z.parts - 1; part >= 0; part--)
        for (int64_t step = 0; step < x->z.keys / WGMMA_STEP; step++) {
            int64_t boxes = step * WGMMA_STEP / WGMMA_DEPTH, row = step * WGMMA_STEP % WGMMA_DEPTH;
            int64_t at = boxes * WGMMA_DEPTH * x->v.length + row * WGMMA_DEPTH;
            bool is_first = part == x->z.parts - 1 && step == 0;
            loop_intrinsic(b, by,
                           (struct loop_operand[]){{x->sum, num(x, 0)},
                                                   {x->probs[part], num(x, 4 * step)},
                                                   {x->v.buffer, add(x, values, num(x, at))},
                                                   {NULL, num(x, 1)},
                                                   {NULL, is_first ? adds : num(x, 1)}});
        }
    loop_intrinsic(b, INTRINSIC_WGMMA_COMMIT, NULL);
}

static void soften(const struct wgmma *w, struct loop_builder *b, const struct loop_expr *j,
                   bool is_first) {
    attention_finish_scores(&w->x, b, j, is_first);
    attention_find_largest(&w->x, b);
    attention_find_powers(&w->x, b);
}

// The first keys: there are no results yet.
static void begin(const struct wgmma *w, struct loop_builder *b) {
    const struct attention_build *x = &w->x;
    const struct loop_expr *slot = slot_of(w, w->before), *zero = num(x, 0);
    clear(x, b, x->top, -3.4e38);
    clear(x, b, x->total, 0);
    await(b, x->q.full, zero, rest(x, w->round, 2));
    await(b, x->k.full, slot, phase_of(w, w->before));
    take_turn(w, b);
    loop_intrinsic(b, INTRINSIC_WGMMA_FENCE, NULL);
    start_scores(w, b, slot);
    give_turn(w, b);
    wait_products(w, b, 0);
    release(w, b, x->k.empty, slot);
    soften(w, b, zero, true);
    attention_pack(x, b);
}

// Tile number `j` of keys, and the values of the one before.
static void go_on(const struct wgmma *w, struct loop_builder *b, const struct loop_expr *j) {
    const struct attention_build *x = &w->x;
    const struct loop_expr *count = loop_let(b, "count", add(x, w->before, j));
    const struct loop_expr *last = loop_let(b, "earlier", op(x, LOOP_SUB, count, num(x, 1)));
    const struct loop_expr *slot = loop_let(b, "slot", slot_of(w, count));
    const struct loop_expr *other = loop_let(b, "other", slot_of(w, last));
    await(b, x->k.full, slot, phase_of(w, count));
    await(b, x->v.full, other, phase_of(w, last));
    take_turn(w, b);
    loop_intrinsic(b, INTRINSIC_WGMMA_FENCE, NULL);
    start_scores(w, b, slot);
    start_results(w, b, other, op(x, LOOP_SUB, j, num(x, 1)));
    give_turn(w, b);
    wait_products(w, b, 1);
    release(w, b, x->k.empty, slot);
    soften(w, b, j, false);
    wait_products(w, b, 0);
    release(w, b, x->v.empty, other);
    attention_pack(x, b);
    attention_scale_results(x, b);
}

static void finish(const struct wgmma *w, struct loop_builder *b) {
    const struct attention_build *x = &w->x;
    const struct loop_expr *last = op(x, LOOP_SUB, w->end, num(x, 1));
    const struct loop_expr *count = loop_let(b, "count", add(x, w->before, last));
    const struct loop_expr *slot = loop_let(b, "slot", slot_of(w, count));
    if (w->more)
        release(w, b, x->q.empty, num(x, 0));
    await(b, x->v.full, slot, phase_of(w, count));
    loop_intrinsic(b, INTRINSIC_WGMMA_FENCE, NULL);
    start_results(w, b, slot, last);
    wait_products(w, b, 0);
    if (w->more)
        release(w, b, x->v.empty, slot);
    attention_store_results(x, b);
}

static void consume(struct wgmma *w, struct loop_builder *b) {
    struct attention_build *x = &w->x;
    struct loop_builder by_tile, by_keys, last;
    w->consumer = num(x, 0);
    const struct loop_expr *thread = op(x, LOOP_SUB, x->thread, num(x, WGMMA_GROUP));
    if (w->z.consumers > 1)
        w->consumer = loop_let(b, "consumer", quotient(x, thread, WGMMA_GROUP));
    x->lane = loop_let(b, "lane", rest(x, x->thread, GPU_WARP));
    x->own = loop_let(b, "own", times(x, quotient(x, thread, GPU_WARP), 16));
    if (w->z.turns) {
        w->turn = loop_let(b, "turn", quotient(x, x->thread, WGMMA_GROUP));
        loop_open_if(b, num(x, w->z.consumers - 1), w->turn, &last);
        give_turn(w, &last);
        loop_close(b, &last);
    }
    open_tiles(w, b, &by_tile);
    begin(w, &by_tile);
    struct loop_for f = {"j", num(x, 1), w->end, 1, false};
    const struct loop_expr *j = loop_open_for(&by_tile, &f, &by_keys);
    go_on(w, &by_keys, j);
    loop_close(&by_tile, &by_keys);
    finish(w, &by_tile);
    loop_close(b, &by_tile);
}

// ---- the kernel

static void make_tile(struct wgmma *w, const struct form *form, struct attention_tile *t,
                      const char *name, int axis_row, int slots) {
    struct attention_build *x = &w->x;
    struct attention_boxes boxes;
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{slots * t->rows, NULL}, {t->length, NULL}};
    t->group_row = x->l->space.group[axis_row];
    t->buffer = loop_shared_of(p, arena_printf(x->a, "%s_tile", name), x->f->storage, shape, 2);
    t->buffer->align = 1024;
    attention_find_boxes(form, t->side, axis_row, &boxes);
    struct loop_map map = {
        .of = x->l->buffer[t->side->leaf], .rank = boxes.rank, .swizzle_bytes = 128};
    for (int i = 0; i < boxes.rank; i++) {
        map.dims[i] = boxes.dims[i];
        map.strides[i] = boxes.strides[i];
        map.box[i] = i == 0 ? WGMMA_DEPTH : i == 1 ? t->box_rows : 1;
    }
    t->map = loop_map_of(p, arena_printf(x->a, "%s_map", name), &map);
}

static void make_slots(struct wgmma *w, struct attention_tile *t, const char *name, int slots) {
    struct loop_program *p = w->x.l->program;
    struct loop_size n = {slots, NULL};
    t->full = loop_shared_of(p, arena_printf(w->x.a, "%s_full", name), DTYPE_I64, &n, 1);
    // Queries that are brought once are never given back.
    if (t != &w->x.q || w->more)
        t->empty = loop_shared_of(p, arena_printf(w->x.a, "%s_empty", name), DTYPE_I64, &n, 1);
}

static void make_tiles(struct wgmma *w, const struct form *form) {
    struct attention_build *x = &w->x;
    const struct attention_form *f = x->f;
    x->q = (struct attention_tile){.side = &f->q, .rows = x->z.rows, .length = w->z.depth};
    x->k = (struct attention_tile){.side = &f->k, .rows = x->z.keys, .length = w->z.depth};
    x->v = (struct attention_tile){.side = &f->v, .rows = x->z.keys, .length = w->z.width};
    x->q.box_rows = x->z.rows;
    x->k.box_rows = x->z.keys;
    x->v.box_rows = WGMMA_DEPTH;
    x->q.group_column = x->k.group_column = x->l->space.group[f->axis_depth];
    x->v.group_column = x->l->space.group[f->axis_width];
    make_tile(w, form, &x->q, "q", f->axis_m, 1);
    make_tile(w, form, &x->k, "k", f->axis_n, w->z.stages);
    make_tile(w, form, &x->v, "v", f->axis_n, w->z.stages);
    // Behind all tiles, which begin where the swizzle does.
    make_slots(w, &x->q, "q", 1);
    make_slots(w, &x->k, "k", w->z.stages);
    make_slots(w, &x->v, "v", w->z.stages);
    attention_make_registers(x, w->z.width);
}

// A slot is full by one arrival and its bytes, empty when every warpgroup that multiplies says so.
static void make_barriers(const struct wgmma *w, struct loop_builder *b) {
    const struct attention_build *x = &w->x;
    const struct attention_tile *tiles[] = {&x->q, &x->k, &x->v};
    struct loop_builder one, inner;
    loop_open_if(b, x->thread, num(x, 1), &one);
    for (int t = 0; t < 3; t++) {
        const struct loop_expr *i = open_unrolled(x, &one, "i", t ? w->z.stages : 1, &inner);
        loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                       (struct loop_operand[]){{tiles[t]->full, i}, {NULL, num(x, 1)}});
        if (tiles[t]->empty)
            loop_intrinsic(
                &inner, INTRINSIC_MBARRIER_INIT,
                (struct loop_operand[]){{tiles[t]->empty, i}, {NULL, num(x, w->z.consumers)}});
        loop_close(&one, &inner);
    }
    loop_close(b, &one);
    loop_barrier(b);
}

// The warpgroup that copies leaves most of its registers to the others.
static void set_registers(const struct wgmma *w, struct loop_builder *b, bool more) {
    static const int less[] = {0, 0, 24, 32}, rest_each[] = {0, 0, 240, 160};
    int n = more ? rest_each[w->z.consumers] : less[w->z.consumers];
    if (n > 0)
        loop_intrinsic(b, more ? INTRINSIC_REGISTERS_MORE : INTRINSIC_REGISTERS_LESS,
                       (struct loop_operand[]){{NULL, num(&w->x, n)}});
}

void attention_wgmma_lower(struct lowering *l, const struct form *f,
                           const struct kernel_stage *stage) {
    struct wgmma w = {.x = {.l = l, .a = l->arena, .f = f->attention}};
    struct attention_build *x = &w.x;
    struct loop_builder b, role, one;
    attention_build_space(l, x->f);
    w.z = attention_wgmma_read_sizes(f, stage);
    x->z = w.z.z;
    // With a causal mask tiles differ, and blocks that have one each are shared out as they end.
    w.more = l->sms < w.z.tiles && !x->f->is_causal;
    w.blocks = w.more ? l->sms : w.z.tiles;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(x->a, "%s_attention", stage->values[0]),
                                          num(x, w.blocks), x->z.threads, &b);
    k.kernel->min_blocks = 1;
    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1, .builder = &b};
    w.top = &top;
    w.block = k.block;
    x->thread = k.thread;
    make_tiles(&w, f);
    make_barriers(&w, &b);
    // One thread of the warpgroup copies; all of it gives up registers.
    bool gives = w.z.consumers > 1;
    loop_open_role(&b, x->thread, num(x, gives ? WGMMA_GROUP : 1), &role);
    set_registers(&w, &role, false);
    if (gives) {
        loop_open_if(&role, x->thread, num(x, 1), &one);
        produce(&w, &one);
        loop_close(&role, &one);
    } else {
        produce(&w, &role);
    }
    loop_close(&b, &role);
    loop_open_role(&b, num(x, WGMMA_GROUP - 1), x->thread, &role);
    set_registers(&w, &role, true);
    consume(&w, &role);
    loop_close(&b, &role);
}
