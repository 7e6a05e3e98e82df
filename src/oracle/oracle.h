// The judge's secret: input sets drawn from a seed that no candidate sees, and what an
// honest computation gives for them.
//
// An error is counted in units of the spread, the standard deviation that honest rounding has at
// that element (ir/interpret.h) in whatever order sums are made, one chain among them. A candidate
// may err by four units in the root mean square and 16 at the worst element, or four times as much
// as the honest computation in the declared precision does on the same data. Lower precision than
// that hides in the rounding of long sums; what shows it are sets on which no order rounds anything
// (integers, digits), where the spread is 0 and only the exact value will do. Sets are computed
// when first asked for, and kept.
//
// Outputs of other types than f32 are compared as oracle/oracle_typed.c says: what rounds once to
// the storage type, whole numbers and truth values exactly, but where they depend on rounded
// values.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/inputs.h"
#include "ir/interpret.h"
#include "ir/problem.h"
#include "record/verdict.h"

struct arena;

enum oracle_set {
    SET_DECLARED,
    SET_PATCHED,  // as declared, a few elements changed: shows results kept from earlier
    // Others changed: a sample of the data that meets both is large. Only inputs of which an
    // element touches one row, so that few rows are to be computed.
    SET_PATCHED_AGAIN,
    SET_INTEGERS,
    SET_DIGITS,
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

// Elements changed per input, at most: who keeps results by a sample of the data is found where
// none of them is in it, so few are better than many.
enum { PATCHES = 4 };

// One element changed, and how to change it back.
struct patch {
    int64_t index;
    double before, after;  // values of the input's type
};

// What is expected of one output on one set.
struct oracle_output {
    enum dtype type;
    int64_t count;
    // f32: truth = high + low, nearly float64; compact, because these are large.
    float *high, *low;
    float *spread;
    // Any other type, instead: the truth as float64, and the unit in which its error is counted
    // (oracle_typed.h says which).
    double *truth, *unit;
    struct oracle_choice *choice;  // places that rounding decides (oracle_choice.h), or NULL
    int n_threads;                 // to compare with, of other types than f32
    struct error_stats stats;      // of the honest computation, and the limits that follow
};

struct oracle {
    const struct problem *problem;
    uint64_t seed;
    int n_threads;  // to draw inputs with; 1 unless the owner sets it
    struct {
        bool is_known;
        void *inputs[INPUTS_MAX];  // kept while they are not too large; NULL: drawn anew
        struct oracle_output outputs[OUTPUTS_MAX];
        // Why nothing can be expected of these inputs ("y: index 7 ... is outside [0, 5)"): the set
        // is not used, and where it is the declared one, the problem is at fault. Empty: nothing.
        char fault[FAULT_MAX];
    } sets[SET_COUNT];
};

void oracle_init(struct oracle *o, const struct problem *p, uint64_t seed);
void oracle_reset(struct oracle *o);
const char *oracle_set_name(enum oracle_set set);

// Sets that were computed and have a fault, a bit for each.
unsigned oracle_faulty(const struct oracle *o);

// Write input number `input` of a set, all its elements, as its type stores them.
void oracle_fill(const struct oracle *o, enum oracle_set set, int input, void *out);

// The changes that a set makes to an input's declared data; how many: 0 unless it is a patched one.
int oracle_patches(const struct oracle *o, enum oracle_set set, int input,
                   struct patch patches[PATCHES]);

// How it is made.
struct inputs_job oracle_job(const struct oracle *o, enum oracle_set set, int input);

// What input number `input` of a set is drawn from; the patches are not in it.
struct hone_source;
struct hone_source oracle_source(const struct oracle *o, enum oracle_set set, int input);

// Are infinite truths of this set nobody's fault? Data far beyond the declared ones overflow by
// one way of computing and not by another.
bool oracle_allows_overflow(enum oracle_set set);

// The limits that follow from the honest errors of `count` elements of an output: by how many of
// them err independently; of sets that allow overflow, as for one: there many elements may be the
// same, and err alike.
//
// Wider ones for problems with sums. Roundings of a chain of n additions err like chance, by
// sqrt(n) u / 3, only while terms are spread over many steps of the sum: equal terms are rounded
// equally, and small ones are always lost. Measured, in spreads: 0.74 sqrt(n) for equal terms, 0.4
// for few values or spikes, 0.06 for squares, exponentials and other skewed terms of ordinary data.
// And a variance by differences to the first element errs by 1 + z^2 where that one is z deviations
// from the mean, 17 at z = 4: so there is more for problems with means.
void oracle_limit(struct error_stats *s, const struct problem *p, enum oracle_set set, int output,
                  int64_t count);

// Independent errors among `count` elements of an output. Elements that share a sum share its
// error.
int64_t oracle_independent(const struct problem *p, int output, int64_t count);

// Compute the expected outputs of those sets (a bit for each) that are not known yet, on up
// to `n_threads` threads.
void oracle_compute(struct oracle *o, unsigned sets, int n_threads);

// Free what is expected of one output.
void oracle_output_reset(struct oracle_output *e);

// The truth of one element.
double oracle_truth(const struct oracle_output *e, int64_t i);
