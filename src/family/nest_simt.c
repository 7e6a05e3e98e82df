// nest on a GPU: a thread for every result, or for every line. See nest.h.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/nest_steps.h"
#include "family/nest_team.h"

static const int block_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, -1};

static const int team_grid[] = {1, GPU_WARP, -1};
static const int items_grid[] = {1, 2, 4, 8, 16, -1};
static const int pieces_grid[] = {1, 2, 4, 8, 16, -1};

static const struct knob knobs[] = {
    {.name = "block", .summary = "threads of a block", .n_parts = 1, .grid = {block_grid}},
    {.name = "items",
     .summary = "results of a thread, along rows of a product or channels of a convolution",
     .n_parts = 1,
     .grid = {items_grid}},
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "pieces of a line",
     .n_parts = 1,
     .grid = {split_grid}},
    {.name = "team",
     .change = CHANGE_COMBINE,
     .summary = "threads per result, or line, of an argmax or top-k",
     .n_parts = 1,
     .grid = {team_grid}},
    {.name = "pieces",
     .change = CHANGE_COMBINE,
     .summary = "of the axis of an argmax, each by other threads of the block",
     .n_parts = 1,
     .grid = {pieces_grid}},
    {0},
};

enum { THREADS_WANTED = 1 << 17, THREADS_MIN = 1 << 14, PIECE_MIN = 64 };

// Elements along the axis that items lie on; 1: there is none.
static int64_t tile_size(const struct region *r) {
    struct axis_map at;
    int axis = nest_walker(r) >= 0 ? -1 : nest_tile_axis(r, &at);
    return axis < 0 ? 1 : r->graph->nodes[r->value[0]].shape.size[axis];
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct region *r = f->region;
    (void)t;
    stage_set(s, "block", 0, 128);
    if (!nest_team_suits(r)) {
        int pieces = 8;
        while (pieces > 1 && nest_pieces_length(r) / pieces < PIECE_MIN)
            pieces /= 2;
        stage_set(s, "pieces", 0, pieces);
        stage_set(s, "block", 0, 128 * pieces);
    } else {
        stage_set(s, "team", 0, GPU_WARP);
    }
    if (nest_walker(r) < 0) {
        int64_t count = shape_count(&r->graph->nodes[r->value[0]].shape);
        int items = 8;
        while (items > 1 && (tile_size(r) % items != 0 || count / items < THREADS_MIN))
            items /= 2;
        stage_set(s, "items", 0, items);
        return;
    }
    if (r->graph->nodes[nest_walker(r)].op == OP_RECUR) {
        int64_t width = nest_steps_width(r);
        int block = 32;
        while (block < 1024 && block < width)
            block *= 2;
        stage_set(s, "block", 0, block);
        return;
    }
    int64_t length, lines = nest_lines(r, &length);
    int split = 1;
    // A scatter's pieces look at everything that is scattered; a scan's share the work.
    bool scans = op_infos[r->graph->nodes[nest_walker(r)].op].class == OP_CLASS_SCAN;
    int64_t wanted = scans ? THREADS_WANTED : THREADS_WANTED / 32;
    while (split < 4096 && lines * split < wanted && length / (2 * split) >= PIECE_MIN)
        split *= 2;
    stage_set(s, "split", 0, split);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    const struct region *r = f->region;
    if (!nest_steps_legal(r, why))
        return false;
    (void)t;
    int split = stage_number(s, "split", 0), block = stage_number(s, "block", 0);
    int n_items = stage_number(s, "items", 0), team = stage_number(s, "team", 0);
    int pieces = stage_number(s, "pieces", 0);
    if (team > 1 && !nest_team_legal(r, why))
        return false;
    if (pieces > 1 && (team > 1 || pieces > nest_pieces_length(r) || block / pieces < GPU_WARP))
        return objection(why, "pieces",
                         "pieces %d are for an argmax or argmin of as many terms, team 1, and a "
                         "block of %d threads: the nearest is pieces 1",
                         pieces, pieces * GPU_WARP);
    if (tile_size(r) % n_items != 0) {
        int nearest = n_items;
        while (tile_size(r) % nearest != 0)
            nearest /= 2;
        return objection(why, "items",
                         "items %d do not divide the %lld results that share what they read: the "
                         "nearest is items %d",
                         n_items, (long long)tile_size(r), nearest);
    }
    int64_t length = 1, items = shape_count(&r->graph->nodes[r->value[0]].shape);
    if (nest_walker(r) >= 0)
        items = nest_lines(r, &length) * split;
    items *= team * pieces;
    if (split > 1 && split > length)
        return objection(why, "split",
                         "only scans and scatters are split, and none into more than the %lld "
                         "elements of a line: the nearest is split 1",
                         (long long)length);
    return gpu_legal_grid("block", items / block + 1, why);
}

struct build {
    struct nest nest;
    int items;
};

static void store_values(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct build *x = ctx;
    struct scope s = {.lowering = x->nest.l, .builder = b, .lane_group = -1, .lanes = 1};
    scope_split(&s, item, 0, x->nest.n_kept);
    nest_store(&x->nest, &s);
}

// One thread has `items` results: the index of their group counts tiles.
static void store_tile(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct build *x = ctx;
    struct lowering *l = x->nest.l;
    struct arena *a = l->arena;
    struct scope s = {.lowering = l, .builder = b, .lane_group = -1, .lanes = 1};
    const struct loop_expr *first = NULL;
    for (int g = x->nest.n_kept - 1; g >= 0; g--) {
        bool is_tile = g == x->nest.tile_group;
        const struct loop_expr *extent =
            is_tile ? loop_int(a, l->space.count[g] / x->items) : l->space.extent[g];
        const struct loop_expr *i =
            loop_let(b, "i", g ? loop_binary(a, LOOP_MOD, item, extent) : item);
        item = loop_binary(a, LOOP_DIV, item, extent);
        if (is_tile)
            first = loop_let(b, "first", loop_binary(a, LOOP_MUL, i, loop_int(a, x->items)));
        else
            s.index[g] = i;
    }
    nest_store_tile(&x->nest, &s, first, x->items);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    (void)f;
    struct build x = {.nest = {.l = l}, .items = stage_number(stage, "items", 0)};
    const char *name = stage->values[0];
    int pieces = stage_number(stage, "pieces", 0), block = stage_number(stage, "block", 0);
    struct nest_team team = {.threads = pieces > 1 ? pieces : stage_number(stage, "team", 0),
                             .columns = pieces > 1 ? block / pieces : 0};
    struct nest_threads t = {
        .is_gpu = true, .per_block = block, .team = team.threads > 1 ? &team : NULL};
    if (nest_walker(l->region) >= 0) {
        nest_lower_walker(&x.nest, name, &t, stage_number(stage, "split", 0));
        return;
    }
    nest_build_space(&x.nest, l, x.items > 1);
    x.nest.team = t.team;
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, x.nest.n_kept);
    if (x.items > 1)
        count = loop_int(
            l->arena, shape_count(&l->region->graph->nodes[l->region->value[0]].shape) / x.items);
    nest_kernel(l, arena_printf(l->arena, "%s_nest", name), &t, count,
                x.items > 1 ? store_tile : store_values, &x);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct region *r = f->region;
    if (nest_walker(r) >= 0 && r->graph->nodes[nest_walker(r)].op == OP_RECUR)
        return nest_steps_seconds(r, t) * (1 + 1.0 / stage_number(s, "block", 0));
    double seconds = nest_estimate(r, 0.05 * gpu_flops_per_s(t), 0.5 * gpu_bytes_per_s(t));
    // Small blocks begin often, large ones wait for their slowest thread.
    int block = stage_number(s, "block", 0);
    // Items share loads, until they take the registers.
    double items = stage_number(s, "items", 0);
    seconds *= (1 + 1 / items + items / 32) / 2;
    // A thread alone reads a line of its own: 32 of them at once, each at another place.
    bool is_team = stage_number(s, "team", 0) > 1;
    seconds *= is_team == nest_team_suits(r) ? 1 : 4;
    // Eight pieces of 128 columns are at 87% of reach, one at 74% (argmax of 128 x 4096 x 4095 on
    // an H200); half as many columns cost a tenth.
    int pieces = stage_number(s, "pieces", 0);
    if (pieces > 1)
        return seconds * (0.85 + 0.3 / pieces) * (block / pieces < 128 ? 1.1 : 1) + 3e-6;
    return seconds * (1 + 0.05 * (block > 256) + 0.1 * (block < 64)) + 3e-6;
}

const struct emitter nest_simt = {
    .name = "simt",
    .summary = "whatever no other family takes, a thread for each result",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
