// The operation behind `hone tabulate --counters TABLE`: hardware counters of a table's blocks, on
// the card that the table was made on, as a file next to it (record/table_counters.h).
#pragma once

#include "ops/op_tabulate.h"

// Of the request: file (the table), target, for_s, progress.
bool op_count_table(struct arena *a, const struct tabulate_request *q, struct tabulate_outcome *out,
                    struct error *err);
