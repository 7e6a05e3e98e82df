// The judge: for one problem, turns candidates into verdicts and measurements. It owns
// the secret seed, the expected outputs, the memory of the inputs and the clock.
//     judge_open -> (judge_candidate)* -> judge_close
//
// A *subject* is a candidate in its runner. The subject of a job ends with the job; the
// baseline's stays while the next job names the same baseline.
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/lease.h"
#include "base/rng.h"
#include "eval/device.h"
#include "eval/eval_job.h"
#include "eval/gpu_clocks.h"
#include "eval/probe.h"

struct judge_settings {
    int n_threads;                     // CPU: the runner's; both: those that compute the truth
    const char *cc, *machine, *cache;  // see compile.h
    const char *lease;                 // see lease.h; NULL: none
    int64_t llc_bytes;                 // CPU: 0 leaves data in the caches
    bool is_gpu;
    int ordinal;              // GPU: as the driver counts
    double limit_s, reach_s;  // NAN: not known
    uint64_t seed;
    bool skip_scans;  // tests only
};

struct subject {
    struct arena arena;
    struct candidate candidate;
    struct plan plan;
    bool is_open;          // it was begun
    bool is_loaded;        // it can be called
    bool is_verified;      // as a baseline: it works on the data that is timed
    const char *object;    // CPU: path
    struct runner runner;  // CPU
    struct gpu_subject *gpu;
    struct {
        bool is_known;
        uint64_t digest;  // of all outputs, as verified
    } sets[SET_COUNT];
    // What its own memory holds (CPU: scratch, GPU: outputs too); 0: something else.
    uint32_t own_poison[SLOTS_MAX];
    int n_calls;                  // checked so far
    int n_nudged;                 // calls in which it woke us too early
    int n_new, look_at;           // calls on new data; which of these must be looked at next
    int n_looked, n_rough;        // that were looked at; that are too rough
    int64_t n_spots;              // elements of such calls that were compared
    int n_varied;                 // calls that gave other bits than before, and were right
    struct error_stats worst;     // nearest to its limit so far
    double own_rms[OUTPUTS_MAX];  // on the declared set
    struct clock_counts clocks;   // GPU: while it was timed
};

struct judge {
    struct arena arena;
    const struct problem *problem;
    struct judge_settings settings;
    struct plan_context context;
    struct oracle oracle;
    const struct judge_device *device;
    struct memory_file files[FILE_SCRATCH];  // CPU: FILE_INPUTS and FILE_OUTPUTS
    struct page_maker page_maker;            // CPU: of these
    struct runner ended;                     // CPU: killed, not yet closed
    struct probe probe;                      // CPU: of the sandbox; has_probe: it is known
    bool has_probe;
    struct judge_gpu *gpu;
    struct error broken;         // kind set: the judge's own device failed; nothing can be judged
    struct error unfit;          // kind set: nor can it, because of the problem's own data
    struct layout layout;        // of inputs and outputs
    uint32_t poison[SLOTS_MAX];  // of the slot until it is called; 0: to be drawn
    uint32_t outputs_poison[SLOTS_MAX];  // CPU: what the outputs hold; 0: something else
    int slot_set[SLOTS_MAX];             // enum oracle_set in each slot's inputs, -1: none
    int64_t slot_used[SLOTS_MAX];        // when it was last timed, by a count; each another
    int64_t n_used;
    enum oracle_set screening_set;  // the hard set of a screening: as secret as the rest
    unsigned ranking_sets;          // adversarial sets of a ranking, a bit for each
    struct rng shown, hidden;       // what a candidate can see; what it must not foresee
    uint64_t digest_seed;
    struct subject *baseline;   // NULL: none
    struct judge_races *races;  // NULL: none yet
    struct lease lease;         // on the device, while it is timed
    int64_t lost_ns;   // GPU: when a runner was lost and none has been called since; 0: none
    double restart_s;  // from there to the first call of this job; 0: none was lost
    double phase_s[PHASE_COUNT];  // spent since the last answer
    double truth_s;               // the longest that expected outputs of one job took
    unsigned sets_wanted;         // by the job that is judged, a bit for each
};

// `problem` must outlive the judge.
bool judge_open(struct judge *j, const struct problem *p, const struct judge_settings *settings,
                struct error *err);
void judge_close(struct judge *j);

// What a kernel that computes nothing would do to pass on every set, or NULL: then the problem
// is worth nothing as a test.
const char *judge_find_null_kernel(struct judge *j);

// Is something expected of the declared data, once computed? If not, j->unfit says why.
bool judge_is_fit(struct judge *j);
// Try them on one set, by the host: draws its data for this.
void judge_try_null(struct judge *j, enum oracle_set set, struct null_kernels *t);

bool judge_candidate(struct judge *j, struct arena *a, const struct eval_job *job,
                     struct eval_result *result, struct error *err);

// The parts, in the order of their use.

// Read its plan and begin what can be done while something is compiled. Then compile and load.
// True and v->kind VERDICT_OK: so far so good, after the second it can be called. False: no verdict
// possible.
bool subject_begin(struct judge *j, struct arena *a, const struct candidate *c, struct subject *s,
                   struct verdict *v, struct error *err);
bool subject_load(struct judge *j, struct arena *a, struct subject *s, struct eval_result *result,
                  struct error *err);
void subject_close(struct judge *j, struct subject *s);

// Make outputs of a slot and the subject's scratch there unlike anything it could have written.
void subject_poison(struct judge *j, struct subject *s, int slot);
void subject_touch(struct judge *j, struct subject *s, int slot);  // it is about to be written to
// Call on a slot that is loaded or renewed, and poisoned, and check all about it. False: see `v`.
bool subject_check(struct judge *j, struct arena *a, struct subject *s, int slot,
                   struct call_result *call, struct verdict *v);

// How the call ended, as a verdict; true: it came to its end.
bool subject_explain(struct judge *j, struct arena *a, struct subject *s,
                     const struct call_result *call, struct verdict *v);

// Put it into a verdict on the subject that its baseline failed, and why.
void judge_blame_baseline(struct arena *a, const char *what, const struct verdict *why,
                          struct verdict *v);
// Longest time that a call may take.
int64_t judge_timeout_ns(const struct judge *j);

// A stretch of time that belongs to a phase, but for what is noted of others meanwhile.
struct stretch {
    int64_t start_ns;
    double noted_s;
};
struct stretch judge_begin(const struct judge *j);
void judge_end(struct judge *j, enum eval_phase phase, struct stretch s);

// verify_subject.c: all the sets that a depth asks for, repeats, other buffers.
// Choose by chance which sets screening and ranking take, for one job.
void verify_draw(struct judge *j);
unsigned verify_sets(const struct judge *j, enum eval_depth depth);
bool verify(struct judge *j, struct arena *a, struct subject *s, enum eval_depth depth,
            struct verdict *v);
