// `table:FILE` as a target: the table's device with its space bounded by the table's blocks, and
// who judges them.
#pragma once

#include <stdbool.h>

#include "model/bound.h"
#include "model/target.h"
#include "record/table.h"
#include "search/judging_table.h"

struct arena;
struct error;

struct op_table {
    const char *path;
    const char *name;  // "table:FILE"
    struct table table;
    struct problem *problem;  // the table's own
    struct target target;     // the device, its space bounded
    struct bound bound;
    struct candidate first;  // where a search begins
    struct judge_table judge;
    struct judging judging;
    signed char *leads;    // by row, for the suite: do moves lead to the best? 0: not known, -1: no
    int n_counted;         // rows with a profile
    size_t counted_bytes;  // of their file, up to the end of the last one
    int n_unknown;         // rows whose block this hone does not know any more
};

// Is it the name of a table? NULL: it is not; else its path.
const char *op_table_path(const char *target);

// Read it. One that has not its end, is of another version, or whose first block this hone does not
// know any more is ERROR_USAGE.
bool op_table_open(struct arena *a, const char *path, struct op_table *t, struct error *err);

// Is it a table of this problem, sizes included?
bool op_table_check_problem(const struct op_table *t, const struct problem *p, struct error *err);
