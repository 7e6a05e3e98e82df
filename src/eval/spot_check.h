// Are the results of a call right whose inputs existed for that call alone? Elements are drawn when
// the call is over, so nobody knows them before; the problem is cut down to these (ir/cut.h),
// computed, and compared. Where all of it is cheap, all of it is.
//
// Stale results are off by far more than rounding, so the limit of a single element is wider here
// than on the sets that verify a candidate: over thousands of calls honest rounding has its
// outliers. Its mean has none: where many calls are rougher in the mean than the
// declared set may be, the candidate knows timed data by something and is less precise on them.
#pragma once

#include "eval/oracle_compare.h"
#include "ir/cut.h"

struct arena;
struct rng;

enum { SPOT_SLACK = 8 };  // times the limit of the declared set

struct spot_source {
    // Called for a part of an input or an output of the call: its elements one after the other.
    void (*fetch)(void *ctx, bool is_output, int number, const struct box *b, void *out);
    void *ctx;
};

struct spot_result {
    int output;                    // that is wrong, or -1
    struct comparison comparison;  // of that one
    const char *elements;          // its first wrong elements, a line each
    int64_t n_checked;
    bool is_rough;  // an output's error is beyond what the declared set may have in the mean
    double squares, limit_rms;  // of one output: errors, and what they may be in the mean
};

// What is kept from look to look at one candidate's calls.
struct spot_memory {
    bool is_begun;
    int calls_left;  // until a call that is looked at whatever that takes
    int n_looked;    // calls of which elements were compared
    int n_rough;     // of these, less precise in the mean than the declared set may be
};

// Work (cut_work) that a look may take, for a call of so many seconds: about as long as the call.
double spot_budget(double call_s);

// Look at some elements of every output, at a few places, within the budget. Where a single element
// takes more than that (a norm of everything), it is looked at by chance, as often as the budget
// allows on average, and about once in 16 calls; once in the first four, whatever it takes.
struct spot_look {
    const struct oracle *oracle;
    struct spot_source source;
    double budget;
    struct rng *rng;
    struct spot_memory *memory;
};
void spot_check(struct arena *a, const struct spot_look *l, struct spot_result *r);

// Is an error in the mean beyond what the declared set may have? `limit_rms`: what the elements
// that were looked at grant by themselves.
bool spot_is_rough(const struct oracle *o, int output, double rms, double limit_rms);
