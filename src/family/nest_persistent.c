// The emitter's knobs, rules and estimate. See nest_persistent.h.
#include "family/nest_persistent.h"

#include <math.h>

#include "base/arena.h"
#include "family/gpu.h"
#include "family/nest_steps.h"

// ---- knobs

static const int blocks_grid[] = {1,  2,  4,  8,  12,  16,  24,  32,  48,  64,  66,
                                  72, 80, 96, 99, 108, 114, 128, 132, 144, 148, -1};
static const int threads_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int rows_grid[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, -1};
static const int unroll_grid[] = {1, 2, 3, 4, 5, 6, 8, -1};
static const char *const keep_words[] = {"reread", "register", "shared", NULL};

static const struct knob knobs[] = {
    {.name = "blocks",
     .change = CHANGE_COMBINE,
     .summary = "blocks that have the recurrence, all resident",
     .n_parts = 1,
     .grid = {blocks_grid}},
    {.name = "threads", .summary = "threads of a block", .n_parts = 1, .grid = {threads_grid}},
    {.name = "rows", .summary = "rows of a warp's column", .n_parts = 1, .grid = {rows_grid}},
    {.name = "unroll", .summary = "of these, at a time", .n_parts = 1, .grid = {unroll_grid}},
    {.name = "keep", .summary = "where weights stay between steps", .words = keep_words},
    {0},
};

struct persistent_choice persistent_read(const struct kernel_stage *s) {
    return (struct persistent_choice){.blocks = stage_number(s, "blocks", 0),
                                      .threads = stage_number(s, "threads", 0),
                                      .rows = stage_number(s, "rows", 0),
                                      .unroll = stage_number(s, "unroll", 0),
                                      .in_registers = stage_word_is(s, "keep", "register"),
                                      .in_shared = stage_word_is(s, "keep", "shared")};
}

int64_t persistent_items(const struct persistent_phase *x, const struct persistent_choice *c) {
    int64_t items = (x->n_rows + c->rows - 1) / c->rows * x->n_columns;
    int64_t warps = (int64_t)c->blocks * c->threads / GPU_WARP;
    return (items + warps - 1) / warps;
}

int64_t persistent_held(const struct persistent_phase *x, const struct persistent_choice *c) {
    int64_t each = 0;
    for (int i = 0; x->is_team && i < x->n_uses; i++)
        if (x->use[i].held >= 0)
            each += (x->use[i].n_terms + GPU_WARP - 1) / GPU_WARP;
    return each * persistent_items(x, c);
}

// Of all phases: numbers that a thread keeps, their bytes, sums under way, and threads' worth of
// work.
struct figures {
    int64_t held, held_bytes, sums;
    double meetings, cycles, reread_bytes;
};

// Instructions of a warp for an item, and of the elements that nobody shares.
static double phase_cycles(const struct persistent_phase *x, const struct persistent_choice *c) {
    double warps = (double)c->blocks * c->threads / GPU_WARP;
    struct region_work w;
    region_count(x->region, &w);
    double elements = (double)x->n_rows * (double)x->n_columns;
    double slow = w.slow_flops / elements * 25 + 60;
    if (!x->is_team)
        return ceil(elements / (warps * GPU_WARP)) * (slow + 40 * (w.flops / elements));
    double rows = (double)c->rows, each = 0;
    for (int i = 0; i < x->n_uses; i++) {
        double steps = ceil((double)x->use[i].n_terms / GPU_WARP);
        bool reads = x->use[i].held < 0 || !(c->in_registers || c->in_shared);
        bool is_first = i == 0 || x->use[i - 1].anchor != x->use[i].anchor;
        each += steps * (1 + 3 * is_first + 4 * reads + c->in_shared) + 16;
    }
    return (double)persistent_items(x, c) * (rows * each + slow + 100);
}

static struct figures find_figures(const struct persistent_plan *p,
                                   const struct persistent_choice *c) {
    struct figures f = {.meetings = p->meets + (p->meets_taken ? 1 : 0)};
    for (const struct persistent_phase *x = p->first; x; x = x->next) {
        int64_t held = persistent_held(x, c);
        bool is_wide = false;
        for (int i = 0; i < x->n_uses; i++) {
            enum loop_dtype t = loop_arithmetic(p->loop->body->graph.nodes[x->use[i].anchor].dtype);
            is_wide |= t == LOOP_F64 || t == LOOP_I64;
        }
        f.held += held * (1 + is_wide);
        f.held_bytes += held * (is_wide ? 8 : 4) * c->threads;
        int64_t sums = x->is_team ? (int64_t)x->n_uses * (c->unroll + 1) * (1 + is_wide) : 0;
        f.sums = sums > f.sums ? sums : f.sums;
        f.meetings += x->meets;
        // Warps of one scheduler take turns.
        f.cycles += phase_cycles(x, c) * fmax(1, c->threads / 128.0);
        f.reread_bytes += (double)held * 4 * c->threads * c->blocks;
    }
    return f;
}

// All products of a phase have one type, that of what is kept.
static bool has_one_type(const struct persistent_plan *p) {
    for (const struct persistent_phase *x = p->first; x; x = x->next)
        for (int i = 1; i < x->n_uses; i++)
            if (p->loop->body->graph.nodes[x->use[i].anchor].dtype !=
                p->loop->body->graph.nodes[x->use[0].anchor].dtype)
                return false;
    return true;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct region *r = f->region;
    node_id walker = nest_walker(r);
    if (walker < 0 || r->graph->nodes[walker].op != OP_RECUR)
        return objection(why, NULL, "persistent is for recurrences");
    return true;
}

static bool legal_room(const struct target *t, const struct figures *f,
                       const struct persistent_choice *c, struct objection *why) {
    if (c->in_registers && f->held + f->sums > gpu_registers_for(t, c->threads))
        return objection(why, "keep",
                         "%lld weights in registers of a thread, but there is room for %lld: the "
                         "nearest is keep shared, or more blocks",
                         (long long)f->held,
                         (long long)(gpu_registers_for(t, c->threads) - f->sums));
    return !c->in_shared ||
           gpu_legal_shared(t, "keep", f->held_bytes, "keep reread, or more blocks", why);
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!nest_steps_legal(form->region, why))
        return false;
    struct persistent_choice c = persistent_read(s);
    if (c.blocks > t->sms)
        return objection(why, "blocks",
                         "%d blocks cannot all be resident on %d multiprocessors: the nearest is "
                         "blocks %d",
                         c.blocks, t->sms, knob_at_most(&knobs[0], 0, t->sms));
    if (c.unroll > c.rows || c.rows % c.unroll != 0)
        return objection(why, "unroll",
                         "%d rows are no multiple of unroll %d: the nearest is unroll 1", c.rows,
                         c.unroll);
    struct arena scratch = {0};
    struct persistent_plan p;
    persistent_find(&scratch, form->region, &p);
    struct figures f = find_figures(&p, &c);
    bool ok = true;
    if (f.held == 0 && (c.in_registers || c.in_shared))
        ok = objection(why, "keep", "no product has weights that stay: the nearest is keep reread");
    else if (f.held && !has_one_type(&p) && (c.in_registers || c.in_shared))
        ok = objection(why, "keep", "products of two types: the nearest is keep reread");
    else
        ok = legal_room(t, &f, &c, why);
    arena_reset(&scratch);
    return ok;
}

// ---- the estimate

// A meeting of blocks, and the way of a state through global memory from one to the other; not
// measured for this kernel.
#define MEET_S 1.5e-6
#define MEET_BLOCK_S 0.01e-6
#define EXCHANGE_S 1.2e-6

static double seconds_of(const struct persistent_plan *p, const struct target *t,
                         const struct persistent_choice *c) {
    struct figures f = find_figures(p, c);
    double meeting = (c->blocks > 1 ? MEET_S + MEET_BLOCK_S * c->blocks : 0.1e-6) + EXCHANGE_S;
    double step = f.meetings * meeting + f.cycles / t->top_clock_hz;
    if (!c->in_registers && !c->in_shared)
        step += f.reread_bytes / fmin(2.0, c->blocks / 60.0) / gpu_bytes_per_s(t);
    return 5e-6 + (double)p->loop->n_steps * step;
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    struct arena scratch = {0};
    struct persistent_plan p;
    struct persistent_choice c = persistent_read(s);
    persistent_find(&scratch, form->region, &p);
    double seconds = seconds_of(&p, t, &c);
    arena_reset(&scratch);
    return seconds;
}

static void set(struct kernel_stage *s, const struct persistent_choice *c) {
    stage_set(s, "blocks", 0, c->blocks);
    stage_set(s, "threads", 0, c->threads);
    stage_set(s, "rows", 0, c->rows);
    stage_set(s, "unroll", 0, c->unroll);
    stage_set_word(s, "keep", c->in_registers ? "register" : c->in_shared ? "shared" : "reread");
}

static int64_t most_rows(const struct persistent_plan *p) {
    int64_t rows = 1;
    for (const struct persistent_phase *x = p->first; x; x = x->next)
        rows = x->is_team && x->n_rows > rows ? x->n_rows : rows;
    return rows;
}

// Of all blocks, threads and rows the fastest by the estimate.
static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct arena scratch = {0};
    struct persistent_plan p;
    persistent_find(&scratch, form->region, &p);
    int64_t rows = most_rows(&p);
    struct persistent_choice best = {1, 32, 1, 1, false, false};
    double least = INFINITY;
    bool has_one = has_one_type(&p);
    for (int b = 0; blocks_grid[b] > 0 && blocks_grid[b] <= t->sms; b++)
        for (int k = 1; threads_grid[k] <= 512; k++)
            for (int r = 0; rows_grid[r] > 0 && (r == 0 || rows_grid[r - 1] < rows); r++)
                for (int keep = 0; keep < 3; keep++) {
                    struct persistent_choice c = {blocks_grid[b], threads_grid[k], rows_grid[r], 1,
                                                  keep == 1,      keep == 2};
                    for (int u = 2; u <= 5; u++)
                        c.unroll = c.rows % u == 0 ? u : c.unroll;
                    struct figures f = find_figures(&p, &c);
                    struct objection why;
                    double seconds = seconds_of(&p, t, &c);
                    bool may = keep == 0 || (f.held > 0 && has_one);
                    if (!may || !legal_room(t, &f, &c, &why) || seconds >= least)
                        continue;
                    least = seconds;
                    best = c;
                }
    arena_reset(&scratch);
    set(s, &best);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    (void)form;
    struct persistent_choice c = persistent_read(stage);
    persistent_lower(l, stage->values[0], &c);
}

const struct emitter nest_persistent = {
    .name = "persistent",
    .summary = "a recurrence, by blocks that stay for all steps and keep its weights",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
