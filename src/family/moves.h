// Moves: the single edits of a kernel block that a search can try.
//
// Every move gives a legal block: one that breaks a rule is repaired to the nearest
// legal one, and the repair belongs to the move. Moves turn knobs, merge a stage into
// the next one, split a stage at a value, and go to another emitter, of the same family or of
// another one, where that takes the region. A value that a stage reads across (a transpose) can be
// laid out in the order of the reader by a stage before it.
#pragma once

#include <stdbool.h>

#include "family/emitter.h"
#include "lang/kernel.h"

struct arena;
struct problem;
struct target;

struct move {
    const char *words;      // "y: vec 8 -> 16", "merge t into y"
    enum change change;     // what kind of edit it is
    const char *stage;      // value of the stage it acts on
    const char *knob;       // NULL where none is turned
    int direction;          // +1 larger, -1 smaller, 0 another word
    const char *word;       // the new word where the knob takes words
    struct kernel *kernel;  // the complete legal result
    const char *text;       // its canonical text, where that is known; else NULL
    double prior;           // closed-form estimate of how good the result is, higher is better
};

// All moves from `k` (complete and legal), duplicates removed, in a stable order.
struct move *moves_list(struct arena *a, const struct problem *p, const struct target *t,
                        const struct kernel *k, int *n_moves);
