// A finding: what limits a candidate, in words for people and models, and as moves
// for the expert. hone.finding/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };

enum { FINDING_ACTIONS_MAX = 10, FINDING_NUMBERS_MAX = 6 };

// One thing to try. `knob` and `direction` name a move on the stage's knobs
// ("vec", +1: the next larger legal value; "store", "stream": that word).
struct action {
    const char *words;
    const char *knob;  // NULL when only words help
    int direction;     // +1, -1, or 0 with `word`
    const char *word;
    const char *move;  // the legal edit of this very block that it stands for; NULL: none known
};

// A number that a finding rests on.
struct evidence {
    const char *metric;  // its name in record/metrics.def
    double value;
    double limit;  // the line that it is on the wrong side of; NAN: none
};

struct finding {
    const char *tool;
    enum severity severity;
    const char *cause;     // one sentence
    const char *evidence;  // the numbers behind it, in words
    struct evidence numbers[FINDING_NUMBERS_MAX];
    int n_numbers;
    const char *launch;    // that it is about; NULL: the call
    double share;          // of that launch in the time; NAN: not known
    double expected_gain;  // speed-up of the call if it is fixed, e.g. 1.4; NAN: not known
    double confidence;     // that it is so, 0 to 1; NAN: not stated
    struct action actions[FINDING_ACTIONS_MAX];
    int n_actions;
};

const char *severity_name(enum severity s);
// For people: "high, confidence 0.9".
const char *finding_weight(struct arena *a, const struct finding *f);
// "wider vectors (y: vec 8 -> 16)": what to do, and the move of this block that does it.
const char *action_text(struct arena *a, const struct action *act);
json_t *finding_to_json(const struct finding *f);
bool finding_from_json(struct arena *a, const json_t *json, struct finding *f, struct error *err);
