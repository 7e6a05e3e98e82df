// One exchange with a model: what was asked for which node, what came back, what it cost.
// Kept with keys stripped. hone.exchange/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/chat.h"

struct arena;
struct error;

enum exchange_state {
    EXCHANGE_ASKED,  // no answer yet: under way, or the asking process was killed
    EXCHANGE_ANSWERED,
    EXCHANGE_FAILED,
    EXCHANGE_STATE_COUNT
};

struct exchange {
    int number;      // within the run, from 1
    int node;        // number of the node that is being made
    int step;        // of the steps towards it, from 0
    int parent;      // the node that is to be improved on
    int plan;        // code: number of the exchange that planned it, 0: none
    int choice;      // code: which of its hypotheses, from 0
    int evals_left;  // that it told the model are left; 0: none were told
    enum exchange_state state;
    const char *role;              // "plan", "code", "debug"
    const char *provider, *model;  // as named by the user
    const char *hash;              // of the request
    struct chat_request request;
    struct chat_answer answer;           // EXCHANGE_ANSWERED; of a failure, its usage alone
    const char *failure, *failure_kind;  // EXCHANGE_FAILED: words, and "unsupported", "usage", ...
    double reserved_usd, cost_usd;       // NAN: the price is not known
    int64_t reserved_in, reserved_out;   // tokens, estimated before the call
    const char *asked_at;
};

// What the exchanges of a run took together. What nobody counted is our estimate; what has no
// price is in n_unpriced and not in usd.
struct spend {
    int n_calls, n_failed, n_uncounted, n_unpriced;
    int64_t in, in_cached, out;  // tokens
    double usd;
};

void spend_add(struct spend *s, const struct exchange *e);

const char *exchange_state_name(enum exchange_state s);
json_t *exchange_to_json(const struct exchange *e);
bool exchange_from_json(struct arena *a, const json_t *json, struct exchange *e, struct error *err);
