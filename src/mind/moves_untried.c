// The moves of a block less those whose result some node of the tree already has. What was learned
// of their kinds is added to the closed-form prior: both are logarithms of a speed-up.
#include "mind/moves_untried.h"

#include <string.h>

#include "base/arena.h"
#include "family/moves_far.h"
#include "mind/priors.h"

enum { FAR_MORE = 64 };

static bool is_tried(const struct brief *brief, const char *kernel) {
    for (int i = 0; i < brief->n_tried; i++)
        if (strcmp(brief->tried[i], kernel) == 0)
            return true;
    return false;
}

static int keep_untried(const struct brief *brief, struct move *moves, int n_all) {
    int n = 0;
    for (int i = 0; i < n_all; i++) {
        struct arena scratch = {0};
        const char *text = moves[i].text;
        if (!is_tried(brief, text ? text : kernel_print(&scratch, moves[i].kernel)))
            moves[n++] = moves[i];
        arena_reset(&scratch);
    }
    return n;
}

struct move *moves_untried(struct arena *a, const struct brief *brief, int *n_moves) {
    struct move *moves = moves_list(a, brief->problem, brief->target, brief->kernel, n_moves);
    *n_moves = keep_untried(brief, moves, *n_moves);
    for (int i = 0; brief->priors && i < *n_moves; i++) {
        struct prior learned =
            priors_expect(brief->priors, moves[i].words, NULL, brief->bottleneck);
        moves[i].prior += prior_log_gain(&learned);
    }
    return moves;
}

struct move *moves_far_untried(struct arena *a, const struct brief *brief, int room, int *n_moves) {
    const struct problem *p = brief->problem;
    int n_best, n_drawn, n = 0, most = 2 * room + FAR_MORE;  // many may be tried already
    struct move *best = moves_far(a, p, brief->target, brief->kernel, 1, NULL, &n_best);
    struct move *drawn = moves_far(a, p, brief->target, brief->kernel, most, brief->rng, &n_drawn);
    if (brief->target->blocks)
        moves_far_draw(drawn, n_drawn, brief->rng);  // all of them, in no order of chance yet
    struct move *moves = arena_array(a, struct move, n_drawn + 1);
    // The best by the prior alone comes first, and not twice.
    if (n_best > 0)
        moves[n++] = best[0];
    for (int i = 0; i < n_drawn; i++)
        if (n_best == 0 || strcmp(drawn[i].words, best[0].words) != 0)
            moves[n++] = drawn[i];
    *n_moves = keep_untried(brief, moves, n);
    return moves;
}

void moves_remove(struct move *moves, int *n_moves, int i) {
    memmove(moves + i, moves + i + 1, sizeof *moves * (size_t)(*n_moves - i - 1));
    --*n_moves;
}
