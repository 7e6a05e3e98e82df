// A table: the kernel blocks of a bounded space with what was measured of each, as a text file that
// a search runs on in place of a device. docs/tables.md has the format, hone.table/1.
//
//     hone.table/1
//     {"hone": "0.9", "problem": "problem softmax ...", "target": {...}, ...}
//     shape kernel for softmax on cpu|stage y : rowwise vec ? rows ? store stream
//     0 16 4 = 12.345 0.991 1.012
//     0 16 8 = wrong
//     end 2
//
// Lines are appended while it is made, so a file that lacks its end can be gone on with. Blocks are
// written by their shape, the text with `?` for every number, and the numbers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/verdict.h"

struct arena;
struct error;
struct profile;
struct str;

struct table_row {
    const char *block;  // its text, a space between words; canonical once somebody has parsed it
    enum verdict_kind verdict;
    double time_s;                  // where it is ok
    double low, high;               // the interval of the time, as factors: 0.99, 1.01
    const struct profile *profile;  // counted (table_counters.h); NULL: not
};

struct table {
    // The head.
    const char *version;       // of the hone that made it
    const char *problem_text;  // canonical
    const char *facts;         // JSON of the target, ceilings included
    const char *space;         // which blocks these are, in words
    const char *method;        // how they were timed, in words
    const char *made_at;
    uint64_t seed;   // of the sample
    int limit;       // of the sample
    double seconds;  // of timing, for each at most
    // The lines. The first row is the block that a search begins with and that the others were
    // timed against.
    struct table_row *rows;
    int n_rows;
    struct table_row plain;  // the baseline; no block. time_s is NAN: not timed
    bool has_end;
    uint64_t hash;  // of the rows' blocks as the file has them
    // For appending: shapes in their order, and how much of the file is whole lines.
    const char **shapes;
    int n_shapes;
    size_t whole_bytes;
};

// False with ERROR_USAGE and the line: no table, of another version, or damaged. A last line
// without its end is left out.
bool table_read(struct arena *a, const char *path, struct table *t, struct error *err);

// Append to `out` what a file begins with, a row (with its shape, where that is new; t->shapes
// follows), and the end.
void table_print_head(struct str *out, const struct table *t);
void table_print_row(struct arena *a, struct str *out, struct table *t,
                     const struct table_row *row);
void table_print_plain(struct str *out, const struct table_row *row);
void table_print_end(struct str *out, int n_rows);
