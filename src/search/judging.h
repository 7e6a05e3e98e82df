// Two implementations of struct judging: a recorder, which stores what another answers, and a
// replayer, which gives recorded answers, so that a run can be repeated exactly on any machine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "search/optimize.h"

struct arena;
struct bound;
struct candidate;
struct error;
struct judgement;
struct search_node;
struct store;

struct judge_recorder {
    struct judging inner;
    struct store *store;
    int64_t run;
    // What was said in a finale that was not come to its end, filled in by judging_load_finale:
    // asked for again it is given from here, and not recorded twice.
    const struct judgement *recalled;
    bool *is_used;  // same numbers
    int n_recalled;
};

// A judge that stores each judgement before it is acted upon.
struct judging judging_record(struct judge_recorder *r);

// The same for a bound: the first, and whenever reach was measured again.
bool judging_record_bound(struct store *store, int64_t run, const char *bound, const char *facts,
                          struct error *err);

// That the run came to an end with so many nodes. A run that is resumed after its end went through
// its finale before, which restates times: a replay must do so at the same place.
bool judging_record_end(struct store *store, int64_t run, int n_nodes, const char *reason,
                        struct error *err);

// Before a run is resumed: what was said of a candidate whose node was not stored as evaluated
// will be said anew.
bool judging_forget_pending(struct store *store, int64_t run, const struct search_node *nodes,
                            int n_nodes, struct error *err);

// Before a run is resumed: it may have been killed in its finale, whose games (against others than
// the root) and confirmation are then the newest judgements.
bool judging_load_finale(struct arena *a, struct judge_recorder *r, const struct candidate *root,
                         struct error *err);

struct judge_replayer {
    const struct judgement *judgements;
    bool *is_used;  // same numbers
    int n;
    int limit;      // those from here on belong after the next end
    int next;       // what comes after all that were used
    int n_missing;  // asked for and not in the record
};

struct judging judging_replay(struct arena *a, struct judge_replayer *r,
                              const struct judgement *judgements, int n);

// Was the first candidate confirmed at once, without a verdict before?
bool judging_confirms_first(const struct judgement *judgements, int n);

// The next end that was recorded; false: there is none left.
bool judging_replay_end(struct arena *a, struct judge_replayer *r, int *n_nodes,
                        const char **reason);

// The next bound that was recorded, with the target's facts; NULL: there is none left.
const struct judgement *judging_replay_bound(struct judge_replayer *r);
// Was it measured at this very place: after what was last asked for, and before anything else?
bool judging_replay_is_bound_next(const struct judge_replayer *r);
