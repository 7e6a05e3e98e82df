// All turns of all knobs, all edits of stages.h; each is repaired by a small search over the other
// knobs, estimated, and dropped when it leads to a block that is there already.
#include "family/moves.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "family/block.h"
#include "family/block_set.h"
#include "family/family.h"
#include "family/repair.h"
#include "family/stages.h"
#include "lang/lang.h"

struct list {
    struct arena *arena;
    const struct problem *problem;
    const struct target *target;
    const struct kernel *from;
    const struct block *base;  // of `from`
    double *seconds;           // of its stages, as their families reckon
    uint64_t from_hash;        // of its text
    struct move *moves;
    uint64_t *hashes;
    int n, cap;
};

static uint64_t text_hash(const struct kernel *k) {
    struct arena scratch = {0};
    const char *text = kernel_print(&scratch, k);
    uint64_t hash = hash_bytes(text, strlen(text), 1);
    arena_reset(&scratch);
    return hash;
}

static double stage_seconds(const struct list *l, const struct region *r,
                            const struct kernel_stage *s) {
    struct objection why;
    const struct form *f = family_form(family_find(s->family), r, &why);
    assert(f);
    return stage_emitter(s, l->target)->estimate(f, l->target, s);
}

// Seconds of all stages; those that are as they were are not reckoned again.
static double estimate(const struct list *l, const struct kernel *k) {
    struct arena scratch = {0};
    bool *is_ready = arena_array(&scratch, bool, l->problem->graph.n_nodes);
    double seconds = 0;
    for (int i = 0; i < k->n_stages; i++) {
        const struct kernel_stage *s = k->stages[i];
        int same = block_same_stage(l->base, k, i, is_ready);
        if (same >= 0)
            seconds += l->seconds[same];
        else
            seconds += stage_seconds(
                l, region_build(&scratch, l->problem, s->values, s->n_values, is_ready), s);
        block_mark_ready(l->base, l->problem, k, i, is_ready);
    }
    arena_reset(&scratch);
    return seconds;
}

static void grow(struct list *l) {
    int cap = l->cap * 2 + 32;
    struct move *moves = arena_array(l->arena, struct move, cap);
    uint64_t *hashes = arena_array(l->arena, uint64_t, cap);
    if (l->n > 0) {
        memcpy(moves, l->moves, sizeof *moves * (size_t)l->n);
        memcpy(hashes, l->hashes, sizeof *hashes * (size_t)l->n);
    }
    l->moves = moves;
    l->hashes = hashes;
    l->cap = cap;
}

// Is the block there already? Two that differ have the same hash once in 10^19.
static bool is_there(const struct list *l, uint64_t hash) {
    for (int i = 0; i < l->n; i++)
        if (l->hashes[i] == hash)
            return true;
    return hash == l->from_hash;
}

// A kernel that may lie in an arena of one attempt, with what it does not share with `from` copied.
static struct kernel *keep(const struct list *l, const struct kernel *k) {
    struct kernel *kept = arena_new(l->arena, struct kernel);
    *kept = kernel_copy(l->arena, k);
    for (int i = 0; i < k->n_stages; i++) {
        bool is_shared = false;
        for (int j = i - 1; j <= i + 1; j++)
            is_shared |= j >= 0 && j < l->from->n_stages && l->from->stages[j] == k->stages[i];
        if (!is_shared)
            kernel_own_stage(l->arena, kept, i);
    }
    return kept;
}

// Add a move unless it leads nowhere new. requires: `k` complete and legal.
static void add(struct list *l, struct move m, const struct kernel *k, double seconds) {
    uint64_t hash = text_hash(k);
    if (is_there(l, hash))
        return;
    if (l->n == l->cap)
        grow(l);
    m.kernel = keep(l, k);
    m.prior = -log(seconds);
    l->hashes[l->n] = hash;
    l->moves[l->n++] = m;
}

static const char *turn_text(struct list *l, const struct emitter *e, const struct knob *k,
                             const struct kernel_stage *old, const struct kernel_stage *now) {
    const char *words = arena_printf(l->arena, "%s: %s %s -> %s", old->values[0], k->name,
                                     stage_value_text(l->arena, old, k->name),
                                     stage_value_text(l->arena, now, k->name));
    for (const struct knob *other = e->knobs; other->name; other++) {
        const char *was = stage_value_text(l->arena, old, other->name);
        const char *is = stage_value_text(l->arena, now, other->name);
        if (other != k && strcmp(was, is) != 0)
            words = arena_printf(l->arena, "%s, %s %s", words, other->name, is);
    }
    return words;
}

// A stage whose knobs are turned.
struct knob_change {
    int stage;
    const struct emitter *emitter;
    const struct form *form;
};

static void turn(struct list *l, const struct knob_change *t, const struct knob *k, int part,
                 int choice) {
    if (choice < 0 || choice >= knob_choices(k, part))
        return;
    struct kernel_stage turned = *l->from->stages[t->stage], *s = &turned;
    int now = stage_choice(k, s, part);
    stage_choose(k, s, part, choice);
    if (!stage_repair(t->emitter, t->form, l->target, k, s))
        return;
    struct move m = {.stage = s->values[0], .knob = k->name, .change = k->change};
    m.direction = k->words ? 0 : choice > now ? 1 : -1;
    m.word = k->words ? k->words[choice] : NULL;
    m.words = turn_text(l, t->emitter, k, l->from->stages[t->stage], s);
    struct arena scratch = {0};
    struct kernel next = kernel_copy(&scratch, l->from);
    double seconds = 0;
    next.stages[t->stage] = s;
    for (int i = 0; i < next.n_stages; i++)
        seconds += i == t->stage ? stage_seconds(l, t->form->region, s) : l->seconds[i];
    add(l, m, &next, seconds);
    arena_reset(&scratch);
}

static void turn_knobs(struct list *l, int stage) {
    const struct kernel_stage *s = l->from->stages[stage];
    struct knob_change t = {stage, stage_emitter(s, l->target), l->base->stages[stage].form};
    if (t.emitter->is_named_only)
        return;
    for (const struct knob *k = t.emitter->knobs; k->name; k++)
        for (int part = 0; part < knob_parts(k); part++) {
            int now = stage_choice(k, s, part);
            if (!k->words) {
                turn(l, &t, k, part, now + 1);
                turn(l, &t, k, part, now - 1);
                continue;
            }
            for (int i = 0; k->words[i]; i++)
                if (i != now)
                    turn(l, &t, k, part, i);
        }
}

static void merge(struct list *l, struct stages_edit *edit) {
    struct kernel next;
    struct kernel_stage *const *s = &l->from->stages[edit->stage];
    if (!stages_merge(edit, &next))
        return;
    struct move m = {.stage = s[0]->values[0], .change = CHANGE_MERGE};
    m.words = arena_printf(l->arena, "merge %s into %s", s[0]->values[0], s[1]->values[0]);
    add(l, m, &next, estimate(l, &next));
}

// Is the node what it is made of with its axes in another order?
static bool is_transpose(const struct graph *g, const struct node *n) {
    bool is_moved = false;
    unsigned seen = 0;
    if (n->op != OP_VIEW || n->shape.rank != g->nodes[n->arg[0]].shape.rank)
        return false;
    for (int i = 0; i < n->shape.rank; i++) {
        if (n->view[i] < 0 || seen >> n->view[i] & 1)
            return false;
        seen |= 1u << n->view[i];
        is_moved |= n->view[i] != i && n->shape.size[i] > 1;
    }
    return is_moved;
}

// A value in a stage of its own. Of a view that is a copy in another order, which the stage then
// reads along.
static void split(struct list *l, struct stages_edit *edit, node_id n) {
    struct kernel next;
    const char *value = l->from->stages[edit->stage]->values[0];
    const struct node *node = &l->problem->graph.nodes[n];
    if ((node->op == OP_VIEW && !is_transpose(&l->problem->graph, node)) ||
        !stages_split(edit, n, &next))
        return;
    bool is_layout = node->op == OP_VIEW;
    struct move m = {.stage = value, .change = is_layout ? CHANGE_LAYOUT : CHANGE_SPLIT};
    m.words = is_layout ? arena_printf(l->arena, "lay out %s for %s", node->name, value)
                        : arena_printf(l->arena, "split %s at %s", value, node->name);
    add(l, m, &next, estimate(l, &next));
}

// "gemm", or "gemm as dot" where the family has several emitters.
static const char *emitter_text(const struct list *l, const struct kernel_stage *s) {
    bool is_one_of_many = family_count_emitters(family_find(s->family), l->target) > 1;
    const char *name = stage_emitter(s, l->target)->name;
    return is_one_of_many ? arena_printf(l->arena, "%s as %s", s->family, name) : s->family;
}

static void change_emitter(struct list *l, struct stages_edit *edit, const struct family *f,
                           const struct emitter *e) {
    struct kernel next;
    const struct kernel_stage *s = l->from->stages[edit->stage];
    if (!e->runs_on(l->target) || e == stage_emitter(s, l->target) ||
        !stages_change_emitter(edit, f->name, e->name, &next))
        return;
    struct move m = {.stage = s->values[0], .change = CHANGE_EMITTER};
    m.words = arena_printf(l->arena, "%s: %s -> %s", s->values[0], emitter_text(l, s),
                           emitter_text(l, next.stages[edit->stage]));
    add(l, m, &next, estimate(l, &next));
}

static void change_stages(struct list *l, int stage) {
    struct arena scratch = {0};
    struct stages_edit edit = {&scratch, l->problem, l->target, l->from, stage, l->base};
    const struct region *r = l->base->stages[stage].region;
    merge(l, &edit);
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        const struct node *node = &r->graph->nodes[n];
        if (!r->is_member[n] || node->op == OP_CONST)
            continue;
        arena_reset(&scratch);
        split(l, &edit, n);
    }
    for (const struct family *f = families; f->name; f++)
        for (int i = 0; f->emitters[i] && !family_has(f, FAMILY_NAMED_ONLY); i++) {
            arena_reset(&scratch);
            if (!f->emitters[i]->is_named_only)
                change_emitter(l, &edit, f, f->emitters[i]);
        }
    arena_reset(&scratch);
}

static struct move *list_all(struct arena *a, const struct problem *p, const struct target *t,
                             const struct kernel *k, int *n_moves) {
    struct list l = {.arena = a, .problem = p, .target = t, .from = k};
    struct mistakes m = {.arena = a, .source = &(struct lang_source){0}};
    l.base = block_resolve(a, p, t, k, &m);
    assert(m.count == 0);
    l.from_hash = text_hash(k);
    l.seconds = arena_array(a, double, k->n_stages + 1);
    for (int i = 0; i < k->n_stages; i++)
        l.seconds[i] = stage_seconds(&l, l.base->stages[i].region, k->stages[i]);
    for (int i = 0; i < k->n_stages; i++)
        turn_knobs(&l, i);
    for (int i = 0; i < k->n_stages; i++)
        change_stages(&l, i);
    *n_moves = l.n;
    return l.moves;
}

// A block from its text, with nothing of any other arena.
static struct kernel *read_block(struct arena *a, const char *text) {
    struct lang_source source = {.file = "block", .text = text, .len = strlen(text)};
    struct lang_file file = {0};
    struct error why = {0};
    const char *diagnostics;
    bool ok = lang_parse(a, &source, &file, &diagnostics, &why);
    assert(ok && file.n_kernels == 1);
    return file.kernels[0];
}

// Moves that stay in a bounded space, in an arena of their own.
static int keep_inside(struct arena *kept, struct arena *scratch, struct block_set *blocks,
                       const struct move *all, int n_all, struct move *out) {
    int n = 0;
    for (int i = 0; i < n_all; i++) {
        const struct block_entry *e = block_set_find(blocks, kernel_print(scratch, all[i].kernel));
        if (!e)
            continue;
        out[n] = all[i];
        out[n].words = arena_strdup(kept, all[i].words);
        out[n].stage = arena_strdup(kept, all[i].stage);
        out[n].text = e->text;
        out[n++].kernel = read_block(kept, e->text);
    }
    return n;
}

// Of a bounded space: listed once, then known.
static struct move *list_of_set(struct arena *a, const struct problem *p, const struct target *t,
                                const struct kernel *k, int *n_moves) {
    struct arena scratch = {0}, *kept = block_set_arena(t->blocks);
    struct block_entry *e = block_set_find(t->blocks, kernel_print(&scratch, k));
    struct block_entry outside = {0};
    e = e ? e : &outside;
    if (!e->moves) {
        int n_all;
        const struct move *all = list_all(&scratch, p, t, k, &n_all);
        struct move *moves = arena_array(kept, struct move, n_all + 1);
        e->n_moves = keep_inside(kept, &scratch, t->blocks, all, n_all, moves);
        e->moves = moves;
    }
    arena_reset(&scratch);
    *n_moves = e->n_moves;
    return arena_copy(a, e->moves, sizeof *e->moves * (size_t)(e->n_moves + 1));
}

struct move *moves_list(struct arena *a, const struct problem *p, const struct target *t,
                        const struct kernel *k, int *n_moves) {
    return t->blocks ? list_of_set(a, p, t, k, n_moves) : list_all(a, p, t, k, n_moves);
}
