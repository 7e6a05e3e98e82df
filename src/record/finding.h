// A finding: what limits a candidate, in words for people and models, and as moves
// for the expert. hone.finding/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };

enum { FINDING_ACTIONS_MAX = 10 };

// One thing to try. `knob` and `direction` name a move on the stage's knobs
// ("vec", +1: the next larger legal value; "store", "stream": that word).
struct action {
    const char *words;
    const char *knob;  // NULL when only words help
    int direction;     // +1, -1, or 0 with `word`
    const char *word;
};

struct finding {
    const char *tool;
    enum severity severity;
    const char *cause;     // one sentence
    const char *evidence;  // the numbers behind it
    double expected_gain;  // speed-up if it is fixed, e.g. 1.4; NAN: not known
    struct action actions[FINDING_ACTIONS_MAX];
    int n_actions;
};

const char *severity_name(enum severity s);
json_t *finding_to_json(const struct finding *f);
bool finding_from_json(struct arena *a, const json_t *json, struct finding *f, struct error *err);
