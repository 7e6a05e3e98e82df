// Are the results of a call right whose inputs existed for that call alone? Elements are drawn when
// the call is over, so nobody knows them before; the problem is cut down to these (ir/cut.h),
// computed, and compared. Where all of it is cheap, all of it is.
//
// Stale results are off by far more than rounding, so the limit of a single element is wider here
// than on the sets that verify a candidate: over thousands of calls honest rounding has its
// outliers. Where a look takes long there are few looks, no outliers, and no wider limit. The mean
// has no outliers either: where many calls are rougher in the mean than the declared set may be,
// the candidate knows timed data by something and is less precise on them.
#pragma once

#include "ir/cut.h"
#include "oracle/oracle_compare.h"

struct arena;
struct rng;

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
    bool is_rough;              // an output errs more in the mean than declared data say it should
    double squares, limit_rms;  // of one output: errors, and what they may be in the mean
};

// A call that is looked at.
struct spot_call {
    double call_s;
    bool must_look;         // even where a single element takes long
    const double *own_rms;  // of each output: the candidate's error on the declared set
};

// Is an error in the mean beyond what the declared set may have, or far beyond what the candidate
// itself had there? `limit_rms`: what the elements
// that were looked at grant by themselves.
struct spot_mean {
    int output;
    double rms, limit_rms, own_rms;
};
bool spot_is_rough(const struct oracle *o, const struct spot_mean *m);

// The limits of one look, from those that the elements looked at grant by themselves. `is_dear`: it
// takes longer than the call.
void spot_limits(struct error_stats *s, const struct oracle *o, int output, bool is_dear);

// Does a single element of some output take longer than the call? Then most calls are not looked
// at, and a candidate that computes everything faster than the interpreter one element may do so.
enum spot_cost { SPOT_CHEAP, SPOT_SKIPPED, SPOT_DEAR };
enum spot_cost spot_cost(const struct oracle *o, const struct spot_call *call, struct rng *rng);

// Look at some elements of every output, at a few places, as many as take about as long as the
// call. Where a single element takes longer than that (a norm of everything), it is looked at by
// chance, so often that looks take four times as long as calls, on average.
void spot_check(struct arena *a, const struct oracle *o, const struct spot_source *s,
                const struct spot_call *call, struct rng *rng, struct spot_result *r);
