// What happens to the actions of findings once all tools have spoken.
#pragma once

#include "tools/tool.h"

struct arena;

// Keep the actions that one of the block's legal moves stands for, and say which; and those that
// are words alone.
void actions_keep_legal(struct arena *a, struct finding *f, const struct move *moves, int n_moves);

// Findings in the order of their rank: no action turns a knob the other way than one of a finding
// before it. What names a cause goes before what only says how far from reach a call is.
void actions_drop_contradictions(struct finding *found, int n_found);
