// What the tools share.
#pragma once

#include "record/candidate.h"
#include "record/finding.h"

#define ARRAY_LEN(array) ((int)(sizeof(array) / sizeof(array)[0]))

// Add those actions whose knob the candidate's kernel block has and does not already have set
// to the action's word. Actions without a knob are for source that somebody wrote, which has no
// knobs: a candidate without a block gets those, and no other does.
void tool_add_actions(struct finding *f, const struct candidate *c, const struct action *actions,
                      int n_actions);

// The least number that a knob has in the stages of the candidate's block; -1: it has none.
int tool_knob(const struct candidate *c, const char *knob);
