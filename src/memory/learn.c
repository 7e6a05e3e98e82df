// Every node but the root is a trial of a move on its parent. What was judged has its gain from the
// judge; what only raced has one by the race, over the incumbent of that race, whose own time is
// known. A move of several changes gives each of them an equal share of its gain (of its
// logarithm).
#include "memory/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/lower.h"
#include "family/moves_far.h"
#include "ir/problem.h"
#include "lang/lang.h"
#include "memory/kind.h"
#include "memory/transfer.h"
#include "model/bound.h"
#include "profile/classify.h"
#include "record/advice.h"

struct book {
    struct arena *a;
    const struct learn_from *from;
    struct outcome *outcomes;
    int n, room;
};

static bool same(const char *x, const char *y) {
    return (!x && !y) || (x && y && strcmp(x, y) == 0);
}

static struct outcome *find(struct book *b, const char *move, const char *bottleneck,
                            const char *tool) {
    for (int i = 0; i < b->n; i++) {
        struct outcome *o = &b->outcomes[i];
        if (same(o->move, move) && same(o->bottleneck, bottleneck) && same(o->tool, tool))
            return o;
    }
    if (b->n == b->room) {
        int room = b->room ? 2 * b->room : 64;
        struct outcome *more = arena_array(b->a, struct outcome, room);
        if (b->n > 0)
            memcpy(more, b->outcomes, sizeof *more * (size_t)b->n);
        b->outcomes = more;
        b->room = room;
    }
    b->outcomes[b->n] = (struct outcome){.move = arena_strdup(b->a, move),
                                         .bottleneck = bottleneck,
                                         .tool = tool ? arena_strdup(b->a, tool) : NULL};
    return &b->outcomes[b->n++];
}

// The incumbent of the race that a node was in: the root, or the node that the label names.
static const struct search_node *incumbent(const struct learn_from *f,
                                           const struct search_node *n) {
    const char *label = n->screening.against;
    for (int i = 0; label && i < f->n_nodes; i++)
        if (same(f->nodes[i].candidate.label, label))
            return &f->nodes[i];
    return &f->nodes[0];
}

// Speed-up over the parent; NAN: it was not timed, or the parent was not.
static double gain_of(const struct learn_from *f, const struct search_node *n) {
    double parent_s = f->nodes[n->parent].time_s;
    if (n->state == NODE_EVALUATED)
        return n->verdict.kind == VERDICT_OK ? parent_s / n->time_s : NAN;
    if (!n->screening.present || n->screening.is_untimed || n->screening.same_as)
        return NAN;
    return parent_s / (incumbent(f, n)->time_s / n->screening.speedup);
}

// What the parent was limited by, as measured, else by the bound of the problem.
static const char *bottleneck_of(const struct learn_from *f, const struct search_node *parent) {
    return class_of_node(&parent->profile, f->bound, f->target);
}

static bool is_written(const struct search_node *n) {
    return n->by && (strcmp(n->by, "team") == 0 || strcmp(n->by, "debug") == 0);
}

static void note_trial(struct book *b, const struct search_node *n) {
    const struct learn_from *f = b->from;
    const char *parts[MOVE_PARTS_MAX] = {"rewrite"};
    struct arena scratch = {0};
    int n_parts = is_written(n) ? 1 : move_parts(&scratch, n->move, parts, MOVE_PARTS_MAX);
    const char *bottleneck = bottleneck_of(f, &f->nodes[n->parent]);
    double log_gain = log(gain_of(f, n)) / n_parts;
    for (int i = 0; i < n_parts; i++) {
        struct outcome *o = find(b, parts[i], bottleneck, n->tool);
        o->n_tried++;
        if (n->state == NODE_EVALUATED)
            o->verdicts[n->verdict.kind]++;
        if (!isfinite(log_gain))
            continue;
        o->n_timed++;
        o->log_sum += log_gain;
        o->log_sq += log_gain * log_gain;
        o->gains[gain_bin(exp(log_gain))]++;
    }
    arena_reset(&scratch);
}

static bool is_named(const struct lesson *l, const char *name) {
    bool found = l->block && strstr(l->block, name);
    for (int i = 0; i < l->n_blocks && !found; i++)
        found = strstr(l->blocks[i].kernel, name);
    return found;
}

// Where the values that the blocks name are in the canonical order.
static void note_values(struct arena *a, const struct problem *p, struct lesson *l) {
    struct arena scratch = {0};
    node_id *order = arena_array(&scratch, node_id, p->graph.n_nodes + 1);
    int n = kind_order(p, order);
    l->values = arena_array(a, struct lesson_value, n + p->n_outputs + 1);
    for (int i = 0; i < n; i++) {
        const char *name = p->graph.nodes[order[i]].name;
        for (int j = 0; j < p->n_outputs; j++)
            if (kind_uncast(&p->graph, p->outputs[j].node) == order[i])
                name = p->outputs[j].name;
        if (is_named(l, name))
            l->values[l->n_values++] = (struct lesson_value){arena_strdup(a, name), i};
    }
    arena_reset(&scratch);
}

static void note_champion(struct arena *a, const struct learn_from *f, struct lesson *l) {
    int champion = f->run->champion;
    l->time_s = l->speedup = l->of_reach = NAN;
    if (champion < 0 || champion >= f->n_nodes)
        return;
    const struct search_node *n = &f->nodes[champion];
    l->time_s = f->run->confirm.present ? f->run->confirm.median_s : n->time_s;
    // Begun elsewhere, it is over that block, which says nothing of the default kernel.
    l->speedup = f->run->start.source ? NAN : f->nodes[0].time_s / n->time_s;
    l->of_reach = f->bound->reach_s / l->time_s;
    if (!n->candidate.kernel)
        return;
    l->block = arena_strdup(a, n->candidate.kernel);
}

// What a node took, judged or by its race; NAN: it was not timed.
static double time_of(const struct learn_from *f, const struct search_node *n) {
    if (n->state == NODE_EVALUATED)
        return n->verdict.kind == VERDICT_OK ? n->time_s : NAN;
    if (!n->screening.present || n->screening.is_untimed || n->screening.same_as)
        return NAN;
    return incumbent(f, n)->time_s / n->screening.speedup;
}

static int by_time(const void *x, const void *y) {
    const struct lesson_block *p = x, *q = y;
    return p->time_s != q->time_s ? (p->time_s > q->time_s) - (p->time_s < q->time_s)
                                  : strcmp(p->kernel, q->kernel);
}

// The fastest blocks, with what the closed form says of them.
static void note_blocks(struct arena *a, const struct learn_from *f, struct lesson *l) {
    struct arena scratch = {0};
    struct lesson_block *all = arena_array(&scratch, struct lesson_block, f->n_nodes + 1);
    int n = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        double time_s = time_of(f, &f->nodes[i]);
        if (f->nodes[i].candidate.kernel && isfinite(time_s) && time_s > 0)
            all[n++] = (struct lesson_block){f->nodes[i].candidate.kernel, time_s, 0};
    }
    qsort(all, (size_t)n, sizeof *all, by_time);
    l->blocks = arena_array(a, struct lesson_block, LESSON_BLOCKS_MAX);
    for (int i = 0; i < n && l->n_blocks < LESSON_BLOCKS_MAX; i++) {
        struct kernel *k = transfer_read(&scratch, all[i].kernel);
        struct error why = {0};
        if (k && lower_check(&scratch, f->problem, f->target, k, &why))
            l->blocks[l->n_blocks++] =
                (struct lesson_block){arena_strdup(a, all[i].kernel), all[i].time_s,
                                      moves_prior(f->problem, f->target, k)};
    }
    arena_reset(&scratch);
}

void learn(struct arena *a, const struct learn_from *from, struct lesson *out) {
    struct book b = {.a = a, .from = from};
    *out = (struct lesson){.run = from->identity,
                           .problem = from->problem->name,
                           .shape = kind_shape_text(a, from->problem),
                           .target = target_kernel_name(from->target),
                           .device = from->target->device,
                           .learned_at = from->run->ended_at,
                           .version = from->run->version};
    kind_of(a, from->problem, &out->kind);
    for (int i = 0; i < from->n_nodes; i++) {
        const struct search_node *n = &from->nodes[i];
        out->n_evals += n->state == NODE_EVALUATED && n->verdict.kind != VERDICT_INFRA;
        out->n_screened += n->state == NODE_SCREENED && !search_node_is_untimed(n);
        bool is_trial = n->parent >= 0 && n->move && n->state != NODE_PROPOSED &&
                        !search_node_is_untimed(n) && !same(n->by, "memory");
        if (is_trial)
            note_trial(&b, n);
    }
    out->outcomes = b.outcomes;
    out->n_outcomes = b.n;
    note_champion(a, from, out);
    note_blocks(a, from, out);
    note_values(a, from->problem, out);
}
