// A run and its nodes: what the store keeps and the search derives its tree from.
// JSON forms hone.run/1 and hone.node/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/candidate.h"
#include "record/finding.h"
#include "record/measurement.h"
#include "record/profile.h"
#include "record/screening.h"
#include "record/verdict.h"

struct arena;
struct error;

enum node_state {
    NODE_PROPOSED,  // in the store, not yet evaluated: a resumed run does it first
    NODE_SCREENED,  // it lost a race: timed roughly, never verified, and that was all
    NODE_EVALUATED,
};

enum { NODE_FINDINGS_MAX = 5 };

struct search_node {
    int number;  // from 0 within its run; 0 is the default lowering
    int parent;  // -1 for the root
    enum node_state state;
    const char *move;    // what was changed against the parent: "y: vec 8 -> 16"
    const char *change;  // the move in full, where a model's words were cut; NULL: they were not
    const char *reason;  // why: the finding or rule behind it
    const char *by;      // who proposed it: "expert", "team", "debug"; NULL: not recorded
    const char *tool;    // whose finding of the parent is behind it; NULL: none, or not recorded
    double expected;     // speed-up over the parent that was expected; NAN: not stated
    double gain;         // speed-up over the parent that came of it; NAN: not measured
    struct candidate candidate;
    struct screening screening;  // by the race that it was in; absent where it was in none
    struct verdict verdict;
    struct measurement measurement;  // against the root
    struct profile profile;
    struct finding findings[NODE_FINDINGS_MAX];
    int n_findings;
    double time_s;  // root's median / speed-up over the root, so that times of one run compare
                    // however the machine's load changed; NAN when not ok
};

enum run_state { RUN_ACTIVE, RUN_DONE, RUN_INTERRUPTED };

// The model behind the proposer `team`, and what it may cost.
struct run_llm {
    const char *spec;   // "anthropic:MODEL"; NULL: no model
    const char *price;  // in words
    double max_usd;     // 0: no limit
    int64_t max_calls, max_tokens;
    const char *feedback;  // what it is told of a profile: "findings", "raw", "none"
    int since;             // its failures count from this node on: it was named anew there
};

// What makes a champion of nodes that work. Energy: the least of those that are not significantly
// slower than the fastest. EDP: the least product of energy and time.
enum run_objective { OBJECTIVE_TIME, OBJECTIVE_ENERGY, OBJECTIVE_EDP, OBJECTIVE_COUNT };
extern const char *const run_objective_names[OBJECTIVE_COUNT + 1];  // the last is NULL

struct run {
    int64_t id;
    enum run_state state;
    const char *problem_name, *problem_text, *problem_hash;
    const char *target, *device;
    const char *policy, *proposer;
    uint64_t seed;
    int max_evals;
    int batch;             // so many candidates are proposed before they are judged; at least 1
    const char *feedback;  // what the proposer hears of a profile: "findings", "raw", "none"
    int race;  // so many are raced at once before the best are judged; 0: each is judged
    double max_seconds;
    enum run_objective objective;
    bool no_energy;                     // a GPU: the champion's energy is not measured
    double until;                       // stop at this fraction of reach
    const char *bound;                  // JSON of model/bound
    const char *started_at, *ended_at;  // ended_at NULL while active
    const char *stop_reason;            // NULL while active
    const char *null_kernel;  // the problem is degenerate and was not searched: see verdict.h
    const char *version;      // of hone
    int n_nodes;
    int champion;  // node, or -1
    int fastest;   // the node that was fastest when that was chosen; the champion by OBJECTIVE_TIME
    // Where the search begins, when somebody gave the source; else the default kernel.
    struct candidate start;
    // What speed-ups are stated against: `plain`; where there is none, the start. No source:
    // nothing that could be timed, and the speed-up is unknown.
    struct candidate baseline;
    // Filled by the confirmation on fresh data, champion against the baseline:
    struct verdict confirm_verdict;
    struct measurement confirm;  // present once confirmed
    // Why the speed-up over the baseline is not known: that could not be timed, or is wrong. The
    // champion was then confirmed and timed alone. NULL: it is known.
    const char *speedup_unknown;
    double elapsed_s;       // time spent so far, over all resumptions
    const char *prolonged;  // what took it beyond max_seconds, and how long; NULL: it was not
    struct run_llm llm;
    // What it took from memory (JSON of record/advice.h); NULL: memory was off.
    const char *memory;
};

// Why a node was proposed, with what was expected of it over its parent.
const char *search_node_reason(struct arena *a, const char *why, double speedup, double roi);

// Was a table of measured blocks searched ("table:FILE"), and nothing measured or verified anew?
bool run_is_on_table(const struct run *r);

// Was it only in a race whose time was over before its turn? Then nothing is known of it.
bool search_node_is_untimed(const struct search_node *n);

const char *node_state_name(enum node_state s);
const char *run_state_name(enum run_state s);
json_t *search_node_to_json(const struct search_node *n);
bool search_node_from_json(struct arena *a, const json_t *json, struct search_node *n,
                           struct error *err);
json_t *run_to_json(const struct run *r);
bool run_from_json(struct arena *a, const json_t *json, struct run *r, struct error *err);
