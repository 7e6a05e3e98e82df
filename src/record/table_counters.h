// What was counted of a table's blocks: their launches with hardware counters, facts of the driver
// and of the machine code, as a text file next to the table (softmax.table, softmax.counters).
// Where it is there, a search on the table has profiles, and tools speak as they do on the card.
//
//     hone.counters/1 HASH            of the blocks, in their order
//     metrics time_s blocks ...       the columns
//     7 y_rows 1.2e-05 132 - ...      row 7: a launch, absent ones as -
//     7 y_sum ...                     its next launch
//     end 7                           all of row 7 are there
//
// Rows are appended when they are known; what is cut off before its end is left out.
#pragma once

#include <stdbool.h>

#include "record/profile.h"
#include "record/table.h"

struct arena;
struct error;
struct str;

// "DIR/softmax.counters" for "DIR/softmax.table".
const char *table_counters_path(struct arena *a, const char *table);

// Fill in `profile` of the rows that it has; `n` of them. False with ERROR_USAGE: it is of another
// table, or damaged. Metrics that this hone does not know are left out. `whole_bytes`: up to the
// end of the last row.
bool table_counters_read(struct arena *a, const char *path, struct table *t, int *n,
                         size_t *whole_bytes, struct error *err);

void table_counters_print_head(struct str *out, const struct table *t);
void table_counters_print_row(struct str *out, int row, const struct profile *p);
