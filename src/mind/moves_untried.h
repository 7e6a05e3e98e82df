// What both built-in minds start from: the moves from a node's block whose result is not in
// the tree.
#pragma once

#include "mind/proposer.h"

// In the order of moves_list.
struct move *moves_untried(struct arena *a, const struct brief *brief, int *n_moves);

// The best of the whole grid (family/moves_far.h), those with chance on their side first.
struct move *moves_far_untried(struct arena *a, const struct brief *brief, int room, int *n_moves);

// Take one out of such a list; the others keep their order.
void moves_remove(struct move *moves, int *n_moves, int i);
