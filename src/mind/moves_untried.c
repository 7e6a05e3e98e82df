// The moves of a block less those whose result some node of the tree already has.
#include "mind/moves_untried.h"

#include <string.h>

#include "base/arena.h"
#include "family/moves_far.h"

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
        if (!is_tried(brief, kernel_print(&scratch, moves[i].kernel)))
            moves[n++] = moves[i];
        arena_reset(&scratch);
    }
    return n;
}

struct move *moves_untried(struct arena *a, const struct brief *brief, int *n_moves) {
    struct move *moves = moves_list(a, brief->problem, brief->target, brief->kernel, n_moves);
    *n_moves = keep_untried(brief, moves, *n_moves);
    return moves;
}

struct move *moves_far_untried(struct arena *a, const struct brief *brief, int room, int *n_moves) {
    // Of those that are best so many may be tried that few are left.
    struct move *moves = moves_far(a, brief->problem, brief->target, brief->kernel,
                                   2 * room + FAR_MORE, brief->rng, n_moves);
    *n_moves = keep_untried(brief, moves, *n_moves);
    return moves;
}

void moves_remove(struct move *moves, int *n_moves, int i) {
    memmove(moves + i, moves + i + 1, sizeof *moves * (size_t)(*n_moves - i - 1));
    --*n_moves;
}
