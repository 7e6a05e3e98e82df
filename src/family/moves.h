// Moves: the single edits of a kernel block that a search can try.
//
// Every move gives a legal block: one that breaks a rule is repaired to the nearest
// legal one, and the repair belongs to the move. Moves turn knobs, merge a stage into
// the next one, split a stage at a value, and go to another emitter, of the same family or of
// another one, where that takes the region.
#pragma once

#include <stdbool.h>

#include "lang/kernel.h"

struct arena;
struct problem;
struct target;

struct move {
    const char *words;      // "y: vec 8 -> 16", "merge t into y"
    const char *stage;      // value of the stage it acts on
    const char *knob;       // NULL for merges and splits
    int direction;          // +1 larger, -1 smaller, 0 another word
    const char *word;       // the new word where the knob takes words
    struct kernel *kernel;  // the complete legal result
    const char *text;       // its canonical text, where that is known; else NULL
    double prior;           // closed-form estimate of how good the result is, higher is better
};

// All moves from `k` (complete and legal), duplicates removed, in a stable order.
struct move *moves_list(struct arena *a, const struct problem *p, const struct target *t,
                        const struct kernel *k, int *n_moves);
