// The prior over the whole grid: of all legal settings of a stage, by every emitter that takes it,
// those that should be fastest by the emitters' closed-form estimates. Where moves (moves.h) go one
// step, these go anywhere.
#pragma once

#include "family/moves.h"

struct rng;

// At most `room` blocks that differ from `k` (complete and legal) in the knobs or the emitter of
// one stage, the best first. The estimates err, by a sixth or so; so with `rng` each block's is
// moved by chance in that measure, and a block that is estimated to be twice as slow is hardly
// ever among the first. NULL: none is moved, and of equals the first on the grid comes first.
//
// A grid with more than MOVES_FAR_MOST settings is drawn from. Of a bounded space
// (family/block_set.h) it is all blocks that are in it, the best first and none moved, however much
// room there is.
struct move *moves_far(struct arena *a, const struct problem *p, const struct target *t,
                       const struct kernel *k, int room, struct rng *rng, int *n_moves);

// Has moves of a bounded space in the order that chance gives those of a grid: each estimate is
// moved in the measure in which estimates err.
void moves_far_draw(struct move *moves, int n, struct rng *rng);

enum { MOVES_FAR_MOST = 6000 };

// The prior of a block that is complete and legal, as moves have it.
double moves_prior(const struct problem *p, const struct target *t, const struct kernel *k);
