// The block that is tried first. Each output is asked for as one stage; where no family
// takes its region, the region is cut at its first anchor and both parts are tried again.
// This ends because a region with one anchor at its end, or none, is always taken.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block.h"
#include "family/block_set.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "family/lower.h"
#include "family/nest.h"
#include "family/rows.h"
#include "family/stages.h"
#include "ir/work.h"
#include "lang/lang.h"

struct choice {
    struct arena *arena;
    const struct problem *problem;
    const struct target *target;
    struct kernel *kernel;
    bool *is_ready;
    bool is_simple;  // the first emitters will do
};

static void choose_emitter(const struct choice *c, const struct form *f, struct kernel_stage *s) {
    family_choose(f, c->target, c->is_simple, s);
}

// A region that no family takes, for its last reduction is over other axes than those before it
// (a loss of rows, then their mean): what that reduction takes, where one stage computes it and it
// is small. -1: there is none.
static node_id find_small_cut(const struct choice *c, const struct region *r) {
    enum { SMALL = 8 };
    if (r->n_anchors < 3)
        return -1;
    node_id last = r->anchor[r->n_anchors - 1], n = r->graph->nodes[last].arg[0];
    if (form_node_kind(r->graph, last) != ANCHOR_REDUCTION || !r->is_member[n] ||
        form_node_kind(r->graph, n) != ANCHOR_NONE)
        return -1;
    const struct node *first = &r->graph->nodes[r->anchor[0]];
    if (shape_count(&r->graph->nodes[n].shape) * SMALL >
        shape_count(&r->graph->nodes[first->arg[0]].shape))
        return -1;
    const char *name = r->graph->nodes[n].name;
    const struct region *part = region_build(c->arena, c->problem, &name, 1, c->is_ready);
    const struct form *f = family_first_form(part, c->target);
    return f && f->family->kinds != FORM_ANY && part->n_anchors == r->n_anchors - 1 ? n : -1;
}

// Rows too long for the caches, which a stage would read again for its results: statistics first
// and then a map read as much, and each of them streams. On a CPU those are rows whose neighbours
// are other rows; of few of them a stage would leave threads idle, too. -1: the region stays whole.
static node_id find_long_cut(const struct choice *c, const struct region *r, const struct form *f) {
    enum { FEW = 64 };  // rows for each thread: some vectors
    struct kernel_stage s = {.values = {r->value_name[0]}, .n_values = 1, .family = "rowwise"};
    const struct target *t = c->target;
    if (!f->rows || !rows_any_full_value(f->rows))
        return -1;
    int64_t bytes = f->rows->n_columns * 4;
    if (!t->is_gpu && (f->rows->is_along || bytes * f->rows->n_rows < t->l2_bytes))
        return -1;
    if (!t->is_gpu && f->rows->n_rows < (int64_t)FEW * t->n_threads)
        return region_cut(r);
    if (t->is_gpu && bytes < t->l2_bytes / 2)
        return -1;
    choose_emitter(c, f, &s);
    // A strip that is stored a turn later is read again from the caches.
    bool is_near = stage_has(&s, "overlap") && stage_word_is(&s, "overlap", "strips");
    bool is_far = stage_word_is(&s, "keep", "reread") && !is_near;
    return is_far ? region_cut(r) : -1;
}

// Does a node outside the region read `n`?
static bool is_read_outside(const struct region *r, node_id n) {
    for (node_id u = n + 1; u < r->graph->n_nodes; u++)
        for (int k = 0; !r->is_member[u] && k < r->graph->nodes[u].n_args; k++)
            if (r->graph->nodes[u].arg[k] == n)
                return true;
    return false;
}

// The only node of the whole graph that reads `n`; -1: there is none, or more than one.
static node_id only_reader(const struct graph *g, node_id n) {
    node_id reader = -1;
    for (node_id u = n + 1; u < g->n_nodes; u++)
        for (int k = 0; k < g->nodes[u].n_args; k++) {
            if (g->nodes[u].arg[k] == n && reader >= 0 && reader != u)
                return -1;
            reader = g->nodes[u].arg[k] == n ? u : reader;
        }
    return reader;
}

// A product inside the region of which something outside is made too (queries, keys and values as
// slices of one projection): a block may compute it once only, so it is materialised, with what by
// element is done to it first. -1: there is none.
static node_id find_shared_product(const struct region *r) {
    const struct graph *g = r->graph;
    bool *is_made = arena_array(r->arena, bool, g->n_nodes);
    for (int i = 0; i < r->n_anchors; i++) {
        node_id product = r->anchor[i], end = product;
        bool is_shared = false;
        if (!work_is_contraction(&g->nodes[product]) || region_is_value(r, product))
            continue;
        memset(is_made, 0, sizeof *is_made * (size_t)g->n_nodes);
        is_made[product] = true;
        for (node_id n = product; n <= r->last && !is_shared; n++) {
            for (int k = 0; r->is_member[n] && k < g->nodes[n].n_args; k++)
                is_made[n] |= is_made[g->nodes[n].arg[k]];
            is_shared = is_made[n] && !region_is_value(r, n) && is_read_outside(r, n);
        }
        if (!is_shared)
            continue;
        for (node_id n = only_reader(g, end); n >= 0 && !region_is_value(r, n);
             n = only_reader(g, end)) {
            if (!r->is_member[n] || op_infos[g->nodes[n].op].class != OP_CLASS_ELEMENTWISE)
                break;
            end = n;
        }
        return end;
    }
    return -1;
}

static double least_seconds(const struct choice *c, const struct form *f) {
    struct kernel_stage s = {.values = {"?"}, .n_values = 1, .family = f->family->name};
    choose_emitter(c, f, &s);
    return stage_emitter(&s, c->target)->estimate(f, c->target, &s);
}

// Families of matrix units alone give way to nest where something simple is wanted, and where a
// convolution is too small for the kernels that copy its operands.
static const struct form *without_matrix_units(const struct choice *c, const struct form *f) {
    const double small = 20e-6;  // seconds
    struct objection why;
    bool is_alone = f && f->gemm && (f->gemm->is_whole || f->gemm->is_f8);
    if (!f || (!family_has(f->family, FAMILY_MATRIX_ONLY) && !is_alone))
        return f;
    const struct form *nest = family_form(&families[FAMILY_NEST], f->region, &why);
    if (c->is_simple)
        return nest;
    double seconds = f->conv && nest ? least_seconds(c, nest) : INFINITY;
    return seconds < small && seconds < least_seconds(c, f) ? nest : f;
}

// A convolution that is a product may be a kernel of either family. Both estimates of tensor cores
// are wrong alike; that of a product without them (f32) is too low by a third where theirs is too
// high by one: 6.9 ms on an H200 where 5.3 were expected, and 5.3 where 7.1 were. Where both are as
// long gemm is the one that copies less (87-pointwise in tf32 3.6 ms, by conv 4.1). On a CPU both
// count the same instructions.
static const struct form *faster_product(const struct choice *c, const struct form *f) {
    struct objection why;
    struct kernel_stage any = {0};
    const struct family *conv = &families[FAMILY_CONV];
    if (!f || !f->gemm || !f->gemm->is_conv || c->is_simple)
        return f;
    const struct form *other = family_form(conv, f->region, &why);
    if (!other || !family_emitter(conv, other, c->target, &any, &why))
        return f;
    struct kernel_stage s = {.values = {"?"}, .n_values = 1, .family = f->family->name};
    choose_emitter(c, f, &s);
    const struct emitter *e = stage_emitter(&s, c->target);
    double margin = e == &gemm_mma || e == &gemm_wgmma ? 0.9 : c->target->is_gpu ? 2 : 1;
    return least_seconds(c, other) < margin * e->estimate(f, c->target, &s) ? other : f;
}

// Weights of few bits are read as they are by a family of their own, which may be the faster one.
static const struct form *faster_weights(const struct choice *c, const struct form *f) {
    struct objection why;
    struct kernel_stage any = {0};
    const struct family *qgemm = &families[FAMILY_QGEMM];
    const struct form *other =
        f && f->gemm && !c->is_simple ? family_form(qgemm, f->region, &why) : NULL;
    if (!other || !family_emitter(qgemm, other, c->target, &any, &why))
        return f;
    return least_seconds(c, other) < least_seconds(c, f) ? other : f;
}

// Few long rows, each reduced to one number: rowwise gives a thread whole rows, reduce splits them.
static const struct form *faster_total(const struct choice *c, const struct form *f) {
    enum { LONG = 1 << 16 };
    struct objection why;
    if (!f || !f->rows || c->target->is_gpu || f->region->n_anchors != 1 ||
        f->rows->n_rows >= 4 * (int64_t)c->target->n_threads || f->rows->n_columns < LONG ||
        rows_any_full_value(f->rows))
        return f;
    const struct form *other = family_form(&families[FAMILY_REDUCE], f->region, &why);
    return other ? other : f;
}

// Seconds of the best stage of one value where these are ready; INFINITY: no family takes it.
static double seconds_alone(const struct choice *c, const char *name, const bool *is_ready,
                            bool takes_nest) {
    const struct region *r = region_build(c->arena, c->problem, &name, 1, is_ready);
    const struct form *f = faster_product(c, family_first_form(r, c->target));
    return f && (takes_nest || f->family->kinds != FORM_ANY) ? least_seconds(c, f) : INFINITY;
}

// Seconds of the region's value where the nodes `before` are stages of their own first.
static double seconds_after(const struct choice *c, const struct region *r, const node_id *before,
                            int n_before, bool takes_nest) {
    const struct graph *g = r->graph;
    bool *is_ready = arena_copy(c->arena, c->is_ready, (size_t)g->n_nodes);
    double seconds = 0;
    for (int i = 0; i < n_before; i++)
        seconds += seconds_alone(c, g->nodes[before[i]].name, c->is_ready, takes_nest);
    for (int i = 0; i < n_before; i++)
        is_ready[before[i]] = true;
    return seconds + seconds_alone(c, r->value_name[0], is_ready, true);
}

// A product that only nest takes with what is around it: what follows asks for places (the triangle
// of a product), or an operand is moved in a way that tiles do not follow (the heads of an
// attention put together again). What to materialise where tiles for the product alone should be
// faster, the copy included. -1: nothing.
static node_id find_apart(const struct choice *c, const struct region *r, const struct form *f) {
    node_id first = r->n_anchors == 1 ? r->anchor[0] : -1, operands[2], cut = -1;
    if (c->is_simple || f->family->kinds != FORM_ANY || first < 0 ||
        !work_is_contraction(&r->graph->nodes[first]))
        return -1;
    struct arena scratch = {0};
    struct choice try = *c;
    try.arena = &scratch;
    double least = least_seconds(&try, f), seconds;
    if (!region_is_value(r, first) &&
        (seconds = seconds_after(&try, r, &first, 1, false)) < least) {
        least = seconds;
        cut = first;
    }
    int n = 0;
    for (int k = 0; k < 2; k++)
        if (r->is_member[r->graph->nodes[first].arg[k]])
            operands[n++] = r->graph->nodes[first].arg[k];
    for (int from = 0; from < n; from++)
        for (int i = from; i < n; i++)
            if ((seconds = seconds_after(&try, r, operands + from, i - from + 1, true)) < least) {
                least = seconds;
                cut = operands[from];
            }
    arena_reset(&scratch);
    return cut;
}

static void materialise(struct choice *c, const char *name) {
    for (;;) {
        struct region *r = region_build(c->arena, c->problem, &name, 1, c->is_ready);
        const struct form *f = faster_product(c, family_first_form(r, c->target));
        f = faster_total(c, without_matrix_units(c, faster_weights(c, f)));
        struct kernel_stage any = {0};
        struct objection why;
        const struct emitter *e = f ? family_emitter(f->family, f, c->target, &any, &why) : NULL;
        if (c->kernel->n_stages == STAGES_MAX)
            return;
        node_id slow = e && f->family->kinds == FORM_ANY ? nest_cut(r) : -1;
        if (slow < 0 && e)
            slow = find_long_cut(c, r, f);
        if (slow < 0 && e)
            slow = find_shared_product(r);
        if (slow < 0 && e)
            slow = find_apart(c, r, f);
        if (slow >= 0) {
            materialise(c, c->problem->graph.nodes[slow].name);
            continue;
        }
        if (e) {
            struct kernel_stage *s = kernel_add_stage(c->arena, c->kernel, c->kernel->n_stages);
            *s = (struct kernel_stage){.values = {name}, .n_values = 1, .family = f->family->name};
            choose_emitter(c, f, s);
            c->is_ready[r->value[0]] = true;
            return;
        }
        node_id cut = find_small_cut(c, r);
        cut = cut >= 0 ? cut : region_cut(r);
        assert(cut >= 0);
        materialise(c, c->problem->graph.nodes[cut].name);
    }
}

static double seconds_of(const struct choice *c, const struct kernel *k, int i) {
    struct objection why;
    const struct kernel_stage *s = k->stages[i];
    const struct region *r = stages_region(c->arena, c->problem, k, i);
    const struct form *f = family_form(family_find(s->family), r, &why);
    return f ? stage_emitter(s, c->target)->estimate(f, c->target, s) : INFINITY;
}

static bool reduces(const struct kernel_stage *s) {
    return strcmp(s->family, "rowwise") == 0 || strcmp(s->family, "reduce") == 0;
}

// Stages i and i + 1 as one that has the values of both, where rows are reduced twice (mean and
// variance, for a map that comes later) and one walk may do. `known` is what is known of `k`, whose
// stages the result shares. False: it is not better.
static bool join_rows(const struct choice *c, const struct block *known, const struct kernel *k,
                      int i, struct kernel *out) {
    const struct kernel_stage *first = k->stages[i], *second = k->stages[i + 1];
    struct error err;
    if (!reduces(first) || !reduces(second) ||
        first->n_values + second->n_values > STAGE_VALUES_MAX)
        return false;
    *out = kernel_copy(c->arena, k);
    struct kernel_stage *to = kernel_own_stage(c->arena, out, i + 1);
    for (int v = 0; v < first->n_values; v++)
        to->values[to->n_values++] = first->values[v];
    to->n_knobs = 0;
    to->emitter = NULL;
    to->family = "rowwise";
    kernel_remove_stage(out, i);
    const struct region *r = stages_region(c->arena, c->problem, out, i);
    struct objection why;
    const struct form *f = family_form(family_find("rowwise"), r, &why);
    if (!f)
        return false;
    choose_emitter(c, f, kernel_own_stage(c->arena, out, i));
    return lower_check_near(c->arena, c->problem, c->target, known, out, &err) &&
           seconds_of(c, out, i) < seconds_of(c, k, i) + seconds_of(c, k, i + 1);
}

// The same for all neighbours. Every try has an arena of its own and asks about the stages that it
// changes alone: a network with batch norms has hundreds of both, and looking at all for each of
// them took 3 GB.
static void join_all(const struct choice *c, struct kernel *k) {
    struct mistakes none = {.arena = c->arena, .source = &(struct lang_source){0}};
    struct error err;
    if (!lower_check(c->arena, c->problem, c->target, k, &err))
        return;
    const struct kernel *now = arena_copy(c->arena, k, sizeof *k);
    const struct block *known = block_resolve(c->arena, c->problem, c->target, now, &none);
    for (int i = 0; i + 1 < k->n_stages; i++) {
        struct arena scratch = {0};
        struct choice try = *c;
        struct kernel joined;
        try.arena = &scratch;
        if (join_rows(&try, known, k, i, &joined) && join_rows(c, known, k, i, &joined)) {
            *k = joined;
            now = arena_copy(c->arena, k, sizeof *k);
            known = block_resolve_near(c->arena, c->problem, c->target, known, now, &none);
        }
        arena_reset(&scratch);
    }
}

// Stage `i` was merged of two and has the knobs that were chosen for one of them: begin it as if it
// had been one from the start, where that should be faster.
static void begin_anew(const struct choice *c, struct kernel *k, int i) {
    struct objection why;
    struct error err;
    struct kernel anew = kernel_copy(c->arena, k);
    struct kernel_stage *s = kernel_own_stage(c->arena, &anew, i);
    const struct region *r = stages_region(c->arena, c->problem, &anew, i);
    const struct form *f = family_form(family_find(s->family), r, &why);
    if (!f)
        return;
    s->n_knobs = 0;
    s->emitter = NULL;
    choose_emitter(c, f, s);
    if (lower_check(c->arena, c->problem, c->target, &anew, &err) &&
        seconds_of(c, &anew, i) <= seconds_of(c, k, i))
        *k = anew;
}

static bool has_output(const struct problem *p, const struct kernel_stage *s) {
    for (int i = 0; i < s->n_values; i++)
        for (int j = 0; j < p->n_outputs; j++)
            if (strcmp(s->values[i], p->outputs[j].name) == 0)
                return true;
    return false;
}

static bool has_value(const struct kernel *k, const char *name) {
    for (int i = 0; i < k->n_stages; i++)
        for (int j = 0; j < k->stages[i]->n_values; j++)
            if (strcmp(k->stages[i]->values[j], name) == 0)
                return true;
    return false;
}

static bool is_of_library(const struct kernel *k, int i) {
    return strcmp(k->stages[i]->family, families[FAMILY_LIBRARY].name) == 0;
}

static void finish(struct choice *c) {
    struct arena *a = c->arena;
    const struct problem *p = c->problem;
    const struct target *t = c->target;
    struct kernel *k = c->kernel;
    // One that another output is made of may be there already.
    for (int i = 0; i < p->n_outputs; i++)
        if (!has_value(k, p->outputs[i].name))
            materialise(c, p->outputs[i].name);
    // Outputs that one stage can compute together share what they read.
    for (int i = 0; i + 1 < k->n_stages;) {
        struct arena scratch = {0};
        struct kernel merged;
        if (has_output(p, k->stages[i]) && !is_of_library(k, i) && !is_of_library(k, i + 1) &&
            stages_merge(&(struct stages_edit){&scratch, p, t, k, i, NULL}, &merged)) {
            *k = kernel_copy_whole(a, &merged);
            begin_anew(c, k, i);
        } else {
            i++;
        }
        arena_reset(&scratch);
    }
    if (t->is_gpu)
        join_all(c, k);
    struct error err;
    bool ok = lower_check(a, p, t, k, &err);
    assert(ok || k->n_stages == STAGES_MAX);
}

static void lower_by(struct arena *a, const struct problem *p, const struct target *t,
                     bool is_simple, struct kernel *k) {
    *k = (struct kernel){.problem = p->name, .target = target_kernel_name(t)};
    struct choice c = {a, p, t, k, arena_array(a, bool, p->graph.n_nodes), is_simple};
    finish(&c);
}

// A stage of a library for the value, where it takes one.
static bool add_library(struct choice *c, const char *name, struct objection *why) {
    const struct family *library = &families[FAMILY_LIBRARY];
    const struct region *r = region_build(c->arena, c->problem, &name, 1, c->is_ready);
    const struct form *f = family_form(library, r, why);
    struct kernel_stage any = {0};
    const struct emitter *e = f ? family_emitter(library, f, c->target, &any, why) : NULL;
    if (!e || c->kernel->n_stages == STAGES_MAX)
        return false;
    struct kernel_stage *s = kernel_add_stage(c->arena, c->kernel, c->kernel->n_stages);
    *s = (struct kernel_stage){.values = {name}, .n_values = 1, .family = library->name};
    s->emitter = e->name;
    family_complete(e, f, c->target, s);
    c->is_ready[r->value[0]] = true;
    return true;
}

static const char *value_name(const struct problem *p, node_id n) {
    for (int i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].node == n)
            return p->outputs[i].name;
    return p->graph.nodes[n].name;
}

// The product itself, or rounded to the type that it is kept in, where nobody wants it otherwise.
static const char *result_name(const struct problem *p, node_id n) {
    node_id user = -1;
    int n_users = 0;
    for (node_id i = n + 1; i < p->graph.n_nodes; i++)
        for (int k = 0; k < p->graph.nodes[i].n_args; k++)
            if (p->graph.nodes[i].arg[k] == n) {
                user = i;
                n_users++;
            }
    bool is_cast = n_users == 1 && p->graph.nodes[user].op == OP_CAST;
    for (int i = 0; i < p->n_outputs; i++)
        is_cast &= p->outputs[i].node != n;
    return value_name(p, is_cast ? user : n);
}

// What a product or convolution reads, materialised: views of what is there already are as good.
static void materialise_operand(struct choice *c, node_id n, bool sees_views) {
    const struct graph *g = &c->problem->graph;
    while (sees_views && g->nodes[n].op == OP_VIEW)
        n = g->nodes[n].arg[0];
    if (g->nodes[n].op != OP_INPUT && !c->is_ready[n])
        materialise(c, g->nodes[n].name);
}

bool lower_library(struct arena *a, const struct problem *p, const struct target *t,
                   struct kernel *k, struct error *err) {
    *k = (struct kernel){.problem = p->name, .target = target_kernel_name(t)};
    struct choice c = {a, p, t, k, arena_array(a, bool, p->graph.n_nodes), false};
    struct objection why, first = {.text = "there is no product and no convolution"};
    int n_stages = 0, n_refused = 0;
    for (node_id n = 0; n < p->graph.n_nodes; n++) {
        const struct node *node = &p->graph.nodes[n];
        if ((node->op != OP_MATMUL && node->op != OP_CONV && node->op != OP_CONV_T) ||
            c.is_ready[n])
            continue;
        // A trial on the side: operands are materialised for a library alone.
        struct choice before = c;
        struct kernel stages = kernel_copy(a, k);
        bool *ready = arena_copy(a, c.is_ready, sizeof *ready * (size_t)p->graph.n_nodes);
        for (int i = 0; i < node->n_args; i++)
            materialise_operand(&c, node->arg[i], node->op == OP_MATMUL);
        if (add_library(&c, result_name(p, n), &why) || add_library(&c, value_name(p, n), &why)) {
            n_stages++;
            continue;
        }
        first = n_refused++ == 0 ? why : first;
        c = before;
        *k = stages;
        c.is_ready = ready;
    }
    if (n_stages == 0)
        return error_set(err, ERROR_UNSUPPORTED, "no library computes any of it: %s", first.text);
    finish(&c);
    return true;
}

void lower_default(struct arena *a, const struct problem *p, const struct target *t,
                   struct kernel *k) {
    lower_by(a, p, t, false, k);
}

struct kernel *lower_initial(struct arena *a, const struct problem *p, const struct target *t) {
    const char *text = t->blocks ? block_set_first(t->blocks) : NULL, *diagnostics;
    struct kernel *k = arena_new(a, struct kernel);
    struct error why = {0};
    struct lang_file file = {0};
    struct lang_source source = {.file = "block", .text = text, .len = text ? strlen(text) : 0};
    if (!text)
        lower_default(a, p, t, k);
    else if (lang_parse(a, &source, &file, &diagnostics, &why) && file.n_kernels == 1)
        k = file.kernels[0];
    else
        return NULL;
    return lower_check(a, p, t, k, &why) ? k : NULL;
}

void lower_simple(struct arena *a, const struct problem *p, const struct target *t,
                  struct kernel *k) {
    lower_by(a, p, t, true, k);
}
