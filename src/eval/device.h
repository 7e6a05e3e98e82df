// What a kind of device gives the judge: memory to fill and to look at, and calls. The judge's
// rules (judge.c, subject.c, verify_subject.c, timing.c) are the same on all of them;
// where buffers lie, how a candidate is compiled and run, and who compares is in one table each.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "eval/runner_handle.h"
#include "oracle/null_kernels.h"
#include "oracle/oracle_compare.h"
#include "oracle/spot_check.h"

struct eval_result;
struct judge;
struct measurement;
struct subject;

struct judge_device {
    // Called once the judge knows its problem: chooses j->layout and takes memory.
    bool (*open)(struct judge *j, struct error *err);
    void (*close)(struct judge *j);
    // Called when new inputs were drawn: nothing that was loaded holds any more.
    void (*forget)(struct judge *j);

    // Called with the subject's source and plan, before anything is compiled: begin what takes its
    // time elsewhere. May be NULL: there is nothing.
    bool (*begin)(struct judge *j, struct arena *a, struct subject *s, struct verdict *v,
                  struct error *err);
    // Called next: compile it and make it ready for calls. False when there is no verdict on it.
    bool (*start)(struct judge *j, struct arena *a, struct subject *s, struct eval_result *result,
                  struct error *err);
    void (*stop)(struct judge *j, struct subject *s);
    bool (*is_alive)(struct subject *s);

    // Of the sets that follow from others (SET_DRAWN and beyond) it can load those before this one.
    enum oracle_set end_derived;
    // Called before sets (a bit for each) are used: what is expected of them is computed.
    void (*compute_expected)(struct judge *j, unsigned sets);
    // Called with a set whose expected outputs are known: which kernels that compute nothing still
    // pass?
    void (*try_null)(struct judge *j, enum oracle_set set, struct null_kernels *t);

    // Called to put a set's data into a slot's inputs; j->slot_set is up to date afterwards.
    void (*load)(struct judge *j, int slot, enum oracle_set set);
    // Called before a call that is timed: data that exist for this call alone, by a seed that is
    // used once. j->slot_set is -1 afterwards, and caches are as cold as they shall be.
    void (*renew)(struct judge *j, int slot, uint64_t seed);
    // Called to fill outputs and scratch with j->poison[slot].
    void (*poison)(struct judge *j, struct subject *s, int slot);

    // Do the slot's outputs still hold the poison?
    bool (*is_untouched)(struct judge *j, struct subject *s, int slot);
    void (*call)(struct judge *j, struct subject *s, int slot, int64_t timeout_ns,
                 struct call_result *result);
    void (*explain)(struct arena *a, struct subject *s, enum runner_status status,
                    struct verdict *v);
    // Called after a call: the buffer around which something was written, or -1.
    int (*find_overrun)(struct judge *j, struct subject *s, int slot, uint32_t poison);
    // The input that the call has changed, or -1. May be NULL: inputs cannot be written to.
    int (*find_changed_input)(struct judge *j, struct subject *s, int slot);
    // Of all outputs.
    uint64_t (*digest)(struct judge *j, struct subject *s, int slot);
    bool (*compare)(struct judge *j, struct subject *s, int slot, int output, uint32_t poison,
                    struct comparison *c);
    // Called after a call on new data: how many elements of the outputs still
    // hold the poison? Then, is what was made of the data right, at places drawn by chance?
    int64_t (*count_unwritten)(struct judge *j, struct subject *s, int slot, uint32_t poison);
    void (*spot_check)(struct judge *j, struct arena *a, struct subject *s, int slot,
                       const struct spot_call *call, struct spot_result *r);
    // An output's values, for evidence; valid until the next call. What was expected is in the
    // oracle's own memory afterwards.
    const void *(*values)(struct judge *j, struct subject *s, int slot, int output);
    // Called when the results have been looked at: wait until its threads wait for the next call;
    // what they ran too long is in `call`. False: one does not come back from a block. May be
    // NULL: nothing can run.
    bool (*settle)(struct subject *s, struct call_result *call);
    // Called around calls of the other one: it cannot run meanwhile, whatever it left behind. May
    // be NULL: nothing of it can run unless it is called.
    void (*pause)(struct subject *s);
    void (*resume)(struct subject *s);

    // Called half way through timing: let subject and baseline change places, so that what a place
    // adds to the time cancels. May be NULL: they share everything. False: `v` says why not.
    bool (*swap)(struct judge *j, struct arena *a, struct subject *s, struct subject *baseline,
                 struct verdict *v);
    // Seconds by which equal kernels may differ for reasons that more pairs do not average out:
    // without the change of places, and after it.
    double place_s, place_swapped_s;
    bool has_low_quantiles;  // pairs are compared by low quantiles too (estimate.h)

    // Called after timing: does the clock deserve belief? May be NULL: it is the judge's own.
    void (*audit)(struct judge *j, struct arena *a, struct subject *s, struct verdict *v);
    // Called last: metrics of the subject, and how the time was taken.
    void (*describe)(struct judge *j, struct arena *a, struct subject *s,
                     struct eval_result *result);
    // Called after that, of a subject whose verdict is ok: measure the energy of its calls, and of
    // the baseline's in the same moments (NULL: of nobody else), in about so many seconds. May be
    // NULL: nobody can.
    void (*measure_energy)(struct judge *j, struct arena *a, struct subject *s,
                           struct subject *baseline, double seconds, struct measurement *m);
};

extern const struct judge_device judge_device_cpu, judge_device_gpu;
