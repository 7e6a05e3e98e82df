// Faults put into loop programs on purpose: one at a time, most of them in one turn of one loop.
#pragma once

#include <stdbool.h>

#include "base/rng.h"
#include "loop/loop.h"

// MUTATION(id, words, share in percent): at most a fifth shows in the first outputs.
#define MUTATIONS                          \
    MUTATION(TAIL, "tail element", 20)     \
    MUTATION(TILE, "one tile", 20)         \
    MUTATION(AXIS, "one axis", 15)         \
    MUTATION(STALE, "stale value", 15)     \
    MUTATION(PRECISION, "precision", 12)   \
    MUTATION(GUARD, "missing guard", 6)    \
    MUTATION(EPSILON, "wrong constant", 6) \
    MUTATION(SCRATCH, "uninitialised scratch", 6)

enum mutation {
#define MUTATION(id, words, share) MUTATION_##id,
    MUTATIONS
#undef MUTATION
        MUTATION_COUNT
};
extern const char *const mutation_text[MUTATION_COUNT];
extern const int mutation_shares[MUTATION_COUNT];

// Put one fault of that kind at a place of chance; false when the program has no such place.
// `what` gets a few words. requires: loops not yet unrolled.
bool mutate(struct loop_program *p, enum mutation m, struct rng *r, char *what, int room);
