// The judge's secret: input sets drawn from a seed that no candidate sees, and what an
// honest computation gives for them.
//
// An error is counted in units of the spread, the standard deviation that honest rounding
// has at that element (ir/interpret.h). A candidate may err up to four times as much as
// the honest computation in the declared precision does on the same data, in the mean
// square and at the worst element; where that one is exact everywhere (integers), so must
// the candidate be. Sets are computed when first asked for, and kept.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/problem.h"
#include "record/verdict.h"

struct arena;

enum oracle_set {
    SET_DECLARED,
    SET_PATCHED,  // as declared, a few elements changed: shows results kept from earlier
    SET_INTEGERS,
    SET_WIDE,
    SET_SHIFTED,
    SET_EQUAL,  // adversarial ones from here on (ir/inputs.h)
    SET_HUGE,
    SET_TINY,
    SET_ALTERNATING,
    SET_SPIKE,
    SET_SCALED,    // as declared, times powers of two (derived.h)
    SET_PERMUTED,  // as declared, rows in another order
    SET_SUMMED,    // integers, other rows of theirs added
    SET_COUNT,
    SET_DRAWN = SET_SCALED  // those that are drawn; the rest follow from others
};

enum { PATCHES = 8 };  // elements changed per input, at most

// One element changed, and how to change it back.
struct patch {
    int64_t index;
    float before, after;
};

// What is expected of one output on one set.
struct oracle_output {
    int64_t count;
    float *high, *low;  // truth = high + low, nearly float64; compact, because these are large
    float *spread;
    struct error_stats stats;  // of the honest computation, and the limits that follow
};

struct oracle {
    const struct problem *problem;
    uint64_t seed;
    int n_threads;  // to draw inputs with; 1 unless the owner sets it
    struct {
        bool is_known;
        float *inputs[INPUTS_MAX];  // kept while they are not too large; NULL: drawn anew
        struct oracle_output outputs[OUTPUTS_MAX];
    } sets[SET_COUNT];
};

void oracle_init(struct oracle *o, const struct problem *p, uint64_t seed);
void oracle_reset(struct oracle *o);
const char *oracle_set_name(enum oracle_set set);

// Write input number `input` of a set, all its elements.
void oracle_fill(const struct oracle *o, enum oracle_set set, int input, float *out);

// A few changes to an input's declared data, chosen by `salt`; how many. SET_PATCHED has
// those of salt 0.
int oracle_patches(const struct oracle *o, uint64_t salt, int input, struct patch patches[PATCHES]);

// What input number `input` of a set is drawn from; the patches are not in it.
struct hone_source;
struct hone_source oracle_source(const struct oracle *o, enum oracle_set set, int input);

// Are infinite truths of this set nobody's fault? Data far beyond the declared ones overflow by
// one way of computing and not by another.
bool oracle_forgives(enum oracle_set set);

// The limits that follow from the honest errors of `count` elements; of sets that forgive, as for
// one: there many elements may be the same, and err alike.
void oracle_set_limits(struct error_stats *s, int64_t count);

// For that: independent errors among `count` elements of an output. Elements that share a sum
// share its error.
int64_t oracle_independent(const struct problem *p, int output, int64_t count);

// Compute the expected outputs of those sets (a bit for each) that are not known yet, on up
// to `n_threads` threads.
void oracle_learn(struct oracle *o, unsigned sets, int n_threads);

struct comparison {
    bool is_ok;
    struct error_stats stats;
    int64_t n_wrong;      // elements beyond the limit for one element
    int64_t n_unwritten;  // elements that still hold the poison
};

// Compare an output with what is expected, every element. One whose bits are `poison` was
// not written.
bool oracle_compare(const struct oracle_output *e, const float *values, uint32_t poison,
                    struct comparison *c);

// The same on inputs that are no set but known only to the caller: one row of every output, or
// (row -1) all of them, of a problem that has at most `most` elements of input; else nothing is
// compared. The output that is
// wrong, or -1; its first wrong elements are added to `words`. Limits are at least those of the
// declared set.
struct oracle_row {
    const float *const *inputs, *const *outputs;  // all of them
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
    const float *values;
    int output;
    double above;
    const int64_t *rows;
};
void oracle_list(struct str *out, const struct oracle *o, const struct oracle_listing *l);

// A comparison that failed in words: how many are wrong, the first ones, by how much.
const char *oracle_evidence(struct arena *a, const struct oracle *o, enum oracle_set set,
                            int output, const float *values, const struct comparison *c);
