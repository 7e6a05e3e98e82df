// The window of the tree that a mind sees, then the decision: repair what did not pass, or let the
// policy select and the mind propose, until something new comes of it.
#include "search/decide.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "mind/proposer.h"
#include "profile/classify.h"
#include "record/run.h"
#include "search/policy.h"
#include "search/tree.h"

enum { LEADERS_MAX = 5, AGAIN_MAX = 1000 };

// The node's block, read back from its text. What we stored was legal, so a mistake here
// means that the store was written by a hone with another language: nothing to do from here.
static struct kernel *read_kernel(struct arena *a, const struct search_node *n) {
    struct lang_file file = {0};
    const char *diagnostics;
    struct error ignored = {0};
    struct lang_source source = {
        .file = "stored kernel", .text = n->candidate.kernel, .len = strlen(n->candidate.kernel)};
    if (!lang_parse(a, &source, &file, &diagnostics, &ignored) || file.n_kernels != 1) {
        log_info("node %d: %s", n->number, ignored.text);
        return NULL;
    }
    return file.kernels[0];
}

struct kernel *decide_kernel(struct arena *a, const struct search_context *c, int node) {
    return c->nodes[node].candidate.kernel ? read_kernel(a, &c->nodes[node]) : NULL;
}

// ---- the window

// Is `i` in the list's relation to `node`?
typedef bool (*relation_fn)(const struct tree_node *at, int node, int i);

static bool is_child(const struct tree_node *at, int node, int i) {
    return at[i].parent == node;
}

static bool is_sibling(const struct tree_node *at, int node, int i) {
    return i != node && at[i].parent >= 0 && at[i].parent == at[node].parent;
}

static bool is_cousin(const struct tree_node *at, int node, int i) {
    int uncle = at[i].parent, parent = at[node].parent;
    return uncle >= 0 && parent >= 0 && uncle != parent && at[uncle].parent >= 0 &&
           at[uncle].parent == at[parent].parent;
}

static struct node_list collect(const struct search_context *c, const struct search_state *s,
                                int node, relation_fn relation) {
    const struct search_node **list =
        arena_array(c->scratch, const struct search_node *, c->n_nodes + 1);
    int n = 0;
    for (int i = 0; i < c->n_nodes; i++)
        if (relation(s->tree.at, node, i))
            list[n++] = &c->nodes[i];
    return (struct node_list){list, n};
}

static struct node_list leaders(const struct search_context *c, const struct tree *t) {
    const struct search_node **list =
        arena_array(c->scratch, const struct search_node *, LEADERS_MAX);
    int n = 0;
    for (; n < LEADERS_MAX && n < t->n_works; n++)
        list[n] = &c->nodes[t->fastest[n].node];
    return (struct node_list){list, n};
}

static bool is_any(const struct tree_node *at, int node, int i) {
    (void)at, (void)node, (void)i;
    return true;
}

static int count_expert_at_end(const struct search_context *c) {
    int n = 0;
    for (int i = c->n_nodes - 1; i > 0 && i >= c->mind_since; i--, n++)
        if (!c->nodes[i].by || strcmp(c->nodes[i].by, "expert") != 0)
            break;
    return n;
}

const char *decide_bottleneck(const struct search_context *c, int node) {
    const struct search_node *n = &c->nodes[node];
    if (!c->priors || !c->bound || !c->target || n->state != NODE_EVALUATED)
        return NULL;
    return class_of_node(&n->profile, c->bound, c->target);
}

bool decide_brief(const struct search_context *c, const struct search_state *s, int node,
                  struct brief *out) {
    *out = (struct brief){
        .problem = c->problem,
        .target = c->target,
        .bound = c->bound,
        .node = &c->nodes[node],
        .tried = s->tried.kernels,
        .n_tried = s->tried.n_kernels,
        .hashes = s->tried.hashes,
        .n_hashes = s->tried.n_hashes,
        .root = &c->nodes[0],
        .children = collect(c, s, node, is_child),
        .siblings = collect(c, s, node, is_sibling),
        .cousins = collect(c, s, node, is_cousin),
        .leaders = leaders(c, &s->tree),
        .all = collect(c, s, node, is_any),
        .number = c->n_nodes,
        .n_expert = count_expert_at_end(c),
        .mind_since = c->mind_since,
        .seconds_left = c->seconds_left,
        .batch = c->batch,
        .feedback = c->feedback,
        .evals_left = c->evals_left,
        .priors = c->priors,
        .bottleneck = decide_bottleneck(c, node),
        .mind = c->mind,
    };
    if (!c->nodes[node].candidate.kernel)
        return true;
    out->kernel = read_kernel(c->scratch, &c->nodes[node]);
    return out->kernel != NULL;
}

// ---- the decision

// The proposal as a candidate; false when it cannot be one, or is not new.
static bool realise_proposal(const struct search_context *c, struct search_state *s,
                             const struct proposal *p, struct candidate *out) {
    struct arena *a = c->scratch;
    struct error why = {0};
    *out = (struct candidate){.tier = p->tier, .source = p->source};
    if (!p->kernel) {
        candidate_seal(a, out);
        return !tried_has(&s->tried, out, c->is_race);
    }
    tried_add_kernel(&s->arena, &s->tried, kernel_print(a, p->kernel));
    if (!lower_kernel(a, c->problem, c->target, p->kernel, out, &why)) {
        log_info("%s: %s", p->move, why.text);  // the move's repair has a gap
        return false;
    }
    tried_add_kernel(&s->arena, &s->tried, out->kernel);
    return !tried_has(&s->tried, out, c->is_race);
}

bool decide_on(const struct search_context *c, struct search_state *s, int parent,
               const struct proposal *p, struct decision *out) {
    struct candidate candidate;
    if (!realise_proposal(c, s, p, &candidate))
        return false;
    tried_add_candidate(&s->arena, &s->tried, &candidate);
    *out = (struct decision){.parent = parent,
                             .move = p->move,
                             .change = p->change,
                             .reason = p->reason,
                             .by = p->by,
                             .tool = p->tool,
                             .expected = p->expected,
                             .candidate = candidate};
    tree_expect_child(&s->tree, parent);
    s->n_decided++;
    return true;
}

int decide_from(const struct search_context *c, struct search_state *s, int parent,
                const struct priors *priors, struct decision *out, int room, int *n_asked) {
    struct proposal *proposals = arena_array(c->scratch, struct proposal, room);
    struct brief brief;
    int n = 0;
    *n_asked = 0;
    if (!decide_brief(c, s, parent, &brief))
        return 0;
    brief.rng = &s->rng;
    brief.priors = priors;
    brief.is_race = c->is_race;
    brief.is_repair = verdict_is_failure(c->nodes[parent].verdict.kind) && parent > 0;
    *n_asked = c->proposer->propose(c->scratch, &brief, proposals, room);
    for (int i = 0; i < *n_asked; i++)
        n += decide_on(c, s, parent, &proposals[i], &out[n]);
    return n;
}

static bool failed(const struct search_node *n) {
    return n->state == NODE_EVALUATED && verdict_is_failure(n->verdict.kind);
}

// A model wrote it, it did not pass, nobody has repaired it yet, and it is worth repairing: how
// often that was tried is how many of its ancestors in a row did not pass either.
static bool wants_repair(const struct search_context *c, int node) {
    const struct search_node *n = &c->nodes[node];
    int n_failed = 0;
    bool is_mind = n->by && (strcmp(n->by, "team") == 0 || strcmp(n->by, "debug") == 0);
    if (!is_mind || n->verdict.kind == VERDICT_CHEAT)
        return false;
    for (int i = node + 1; i < c->n_nodes; i++)
        if (c->nodes[i].parent == node)
            return false;
    for (int i = node; i > 0 && failed(&c->nodes[i]); i = c->nodes[i].parent)
        n_failed++;
    return n_failed >= 1 && n_failed <= REPAIRS_MAX;
}

// The oldest of the last batch that wants it; -1: none. While a batch is gathered, as many nodes
// of it as may be there already are newer.
static int to_repair(const struct search_context *c) {
    int batch = c->batch > 1 ? c->batch : 1, first = c->n_nodes - (2 * batch - 1);
    if (!c->proposer->can_repair)
        return -1;
    for (int i = first > 1 ? first : 1; i < c->n_nodes; i++)
        if (wants_repair(c, i))
            return i;
    return -1;
}

// ---- the state

void state_reset(struct search_state *s) {
    arena_reset(&s->arena);
    *s = (struct search_state){0};
}

// A race that had no time for some gives them back to the proposer.
static bool gave_back(const struct search_context *c, const struct tree *t) {
    for (int i = 0; i < t->n_waiting; i++)
        if (search_node_is_untimed(&c->nodes[t->waiting[i]]))
            return true;
    return false;
}

// Those that are judged now and were not when the state last followed.
static void note_judged(const struct search_context *c, struct search_state *s, const int *waited,
                        int n_waited, int n_before) {
    const struct policy *p = c->policy;
    for (int i = 0; p && p->note && i < n_waited; i++)
        if (c->nodes[waited[i]].state == NODE_EVALUATED)
            p->note(c, s, waited[i]);
    for (int i = n_before; p && p->note && i < c->n_nodes; i++)
        if (c->nodes[i].state == NODE_EVALUATED)
            p->note(c, s, i);
}

void state_follow(const struct search_context *c, struct search_state *s) {
    if (gave_back(c, &s->tree))
        state_reset(s);
    struct tree *t = &s->tree;
    int n_before = t->n_nodes, n_waited = t->n_waiting;
    int *waited = arena_array(c->scratch, int, n_waited + 1);
    if (n_waited > 0)
        memcpy(waited, t->waiting, sizeof *waited * (size_t)n_waited);
    t->arena = &s->arena;
    t->failing_children = policy_failing_children(c);
    tree_follow(t, c->nodes, c->n_nodes);
    tried_forget(&s->tried);
    for (int i = n_before; i < c->n_nodes; i++)
        tried_add_node(&s->arena, &s->tried, &c->nodes[i]);
    tried_begin(&s->tried);
    note_judged(c, s, waited, n_waited, n_before);
    s->n_decided = 0;
    rng_init(&s->rng, c->seed + 0x9e3779b97f4a7c15u * (uint64_t)c->n_nodes);
}

// Before the root is judged there is nothing to choose between.
static int decide_opening(const struct search_context *c, struct search_state *s,
                          struct decision *out, int room) {
    int n = 0, n_asked = 1;
    for (int again = 0; n < room && n_asked > 0 && again < AGAIN_MAX; again++)
        n += decide_from(c, s, 0, c->priors, out + n, room - n, &n_asked);
    return n;
}

int decide(const struct search_context *c, struct search_state *s, struct decision *out, int room) {
    int n = 0, n_asked, repair = to_repair(c);
    state_follow(c, s);
    if (repair >= 0)
        n = decide_from(c, s, repair, c->priors, out, 1, &n_asked);
    if (n == room)
        return n;
    if (c->n_nodes > 0 && c->nodes[0].state == NODE_PROPOSED)
        return n + decide_opening(c, s, out + n, room - n);
    return n + c->policy->propose(c, s, out + n, room - n);
}
