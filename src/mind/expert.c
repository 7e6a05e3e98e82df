// The expert: findings first, in their order of rank, each action as the move that it names;
// then whatever move the prior likes best: the closed form, and what was learned of its kind.
#include <math.h>
#include <string.h>

#include "base/arena.h"
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

// Is this finding for its ears? `raw` leaves what the bound and the time alone say, without the
// tools that name a cause; `none` leaves the prior.
static bool hears(const struct brief *brief, const struct finding *f) {
    const char *kind = brief->feedback ? brief->feedback : "findings";
    if (strcmp(kind, "raw") == 0)
        return strcmp(f->tool, tool_reach.name) == 0;
    return strcmp(kind, "none") != 0;
}

// What this move brings: as was learned of its kind, else as the finding says. How far from reach a
// kernel is, or that it is busy with something else, says what all moves together could bring, not
// what one does.
static double expect(const struct finding *f, const struct prior *learned) {
    if (learned->words)
        return exp(prior_log_gain(learned));
    bool is_distance =
        strcmp(f->tool, tool_reach.name) == 0 || strcmp(f->tool, tool_disagree.name) == 0;
    return is_distance ? NAN : f->expected_gain;
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
        if (!takes_slower && prior_log_gain(&learned) < SLOWER)
            continue;
        const char *reason =
            arena_printf(a, "%s: %s; %s", finding->tool, finding->cause, finding->actions[i].words);
        *out = (struct proposal){.kernel = m->kernel,
                                 .move = m->words,
                                 .reason = with_words(a, reason, &learned),
                                 .by = "expert",
                                 .tool = finding->tool,
                                 .expected = expect(finding, &learned)};
        return m;
    }
    return NULL;
}

// The next proposal from the moves that are left; NULL: none is.
static const struct move *pick(struct arena *a, const struct brief *brief, const struct move *moves,
                               int n_moves, struct proposal *out) {
    const struct move *m = NULL;
    for (int slower = 0; slower < 2; slower++)
        for (int f = 0; f < brief->node->n_findings; f++)
            if (hears(brief, &brief->node->findings[f]) &&
                (m = pick_by_finding(a, brief, f, slower, moves, n_moves, out)))
                return m;
    m = best_move(NULL, moves, n_moves);
    if (!m)
        return NULL;
    struct prior learned = priors_expect(brief->priors, m->words, NULL, brief->bottleneck);
    *out = (struct proposal){.kernel = m->kernel,
                             .move = m->words,
                             .reason =
                                 with_words(a, "best of the untried moves by its prior", &learned),
                             .by = "expert"};
    return m;
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
        return 0;  // source that somebody wrote has no moves
    struct move *moves = moves_untried(a, brief, &n_moves);
    int n_near = brief->is_race ? (room + 1) / 2 : room;
    for (const struct move *m; n < n_near && (m = pick(a, brief, moves, n_moves, &out[n])); n++)
        moves_remove(moves, &n_moves, (int)(m - moves));
    if (brief->is_race && n < room)
        n += propose_far(a, brief, out + n, room - n);
    return n;
}

const struct proposer proposer_expert = {.name = "expert", .propose = propose};
