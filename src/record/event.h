// An event: what a running optimisation reports to an observer. Nothing depends on it;
// what must not be lost is in the store before the event is sent. hone.event/1.
#pragma once

#include <jansson.h>

struct arena;
struct run;
struct search_node;

enum event_kind {
    EVENT_NOTE,          // words only: "measuring ceilings, about 10 s"
    EVENT_STARTED,       // the run is in the store (new or resumed)
    EVENT_PROPOSED,      // `node` is about to be evaluated
    EVENT_RACING,        // some nodes are about to race; `words` says which
    EVENT_RACED,         // some nodes have run a race; `words` says how it went
    EVENT_EVALUATED,     // `node` has its verdict
    EVENT_CONFIRMING,    // `node` is the champion so far, now judged on fresh data
    EVENT_DISQUALIFIED,  // `node` did not pass the confirmation
    EVENT_FINISHED,      // the run is done, interrupted or failed
    EVENT_COUNT
};

struct event {
    enum event_kind kind;
    const char *words;                    // EVENT_NOTE, EVENT_RACING and EVENT_RACED; else NULL
    const struct run *run;                // NULL before EVENT_STARTED
    const struct search_node *node;       // NULL where none is meant
    int n_evals;                          // evaluations so far, over all resumptions
    int n_screened;                       // nodes that races have left out so far
    int best;                             // the fastest node that counts, or -1
    double best_s;                        // its time; NAN without one
    const struct search_node *best_node;  // the same node; NULL without one, and in notes
    double reach_s;                       // NAN when not known
    double elapsed_s;                     // over all resumptions
};

typedef void (*event_fn)(const struct event *e, void *ctx);

const char *event_kind_name(enum event_kind k);
json_t *event_to_json(const struct event *e);
