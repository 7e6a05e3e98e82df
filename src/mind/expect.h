// What a move that a finding asks for should bring: the finding says what its cause is worth at
// most, the emitters' closed form (family/moves_far.h) what the move itself does to traffic, waves
// and matrix units. A cause may be worth 1.8x and this move no more than 1.05x of it.
#pragma once

#include <stdbool.h>

#include "family/moves.h"
#include "record/finding.h"

// From where a move goes.
struct expect_from {
    double prior;    // of the block there (moves_prior)
    double time_s;   // measured; NAN: not known
    double reach_s;  // that nothing beats (bound.h); NAN: not known
};

// Speed-up over the block there; NAN: unknown. `f` may be NULL: then the closed form alone.
double expect_gain(const struct expect_from *from, const struct finding *f, const struct move *m);

// Is this finding for the expert's ears? `raw` leaves what the bound and the time alone say,
// without the tools that name a cause; `none` leaves the prior. NULL is "findings": all.
bool expect_uses_finding(const char *feedback, const struct finding *f);
