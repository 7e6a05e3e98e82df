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
#include "search/tree.h"

enum { LEADERS_MAX = 5, AGAIN_MAX = 1000 };

struct tried {
    const char **kernels;
    int n, room;
};

static void note_tried(struct arena *a, struct tried *t, const char *kernel) {
    if (!kernel)
        return;
    if (t->n == t->room) {
        int room = t->room ? 2 * t->room : 64;
        const char **more = arena_array(a, const char *, room);
        if (t->n > 0)
            memcpy(more, t->kernels, sizeof *more * (size_t)t->n);
        t->kernels = more;
        t->room = room;
    }
    t->kernels[t->n++] = kernel;
}

// What is known of a decision in the making.
struct making {
    const struct decide_input *in;
    struct tree tree;
    struct tried tried;
    struct rng rng;
    uint64_t *codes;  // of the nodes, then of what was decided
    const char **hashes;
    int n_codes;
};

static void note_candidate(struct making *m, const struct candidate *c) {
    m->codes[m->n_codes] = candidate_code(c);
    m->hashes[m->n_codes++] = c->hash;
}

static bool is_duplicate(const struct making *m, const struct candidate *c) {
    uint64_t code = candidate_code(c);
    for (int i = 0; i < m->n_codes; i++)
        if (strcmp(m->hashes[i], c->hash) == 0 || (m->in->is_race && m->codes[i] == code))
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

static struct node_list collect(const struct decide_input *in, int node, relation_fn relation) {
    const struct search_node **list =
        arena_array(in->scratch, const struct search_node *, in->n_nodes + 1);
    int n = 0;
    for (int i = 0; i < in->n_nodes; i++)
        if (relation(in->nodes, node, i))
            list[n++] = &in->nodes[i];
    return (struct node_list){list, n};
}

static int by_time(const void *x, const void *y) {
    const struct search_node *a = *(const struct search_node *const *)x;
    const struct search_node *b = *(const struct search_node *const *)y;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->number - b->number;
}

static struct node_list leaders(const struct decide_input *in) {
    const struct search_node **list =
        arena_array(in->scratch, const struct search_node *, in->n_nodes + 1);
    struct tree tree;
    int n = 0;
    tree_build(in->scratch, &tree, in->nodes, in->n_nodes);
    for (int i = 0; i < in->n_nodes; i++)
        if (tree.at[i].works)
            list[n++] = &in->nodes[i];
    qsort(list, (size_t)n, sizeof *list, by_time);
    return (struct node_list){list, n < LEADERS_MAX ? n : LEADERS_MAX};
}

static bool is_any(const struct search_node *nodes, int node, int i) {
    (void)nodes, (void)node, (void)i;
    return true;
}

static int count_expert_at_end(const struct decide_input *in) {
    int n = 0;
    for (int i = in->n_nodes - 1; i > 0 && i >= in->mind_since; i--, n++)
        if (!in->nodes[i].by || strcmp(in->nodes[i].by, "expert") != 0)
            break;
    return n;
}

bool decide_brief(const struct decide_input *in, int node, struct brief *out) {
    struct arena *a = in->scratch;
    const char **hashes = arena_array(a, const char *, in->n_nodes + 1);
    struct tried tried = {0};
    for (int i = 0; i < in->n_nodes; i++) {
        hashes[i] = in->nodes[i].candidate.hash;
        note_tried(a, &tried, in->nodes[i].candidate.kernel);
    }
    *out = (struct brief){
        .problem = in->problem,
        .target = in->target,
        .bound = in->bound,
        .node = &in->nodes[node],
        .tried = tried.kernels,
        .n_tried = tried.n,
        .hashes = hashes,
        .n_hashes = in->n_nodes,
        .root = &in->nodes[0],
        .children = collect(in, node, is_child),
        .siblings = collect(in, node, is_sibling),
        .cousins = collect(in, node, is_cousin),
        .leaders = leaders(in),
        .all = collect(in, node, is_any),
        .number = in->n_nodes,
        .n_expert = count_expert_at_end(in),
        .mind_since = in->mind_since,
        .seconds_left = in->seconds_left,
        .batch = in->batch,
        .evals_left = in->evals_left,
        .mind = in->mind,
    };
    if (!in->nodes[node].candidate.kernel)
        return true;
    out->kernel = read_kernel(a, &in->nodes[node]);
    return out->kernel != NULL;
}

// ---- the decision

// Ask the mind for proposals from this node; returns how many.
static int propose_from(struct making *m, int parent, struct proposal *out, int room) {
    const struct decide_input *in = m->in;
    struct brief brief;
    if (!decide_brief(in, parent, &brief))
        return 0;
    brief.tried = m->tried.kernels;
    brief.n_tried = m->tried.n;
    brief.rng = &m->rng;
    brief.is_race = in->is_race;
    brief.is_repair = verdict_is_failure(in->nodes[parent].verdict.kind) && parent > 0;
    return in->proposer->propose(in->scratch, &brief, out, room);
}

// The proposal as a candidate; false when it cannot be one, or is not new.
static bool realise_proposal(struct making *m, const struct proposal *p, struct candidate *c) {
    const struct decide_input *in = m->in;
    struct arena *a = in->scratch;
    struct error why = {0};
    *c = (struct candidate){.tier = p->tier, .source = p->source};
    if (!p->kernel) {
        candidate_seal(a, c);
        return !is_duplicate(m, c);
    }
    note_tried(a, &m->tried, kernel_print(a, p->kernel));
    if (!lower_kernel(a, in->problem, in->target, p->kernel, c, &why)) {
        log_info("%s: %s", p->move, why.text);  // the move's repair has a gap
        return false;
    }
    note_tried(a, &m->tried, c->kernel);
    return !is_duplicate(m, c);
}

static bool failed(const struct search_node *n) {
    return n->state == NODE_EVALUATED && verdict_is_failure(n->verdict.kind);
}

// A model wrote it, it did not pass, nobody has repaired it yet, and it is worth repairing: how
// often that was tried is how many of its ancestors in a row did not pass either.
static bool wants_repair(const struct decide_input *in, int node) {
    const struct search_node *n = &in->nodes[node];
    int n_failed = 0;
    bool is_mind = n->by && (strcmp(n->by, "team") == 0 || strcmp(n->by, "debug") == 0);
    if (!is_mind || n->verdict.kind == VERDICT_CHEAT)
        return false;
    for (int i = node + 1; i < in->n_nodes; i++)
        if (in->nodes[i].parent == node)
            return false;
    for (int i = node; i > 0 && failed(&in->nodes[i]); i = in->nodes[i].parent)
        n_failed++;
    return n_failed >= 1 && n_failed <= REPAIRS_MAX;
}

// The oldest of the last batch that wants it; -1: none. While a batch is gathered, as many nodes
// of it as may be there already are newer.
static int to_repair(const struct decide_input *in) {
    int batch = in->batch > 1 ? in->batch : 1, first = in->n_nodes - (2 * batch - 1);
    if (!in->proposer->can_repair)
        return -1;
    for (int i = first > 1 ? first : 1; i < in->n_nodes; i++)
        if (wants_repair(in, i))
            return i;
    return -1;
}

static void begin(struct making *m, const struct decide_input *in, int room) {
    struct arena *a = in->scratch;
    *m = (struct making){.in = in,
                         .codes = arena_array(a, uint64_t, in->n_nodes + room),
                         .hashes = arena_array(a, const char *, in->n_nodes + room)};
    tree_build(a, &m->tree, in->nodes, in->n_nodes);
    for (int i = 0; i < in->n_nodes; i++) {
        if (search_node_is_untimed(&in->nodes[i]))
            continue;  // a race had no time for it: it may be proposed again
        note_tried(a, &m->tried, in->nodes[i].candidate.kernel);
        note_candidate(m, &in->nodes[i].candidate);
    }
    rng_init(&m->rng, in->seed + 0x9e3779b97f4a7c15u * (uint64_t)in->n_nodes);
}

// Of several proposals a third is kept for nodes that come second.
static int share_of(int room, int n_before) {
    return n_before == 0 ? room - room / 3 : room - n_before;
}

static int add_realised(struct making *m, int parent, const struct proposal *p, int n_proposals,
                        struct decision *out) {
    int n = 0;
    for (int i = 0; i < n_proposals; i++) {
        struct candidate c;
        if (!realise_proposal(m, &p[i], &c))
            continue;
        note_candidate(m, &c);
        out[n++] = (struct decision){.parent = parent,
                                     .move = p[i].move,
                                     .change = p[i].change,
                                     .reason = p[i].reason,
                                     .by = p[i].by,
                                     .tool = p[i].tool,
                                     .expected = p[i].expected,
                                     .candidate = c};
    }
    m->tree.at[parent].n_children += n;
    return n;
}

int decide(const struct decide_input *in, struct decision *out, int room) {
    struct making m;
    int n = 0, repair = to_repair(in);
    bool is_opening = in->n_nodes > 0 && in->nodes[0].state == NODE_PROPOSED;
    struct proposal *proposals = arena_array(in->scratch, struct proposal, room);
    begin(&m, in, room);
    for (int n_again = 0; n < room && n_again < AGAIN_MAX; n_again++) {
        bool is_repair = repair >= 0;
        int parent = is_repair ? repair : is_opening ? 0 : in->policy->select(&m.tree, &m.rng);
        if (parent < 0)
            break;
        repair = -1;
        memset(proposals, 0, sizeof *proposals * (size_t)room);
        int wanted = is_repair ? 1 : is_opening ? room - n : share_of(room, n);
        int got = propose_from(&m, parent, proposals, wanted);
        if (got == 0 && is_opening)
            break;
        if (got == 0 && !is_repair)
            tree_exhaust(&m.tree, parent);
        n += add_realised(&m, parent, proposals, got, out + n);
    }
    return n;
}
