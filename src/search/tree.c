// Arrays in two orders are kept sorted: working nodes by time, open ones by number. One new entry
// is put in its place; many at once are appended and sorted.
#include "search/tree.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/run.h"

// So many new entries are inserted one by one; with more it pays to sort.
enum { INSERT_MOST = 32 };

static bool is_evaluated(const struct search_node *n) {
    return n->state == NODE_EVALUATED;
}

static bool works(const struct search_node *n, bool is_suspect) {
    return is_evaluated(n) && n->verdict.kind == VERDICT_OK && !is_suspect && isfinite(n->time_s);
}

static bool is_suspect(const struct search_node *n, bool is_parent) {
    return is_parent || (is_evaluated(n) && n->verdict.kind == VERDICT_SUSPECT);
}

static int by_time(const void *x, const void *y) {
    const struct timed *a = x, *b = y;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->node - b->node;
}

static int by_number(const void *x, const void *y) {
    return *(const int *)x - *(const int *)y;
}

// Where in a sorted array of `n` an entry belongs: before the first that is not less.
static int place_of(const void *all, int n, size_t size, const void *entry,
                    int (*compare)(const void *, const void *)) {
    int low = 0;
    for (int high = n; low < high;) {
        int middle = low + (high - low) / 2;
        if (compare((const char *)all + size * (size_t)middle, entry) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_open(struct tree *t, int node) {
    int at = place_of(t->open, t->n_open, sizeof node, &node, by_number);
    memmove(t->open + at + 1, t->open + at, sizeof node * (size_t)(t->n_open++ - at));
    t->open[at] = node;
}

static void remove_open(struct tree *t, int node) {
    int at = place_of(t->open, t->n_open, sizeof node, &node, by_number);
    memmove(t->open + at, t->open + at + 1, sizeof node * (size_t)(--t->n_open - at));
}

// ---- one node

static bool may_have_child(const struct tree *t, int node) {
    const struct tree_node *at = &t->at[node];
    // The root stays open when it does not work: its children are the only way on.
    bool is_root = node == 0 && is_evaluated(&t->nodes[0]);
    bool is_failing = at->is_failure && !at->is_suspect && at->n_children < t->failing_children;
    return !at->is_exhausted && (at->works || is_root || is_failing);
}

static void settle_open(struct tree *t, int node) {
    bool is_open = may_have_child(t, node);
    if (is_open == t->at[node].is_open)
        return;
    t->at[node].is_open = is_open;
    for (int i = node; i >= 0; i = t->at[i].parent)
        t->at[i].n_open += is_open ? 1 : -1;
    if (is_open)
        add_open(t, node);
    else
        remove_open(t, node);
}

// Children of a batch may be judged in any order.
static void link_child(struct tree *t, int node) {
    struct tree_node *at = &t->at[node], *up = &t->at[at->parent];
    int before = up->last;
    while (before > node)
        before = t->at[before].before;
    at->before = before;
    at->after = before >= 0 ? t->at[before].after : up->first;
    *(before >= 0 ? &t->at[before].after : &up->first) = node;
    *(at->after >= 0 ? &t->at[at->after].before : &up->last) = node;
}

// A node is there as proposed; what came of it is noted by `judge`.
static void add(struct tree *t, int node) {
    int parent = t->nodes[node].parent;
    assert(t->nodes[node].number == node && parent < node && (node == 0) == (parent < 0));
    t->at[node] = (struct tree_node){.parent = parent,
                                     .first = -1,
                                     .last = -1,
                                     .before = -1,
                                     .after = -1,
                                     .time_s = INFINITY,
                                     .best_s = INFINITY};
    t->waiting[t->n_waiting++] = node;
    if (parent < 0)
        return;
    t->at[node].depth = t->at[parent].depth + 1;
    t->at[parent].n_children++;
    settle_open(t, parent);
}

static void judge(struct tree *t, int node) {
    const struct search_node *n = &t->nodes[node];
    struct tree_node *at = &t->at[node];
    if (n->state == NODE_SCREENED) {
        t->at[at->parent].n_children--;
        settle_open(t, at->parent);
        return;
    }
    at->is_suspect = is_suspect(n, node > 0 && t->at[at->parent].is_suspect);
    at->works = works(n, at->is_suspect);
    at->is_failure = verdict_is_failure(n->verdict.kind);
    if (at->works)
        t->fastest[t->n_works++] = (struct timed){at->time_s = n->time_s, node};
    for (int i = node; i >= 0; i = t->at[i].parent) {
        t->at[i].visits++;
        t->at[i].best_s = fmin(t->at[i].best_s, at->time_s);
    }
    if (node > 0)
        link_child(t, node);
    settle_open(t, node);
}

// ---- all of them

static void *longer(struct arena *a, const void *old, size_t size, size_t room) {
    void *more = arena_alloc(a, room > 0 ? room : 1);
    if (size > 0)
        memcpy(more, old, size);
    return more;
}

static void make_room(struct tree *t, int n) {
    if (n <= t->room)
        return;
    int room = 2 * t->room > n ? 2 * t->room : n;
#define LONGER(list, count) \
    list = longer(t->arena, list, sizeof *list * (size_t)(count), sizeof *list * (size_t)room)
    LONGER(t->at, t->n_nodes);
    LONGER(t->fastest, t->n_works);
    LONGER(t->open, t->n_open);
    LONGER(t->waiting, t->n_waiting);
#undef LONGER
    t->room = room;
}

// The entries from `sorted` on are new.
static void sort_times(struct tree *t, int sorted) {
    if (t->n_works - sorted > INSERT_MOST) {
        qsort(t->fastest, (size_t)t->n_works, sizeof *t->fastest, by_time);
        return;
    }
    for (int i = sorted; i < t->n_works; i++) {
        struct timed new = t->fastest[i];
        int at = place_of(t->fastest, i, sizeof new, &new, by_time);
        memmove(t->fastest + at + 1, t->fastest + at, sizeof new *(size_t)(i - at));
        t->fastest[at] = new;
    }
}

static void forget_decision(struct tree *t) {
    while (t->n_undo > 0) {
        int node = t->undo[--t->n_undo];
        if (node >= 0)
            t->at[node].is_exhausted = false;
        else
            t->at[~node].n_children--;
        settle_open(t, node >= 0 ? node : ~node);
    }
}

void tree_follow(struct tree *t, const struct search_node *nodes, int n_nodes) {
    int sorted = t->n_works, n_before = t->n_waiting;
    assert(n_nodes >= t->n_nodes);
    t->nodes = nodes;
    forget_decision(t);
    make_room(t, n_nodes);
    t->n_waiting = 0;
    for (int i = 0; i < n_before; i++)
        if (nodes[t->waiting[i]].state == NODE_PROPOSED)
            t->waiting[t->n_waiting++] = t->waiting[i];
        else
            judge(t, t->waiting[i]);
    for (int i = t->n_nodes; i < n_nodes; i++) {
        add(t, i);
        if (nodes[i].state != NODE_PROPOSED) {
            t->n_waiting--;
            judge(t, i);
        }
    }
    t->n_nodes = n_nodes;
    sort_times(t, sorted);
}

void tree_build(struct arena *a, struct tree *t, const struct search_node *nodes, int n_nodes) {
    *t = (struct tree){.arena = a};
    tree_follow(t, nodes, n_nodes);
}

static void note_undo(struct tree *t, int what) {
    if (t->n_undo == t->undo_room) {
        t->undo_room = 2 * t->undo_room + 64;
        t->undo = longer(t->arena, t->undo, sizeof *t->undo * (size_t)t->n_undo,
                         sizeof *t->undo * (size_t)t->undo_room);
    }
    t->undo[t->n_undo++] = what;
}

void tree_exhaust(struct tree *t, int node) {
    if (t->at[node].is_exhausted)
        return;
    t->at[node].is_exhausted = true;
    note_undo(t, node);
    settle_open(t, node);
}

void tree_expect_child(struct tree *t, int node) {
    t->at[node].n_children++;
    note_undo(t, ~node);
    settle_open(t, node);
}

bool tree_is_open(const struct tree *t, int node) {
    return t->at[node].is_open;
}

bool tree_is_closed(const struct tree *t, int node) {
    return t->at[node].n_open == 0;
}

double tree_rank(const struct tree *t, double time_s) {
    if (t->n_works == 0 || isinf(time_s))
        return 0;
    struct timed first = {time_s, -1};
    int n_faster = place_of(t->fastest, t->n_works, sizeof first, &first, by_time);
    return (double)(t->n_works - n_faster) / t->n_works;
}

int tree_fastest(const struct tree *t) {
    return t->n_works > 0 ? t->fastest[0].node : -1;
}

void tree_mark_working(const struct search_node *nodes, int n_nodes, bool *marks) {
    struct arena scratch = {0};
    bool *suspect = arena_array(&scratch, bool, n_nodes + 1);
    for (int i = 0; i < n_nodes; i++) {
        suspect[i] = is_suspect(&nodes[i], i > 0 && suspect[nodes[i].parent]);
        marks[i] = works(&nodes[i], suspect[i]);
    }
    arena_reset(&scratch);
}
