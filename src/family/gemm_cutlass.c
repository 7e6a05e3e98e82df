// gemm by a kernel of CUTLASS 3.x (sm_90a), where $CUTLASS_PATH names one and nvcc is there: a peer
// and an alternative to wgmma. It becomes a call of our host (ir/cutlass.h), whose numbers are
// these knobs; nvcc compiles the text, which takes a minute, so only a block that names it has it.
//
// What is around the product must be by element, and becomes the epilogue's visitor tree: vectors
// along rows or columns, matrices like the result, numbers, arithmetic and activations.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "family/gemm_wgmma.h"
#include "family/library_form.h"
#include "ir/cutlass.h"
#include "loop/loop_call.h"

static const int rows_grid[] = {64, 128, 256, -1};
static const int columns_grid[] = {32, 64, 96, 128, 160, 192, 256, -1};
static const int depth_grid[] = {32, 64, 128, 256, -1};
static const int cluster_grid[] = {1, 2, 4, 8, -1};
static const int stages_grid[] = {0, 2, 3, 4, 5, 6, 7, 8, -1};
static const int swizzle_grid[] = {1, 2, 4, 8, -1};

static const struct knob knobs[] = {
    {.name = "tile",
     .summary = "rows and columns of a tile, and terms of a slice",
     .n_parts = 3,
     .grid = {rows_grid, columns_grid, depth_grid}},
    {.name = "cluster",
     .summary = "blocks along rows and along columns that share what they read",
     .n_parts = 2,
     .grid = {cluster_grid, cluster_grid}},
    {.name = "schedule",
     .summary = "two warpgroups share a tile, or take turns with one each; fast: f8 without "
                "adding up apart",
     .words = cutlass_schedules},
    {.name = "store",
     .summary = "results by way of shared memory, or straight from registers",
     .words = cutlass_stores},
    {.name = "stages",
     .summary = "slices in shared memory; 0: as many as fit",
     .n_parts = 1,
     .grid = {stages_grid}},
    {.name = "scheduler",
     .summary = "whole tiles by turns, or the last ones shared out along K",
     .change = CHANGE_COMBINE,
     .words = cutlass_schedulers},
    {.name = "raster", .summary = "along what tiles are walked", .words = cutlass_rasters},
    {.name = "swizzle",
     .summary = "tiles across that are walked together",
     .n_parts = 1,
     .grid = {swizzle_grid}},
    {0},
};

// ---- the call

struct cutlass_form {
    struct library_form product;
    enum dtype types[CALL_BUFFERS_MAX];
    node_id loaded[CALL_LOADS_MAX];
    int n_loaded;
};

// The epilogue as it is built, a step for each node that it needs.
struct building {
    const struct form *form;
    struct cutlass_form *to;
    struct objection *why;
    struct known {
        node_id node;
        struct axis_map map;
        int value;
    } known[EPILOGUE_STEPS_MAX + 1];
    int n_known;
};

enum { FAILED = -1 };

static int add_step(struct building *b, const struct epilogue_step *s) {
    struct call_epilogue *e = &b->to->product.call.epilogue;
    if (e->n_steps == EPILOGUE_STEPS_MAX) {
        objection(b->why, NULL,
                  "the epilogue has more than %d steps; materialise a value on the way",
                  EPILOGUE_STEPS_MAX);
        return FAILED;
    }
    e->steps[e->n_steps++] = *s;
    return e->n_steps;
}

static int add_load(struct building *b, node_id n, const struct axis_map *map) {
    struct epilogue_step s = {.kind = EPILOGUE_LOAD};
    struct cutlass_form *c = b->to;
    if (c->n_loaded == CALL_LOADS_MAX) {
        objection(b->why, NULL, "the epilogue loads more than %d values; materialise some first",
                  CALL_LOADS_MAX);
        return FAILED;
    }
    if (!library_find_strides(b->form->region, b->form->gemm->anchor, &c->product.call, n, map,
                              s.stride)) {
        objection(b->why, NULL, "%s does not lie as a matrix or a vector where it is added",
                  form_node(b->form, n)->name);
        return FAILED;
    }
    s.arg[0] = CALL_LOADED + c->n_loaded;
    c->types[s.arg[0]] = form_node(b->form, n)->dtype;
    c->loaded[c->n_loaded++] = n;
    return add_step(b, &s);
}

static int add_value(struct building *b, node_id n, const struct axis_map *map);

static int add_operation(struct building *b, const struct node *n, const struct axis_map *map) {
    struct epilogue_step s = {.kind = EPILOGUE_OP, .op = n->op};
    bool is_round = n->op == OP_CAST && cutlass_rounds_to(n->dtype);
    bool is_known = n->dtype == DTYPE_BOOL || dtype_is_float(n->dtype);
    if (!is_round && (!epilogue_allows(n->op) || !is_known)) {
        objection(b->why, NULL,
                  "%s is %s of %s, which an epilogue for CUTLASS does not have; materialise its "
                  "argument first, or take wgmma",
                  n->name, op_infos[n->op].name, dtype_name(n->dtype));
        return FAILED;
    }
    for (int i = 0; i < n->n_args; i++)
        if ((s.arg[i] = add_value(b, n->arg[i], map)) == FAILED)
            return FAILED;
    if (is_round && n->dtype == DTYPE_F32)
        return s.arg[0];
    s.kind = is_round ? EPILOGUE_ROUND : EPILOGUE_OP;
    s.type = n->dtype;
    return add_step(b, &s);
}

// The number of a node's value among the steps'.
static int add_value(struct building *b, node_id n, const struct axis_map *map) {
    const struct node *node = form_node(b->form, n);
    for (int i = 0; i < b->n_known; i++)
        if (b->known[i].node == n && map_equal(&b->known[i].map, map, &node->shape))
            return b->known[i].value;
    if (node->op == OP_VIEW && b->form->region->is_member[n]) {
        struct axis_map arg = map_through_view(b->form->region->graph, node, map);
        return add_value(b, node->arg[0], &arg);
    }
    struct epilogue_step number = {.kind = EPILOGUE_NUMBER, .number = (float)node->value};
    int value = FAILED;
    if (node->op == OP_CONST)
        value = add_step(b, &number);
    else if (b->form->region->is_leaf[n])
        value = add_load(b, n, map);
    else if (op_infos[node->op].class == OP_CLASS_ELEMENTWISE)
        value = add_operation(b, node, map);
    else
        objection(b->why, NULL, "%s is computed from other places; materialise it first",
                  node->name);
    // Steps are fewer than places here; a cast to f32 is none, and is only not remembered.
    if (value != FAILED && b->n_known <= EPILOGUE_STEPS_MAX)
        b->known[b->n_known++] = (struct known){n, *map, value};
    return value;
}

// A store rounds by itself, and the last value is what is stored.
static bool find_epilogue(const struct form *f, struct cutlass_form *c, struct objection *why) {
    const struct region *r = f->region;
    struct building b = {.form = f, .to = c, .why = why};
    struct axis_map map = map_identity(form_node(f, f->gemm->anchor)->shape.rank);
    node_id n = r->value[0];
    while (n != f->gemm->anchor && form_node(f, n)->op == OP_CAST &&
           dtype_is_float(form_node(f, n)->dtype) && form_node(f, n)->dtype == c->types[CALL_OUT])
        n = form_node(f, n)->arg[0];
    b.known[b.n_known++] = (struct known){f->gemm->anchor, map, 0};
    int value = add_value(&b, n, &map);
    if (value == FAILED)
        return false;
    return value == c->product.call.epilogue.n_steps ||
           objection(why, NULL, "%s is no value of its own", r->value_name[0]);
}

static bool find_call(const struct form *f, struct cutlass_form *c, struct objection *why) {
    const struct region *r = f->region;
    const struct node *anchor = form_node(f, f->gemm->anchor);
    *c = (struct cutlass_form){0};
    if (anchor->op != OP_MATMUL || r->n_values != 1)
        return objection(why, NULL, "cutlass computes one value from one matrix product%s",
                         r->n_values > 1 ? "; give the others stages of their own" : "");
    if (!library_find_product(r, f->gemm->anchor, &c->product, why))
        return false;
    c->product.call.kind = CALL_CUTLASS;
    c->types[CALL_LHS] = form_node(f, c->product.lhs)->dtype;
    c->types[CALL_RHS] = form_node(f, c->product.rhs)->dtype;
    c->types[CALL_OUT] = form_node(f, r->value[0])->dtype;
    c->types[CALL_WORK] = DTYPE_U8;
    return find_epilogue(f, c, why);
}

static int64_t word(const struct kernel_stage *s, const char *knob, const char *const *words) {
    int64_t i = 0;
    while (words[i] && !stage_word_is(s, knob, words[i]))
        i++;
    return i;
}

static void configure(struct call *c, const struct kernel_stage *s) {
    int64_t *z = c->number;
    for (int i = 0; i < 3; i++)
        z[CUTLASS_TILE + i] = stage_number(s, "tile", i);
    for (int i = 0; i < 2; i++)
        z[CUTLASS_CLUSTER + i] = stage_number(s, "cluster", i);
    z[CUTLASS_SCHEDULE] = word(s, "schedule", cutlass_schedules);
    z[CUTLASS_STORE] = word(s, "store", cutlass_stores);
    z[CUTLASS_STAGES] = stage_number(s, "stages", 0);
    z[CUTLASS_SCHEDULER] = word(s, "scheduler", cutlass_schedulers);
    z[CUTLASS_RASTER] = word(s, "raster", cutlass_rasters);
    z[CUTLASS_SWIZZLE] = stage_number(s, "swizzle", 0);
}

// ---- what it takes

static bool is_f8(enum dtype t) {
    return t == DTYPE_F8E4M3 || t == DTYPE_F8E5M2;
}

// A configuration that is legal wherever one is.
static void configure_plainly(struct cutlass_form *c) {
    int64_t *z = c->product.call.number;
    int64_t bytes = dtype_size(c->types[CALL_LHS], 1);
    z[CUTLASS_TILE] = z[CUTLASS_TILE + 1] = 128;
    z[CUTLASS_TILE + 2] = 128 / bytes;
    z[CUTLASS_CLUSTER] = z[CUTLASS_CLUSTER + 1] = z[CUTLASS_SWIZZLE] = 1;
    z[CUTLASS_SCHEDULE] = is_f8(c->types[CALL_LHS]) ? SCHEDULE_COOPERATIVE_FAST : 0;
    bool is_wide = dtype_size(c->types[CALL_OUT], z[GEMM_N]) % 16 == 0;
    z[CUTLASS_STORE] = is_wide || c->product.call.epilogue.n_steps > 0 ? STORE_TMA : STORE_DIRECT;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    struct cutlass_form c;
    struct cutlass_objection no;
    if (!t->cutlass[0])
        return objection(
            why, NULL,
            "CUTLASS is absent: let CUTLASS_PATH name its directory (with "
            "include/cutlass), and have nvcc along PATH or in the toolkit; hone doctor "
            "tells what is missing");
    if (!gemm_moves_vectors(f, why) || !find_call(f, &c, why))
        return false;
    if (is_f8(c.types[CALL_LHS]) && !f->region->problem->precision.short_sums)
        return objection(why, NULL,
                         "tensor cores add up products of f8 in 14 digits: the problem must say "
                         "'accumulate f22'");
    configure_plainly(&c);
    return cutlass_check(&c.product.call, c.types, &no) || objection(why, NULL, "%s", no.text);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct cutlass_form c;
    struct cutlass_objection no;
    (void)t;
    if (!find_call(f, &c, why))
        return false;
    configure(&c.product.call, s);
    return cutlass_check(&c.product.call, c.types, &no) || objection(why, no.knob, "%s", no.text);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct cutlass_form c;
    struct cutlass_objection no;
    struct objection why;
    find_call(f, &c, &why);
    configure_plainly(&c);
    int64_t *z = c.product.call.number, tiles = (z[GEMM_M] + 127) / 128 * ((z[GEMM_N] + 255) / 256);
    // Few rows: no half of a tile for nothing. Many tiles: wide ones, in pairs.
    if (z[GEMM_M] <= 64) {
        z[CUTLASS_TILE] = 64;
        z[CUTLASS_SCHEDULE] += SCHEDULE_PINGPONG;
    } else if (tiles * z[GEMM_BATCH] >= t->sms) {
        z[CUTLASS_TILE + 1] = 256;
        z[CUTLASS_CLUSTER] = z[GEMM_M] > 128 ? 2 : 1;
        if (!cutlass_check(&c.product.call, c.types, &no))
            z[CUTLASS_TILE + 1] = 128;
    }
    for (int i = 0; i < 3; i++)
        stage_set(s, "tile", i, (int)z[CUTLASS_TILE + i]);
    for (int i = 0; i < 2; i++)
        stage_set(s, "cluster", i, (int)z[CUTLASS_CLUSTER + i]);
    stage_set_word(s, "schedule", cutlass_schedules[z[CUTLASS_SCHEDULE]]);
    stage_set_word(s, "store", cutlass_stores[z[CUTLASS_STORE]]);
}

// Roughly, since nobody chooses it by this.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    (void)s;
    region_count(f->region, &w);
    double bandwidth = t->ceilings.present ? ceilings_bandwidth(&t->ceilings, 0.5) : 3e12;
    double rate = 0.7 * (t->peak_per_s[PIPE_F16] > 0 ? t->peak_per_s[PIPE_F16] : 9e14);
    return fmax((w.bytes_read + w.bytes_written) / bandwidth, w.flops / rate);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *s) {
    struct cutlass_form c;
    struct objection why;
    find_call(f, &c, &why);
    configure(&c.product.call, s);
    int64_t bytes = cutlass_work_bytes(&c.product.call, l->sms);
    struct loop_call call = {c.product.call,
                             {l->buffer[c.product.lhs], l->buffer[c.product.rhs], l->target[0],
                              library_work_buffer(l->program, bytes)},
                             CALL_LOADED + c.n_loaded};
    for (int i = 0; i < c.n_loaded; i++)
        call.args[CALL_LOADED + i] = l->buffer[c.loaded[i]];
    loop_call_new(l->program, arena_printf(l->arena, "%s_cutlass", l->region->value_name[0]),
                  &call);
}

const struct emitter gemm_cutlass = {
    .name = "cutlass",
    .summary = "a kernel of CUTLASS's collectives, where CUTLASS_PATH names it",
    .knobs = knobs,
    .runs_on = wgmma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
    .is_named_only = true,
};
