// The loops of conv's `wgmma` emitter; conv_wgmma.c says what they compute and why so.
//
//   each warpgroup that multiplies:                  one thread of the last warp:
//       for every tile of this block:                    for every tile of this block:
//           for every slice of K:                            for every slice of K:
//               wait until its slot is full                      wait until its slot is empty
//               start the products, commit                       expect the bytes, start copies
//               wait for those of the slice before
//               its slot is empty
//           wait for the last; its slot is empty
//           store
//
// Slots and phases follow from the number of the slice among all that the block has, as in
// gemm_wgmma_lower.c.
#include "family/conv_wgmma_build.h"

// ---- which tile

static int64_t tiles_down(const struct conv_build *x) {
    return (x->f->out + x->z.tile_rows - 1) / x->z.tile_rows;
}

// A walk over the block's tiles; those that have the same columns follow each other.
static void open_tiles(struct conv_build *x, struct loop_builder *b, struct loop_builder *inner) {
    int64_t tiles = conv_wgmma_tiles(x->f, &x->z), down = tiles_down(x);
    int64_t each = tiles / x->f->groups;
    struct loop_for f = {"tile", x->block, num(x, tiles), x->blocks, false};
    // One tile each: a loop that runs once.
    if (!x->more)
        f.end = add(x, x->block, num(x, 1));
    const struct loop_expr *tile = loop_open_for(b, &f, inner);
    x->count = num(x, 0);
    if (x->more)
        x->count = loop_let(inner, "before", times(x, quotient(x, tile, x->blocks), x->z.slices));
    x->boxes = num(x, 0);
    if (x->more && x->z.share > 1)
        x->boxes = loop_let(inner, "boxes",
                            times(x, quotient(x, tile, x->blocks), x->z.slices / x->z.share));
    x->group = loop_let(inner, "group", quotient(x, tile, each));
    const struct loop_expr *inside = rest(x, tile, each);
    x->row0 = loop_let(inner, "row0", times(x, rest(x, inside, down), x->z.tile_rows));
    x->column0 = loop_let(inner, "column0", times(x, quotient(x, inside, down), x->z.tile_columns));
}

// ---- slots

static const struct loop_expr *slot_of(const struct conv_build *x, const struct loop_expr *count) {
    return rest(x, count, x->z.stages);
}

// Number of the image's box that a slice has, among all of the block's; its slot and phase.
static const struct loop_expr *box_of(const struct conv_build *x, const struct loop_expr *slice) {
    return add(x, x->boxes, quotient(x, slice, x->z.share));
}

static const struct loop_expr *box_slot(const struct conv_build *x, const struct loop_expr *box) {
    return rest(x, box, CONV_IMAGE_STAGES);
}

static const struct loop_expr *box_phase(const struct conv_build *x, const struct loop_expr *box) {
    return rest(x, quotient(x, box, CONV_IMAGE_STAGES), 2);
}

static const struct loop_expr *phase_of(const struct conv_build *x, const struct loop_expr *count) {
    return rest(x, quotient(x, count, x->z.stages), 2);
}

// ---- the one that copies

const struct loop_expr *conv_tap_rows(const struct conv_build *x, const struct loop_expr *tap) {
    const struct conv_wgmma_sizes *z = &x->z;
    int n = z->overlaps ? x->f->n_axes - 1 : z->pack;  // axes that have outer taps
    const struct loop_expr *phase = num(x, 0), *cell = num(x, 0), *m[SPATIAL_MAX];
    for (int i = n - 1; i >= 0; i--) {
        m[i] = i == 0 ? tap : rest(x, tap, x->class->axis[i].taps);
        tap = quotient(x, tap, x->class->axis[i].taps);
    }
    for (int i = 0; i < x->f->n_axes; i++) {
        const struct conv_axis *axis = &x->class->axis[i];
        const struct loop_expr *at = num(x, 0);
        if (i < z->pack)
            at = num(x, axis->in_first);
        if (i < n)
            at = add(x, at, times(x, m[i], axis->in_tap));
        phase = add(x, times(x, phase, z->phases[i]), rest(x, at, z->phases[i]));
        cell = add(x, times(x, cell, z->grid[i]), quotient(x, at, z->phases[i]));
    }
    return add(x, times(x, phase, z->columns), cell);
}

static void wait_at(const struct conv_build *x, struct loop_builder *b,
                    const struct loop_buffer *barrier, const struct loop_expr *slot,
                    const struct loop_expr *phase) {
    (void)x;
    loop_intrinsic(b, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{barrier, slot}, {NULL, phase}});
}

static void expect(const struct conv_build *x, struct loop_builder *b,
                   const struct loop_buffer *barrier, const struct loop_expr *slot, int64_t rows) {
    loop_intrinsic(b, INTRINSIC_MBARRIER_EXPECT,
                   (struct loop_operand[]){{barrier, slot},
                                           {NULL, num(x, rows * WGMMA_ROW_BYTES * x->z.parts)}});
}

// Both parts of `pieces` boxes of `rows` rows, from (k, row) of the map on, to slot `slot`.
struct box {
    const struct conv_side *side;
    const struct loop_buffer *barrier;
    const struct loop_expr *slot, *k, *row;
    int rows, pieces;
};

static void copy_box(const struct conv_build *x, struct loop_builder *b, const struct box *c) {
    for (int part = 0; part < x->z.parts; part++)
        for (int i = 0; i < c->pieces; i++) {
            const struct loop_expr *first = add(x, times(x, c->slot, (int64_t)c->rows * c->pieces),
                                                num(x, (int64_t)i * c->rows));
            loop_intrinsic(
                b, INTRINSIC_BULK_COPY2,
                (struct loop_operand[]){{c->side->tile[part], times(x, first, x->z.depth)},
                                        {c->side->map[part], NULL},
                                        {c->barrier, c->slot},
                                        {NULL, c->k},
                                        {NULL, add(x, c->row, num(x, (int64_t)i * c->rows))}});
        }
}

// The image's box of a slice: with the weights, or before those of the first tap that has it.
static void copy_image(const struct conv_build *x, struct loop_builder *b,
                       const struct loop_expr *slice, const struct loop_expr *slot,
                       const struct loop_expr *row) {
    const struct conv_wgmma_sizes *z = &x->z;
    const struct loop_expr *box = quotient(x, slice, z->share);
    const struct loop_expr *tap = times(x, quotient(x, box, z->subs), z->share);
    struct box c = {
        &x->image, x->full,           slot,    times(x, rest(x, box, z->subs), conv_slice(z)),
        NULL,      z->box / z->boxes, z->boxes};
    struct loop_builder first;
    if (z->share == 1) {
        c.row = add(x, row, conv_tap_rows(x, loop_let(b, "tap", tap)));
        copy_box(x, b, &c);
        return;
    }
    loop_open_if(b, rest(x, slice, z->share), num(x, 1), &first);
    const struct loop_expr *number = loop_let(&first, "box", box_of(x, slice));
    c.barrier = x->image_full;
    c.slot = loop_let(&first, "image_slot", box_slot(x, number));
    c.row = add(x, row, conv_tap_rows(x, loop_let(&first, "tap", tap)));
    wait_at(x, &first, x->image_empty, c.slot,
            box_phase(x, add(x, number, num(x, CONV_IMAGE_STAGES))));
    expect(x, &first, x->image_full, c.slot, z->box);
    copy_box(x, &first, &c);
    loop_close(b, &first);
}

// Where the weights of a slice begin: they lie tap by tap, the slices of one behind each other.
static const struct loop_expr *weights_at(const struct conv_build *x,
                                          const struct loop_expr *slice) {
    const struct conv_wgmma_sizes *z = &x->z;
    if (z->share > 1) {
        const struct loop_expr *box = quotient(x, slice, z->share);
        const struct loop_expr *tap =
            add(x, times(x, quotient(x, box, z->subs), z->share), rest(x, slice, z->share));
        slice = add(x, times(x, tap, z->subs), rest(x, box, z->subs));
    }
    return times(x, slice, conv_slice(z));
}

static void produce(struct conv_build *x, struct loop_builder *b) {
    struct loop_builder by_tile, by_slice;
    open_tiles(x, b, &by_tile);
    const struct loop_expr *weights =
        loop_let(&by_tile, "weights_row", add(x, times(x, x->group, x->f->out), x->row0));
    const struct loop_expr *image =
        loop_let(&by_tile, "image_row", add(x, times(x, x->group, x->z.rows), x->column0));
    // Few registers are left for this warpgroup; see gemm_wgmma_lower.c.
    struct loop_for f = {"slice", num(x, 0), num(x, x->z.slices), 1, false};
    const struct loop_expr *slice = loop_open_for(&by_tile, &f, &by_slice);
    loop_keep_rolled(&by_slice);
    const struct loop_expr *count = loop_let(&by_slice, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&by_slice, "slot", slot_of(x, count));
    if (x->z.share > 1)
        copy_image(x, &by_slice, slice, slot, image);
    // Before it was filled for the first time it is empty.
    wait_at(x, &by_slice, x->empty, slot, phase_of(x, add(x, count, num(x, x->z.stages))));
    expect(x, &by_slice, x->full, slot, x->z.tile_rows + (x->z.share > 1 ? 0 : (int64_t)x->z.box));
    struct box c = {&x->weights, x->full, slot, weights_at(x, slice), weights, x->z.tile_rows, 1};
    copy_box(x, &by_slice, &c);
    if (x->z.share == 1)
        copy_image(x, &by_slice, slice, slot, image);
    loop_close(&by_tile, &by_slice);
    loop_close(b, &by_tile);
}

// ---- those that multiply

static enum loop_intrinsic product(const struct conv_build *x) {
    enum loop_intrinsic first = x->z.storage == DTYPE_F16    ? INTRINSIC_WGMMA_F16_64
                                : x->z.storage == DTYPE_BF16 ? INTRINSIC_WGMMA_BF16_64
                                                             : INTRINSIC_WGMMA_TF32_64;
    return first + (enum loop_intrinsic)(x->z.tile_columns / 64 - 1);
}

// Where step `step` of `row` of the tile in slot `slot` begins.
static const struct loop_expr *operand_at(const struct conv_build *x, const struct loop_expr *slot,
                                          int width, const struct loop_expr *row, int step) {
    const struct loop_expr *at = add(x, times(x, slot, width), row);
    return add(x, times(x, at, x->z.depth), num(x, (int64_t)step * x->z.step));
}

// One slice. Of f32 both products with a low part come before that of the high ones.
static void multiply(const struct conv_build *x, struct loop_builder *b,
                     const struct loop_expr *slot, const struct loop_expr *slice,
                     const struct loop_expr *adds) {
    const struct loop_expr *image_slot = slot, *shift = num(x, 0);
    if (x->z.share > 1) {
        image_slot = loop_let(b, "image_slot", box_slot(x, box_of(x, slice)));
        shift = loop_let(b, "shift", times(x, rest(x, slice, x->z.share), x->z.shift));
    }
    static const int pairs[][2] = {{0, 1}, {1, 0}, {0, 0}};
    loop_intrinsic(b, INTRINSIC_WGMMA_FENCE, NULL);
    for (int pair = x->z.parts > 1 ? 0 : 2; pair < 3; pair++)
        for (int step = 0; step < x->z.steps; step++)
            for (int part = 0; part < x->z.own / WGMMA_ROWS; part++) {
                bool is_first = step == 0 && (pair == 0 || x->z.parts == 1);
                const struct loop_expr *row =
                    add(x, times(x, x->consumer, x->z.own), num(x, (int64_t)part * WGMMA_ROWS));
                loop_intrinsic(
                    b, product(x),
                    (struct loop_operand[]){{x->sum, num(x, (int64_t)part * x->z.tile_columns / 4)},
                                            {x->weights.tile[pairs[pair][0]],
                                             operand_at(x, slot, x->z.tile_rows, row, step)},
                                            {x->image.tile[pairs[pair][1]],
                                             operand_at(x, image_slot, x->z.box, shift, step)},
                                            {NULL, num(x, 0)},
                                            {NULL, num(x, 0)},
                                            {NULL, is_first ? adds : num(x, 1)}});
            }
    loop_intrinsic(b, INTRINSIC_WGMMA_COMMIT, NULL);
}

static void wait_products(const struct conv_build *x, struct loop_builder *b, int groups) {
    loop_intrinsic(b, INTRINSIC_WGMMA_WAIT, (struct loop_operand[]){{NULL, num(x, groups)}});
}

// One thread says it for its warpgroup.
static void release(const struct conv_build *x, struct loop_builder *b,
                    const struct loop_buffer *barrier, const struct loop_expr *slot) {
    struct loop_builder one;
    loop_open_if(b, rest(x, x->thread, WGMMA_GROUP), num(x, 1), &one);
    loop_intrinsic(&one, INTRINSIC_MBARRIER_ARRIVE, (struct loop_operand[]){{barrier, slot}});
    loop_close(b, &one);
}

// The slot of the slice before `count`.
static const struct loop_expr *slot_before(const struct conv_build *x,
                                           const struct loop_expr *count) {
    return slot_of(x, add(x, count, num(x, x->z.stages - 1)));
}

// Where slice number `slice` begins a new box, the one before is empty.
static void release_box(const struct conv_build *x, struct loop_builder *b,
                        const struct loop_expr *slice) {
    struct loop_builder some;
    if (x->z.share == 1)
        return;
    loop_open_if(b, rest(x, slice, x->z.share), num(x, 1), &some);
    const struct loop_expr *before = add(x, box_of(x, slice), num(x, CONV_IMAGE_STAGES - 1));
    release(x, &some, x->image_empty, box_slot(x, before));
    loop_close(b, &some);
}

// The sum of the slices from `begin` to `end`, each of which is given back when the next has begun.
static void add_slices(const struct conv_build *x, struct loop_builder *b,
                       const struct loop_expr *begin, const struct loop_expr *end) {
    struct loop_builder inner, some;
    struct loop_for f = {"slice", begin, end, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    const struct loop_expr *count = loop_let(&inner, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&inner, "slot", slot_of(x, count));
    if (x->z.share > 1) {
        const struct loop_expr *box = loop_let(&inner, "box", box_of(x, slice));
        wait_at(x, &inner, x->image_full, box_slot(x, box), box_phase(x, box));
    }
    wait_at(x, &inner, x->full, slot, phase_of(x, count));
    // The first one of a sum adds to nothing.
    multiply(x, &inner, slot, slice, x->total ? rest(x, slice, x->z.chunk) : slice);
    if ((x->total ? x->z.chunk : x->z.slices) > 1)
        wait_products(x, &inner, 1);
    loop_open_if(&inner, begin, slice, &some);
    release(x, &some, x->empty, slot_before(x, count));
    release_box(x, &some, slice);
    loop_close(&inner, &some);
    loop_close(b, &inner);
    wait_products(x, b, 0);
    if (x->more || x->total) {
        release(x, b, x->empty, slot_before(x, add(x, x->count, end)));
        release_box(x, b, end);
    }
}

static void walk(const struct conv_build *x, struct loop_builder *b) {
    struct loop_builder inner, each;
    const struct loop_expr *end = num(x, x->z.slices), *i;
    if (!x->total) {
        add_slices(x, b, num(x, 0), end);
        return;
    }
    i = open_unrolled(x, b, "i", x->total->count, &each);
    loop_store(&each, x->total, i, loop_real(x->a, 0), false);
    loop_close(b, &each);
    struct loop_for f = {"chunk", num(x, 0), end, x->z.chunk, false};
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    end = add(x, begin, num(x, x->z.chunk));
    if (x->z.slices % x->z.chunk != 0)
        end = loop_let(&inner, "end", loop_binary(x->a, LOOP_MIN, end, num(x, x->z.slices)));
    add_slices(x, &inner, begin, end);
    i = open_unrolled(x, &inner, "i", x->sum->count, &each);
    loop_store(&each, x->total, i,
               loop_binary(x->a, LOOP_ADD, loop_load(x->a, x->total, i, 2, 1),
                           loop_load(x->a, x->sum, i, 2, 1)),
               false);
    loop_close(&inner, &each);
    loop_close(b, &inner);
}

static void consume(struct conv_build *x, struct loop_builder *b) {
    struct loop_builder by_tile;
    x->consumer = num(x, 0);
    if (x->z.consumers > 1)
        x->consumer = loop_let(b, "consumer", quotient(x, x->thread, WGMMA_GROUP));
    open_tiles(x, b, &by_tile);
    walk(x, &by_tile);
    conv_wgmma_store(x, &by_tile);
    loop_close(b, &by_tile);
}

// ---- the kernel

// How the copy engine sees an operand: rows that are `length` long and begin every `pitch`
// elements; rows of a box, and of shared memory.
struct view {
    int64_t length, rows, pitch, box, in_shared;
};

static void make_side(struct conv_build *x, struct conv_side *s, const char *name,
                      const struct view *v) {
    static const char *const names[] = {"", "_low"};
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{v->in_shared, NULL}, {x->z.depth, NULL}};
    for (int i = 0; i < x->z.parts; i++) {
        struct loop_map map = {.of = s->from[i], .rank = 2, .swizzle_bytes = 128};
        map.dims[0] = v->length;
        map.dims[1] = v->rows;
        map.strides[0] = 1;
        map.strides[1] = v->pitch;
        map.box[0] = x->z.depth;
        map.box[1] = v->box;
        s->map[i] = loop_map_of(p, arena_printf(x->a, "%s%s_map", name, names[i]), &map);
        s->tile[i] = loop_shared_of(p, arena_printf(x->a, "%s%s_tile", name, names[i]),
                                    x->z.storage, shape, 2);
        s->tile[i]->align = 1024;
    }
}

static void make_buffers(struct conv_build *x) {
    struct loop_program *p = x->l->program;
    const struct conv_wgmma_sizes *z = &x->z;
    struct loop_size stages = {z->stages, NULL};
    int64_t length = z->slices * conv_slice(z), all = x->f->groups * z->rows;
    // What a row has of its neighbours lies inside, too.
    int64_t beyond = z->overlaps ? (z->run + z->row - 1) / z->row - 1 : 0;
    int images = z->share > 1 ? CONV_IMAGE_STAGES : z->stages;
    struct view weights = {length, x->f->groups * x->f->out, length, z->tile_rows,
                           (int64_t)z->stages * z->tile_rows};
    struct view image = {z->run, all - beyond, z->row, z->box / z->boxes, (int64_t)images * z->box};
    make_side(x, &x->weights, "weights", &weights);
    make_side(x, &x->image, "image", &image);
    x->full = loop_shared_of(p, "full", DTYPE_I64, &stages, 1);
    x->empty = loop_shared_of(p, "empty", DTYPE_I64, &stages, 1);
    struct loop_size image_stages = {CONV_IMAGE_STAGES, NULL};
    if (z->share > 1) {
        x->image_full = loop_shared_of(p, "image_full", DTYPE_I64, &image_stages, 1);
        x->image_empty = loop_shared_of(p, "image_empty", DTYPE_I64, &image_stages, 1);
    }
    int64_t pairs = (int64_t)z->own * z->tile_columns / WGMMA_GROUP / 2;
    x->sum = loop_register(p, "sum", pairs, 2);
    if (z->chunk)
        x->total = loop_register(p, "total", pairs, 2);
    // One array serves all values of a type.
    for (int v = 0; v < x->l->region->n_values && z->staged_bytes; v++) {
        enum dtype t = x->l->target[v]->dtype;
        struct loop_size staged = {z->staged_bytes / dtype_size(t, 1), NULL};
        bool fits = dtype_infos[t].bits == 16 || dtype_infos[t].bits == 32;
        if (x->l->target_offset[v] || !fits ||
            (v > 0 && (!x->passage[0] || x->passage[0]->dtype != t)))
            continue;
        x->passage[v] =
            v > 0 && x->passage[0] ? x->passage[0] : loop_shared_of(p, "passage", t, &staged, 1);
        x->passage[v]->align = 128;
    }
}

// A slot is full by one arrival and its bytes, empty when every consumer says so.
static void make_pairs(const struct conv_build *x, struct loop_builder *b,
                       const struct loop_buffer *full, const struct loop_buffer *empty) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", full->count, &inner);
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{full, i}, {NULL, num(x, 1)}});
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{empty, i}, {NULL, num(x, x->z.consumers)}});
    loop_close(b, &inner);
}

static void make_barriers(const struct conv_build *x, struct loop_builder *b) {
    struct loop_builder one;
    loop_open_if(b, x->thread, num(x, 1), &one);
    make_pairs(x, &one, x->full, x->empty);
    if (x->z.share > 1)
        make_pairs(x, &one, x->image_full, x->image_empty);
    loop_close(b, &one);
    loop_barrier(b);
}

// What else than the convolution results are made of.
static bool look_at(void *ctx, node_id n, const struct axis_map *map) {
    struct conv_build *x = ctx;
    const struct region *r = x->l->region;
    const struct shape *shape = &r->graph->nodes[n].shape;
    for (int i = 0; i < shape->rank && r->is_leaf[n]; i++) {
        bool is_one = shape->size[i] == 1, is_any = map->axis[i] == MAP_INDEX;
        x->reads_rows |= !is_one && (is_any || map->axis[i] == 1);
        x->reads_places |= !is_one && (is_any || (map->axis[i] >= 0 && map->axis[i] != 1));
    }
    return n != x->f->anchor;
}

static void look_at_epilogue(struct conv_build *x) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[x->f->anchor].shape.rank);
    struct point_visit visit = {r, -1, look_at, x};
    for (int i = 0; i < r->n_values; i++)
        point_visit(&visit, r->value[i], &map);
}

static void lower_class(struct conv_build *x, const char *name) {
    struct lowering *l = x->l;
    x->first_group = conv_build_space(l, x->f);
    int64_t tiles = conv_wgmma_tiles(x->f, &x->z), places = (int64_t)l->sms * x->z.resident;
    x->more = places < tiles;
    x->blocks = x->more ? places : tiles;
    struct loop_builder b, role, one;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(x->a, "%s_conv", name), num(x, x->blocks),
                                          x->z.threads, &b);
    k.kernel->min_blocks = x->z.resident;
    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1, .builder = &b};
    x->top = &top;
    x->block = k.block;
    x->thread = k.thread;
    make_buffers(x);
    make_barriers(x, &b);
    const struct loop_expr *copies = num(x, (int64_t)x->z.consumers * WGMMA_GROUP);
    loop_open_role(&b, x->thread, copies, &role);
    if (x->z.consumers > 1)
        loop_intrinsic(&role, INTRINSIC_REGISTERS_MORE,
                       (struct loop_operand[]){{NULL, num(x, CONV_REGISTERS_MORE)}});
    consume(x, &role);
    loop_close(&b, &role);
    loop_open_role(&b, num(x, (int64_t)x->z.consumers * WGMMA_GROUP - 1), x->thread, &role);
    if (x->z.consumers > 1)
        loop_intrinsic(&role, INTRINSIC_REGISTERS_LESS,
                       (struct loop_operand[]){{NULL, num(x, CONV_REGISTERS_LESS)}});
    loop_open_if(&role, x->thread, add(x, copies, num(x, 1)), &one);
    produce(x, &one);
    loop_close(&role, &one);
    loop_close(&b, &role);
}

void conv_wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct conv_build x = {.l = l, .a = l->arena, .form = f, .f = f->conv};
    const char *name = stage->values[0];
    x.z = conv_wgmma_sizes(f, &f->conv->classes[0], stage);
    look_at_epilogue(&x);
    conv_copy_rows(l, f->conv, &x.z, name, x.image.from);
    for (int i = 0; i < f->conv->n_classes; i++) {
        x.class = &f->conv->classes[i];
        x.z = conv_wgmma_sizes(f, x.class, stage);
        x.total = NULL;
        conv_copy_row_weights(l, f->conv, &x.z, x.class, name, x.weights.from);
        lower_class(&x, name);
    }
}
