// The proposer that knows nothing: a random untried move. What the others must beat.
#include "base/arena.h"
#include "mind/moves_untried.h"

static int propose(struct arena *a, const struct brief *brief, struct proposal *out, int room) {
    int n_moves, n = 0;
    if (!brief->kernel)
        return 0;
    struct move *moves = moves_untried(a, brief, &n_moves);
    for (; n < room && n_moves > 0; n++) {
        int i = (int)rng_below(brief->rng, (uint64_t)n_moves);
        out[n] = (struct proposal){.kernel = moves[i].kernel,
                                   .move = moves[i].words,
                                   .reason = "drawn by lot",
                                   .by = "blind"};
        moves_remove(moves, &n_moves, i);
    }
    return n;
}

const struct proposer proposer_blind = {.name = "blind", .propose = propose};
