// A model of the times instead of a walk through the tree.
//
// What could be tried next is a pool: all moves of all nodes that work, the best of all legal
// blocks by the closed form (family/moves_far.h), the default kernel, and the champions of siblings
// that memory has (record/advice.h). From the times so far,
// and from those that memory has of siblings' blocks, a model
// (search/surrogate.h) says by how much each is expected to be faster than the champion, and the
// one with the most is next. So it looks far away while little is known, knows after a few
// evaluations which knobs matter, and does not try the neighbours of a slow kernel one by one.
//
// A node that did not pass counts as slower than all that did. Nodes whose source somebody wrote
// have no knobs: where no block is left the mind is asked, from the fastest node.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "family/block_set.h"
#include "family/lower.h"
#include "family/moves_far.h"
#include "lang/lang.h"
#include "mind/expect.h"
#include "mind/priors.h"
#include "mind/proposer.h"
#include "model/target.h"
#include "record/advice.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"
#include "search/surrogate.h"
#include "tools/tool.h"

enum { FAR, LEADERS, LEARNED, FOUND, SIBLINGS, DEFAULT };

static const struct policy_setting settings[] = {
    [FAR] = {"far", "legal blocks by their closed form, for each of the leaders", 48, 48},
    [LEADERS] = {"leaders", "nodes whose far blocks are in the pool: the root and the fastest", 2,
                 2},
    [LEARNED] = {"learned", "weight of what other runs learned of moves", 1, 1},
    [FOUND] = {"found", "what a finding that asks for a move counts at most, as a logarithm", 0.03,
               0.03},
    [SIBLINGS] = {"siblings",
                  "blocks of memory's, timed on siblings, that the model is made of too", 32, 32},
    [DEFAULT] = {"default",
                 "the default kernel of a run that began with another: 1: in the pool, 2: at once",
                 2, 2},
    {0},
};

// How much slower than the slowest one counts that did not pass.
// However large the tree is, a decision looks at so many nodes.
enum { SOURCES = 48, SAMPLES_OK = 48, SAMPLES_FAILED = 16, NEWEST = 256, AGAIN_MAX = 1000 };
static const double FAILED = 0.5;
// Doublings within which one block says much about another.
static const double NEAR = 2;

struct item {
    int parent;
    const struct move *move;
    struct features features;
    uint64_t hash;                  // of its text
    const struct finding *finding;  // of the parent, that asks for this move; NULL: none does
    const struct action *action;    // of the finding
    const char *bottleneck;         // class of what limits the parent; NULL: not known
    double from;                    // closed form of the parent's block, as a move's prior
    bool is_start;                  // a sibling's champion
    double gain;                    // that is expected; below 0: not to be tried
};

// The moves of a node; what is kept of it is the same whenever it is asked for.
struct known {
    bool has_near, has_far;
    bool is_leader;  // its far items count now
    struct features features;
    double prior;
    struct item *near, *far;
    int n_near, n_far;
};

struct pool {
    struct known *nodes;
    int n_nodes, room;
    int sources[SOURCES + 1];  // whose moves count now: the root and the fastest
    int n_sources;
    struct sample siblings[ADVICE_BLOCKS_MAX];  // from memory
    int n_siblings;
    struct item *elsewhere;  // of no node's: the default kernel, champions of siblings
    int n_elsewhere;
};

// ---- the pool

static struct kernel *read_block(struct arena *a, const char *text) {
    struct lang_source source = {.file = "memory", .text = text, .len = strlen(text)};
    struct lang_file file = {0};
    const char *diagnostics;
    struct error why = {0};
    bool ok = lang_parse(a, &source, &file, &diagnostics, &why) && file.n_kernels == 1;
    return ok ? file.kernels[0] : NULL;
}

static void grow(struct search_state *s, struct pool *p, int n_nodes) {
    if (n_nodes > p->room) {
        int room = 2 * n_nodes + 64;
        struct known *nodes = arena_array(&s->arena, struct known, room);
        if (p->n_nodes > 0)
            memcpy(nodes, p->nodes, sizeof *nodes * (size_t)p->n_nodes);
        p->nodes = nodes;
        p->room = room;
    }
    p->n_nodes = n_nodes;
}

// The first finding of its parent that asks for the move, of those that may be heard.
static void find_action(const struct search_context *c, struct item *x) {
    const struct search_node *parent = &c->nodes[x->parent];
    for (int f = 0; f < parent->n_findings; f++)
        for (int i = 0; i < parent->findings[f].n_actions; i++)
            if (expect_uses_finding(c->feedback, &parent->findings[f]) &&
                action_stands_for(&parent->findings[f].actions[i], x->move)) {
                x->finding = &parent->findings[f];
                x->action = &parent->findings[f].actions[i];
                return;
            }
}

static struct item *items_of(const struct search_context *c, struct search_state *s, int node,
                             double from, const struct move *moves, int n) {
    struct item *items = arena_array(&s->arena, struct item, n + 1);
    const char *bottleneck = decide_bottleneck(c, node);
    for (int i = 0; i < n; i++) {
        struct arena scratch = {0};
        const char *text = moves[i].text ? moves[i].text : kernel_print(&scratch, moves[i].kernel);
        items[i] = (struct item){.parent = node,
                                 .move = &moves[i],
                                 .features = features_of(&s->arena, moves[i].kernel),
                                 .hash = hash_bytes(text, strlen(text), 1),
                                 .bottleneck = bottleneck,
                                 .from = from};
        find_action(c, &items[i]);
        arena_reset(&scratch);
    }
    return items;
}

static void know(const struct search_context *c, struct search_state *s, struct pool *p, int node) {
    struct known *k = &p->nodes[node];
    const struct kernel *own = k->has_near ? NULL : decide_kernel(&s->arena, c, node);
    if (!own)
        return;
    k->has_near = true;
    k->features = features_of(&s->arena, own);
    k->prior = moves_prior(c->problem, c->target, own);
    int n = 0;
    const struct move *moves = s->tree.at[node].works || node == 0
                                   ? moves_list(&s->arena, c->problem, c->target, own, &n)
                                   : NULL;
    k->near = items_of(c, s, node, k->prior, moves, n);
    k->n_near = n;
}

static void know_far(const struct search_context *c, struct search_state *s, struct pool *p,
                     int node) {
    struct known *k = &p->nodes[node];
    const struct kernel *own = k->has_far ? NULL : decide_kernel(&s->arena, c, node);
    int room = (int)policy_setting(c, FAR), n = 0;
    if (!own || room <= 0)
        return;
    struct rng rng;
    rng_init(&rng, c->seed + (uint64_t)node);
    k->has_far = true;
    const struct move *moves = moves_far(&s->arena, c->problem, c->target, own, room, &rng, &n);
    k->far = items_of(c, s, node, k->prior, moves, n);
    k->n_far = n;
}

static struct move move_to(const struct search_context *c, struct search_state *s, struct kernel *k,
                           const char *words) {
    return (struct move){.words = words,
                         .kernel = k,
                         .text = kernel_print(&s->arena, k),
                         .prior = moves_prior(c->problem, c->target, k)};
}

// From stages that somebody gave (--start) many moves lead to the default kernel, each of which
// would have to be judged; to a sibling's champion there may be no moves at all.
static void know_elsewhere(const struct search_context *c, struct search_state *s, struct pool *p) {
    const struct advice *d = c->advice;
    struct move *moves = arena_array(&s->arena, struct move, 1 + ADVICE_STARTS_MAX);
    struct kernel *k =
        policy_setting(c, DEFAULT) > 0 ? lower_initial(&s->arena, c->problem, c->target) : NULL;
    int n = 0, n_own = k != NULL;
    if (k)
        moves[n++] = move_to(c, s, k, "the default kernel");
    for (int i = 0; d && d->is_weighed && i < d->n_starts; i++) {
        struct error ignored = {0};
        k = d->starts[i].is_default ? NULL : read_block(&s->arena, d->starts[i].kernel);
        if (k && lower_check(&s->arena, c->problem, c->target, k, &ignored))
            moves[n++] =
                move_to(c, s, k, arena_printf(&s->arena, "the champion of %s", d->starts[i].words));
    }
    p->elsewhere = items_of(c, s, 0, NAN, moves, n);
    p->n_elsewhere = n;
    for (int i = n_own; i < n; i++)
        p->elsewhere[i].is_start = true;
}

// ---- the model

// The fastest, and of those that did not pass the newest; then what memory has.
static int gather_samples(const struct search_context *c, const struct search_state *s,
                          const struct pool *p, struct sample *out) {
    const struct tree *t = &s->tree;
    int n = 0, n_failed = 0;
    double slowest = t->n_works > 0 ? log(t->fastest[t->n_works - 1].time_s) : 0;
    for (int i = 0; i < t->n_works && n < SAMPLES_OK; i++) {
        const struct known *k = &p->nodes[t->fastest[i].node];
        if (k->has_near)
            out[n++] = (struct sample){k->features, k->prior, log(t->fastest[i].time_s), 0};
    }
    for (int i = c->n_nodes - 1; n > 0 && i > c->n_nodes - NEWEST && n_failed < SAMPLES_FAILED; i--)
        if (i >= 0 && t->at[i].is_failure && p->nodes[i].has_near) {
            out[n++] =
                (struct sample){p->nodes[i].features, p->nodes[i].prior, slowest + FAILED, 0};
            n_failed++;
        }
    for (int i = 0; n > 0 && i < p->n_siblings; i++)
        out[n++] = p->siblings[i];
    return n;
}

// What memory has of siblings' blocks; read once.
static void know_siblings(const struct search_context *c, struct search_state *s, struct pool *p) {
    int most = (int)policy_setting(c, SIBLINGS), n = c->advice ? c->advice->n_blocks : 0;
    for (int i = 0; i < n && p->n_siblings < most && p->n_siblings < ADVICE_BLOCKS_MAX; i++) {
        const struct advice_block *b = &c->advice->blocks[i];
        const struct kernel *k = read_block(c->scratch, b->kernel);
        if (k)
            p->siblings[p->n_siblings++] =
                (struct sample){features_of(&s->arena, k), b->prior, b->log_s, b->sibling};
    }
}

// What other runs learned of such a move, and what the finding behind it promises.
static double bonus_of(const struct search_context *c, const struct item *x) {
    double bonus = 0;
    if (c->priors) {
        struct prior p = priors_expect(c->priors, x->move->words,
                                       x->finding ? x->finding->tool : NULL, x->bottleneck);
        bonus += policy_setting(c, LEARNED) * prior_log_gain(&p);
    }
    if (x->finding) {
        struct expect_from from = {x->from, c->nodes[x->parent].time_s, NAN};
        double most = policy_setting(c, FOUND), gain = log(expect_gain(&from, x->finding, x->move));
        bonus += isfinite(gain) ? fmax(-most, fmin(most, gain)) : 0;
    }
    return bonus;
}

// Blocks by the hashes of their texts: those of the nodes, then those that were weighed.
struct seen {
    uint64_t *slots;  // 0: free
    size_t room;      // a power of two
};

static bool see(struct seen *seen, uint64_t hash) {
    hash = hash ? hash : 1;
    for (size_t at = hash;; at++) {
        uint64_t *slot = &seen->slots[at & (seen->room - 1)];
        if (*slot == hash)
            return false;
        if (*slot == 0) {
            *slot = hash;
            return true;
        }
    }
}

static struct seen see_tried(const struct search_context *c, const struct search_state *s,
                             const struct pool *p) {
    struct seen seen = {.room = 64};
    size_t n = (size_t)(s->tried.n_kernels + p->n_elsewhere);
    for (int i = 0; i < p->n_sources; i++)
        n += (size_t)(p->nodes[p->sources[i]].n_near + p->nodes[p->sources[i]].n_far);
    while (seen.room < 2 * n)
        seen.room *= 2;
    seen.slots = arena_array(c->scratch, uint64_t, (int)seen.room);
    for (int i = 0; i < s->tried.n_kernels; i++)
        see(&seen, hash_bytes(s->tried.kernels[i], strlen(s->tried.kernels[i]), 1));
    return seen;
}

static void weigh(const struct search_context *c, const struct surrogate *model, struct seen *seen,
                  struct item *items, int n) {
    for (int i = 0; i < n; i++)
        items[i].gain = see(seen, items[i].hash)
                            ? surrogate_gain(model, &items[i].features, items[i].move->prior,
                                             bonus_of(c, &items[i]))
                            : -1;
}

static void take_best(struct item *items, int n, struct item **best) {
    for (int i = 0; i < n; i++)
        if (items[i].gain >= 0 && (!*best || items[i].gain > (*best)->gain))
            *best = &items[i];
}

static int far_of(const struct known *k) {
    return k->is_leader ? k->n_far : 0;
}

static struct item *next_item(const struct search_context *c, struct pool *p) {
    struct item *best = NULL;
    take_best(p->elsewhere, p->n_elsewhere, &best);
    // With memory the nearest sibling's champion is judged at once, and its times say what is next.
    if (best && policy_setting(c, DEFAULT) > 1 && !(c->advice && c->advice->n_starts > 0))
        return best;
    for (int i = 0; i < p->n_sources; i++) {
        struct known *k = &p->nodes[p->sources[i]];
        take_best(k->near, k->n_near, &best);
        take_best(k->far, far_of(k), &best);
    }
    return best;
}

static void shade_items(struct item *items, int n, const struct item *x) {
    for (int i = 0; i < n; i++)
        if (items[i].gain >= 0)  // below is what was taken: -1 times 0 would bring it back
            items[i].gain *= 1 - exp(-features_distance(&items[i].features, &x->features) / NEAR);
}

// Of several that are proposed at once the next shall tell something else: what is near to one that
// was taken is worth less by that.
static void shade(struct pool *p, struct item *x) {
    shade_items(p->elsewhere, p->n_elsewhere, x);
    for (int i = 0; i < p->n_sources; i++) {
        struct known *k = &p->nodes[p->sources[i]];
        shade_items(k->near, k->n_near, x);
        shade_items(k->far, far_of(k), x);
    }
    x->gain = -1;
}

static void gather_sources(const struct search_context *c, struct search_state *s, struct pool *p) {
    const struct tree *t = &s->tree;
    int n_leaders = (int)policy_setting(c, LEADERS);
    for (int i = c->n_nodes - 1; i >= 0 && i > c->n_nodes - NEWEST; i--)
        if (t->at[i].is_failure)
            know(c, s, p, i);
    p->n_sources = 0;
    p->sources[p->n_sources++] = 0;
    for (int i = 0; i < t->n_works && p->n_sources <= SOURCES; i++)
        if (t->fastest[i].node != 0)
            p->sources[p->n_sources++] = t->fastest[i].node;
    for (int i = 0; i < p->n_sources; i++) {
        know(c, s, p, p->sources[i]);
        p->nodes[p->sources[i]].is_leader = i < n_leaders;
        if (i < n_leaders)
            know_far(c, s, p, p->sources[i]);
    }
}

static bool follow(const struct search_context *c, struct search_state *s, struct pool *p) {
    struct sample samples[SURROGATE_MOST];
    grow(s, p, c->n_nodes);
    gather_sources(c, s, p);
    int n = gather_samples(c, s, p, samples);
    if (n == 0)
        return false;
    const struct surrogate *model = surrogate_new(c->scratch, samples, n);
    struct seen seen = see_tried(c, s, p);
    weigh(c, model, &seen, p->elsewhere, p->n_elsewhere);
    for (int i = 0; i < p->n_sources; i++) {
        struct known *k = &p->nodes[p->sources[i]];
        weigh(c, model, &seen, k->near, k->n_near);
        weigh(c, model, &seen, k->far, far_of(k));
    }
    return true;
}

static struct proposal proposal_of(struct arena *a, const struct item *x) {
    const char *by_model =
        arena_printf(a, "a model of the times so far expects %.1f%% of it", 100 * x->gain);
    const struct finding *f = x->finding;
    return (struct proposal){.kernel = x->move->kernel,
                             .move = x->move->words,
                             .reason = f ? arena_printf(a, "%s: %s; %s; %s", f->tool, f->cause,
                                                        x->action->words, by_model)
                                         : by_model,
                             .by = x->is_start ? "memory" : "expert",
                             .tool = f ? f->tool : NULL,
                             .expected = NAN};
}

static int propose_known(const struct search_context *c, struct search_state *s,
                         struct decision *out, int n) {
    struct pool *p = s->own;
    if (!p) {
        s->own = p = arena_new(&s->arena, struct pool);
        know_siblings(c, s, p);
        know_elsewhere(c, s, p);
    }
    int got = 0;
    if (!follow(c, s, p))
        return 0;
    for (struct item *x; got < n && (x = next_item(c, p));) {
        struct proposal proposal = proposal_of(c->scratch, x);
        got += decide_on(c, s, x->parent, &proposal, out + got);
        shade(p, x);
    }
    return got;
}

// A model's proposals are its own: the tree says from where.
static int propose(const struct search_context *c, struct search_state *s, struct decision *out,
                   int n) {
    int got = c->proposer->can_repair ? 0 : propose_known(c, s, out, n);
    for (int again = 0; got < n && again < AGAIN_MAX; again++) {
        int n_asked, parent = policy_greedy.select(c, s);
        if (parent < 0)
            break;
        got += decide_from(c, s, parent, c->priors, out + got, n - got, &n_asked);
        if (n_asked == 0)
            tree_exhaust(&s->tree, parent);
    }
    return got;
}

const struct policy policy_surrogate = {
    .name = "surrogate",
    .summary = "a model of the times so far says what is worth the next evaluation",
    .propose = propose,
    .settings = settings,
    .weighs_starts = true,
};
