// A bounded space of kernel blocks: where a target has one, no other block is legal there. A table
// of measured blocks (record/table.h) bounds a search in this way.
//
// The same few blocks are visited by thousands of runs, so what was computed for one is kept: its
// moves and its candidate. Not for several threads at once.
#pragma once

#include <stdbool.h>

struct arena;
struct candidate;
struct kernel;
struct move;
struct block_set;

// What is kept of a block of the space.
struct block_entry {
    const char *text;
    const struct candidate *candidate;  // NULL: not lowered yet
    const struct move *moves;           // NULL: not listed yet
    int n_moves;
    int number;             // for the maker of the set
    struct kernel *kernel;  // NULL: not read yet
    double prior;           // as in family/moves.h, once it is read
};

struct block_set *block_set_new(struct arena *a);
// A block by its canonical text (kernel_print), which must outlive the space.
// Returns what is kept of it from now on.
struct block_entry *block_set_add(struct block_set *s, const char *text);
bool block_set_has(const struct block_set *s, const char *text);

// NULL: it is not in the set.
struct block_entry *block_set_find(struct block_set *s, const char *text);

// The one that was added first, which is what a search of the space begins with unless it is told
// otherwise. NULL: it is empty.
const char *block_set_first(const struct block_set *s);

// The block whose words differ from those of `text` the least: a word counts 1, a number by how
// many times it doubles, at most 1. NULL: none has as many words.
const char *block_set_nearest(const struct block_set *s, const char *text);

// Every block once, in no order that means anything: from *at 0 on; NULL: that was the last.
struct block_entry *block_set_next(struct block_set *s, int *at);

// Where what is kept lives.
struct arena *block_set_arena(struct block_set *s);
