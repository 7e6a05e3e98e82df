// Evolution: a population of the fastest nodes, crossed and mutated.
//
// Parents are drawn by tournament: of a few members the fastest. With the chance `cross` two of
// them are crossed (family/cross.h): the stages of one, knobs and emitters of both, repaired to the
// nearest legal block. Else the mind improves one, which is the mutation. Source that somebody
// wrote has no knobs to cross, so there it is always the mind. The population is read from the
// tree, so nothing is stored of generations: who is overtaken drops out.
#include "base/arena.h"
#include "base/rng.h"
#include "family/cross.h"
#include "mind/proposer.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

enum { POPULATION, CROSS, TOURNAMENT };

static const struct policy_setting settings[] = {
    [POPULATION] = {"population", "the fastest nodes, of which parents are drawn", 8, 8},
    [CROSS] = {"cross", "share of candidates with two parents", 0.5, 0.5},
    [TOURNAMENT] = {"tournament", "members of which the fastest becomes a parent", 2, 2},
    {0},
};

// So many pairs are crossed for a block that is new; so often nothing came of both ways, which ends
// a decision.
enum { PAIRS_MAX = 4, FUTILE_MAX = 200, POPULATION_MAX = 256 };

struct population {
    int nodes[POPULATION_MAX];  // the fastest first
    int n;
};

static void gather(const struct search_context *c, struct search_state *s, bool is_open,
                   struct population *p) {
    const struct tree *t = &s->tree;
    double most = policy_setting(c, POPULATION);
    p->n = 0;
    for (int i = 0; i < t->n_works && p->n < most && p->n < POPULATION_MAX; i++, s->n_steps++) {
        int node = t->fastest[i].node;
        if (is_open ? tree_is_open(t, node) : c->nodes[node].candidate.kernel != NULL)
            p->nodes[p->n++] = node;
    }
}

static int draw(const struct search_context *c, struct search_state *s,
                const struct population *p) {
    int best = (int)rng_below(&s->rng, (uint64_t)p->n);
    for (int i = 1; i < policy_setting(c, TOURNAMENT); i++) {
        int other = (int)rng_below(&s->rng, (uint64_t)p->n);
        best = other < best ? other : best;
    }
    return p->nodes[best];
}

static bool cross(const struct search_context *c, struct search_state *s, struct decision *out) {
    struct population p;
    gather(c, s, false, &p);
    if (p.n < 2)
        return false;
    int x = draw(c, s, &p), y = draw(c, s, &p);
    if (x == y)
        return false;
    const struct kernel *from = decide_kernel(c->scratch, c, x);
    const struct kernel *with = decide_kernel(c->scratch, c, y);
    struct kernel *child = arena_new(c->scratch, struct kernel);
    const char *words;
    if (!from || !with ||
        !kernel_cross(c->scratch, c->problem, c->target, from, with, &s->rng, child, &words))
        return false;
    struct proposal proposal = {.kernel = child,
                                .move = arena_printf(c->scratch, "cross with %d: %s", y, words),
                                .reason =
                                    arena_printf(c->scratch, "a block of nodes %d and %d", x, y),
                                .by = "evolve"};
    return decide_on(c, s, x, &proposal, out);
}

static void mutate(const struct search_context *c, struct search_state *s, struct decision *out,
                   int *n) {
    struct population p;
    int n_asked;
    gather(c, s, true, &p);
    if (p.n == 0 && s->tree.n_open == 0)
        return;
    int parent = p.n > 0 ? draw(c, s, &p) : s->tree.open[0];
    *n += decide_from(c, s, parent, c->priors, out, 1, &n_asked);
    if (n_asked == 0)
        tree_exhaust(&s->tree, parent);
}

static int propose(const struct search_context *c, struct search_state *s, struct decision *out,
                   int n) {
    int got = 0;
    for (int futile = 0; got < n && futile < FUTILE_MAX;) {
        int before = got;
        bool is_crossed = rng_unit(&s->rng) < policy_setting(c, CROSS);
        for (int i = 0; is_crossed && got == before && i < PAIRS_MAX; i++)
            got += cross(c, s, out + got);
        if (got == before)
            mutate(c, s, out + got, &got);
        // With nothing left to improve a few more pairs are all that is worth trying.
        if (got == before)
            futile += s->tree.n_open > 0 ? 1 : FUTILE_MAX / 8;
    }
    return got;
}

const struct policy policy_evolve = {
    .name = "evolve",
    .summary = "the fastest nodes crossed and mutated",
    .propose = propose,
    .settings = settings,
};
