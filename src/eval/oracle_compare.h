// Results beside what is expected of them (oracle.h): are they right, and if not, in words.
#pragma once

#include "eval/oracle.h"

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

// The same on inputs that are no set but known only to the caller: one row of every output, or
// (row -1) all of them, of a problem that has at most `most` elements of input; else nothing is
// compared. The output that is wrong, or -1; its first wrong elements are added to `words`. Limits
// are at least those of the declared set.
struct oracle_row {
    const void *const *inputs, *const *outputs;  // all of them
    int64_t row;
    int64_t most;
};
struct str;
int oracle_compare_row(const struct oracle *o, const struct oracle_row *r, struct comparison *c,
                       struct str *words);

// For these limits few elements say little about their mean.
void oracle_widen(struct error_stats *s, const struct oracle *o, int output);

// The first elements that err by more than `above`, a line each: "\n  y[3, 17] is 0.5, expected
// 0.25". `rows`: values and what is expected are of these rows alone; NULL: of all.
struct oracle_listing {
    const struct oracle_output *expected;
    const void *values;
    int output;
    double above;
    const int64_t *rows;
};
void oracle_list(struct str *out, const struct oracle *o, const struct oracle_listing *l);

// A comparison that failed in words: how many are wrong, the first ones, by how much.
const char *oracle_evidence(struct arena *a, const struct oracle *o, enum oracle_set set,
                            int output, const void *values, const struct comparison *c);
