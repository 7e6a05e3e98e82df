// A bandit over moves: kinds of moves are the arms (record/move_kind.h), not nodes.
//
// From the fastest node that still has moves the mind proposes, and is told what to expect of each
// kind: a draw from what the kind brought so far in this run (Thompson sampling), so that a kind
// that paid is tried more often and one that is hardly known now and then. What other runs learned
// counts as trials before the first. A candidate that failed counts as one that was slower by half.
//
// Gains are summed as integers, so that the sum does not depend on the order of the nodes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"
#include "mind/priors.h"
#include "record/move_kind.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

enum { DOUBT, KNOWN };

static const struct policy_setting settings[] = {
    [DOUBT] = {"doubt", "standard deviation of one trial's log gain", 0.2, 0.2},
    [KNOWN] = {"known", "trials without gain that every kind begins with", 1, 1},
    {0},
};

static const double FAILED = -0.7, UNIT = 1e-9, GAIN_MOST = 5;
enum { ARMS_MAX = 128, AGAIN_MAX = 1000 };

struct arm {
    char kind[64];
    int64_t sum;  // of log gains, in UNIT
    int n;
};

struct bandit {
    struct arm arms[ARMS_MAX];
    int n;
};

// What the mind asks during one decision.
struct draw {
    const struct search_context *c;
    const struct bandit *bandit;
    uint64_t seed;
};

static const struct arm *find_arm(const struct bandit *b, const char *kind) {
    for (int i = 0; b && i < b->n; i++)
        if (strcmp(b->arms[i].kind, kind) == 0)
            return &b->arms[i];
    return NULL;
}

static void note(const struct search_context *c, struct search_state *s, int node) {
    const struct search_node *n = &c->nodes[node];
    struct arena scratch = {0};
    const char *kind = move_kind(&scratch, n->move);
    if (!s->own)
        s->own = arena_new(&s->arena, struct bandit);
    struct bandit *b = s->own;
    bool failed = verdict_is_failure(n->verdict.kind);
    if (kind && strlen(kind) < sizeof b->arms[0].kind && (failed || n->gain > 0)) {
        struct arm *arm = (struct arm *)find_arm(b, kind);
        if (!arm && b->n < ARMS_MAX) {
            arm = &b->arms[b->n++];
            snprintf(arm->kind, sizeof arm->kind, "%s", kind);
        }
        double gain = failed ? FAILED : fmin(GAIN_MOST, fmax(-GAIN_MOST, log(n->gain)));
        if (arm) {
            arm->sum += llround(gain / UNIT);
            arm->n++;
        }
    }
    arena_reset(&scratch);
}

static double normal(struct rng *rng) {
    double u = 1 - rng_unit(rng), v = rng_unit(rng);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

// One draw for a kind; the same as long as the decision is made.
static struct prior expect(const void *ctx, const char *kind, const char *tool,
                           const char *bottleneck) {
    const struct draw *d = ctx;
    const struct priors *learned = d->c->priors;
    struct prior before =
        learned ? learned->expect(learned->ctx, kind, tool, bottleneck) : (struct prior){0};
    const struct arm *arm = find_arm(d->bandit, kind);
    double n = policy_setting(d->c, KNOWN), sum = 0;
    struct rng rng;
    rng_init(&rng, d->seed ^ hash_bytes(kind, strlen(kind), 1));
    if (before.weight > 0 && before.gain > 0) {
        n += before.weight;
        sum += before.weight * log(before.gain);
    }
    if (arm) {
        n += arm->n;
        sum += (double)arm->sum * UNIT;
    }
    n = fmax(n, 1e-3);
    double gain = sum / n + policy_setting(d->c, DOUBT) / sqrt(n) * normal(&rng);
    return (struct prior){.gain = exp(gain), .weight = 1e12, .words = before.words};
}

static int propose(const struct search_context *c, struct search_state *s, struct decision *out,
                   int n) {
    int got = 0;
    struct draw draw = {c, s->own, 0};
    struct priors priors = {.expect = expect, .ctx = &draw};
    for (int again = 0; got < n && again < AGAIN_MAX; again++) {
        int parent = policy_greedy.select(c, s), n_asked;
        if (parent < 0)
            break;
        draw.seed = rng_next(&s->rng);
        got += decide_from(c, s, parent, &priors, out + got, n - got, &n_asked);
        if (n_asked == 0)
            tree_exhaust(&s->tree, parent);
    }
    return got;
}

const struct policy policy_bandit = {
    .name = "bandit",
    .summary = "the fastest node; which kind of move, by what kinds brought in this run",
    .propose = propose,
    .note = note,
    .settings = settings,
};
