// A verdict: what became of a candidate. Data, never an error. hone.verdict/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum verdict_kind {
    VERDICT_OK,
    VERDICT_ILLEGAL,  // refused before any compile: kernel block or plan breaks a rule
    VERDICT_NO_COMPILE,
    VERDICT_CRASH,
    VERDICT_TIMEOUT,
    VERDICT_LIMITS,  // a resource limit was hit
    VERDICT_WRONG,
    VERDICT_UNSTABLE,  // repeats on equal inputs differ
    VERDICT_CHEAT,     // a rule of docs/integrity.md was broken; `rule` names it
    VERDICT_SUSPECT,   // passed, but an alarm stands; never champion
    VERDICT_INFRA,     // our fault or the machine's; not charged
    VERDICT_COUNT
};

// How large the error was, in units of the spread (see ir/interpret.h).
struct error_stats {
    double rms, max;                // of the candidate; NAN before verification
    double honest_rms, honest_max;  // of the honest computation on the same data
    double limit_rms, limit_max;    // what was allowed
};

struct verdict {
    enum verdict_kind kind;
    const char *rule;      // "stale-output", "input-mutated", "faster-than-light"; NULL: none
    const char *evidence;  // a sentence or a few lines a person understands; never NULL
    struct error_stats error;
    int n_sets;   // input sets on which it was verified
    int n_calls;  // calls whose outputs were checked
    bool timed_calls_checked;
    int sandbox_level;  // 0 limits only, 1 seccomp, 2 no file system
    // What a probe of the same sandbox was refused and what not, each ending with NULL; NULL:
    // nobody has tried.
    const char *const *refused, *const *allowed;
    // The problem is degenerate, so that a verdict on it says nothing: what a kernel that computes
    // nothing does to pass ("writing zeros"). NULL: none passes, or nobody has tried.
    const char *null_kernel;
    // Where it was judged, when that is another device than the run's: "cuda:1". NULL: there.
    const char *device;
};

const char *verdict_kind_name(enum verdict_kind k);  // "ok", "no-compile", ...
bool verdict_kind_parse(const char *name, enum verdict_kind *k);

// Charged to the candidate and final? (ok and suspect are not failures, infra is not charged)
bool verdict_is_failure(enum verdict_kind k);

// Was it called at least once, so that its inputs and what is expected of them are known?
bool verdict_is_of_calls(const struct verdict *v);

json_t *verdict_to_json(const struct verdict *v);
bool verdict_from_json(struct arena *a, const json_t *json, struct verdict *v, struct error *err);
