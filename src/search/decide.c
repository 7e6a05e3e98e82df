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
#include "record/run.h"
#include "search/policy.h"
#include "search/tree.h"

enum { LEADERS_MAX = 5, AGAIN_MAX = 1000 };

static void note_kernel(struct arena *a, struct search_state *s, const char *kernel) {
    if (!kernel)
        return;
    if (s->n_kernels == s->room) {
        int room = s->room ? 2 * s->room : 64;
        const char **more = arena_array(a, const char *, room);
        if (s->n_kernels > 0)
            memcpy(more, s->kernels, sizeof *more * (size_t)s->n_kernels);
        s->kernels = more;
        s->room = room;
    }
    s->kernels[s->n_kernels++] = kernel;
}

static void note_candidate(struct search_state *s, const struct candidate *c) {
    s->codes[s->n_codes] = candidate_code(c);
    s->hashes[s->n_codes++] = c->hash;
}

static bool is_duplicate(const struct search_context *c, const struct search_state *s,
                         const struct candidate *candidate) {
    uint64_t code = candidate_code(candidate);
    for (int i = 0; i < s->n_codes; i++)
        if (strcmp(s->hashes[i], candidate->hash) == 0 || (c->is_race && s->codes[i] == code))
            return true;
    return false;
}

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

// ---- the window

// Is `i` in the list's relation to `node`?
typedef bool (*relation_fn)(const struct search_node *nodes, int node, int i);

static bool is_child(const struct search_node *nodes, int node, int i) {
    return nodes[i].parent == node;
}

static bool is_sibling(const struct search_node *nodes, int node, int i) {
    return i != node && nodes[i].parent >= 0 && nodes[i].parent == nodes[node].parent;
}

static bool is_cousin(const struct search_node *nodes, int node, int i) {
    int uncle = nodes[i].parent, parent = nodes[node].parent;
    return uncle >= 0 && parent >= 0 && uncle != parent && nodes[uncle].parent >= 0 &&
           nodes[uncle].parent == nodes[parent].parent;
}

static struct node_list collect(const struct search_context *c, int node, relation_fn relation) {
    const struct search_node **list =
        arena_array(c->scratch, const struct search_node *, c->n_nodes + 1);
    int n = 0;
    for (int i = 0; i < c->n_nodes; i++)
        if (relation(c->nodes, node, i))
            list[n++] = &c->nodes[i];
    return (struct node_list){list, n};
}

static int by_time(const void *x, const void *y) {
    const struct search_node *a = *(const struct search_node *const *)x;
    const struct search_node *b = *(const struct search_node *const *)y;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->number - b->number;
}

static struct node_list leaders(const struct search_context *c) {
    const struct search_node **list =
        arena_array(c->scratch, const struct search_node *, c->n_nodes + 1);
    struct tree tree;
    int n = 0;
    tree_build(c->scratch, &tree, c->nodes, c->n_nodes);
    for (int i = 0; i < c->n_nodes; i++)
        if (tree.at[i].works)
            list[n++] = &c->nodes[i];
    qsort(list, (size_t)n, sizeof *list, by_time);
    return (struct node_list){list, n < LEADERS_MAX ? n : LEADERS_MAX};
}

static bool is_any(const struct search_node *nodes, int node, int i) {
    (void)nodes, (void)node, (void)i;
    return true;
}

static int count_expert_at_end(const struct search_context *c) {
    int n = 0;
    for (int i = c->n_nodes - 1; i > 0 && i >= c->mind_since; i--, n++)
        if (!c->nodes[i].by || strcmp(c->nodes[i].by, "expert") != 0)
            break;
    return n;
}

bool decide_brief(const struct search_context *c, int node, struct brief *out) {
    struct arena *a = c->scratch;
    const char **hashes = arena_array(a, const char *, c->n_nodes + 1);
    struct search_state tried = {0};
    for (int i = 0; i < c->n_nodes; i++) {
        hashes[i] = c->nodes[i].candidate.hash;
        note_kernel(a, &tried, c->nodes[i].candidate.kernel);
    }
    *out = (struct brief){
        .problem = c->problem,
        .target = c->target,
        .bound = c->bound,
        .node = &c->nodes[node],
        .tried = tried.kernels,
        .n_tried = tried.n_kernels,
        .hashes = hashes,
        .n_hashes = c->n_nodes,
        .root = &c->nodes[0],
        .children = collect(c, node, is_child),
        .siblings = collect(c, node, is_sibling),
        .cousins = collect(c, node, is_cousin),
        .leaders = leaders(c),
        .all = collect(c, node, is_any),
        .number = c->n_nodes,
        .n_expert = count_expert_at_end(c),
        .mind_since = c->mind_since,
        .seconds_left = c->seconds_left,
        .batch = c->batch,
        .feedback = c->feedback,
        .evals_left = c->evals_left,
        .priors = c->priors,
        .mind = c->mind,
    };
    if (!c->nodes[node].candidate.kernel)
        return true;
    out->kernel = read_kernel(a, &c->nodes[node]);
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
        return !is_duplicate(c, s, out);
    }
    note_kernel(a, s, kernel_print(a, p->kernel));
    if (!lower_kernel(a, c->problem, c->target, p->kernel, out, &why)) {
        log_info("%s: %s", p->move, why.text);  // the move's repair has a gap
        return false;
    }
    note_kernel(a, s, out->kernel);
    return !is_duplicate(c, s, out);
}

bool decide_on(const struct search_context *c, struct search_state *s, int parent,
               const struct proposal *p, struct decision *out) {
    struct candidate candidate;
    if (!realise_proposal(c, s, p, &candidate))
        return false;
    note_candidate(s, &candidate);
    *out = (struct decision){.parent = parent,
                             .move = p->move,
                             .change = p->change,
                             .reason = p->reason,
                             .by = p->by,
                             .tool = p->tool,
                             .expected = p->expected,
                             .candidate = candidate};
    s->tree.at[parent].n_children++;
    s->n_decided++;
    return true;
}

int decide_from(const struct search_context *c, struct search_state *s, int parent,
                const struct priors *priors, struct decision *out, int room, int *n_asked) {
    struct proposal *proposals = arena_array(c->scratch, struct proposal, room);
    struct brief brief;
    int n = 0;
    *n_asked = 0;
    if (!decide_brief(c, parent, &brief))
        return 0;
    brief.tried = s->kernels;
    brief.n_tried = s->n_kernels;
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

static void begin(const struct search_context *c, struct search_state *s, int room) {
    struct arena *a = c->scratch;
    *s = (struct search_state){.codes = arena_array(a, uint64_t, c->n_nodes + room),
                               .hashes = arena_array(a, const char *, c->n_nodes + room)};
    tree_build(a, &s->tree, c->nodes, c->n_nodes);
    for (int i = 0; i < c->n_nodes; i++) {
        if (search_node_is_untimed(&c->nodes[i]))
            continue;  // a race had no time for it: it may be proposed again
        note_kernel(a, s, c->nodes[i].candidate.kernel);
        note_candidate(s, &c->nodes[i].candidate);
    }
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

int decide(const struct search_context *c, struct decision *out, int room) {
    struct search_state s;
    int n = 0, n_asked, repair = to_repair(c);
    begin(c, &s, room);
    if (repair >= 0)
        n = decide_from(c, &s, repair, c->priors, out, 1, &n_asked);
    if (n == room)
        return n;
    if (c->n_nodes > 0 && c->nodes[0].state == NODE_PROPOSED)
        return n + decide_opening(c, &s, out + n, room - n);
    return n + c->policy->propose(c, &s, out + n, room - n);
}
