// What the tools share.
#pragma once

#include "tools/tool.h"

#define ARRAY_LEN(array) ((int)(sizeof(array) / sizeof(array)[0]))

// Rows of a table of actions: turn a knob (+1, -1; 0: any other value), set it to a word, go to
// another emitter, merge two stages, or words alone, for source by a person or a model.
#define TURN(knob_, direction_, words_) \
    { .words = words_, .knob = knob_, .direction = direction_ }
#define WORD(knob_, word_, words_) \
    { .words = words_, .knob = knob_, .word = word_ }
#define EMITTER(name_, words_) \
    { .words = words_, .knob = "emitter", .word = name_ }
#define MERGE(words_) \
    { .words = words_, .knob = "merge" }
#define WORDS(words_) \
    { .words = words_ }

// Nearer to reach than this there is nothing to gain.
#define NEAR_REACH 0.95

static inline double subject_get(const struct tool_subject *s, enum metric_id id) {
    return metrics_get(s->metrics, id);
}

// Is the call as fast as this machine can be expected to be?
bool subject_is_near(const struct tool_subject *s);

// Is some arithmetic unit busy nearly all the time? Then nobody gains by waiting less.
bool subject_is_full(const struct tool_subject *s);

// Did other work take the processors while it was timed? Then its time says little.
bool subject_is_disturbed(const struct tool_subject *s);

// Cycles of a warp between two instructions, over all reasons to wait; NAN: nobody counted them.
double subject_stalls(const struct tool_subject *s);

// Of the cycles in which a warp could not issue, the share of one reason; NAN: nobody counted them.
double subject_waiting(const struct tool_subject *s, enum metric_id id);

// Is memory what warps wait for most? True also where nobody counted.
bool subject_awaits_memory(const struct tool_subject *s);

// Bytes that were read from memory because sectors were written in part: what no load has asked
// for. NAN: none to speak of, or not known.
double subject_fills(const struct tool_subject *s);

// Do the innermost loops of a CPU's kernel run across rows? False also where nobody has looked.
bool subject_is_strided(const struct tool_subject *s);

// Does it use matrix instructions of single warps only, on a card where four warps together do
// more?
bool subject_is_on_slow_path(const struct tool_subject *s);

// The share of memory's peak from which on it is as busy as it gets: a little below what a plain
// copy reaches on this card, by its measured ceilings.
double subject_memory_full(const struct tool_subject *s);

// Is there no arithmetic in the machine code of this kernel? False also where nobody has read it.
bool metrics_only_moves(const struct metrics *m);

// Of the turns of a row's loop, those for elements that no vector takes, by the block's vectors; 0:
// none, or there is no block. `row` and `lanes` are those of the stage with most of them.
double subject_remainder(const struct tool_subject *s, int64_t *row, int *lanes);

// A gain of waiting less: no more than the part of the memory side that is busiest leaves.
double subject_cap_gain(const struct tool_subject *s, double gain);

// What it is worth on a CPU that arithmetic takes 1/times of the instructions: only its own share
// of the time shrinks, by the measured ceiling. Without one: all of it.
double subject_arithmetic_gain(const struct tool_subject *s, double times);

// The same of vectors that are `times` as wide, where loads, stores and indices become fewer with
// the arithmetic: somewhere between its share and all of the time, so the geometric mean.
double subject_width_gain(const struct tool_subject *s, double times);

// A gain, capped by what the bound leaves, or on a CPU by what one cause of it does; NAN stays.
double subject_gain(const struct tool_subject *s, const struct tool *t, double gain);

// Add those actions that the subject's block has a knob for and is not already set to. Actions
// without a knob are for source by a person or a model, which has no knobs: a candidate without a
// block gets those, and no other does. An action that turns a knob the other way than one before
// is left out.
void tool_add_actions(struct finding *f, const struct tool_subject *s, const struct action *actions,
                      int n_actions);

// A number that the finding rests on, and the line that it is on the wrong side of (NAN: none).
void tool_add_number(struct finding *f, enum metric_id id, double value, double limit);

// The least number that the first part of a knob has in the stages of the block; -1: none has it.
int tool_knob(const struct kernel *k, const char *knob);
