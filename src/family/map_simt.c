// map on a GPU: one flat index over all elements; a thread takes `items` vectors, a whole
// block's threads apart, so that neighbours read neighbouring memory. With several items all
// loads come first: they are what a thread waits for.
#include <stdio.h>

#include "base/arena.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/map_form.h"

static const int block_grid[] = {64, 128, 256, 512, 1024, -1};
static const int vec_grid[] = {1, 2, 4, -1};
static const int items_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    {.name = "block", .summary = "threads of a block", .n_parts = 1, .grid = {block_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "items", .summary = "vectors per thread", .n_parts = 1, .grid = {items_grid}},
    KNOB_GPU_STORE,
    {0},
};

// What a region reads, each place once.
enum { READS_MAX = 64 };
struct reads {
    const struct region *region;
    struct {
        node_id node;
        struct axis_map map;
        struct loop_buffer *kept;  // one vector per item
    } read[READS_MAX];
    int n;
};

static bool note_read(void *ctx, node_id n, const struct axis_map *map) {
    struct reads *r = ctx;
    if (!r->region->is_leaf[n] || r->n == READS_MAX)
        return true;
    r->read[r->n].node = n;
    r->read[r->n++].map = *map;
    return true;
}

static void find_reads(const struct region *r, struct reads *reads) {
    *reads = (struct reads){.region = r};
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    struct point_visit visit = {r, -1, note_read, reads};
    for (int i = 0; i < r->n_values; i++)
        point_visit(&visit, r->value[i], &map);
}

static int64_t count(const struct region *r) {
    return shape_count(&r->graph->nodes[r->value[0]].shape);
}

static int64_t n_blocks(const struct region *r, const struct kernel_stage *s) {
    int64_t each = (int64_t)stage_number(s, "block", 0) * stage_number(s, "vec", 0) *
                   stage_number(s, "items", 0);
    return (count(r) + each - 1) / each;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct reads reads;
    find_reads(f->region, &reads);
    int vec = stage_number(s, "vec", 0), items = stage_number(s, "items", 0);
    int block = stage_number(s, "block", 0), each = (reads.n + f->region->n_values) * vec;
    char nearest[32];
    int fits = knob_at_most(&knobs[2], 0, (int)(gpu_registers_for(t, block) / each));
    snprintf(nearest, sizeof nearest, "items %d", fits);
    struct gpu_demand demand = {"items", block, (int64_t)each * items, nearest};
    // A single item goes through registers as it comes, however many values there are.
    return gpu_legal_vec(s, f->lanes, why) &&
           (items == 1 || gpu_legal_registers(t, &demand, why)) &&
           gpu_legal_grid("items", n_blocks(f->region, s), why);
}

static bool is_narrow(const struct region *r) {
    for (int i = 0; i < r->n_values; i++) {
        enum dtype type = r->graph->nodes[r->value[i]].dtype;
        if (type != DTYPE_F16 && type != DTYPE_BF16)
            return false;
    }
    return true;
}

static bool has_gather(const struct region *r) {
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n] && op_infos[r->graph->nodes[n].op].class == OP_CLASS_GATHER)
            return true;
    return false;
}

static bool has_slow(const struct region *r) {
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n] && region_is_slow(r->graph->nodes[n].op))
            return true;
    return false;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct objection why;
    stage_set(s, "block", 0, 256);
    stage_set(s, "vec", 0, gpu_largest_vec(f->lanes));
    // Of narrow elements two vectors are as much under way as one of wide ones. What waits twice,
    // for an index and for what it points at, or computes long, wants four.
    bool is_narrow_now = is_narrow(f->region);
    bool wants_more = has_gather(f->region) || (is_narrow_now && has_slow(f->region));
    stage_set(s, "items", 0, wants_more ? 4 : is_narrow_now ? 2 : 1);
    if (!is_legal(f, t, s, &why))
        stage_set(s, "items", 0, 1);
}

struct build {
    struct lowering *l;
    const struct kernel_stage *stage;
    struct reads reads;
    const struct loop_expr *first;  // the thread's first vector
    int block, vec, items;
};

// Inside `b`, at vector number `item` of the thread: a guarded scope with all indices fixed.
static struct scope open_item(struct build *x, struct scope *outer, struct loop_builder *b,
                              const struct loop_expr *item, struct loop_builder *guarded) {
    struct arena *a = x->l->arena;
    const struct loop_expr *ahead =
        loop_binary(a, LOOP_MUL, item, loop_int(a, (int64_t)x->block * x->vec));
    const struct loop_expr *flat = loop_let(b, "i", loop_binary(a, LOOP_ADD, x->first, ahead));
    int n_groups = x->l->space.n_groups;
    loop_open_if(b, flat, scope_count(outer, 0, n_groups), guarded);
    struct scope s = scope_inside(outer, guarded);
    scope_split(&s, flat, 0, n_groups);
    s.lane_group = n_groups - 1;
    s.lanes = x->vec;
    return s;
}

static void load_items(struct build *x, struct scope *outer) {
    struct arena *a = x->l->arena;
    struct loop_builder inner, guarded;
    struct loop_for f = {"item", loop_int(a, 0), loop_int(a, x->items), 1, true};
    const struct loop_expr *item = loop_open_for(outer->builder, &f, &inner);
    struct scope s = open_item(x, outer, &inner, item, &guarded);
    for (int i = 0; i < x->reads.n; i++) {
        const struct loop_expr *e = point_value(&s, x->reads.read[i].node, &x->reads.read[i].map);
        // Conditions are read anew: registers hold numbers.
        if (e->dtype != LOOP_F32)
            continue;
        struct loop_buffer *kept = loop_register(
            x->l->program, arena_printf(a, "%s_item", x->l->buffer[x->reads.read[i].node]->name),
            x->items, e->lanes);
        loop_store(&guarded, kept, item, e, false);
        x->reads.read[i].kept = kept;
    }
    loop_close(&inner, &guarded);
    loop_close(outer->builder, &inner);
}

static void store_items(struct build *x, struct scope *outer) {
    struct arena *a = x->l->arena;
    const struct region *r = x->l->region;
    struct loop_builder inner, guarded;
    struct loop_for f = {"item", loop_int(a, 0), loop_int(a, x->items), 1, true};
    const struct loop_expr *item = loop_open_for(outer->builder, &f, &inner);
    struct scope s = open_item(x, outer, &inner, item, &guarded);
    for (int i = 0; i < x->reads.n; i++) {
        struct loop_buffer *kept = x->reads.read[i].kept;
        if (kept)
            point_define(&s, x->reads.read[i].node, &x->reads.read[i].map,
                         loop_load(a, kept, item, kept->lanes, 1));
    }
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    for (int i = 0; i < r->n_values; i++)
        point_store(&s, i, &map, stage_word_is(x->stage, "store", "stream"));
    loop_close(&inner, &guarded);
    loop_close(outer->builder, &inner);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    (void)f;
    struct arena *a = l->arena;
    map_build_space(l);
    l->is_quick_erf = l->is_quick_inverse = is_narrow(l->region);
    struct build x = {.l = l, .stage = stage};
    find_reads(l->region, &x.reads);
    x.block = stage_number(stage, "block", 0);
    x.vec = stage_number(stage, "vec", 0);
    x.items = stage_number(stage, "items", 0);
    int64_t each = (int64_t)x.block * x.vec * x.items;
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    struct loop_builder b;
    struct gpu_kernel k = gpu_open_kernel(
        l, arena_printf(a, "%s_map", stage->values[0]),
        loop_ceildiv(a, scope_count(&outer, 0, l->space.n_groups), each), x.block, &b);
    outer.builder = &b;
    const struct loop_expr *own = loop_binary(a, LOOP_MUL, k.thread, loop_int(a, x.vec));
    x.first = loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, k.block, loop_int(a, each)), own);
    if (x.items > 1)
        load_items(&x, &outer);
    store_items(&x, &outer);
}

// Bytes of rows that come again, of a table that the second cache does not hold.
static double read_again(const struct region *r, const struct target *t) {
    struct map_rows rows;
    if (!map_find_rows(r, &rows))
        return 0;
    double table = (double)dtype_size(r->graph->nodes[rows.table].dtype, rows.n_rows * rows.width);
    return table > (double)t->l2_bytes ? ((double)rows.n_sources / (double)rows.n_rows - 1) * table
                                       : 0;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    struct reads reads;
    region_count(f->region, &w);
    find_reads(f->region, &reads);
    w.bytes_read += read_again(f->region, t);
    struct gpu_traffic traffic = {.bytes = w.bytes_read + w.bytes_written,
                                  .blocks = (double)n_blocks(f->region, s),
                                  .threads = stage_number(s, "block", 0)};
    traffic.in_flight = 4.0 * reads.n * stage_number(s, "vec", 0) * stage_number(s, "items", 0);
    double compute = (w.flops + 16 * w.slow_flops) / (0.5 * gpu_flops_per_s(t));
    // Narrow accesses cost an instruction each.
    double narrow = 1 + 0.1 * (4.0 / stage_number(s, "vec", 0) - 1);
    double memory = gpu_estimate_traffic(t, &traffic) * narrow;
    // What is read across takes a sector for every element, of which caches save some.
    struct map_crossing across;
    if (map_find_crossing(f->region, &across))
        memory *= 3;
    return memory > compute ? memory + 0.2 * compute : compute + 0.2 * memory;
}

const struct emitter map_simt = {
    .name = "simt",
    .summary = "elementwise values",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
