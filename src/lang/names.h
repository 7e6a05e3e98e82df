// What a name stands for inside a problem block; and which words may not be names.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/mistake.h"

struct arena;

enum symbol_kind {
    SYMBOL_DIM,
    SYMBOL_INPUT,
    SYMBOL_OUTPUT,
    SYMBOL_VALUE,   // an intermediate
    SYMBOL_NUMBER,  // inside a composite
    SYMBOL_STEP,    // what counts the steps, inside a loop
    SYMBOL_LOCAL,   // a value of a loop that is over
    SYMBOL_OPEN,    // its value is being read
    SYMBOL_BROKEN,  // its definition has a mistake: uses of it are silently given up
};

struct symbol {
    enum symbol_kind kind;
    const char *name;
    struct spot at;
    int index;      // of the dim, input or output
    node_id node;   // -1: an output that is not assigned yet
    double number;  // SYMBOL_NUMBER
    bool is_whole;
    bool is_used;
};

// A hash table, so that long files stay linear.
struct names {
    struct symbol **slots;
    int n_slots, n_symbols;
};

// Is the word true (1) or false (0), also as Python writes them? -1: neither, or no word.
int names_truth(const char *word);

struct symbol *names_find(const struct names *n, const char *name);
struct symbol *names_add(struct arena *a, struct names *n, const char *name);

// The known name nearest to `word` among those that can stand in an expression, or NULL.
const char *names_nearest(struct arena *a, const struct names *n, const char *word);

// Why `name` cannot name a value or a dim ("is a keyword of C"), or NULL when it can.
const char *names_why_not(const char *name);
// The same for a problem, which may be called as a function is.
const char *names_why_not_problem(const char *name);
// Every such word, in lists: list 0, 1, ... until NULL comes back. Each list ends with NULL.
const char *const *names_taken(int list);
