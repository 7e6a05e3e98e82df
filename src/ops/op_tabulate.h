// The operation behind `hone tabulate`: time every block of a bounded space once and keep it as a
// table (record/table.h), on which policies are compared without the device.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct tabulate_outcome;

struct tabulate_request {
    const char *file;  // the problem
    const char *target, *dims;
    const char *out;    // the table; one that is there without its end is gone on with
    int64_t limit;      // blocks at most
    int64_t seed;       // of the sample
    double seconds;     // of timing for each at most; 0: the default
    double for_s;       // stop after so long; what is there is kept. 0: at the end
    bool only_count;    // enumerate and do no more
    bool no_calibrate;  // without reach where the ceilings are not measured
    // Called after every block, and before the first with `n_done` at what was there before.
    void (*progress)(void *ctx, const struct tabulate_outcome *o);
    void *ctx;
};

struct tabulate_outcome {
    const char *problem, *device;
    const char *space;     // which blocks, in words
    int n_blocks, n_done;  // n_done: rows that the table has
    int n_before;          // of them by earlier calls
    int n_ok;
    const char *best;  // the fastest block's text
    double best_s, first_s;
    double elapsed_s;  // from the first block on
    bool is_whole;     // the table has its end
};

bool op_tabulate(struct arena *a, const struct tabulate_request *q, struct tabulate_outcome *out,
                 struct error *err);
