// The moves of a block less those whose result some node of the tree already has.
#include "mind/moves_untried.h"

#include <string.h>

#include "base/arena.h"

static bool is_tried(const struct brief *brief, const char *kernel) {
    for (int i = 0; i < brief->n_tried; i++)
        if (strcmp(brief->tried[i], kernel) == 0)
            return true;
    return false;
}

struct move *moves_untried(struct arena *a, const struct brief *brief, int *n_moves) {
    int n_all, n = 0;
    struct move *moves = moves_list(a, brief->problem, brief->target, brief->kernel, &n_all);
    for (int i = 0; i < n_all; i++) {
        struct arena scratch = {0};
        if (!is_tried(brief, kernel_print(&scratch, moves[i].kernel)))
            moves[n++] = moves[i];
        arena_reset(&scratch);
    }
    *n_moves = n;
    return moves;
}

void moves_remove(struct move *moves, int *n_moves, int i) {
    memmove(moves + i, moves + i + 1, sizeof *moves * (size_t)(*n_moves - i - 1));
    --*n_moves;
}
