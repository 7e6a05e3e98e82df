// Results compared with what is expected of them (oracle.h): are they right, and if not, in words.
#pragma once

#include "oracle/oracle.h"

struct comparison {
    bool is_ok;
    struct error_stats stats;
    int64_t n_wrong;      // elements beyond the limit for one element
    int64_t n_unwritten;  // elements that still hold the poison
};

// Compare an output with what is expected, every element. One whose bits are `poison` was
// not written; of types that may hold these bits rightly, only where all that is wrong holds them.
bool oracle_compare(const struct oracle_output *e, const void *values, uint32_t poison,
                    struct comparison *c);

struct box;
struct str;

// The first elements that err by more than `above`, a line each: "\n  y[3, 17] is 0.5, expected
// 0.25". `rows`, `box`: values and what is expected are of these rows alone, or of this part; both
// NULL: of all.
struct oracle_listing {
    const struct oracle_output *expected;
    const void *values;
    int output;
    double above;
    const int64_t *rows;
    const struct box *box;
};
void oracle_list(struct str *out, const struct oracle *o, const struct oracle_listing *l);

// A comparison that failed in words: how many are wrong, the first ones, by how much.
const char *oracle_evidence(struct arena *a, const struct oracle *o, enum oracle_set set,
                            int output, const void *values, const struct comparison *c);
