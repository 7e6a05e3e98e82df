// A third implementation of struct judging (judging.h has the others): a table of measured blocks
// (record/table.h) in place of a device. What it says of a block is the same every time.
#pragma once

#include <stdbool.h>

#include "search/optimize.h"

struct arena;
struct table;

struct judge_table {
    const struct table *table;
    const char *name;        // of its file, for what is said of a block that it lacks
    struct block_set *rows;  // blocks by canonical text; their number is that of the row
    double best_s;           // the fastest that is ok
    int n_ok;
};

// requires: the rows' blocks are canonical. The set may bound a target's space as well.
struct judging judging_of_table(struct arena *a, struct judge_table *j, const struct table *t,
                                const char *name);
