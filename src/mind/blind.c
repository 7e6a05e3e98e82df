// The proposer that knows nothing: a random untried move. What the others must beat.
#include "base/arena.h"
#include "mind/moves_untried.h"

static bool propose(struct arena *a, const struct brief *brief, struct proposal *out) {
    if (!brief->kernel)
        return false;
    int n_moves;
    const struct move *moves = moves_untried(a, brief, &n_moves);
    if (n_moves == 0)
        return false;
    const struct move *m = &moves[rng_below(brief->rng, (uint64_t)n_moves)];
    *out = (struct proposal){
        .kernel = m->kernel, .move = m->words, .reason = "drawn by lot", .by = "blind"};
    return true;
}

const struct proposer proposer_blind = {.name = "blind", .propose = propose};
