// The data sheet of a device: the peaks that its vendor states, by which people compare.
//
// A card of the table has its published figures, whether it is named or here; another GPU those of
// its architecture at its top clock. A CPU's follow from threads, clock and vector width, where the
// machine reports its clock: absent is not zero.
#pragma once

#include "model/target.h"

struct sheet {
    double bytes_per_s;
    double per_s[PIPE_COUNT];  // products by pipe, dense; 0: it does not say
    double vector_f64_per_s;   // f64 outside products: half of what f64 matrix units do
};

// False: unknown, and sheet_absent() says why.
bool sheet_of(const struct target *t, struct sheet *s);
const char *sheet_absent(void);
// Where its figures are from, in a few words.
const char *sheet_source(const struct target *t);

// The row of a card by its name or the driver's name for it; false: not in the table.
bool sheet_of_card(const struct target *t, struct sheet *s, const char **source);
