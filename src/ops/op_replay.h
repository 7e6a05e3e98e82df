// The operation behind `hone replay`: run a whole optimisation again from its record, with no
// network, no compiler and no clock, and see whether the same tree comes of it.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

struct replay_request {
    const char *name;   // a run, or a recording's file
    const char *store;  // NULL: settings, then upward
    const char *out;    // write the recording here and do no more; NULL: replay it
    bool re_evaluate;   // judge every candidate anew on this machine
    // Called with each node that comes, and how many the record has; may be NULL.
    void (*on_node)(int node, int n_nodes, void *ctx);
    void *ctx;
};

struct replay_outcome {
    int64_t run;
    const char *problem, *proposer, *llm, *version;
    int n_nodes, n_replayed;
    int n_judgements, n_exchanges;
    int n_reworded;          // questions worded differently now
    int n_missing;           // judgements that the record does not have
    int first_difference;    // node, or -1: the trees are the same
    const char *difference;  // in words; NULL: none
    int champion, champion_replayed;
};

bool op_replay(struct arena *a, const struct replay_request *q, struct replay_outcome *out,
               struct error *err);

// hone.replay/1
json_t *replay_to_json(const struct replay_outcome *o);
