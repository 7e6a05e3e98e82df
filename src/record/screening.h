// What a race (eval/race.h) said of a candidate: how it compares with the incumbent, roughly, by a
// few calls that nobody verified. It decides who is verified and ranked, and nothing else: no
// champion, no reward and no reported speed-up rests on it. hone.screening/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

struct screening {
    bool present;
    const char *against;  // label of the incumbent
    int n_rounds;         // that it took part in, the last one included
    int n_pairs;          // in all of them
    double speedup;       // over the incumbent; NAN: not timed
    double time_s;        // of its fastest call; NAN: not timed
    bool survived;        // it is verified and ranked
    bool is_untimed;      // the time of the race was over before its turn: nothing is known of it
    const char *same_as;  // label of the one that has the same machine code; NULL: none
    const char *fault;    // why it could not be timed: "no-compile: ..."; NULL: nothing was wrong
    const char *device;   // that it was raced on, when that is not the run's: "cuda:1"; NULL: there
};

// "0.83x of default in 2 pairs", "the same code as node 3"; what is said of a screened candidate.
const char *screening_text(struct arena *a, const struct screening *s);

json_t *screening_to_json(const struct screening *s);  // null when not present
bool screening_from_json(struct arena *a, const json_t *json, struct screening *s,
                         struct error *err);
