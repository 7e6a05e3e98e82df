// Repair to the nearest legal stage: a move or a crossing that breaks a rule between knobs turns
// others as little as possible until the emitter takes it, and the repair belongs to the move.
#pragma once

#include "family/emitter.h"

// The knob `fixed` keeps its value; NULL: none does. False: nothing legal is within two turns, and
// the stage is as it was. requires: a complete stage of the emitter.
bool stage_repair(const struct emitter *e, const struct form *f, const struct target *t,
                  const struct knob *fixed, struct kernel_stage *s);

// "y: rows 64 -> 16, keep reread -> local", or "y: as mma, tile 64x64x32" by another emitter: what
// a stage became.
const char *stage_change_text(struct arena *a, const struct target *t,
                              const struct kernel_stage *old, const struct kernel_stage *now);
