// All blocks that moves (moves.h) lead to from a first one, or so many of them.
//
// Where there are more than the limit, a sample grows from the first block: in turns the neighbour
// with the best prior and one that is drawn, those with many neighbours in the sample more often.
// So it is connected and as dense as a part can be, has what a search would go to, and other things
// too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/kernel.h"

struct arena;
struct problem;
struct target;

struct enumerated {
    struct kernel **kernels;  // the first block first
    const char **texts;       // canonical
    int n;
    bool is_complete;  // no move leads out of it
    int n_seen;        // blocks that were seen, those left out included
    double degree;     // how many of a block's neighbours are in it, on average
};

// requires: `first` complete and legal, limit > 0.
void enumerate_blocks(struct arena *a, const struct problem *p, const struct target *t,
                      const struct kernel *first, int limit, uint64_t seed, struct enumerated *out);
