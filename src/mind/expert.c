// The expert: findings first, in their order of rank, each action as the move that it names;
// then whatever move the prior likes best: the closed form, and what was learned of its kind.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "family/moves_far.h"
#include "mind/expect.h"
#include "mind/moves_untried.h"
#include "mind/priors.h"
#include "record/finding.h"
#include "tools/tool.h"

// Of the moves that an action (NULL: any) stands for, the one with the best prior; the first
// of equals.
static const struct move *best_move(const struct action *action, const struct move *moves,
                                    int n_moves) {
    const struct move *best = NULL;
    for (int i = 0; i < n_moves; i++)
        if ((!action || action_stands_for(action, &moves[i])) &&
            (!best || moves[i].prior > best->prior))
            best = &moves[i];
    return best;
}

// A finding whose moves were learned to make kernels slower comes after all others.
static const double SLOWER = -0.02;

static const char *with_words(struct arena *a, const char *reason, const struct prior *p) {
    return p->words ? arena_printf(a, "%s; learned: %s", reason, p->words) : reason;
}

// What this move brings: as was learned of its kind, else as the finding and the closed form say.
static double expect(const struct brief *brief, const struct finding *f, const struct move *m,
                     const struct prior *learned) {
    if (learned->words)
        return exp(prior_log_gain(learned));
    struct expect_from from = {moves_prior(brief->problem, brief->target, brief->kernel),
                               brief->node->time_s, brief->bound ? brief->bound->reach_s : NAN};
    return expect_gain(&from, f, m);
}

// The first action of a finding that some move stands for; NULL: none does, or (unless
// `takes_slower`) it is not worth it by what was learned.
static const struct move *pick_by_finding(struct arena *a, const struct brief *brief, int number,
                                          bool takes_slower, const struct move *moves, int n_moves,
                                          struct proposal *out) {
    const struct finding *finding = &brief->node->findings[number];
    for (int i = 0; i < finding->n_actions; i++) {
        const struct move *m = best_move(&finding->actions[i], moves, n_moves);
        if (!m)
            continue;
        struct prior learned =
            priors_expect(brief->priors, m->words, finding->tool, brief->bottleneck);
        double expected = expect(brief, finding, m, &learned);
        if (!takes_slower && (prior_log_gain(&learned) < SLOWER || log(expected) < SLOWER))
            continue;
        const char *reason =
            arena_printf(a, "%s: %s; %s", finding->tool, finding->cause, finding->actions[i].words);
        *out = (struct proposal){.kernel = m->kernel,
                                 .move = m->words,
                                 .reason = with_words(a, reason, &learned),
                                 .by = "expert",
                                 .tool = finding->tool,
                                 .expected = expected};
        return m;
    }
    return NULL;
}

// By findings, in their order of rank.
static const struct move *pick_by_findings(struct arena *a, const struct brief *brief,
                                           bool takes_slower, const struct move *moves, int n_moves,
                                           struct proposal *out) {
    const struct move *m = NULL;
    for (int f = 0; f < brief->node->n_findings && !m; f++)
        if (expect_uses_finding(brief->feedback, &brief->node->findings[f]))
            m = pick_by_finding(a, brief, f, takes_slower, moves, n_moves, out);
    return m;
}

// The next proposal from the moves that are left; NULL: none is. What should make it slower comes
// after what the prior likes.
static const struct move *pick(struct arena *a, const struct brief *brief, const struct move *moves,
                               int n_moves, struct proposal *out) {
    const struct move *m = pick_by_findings(a, brief, false, moves, n_moves, out);
    if (m)
        return m;
    const struct move *liked = best_move(NULL, moves, n_moves);
    double here = moves_prior(brief->problem, brief->target, brief->kernel);
    bool is_slower = liked && liked->prior - here < SLOWER;
    if (is_slower && (m = pick_by_findings(a, brief, true, moves, n_moves, out)))
        return m;
    if (!liked)
        return NULL;
    struct prior learned = priors_expect(brief->priors, liked->words, NULL, brief->bottleneck);
    *out = (struct proposal){.kernel = liked->kernel,
                             .move = liked->words,
                             .reason =
                                 with_words(a, "best of the untried moves by its prior", &learned),
                             .by = "expert"};
    return liked;
}

// From the whole grid, where a prior that errs is soon found out.
static int propose_far(struct arena *a, const struct brief *brief, struct proposal *out, int room) {
    int n_moves, n = 0;
    const struct move *moves = moves_far_untried(a, brief, room, &n_moves);
    for (; n < room && n < n_moves; n++)
        out[n] = (struct proposal){.kernel = moves[n].kernel,
                                   .move = moves[n].words,
                                   .reason = "among the best of all legal blocks by its prior",
                                   .by = "expert"};
    return n;
}

static int propose(struct arena *a, const struct brief *brief, struct proposal *out, int room) {
    int n_moves, n = 0;
    if (!brief->kernel)
        return 0;  // source by a person or a model has no moves
    struct move *moves = moves_untried(a, brief, &n_moves);
    int n_near = brief->is_race ? (room + 1) / 2 : room;
    for (const struct move *m; n < n_near && (m = pick(a, brief, moves, n_moves, &out[n])); n++)
        moves_remove(moves, &n_moves, (int)(m - moves));
    if (brief->is_race && n < room)
        n += propose_far(a, brief, out + n, room - n);
    return n;
}

const struct proposer proposer_expert = {.name = "expert", .propose = propose};
