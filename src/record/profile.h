// A profile: what is known of one candidate's run, as metrics (record/metrics.h) of the call and of
// its launches one by one. hone.profile/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/metrics.h"

struct arena;
struct error;
struct finding;

// A step of a candidate's plan as it ran. On a CPU its time is its share of the median call, by the
// runner's clock; on a GPU it is taken by events between launches, which cost a little themselves,
// so that all together are more than a call.
struct profile_launch {
    const char *name;  // of its function; "fill NAME", "clear NAME" for those steps
    struct metrics metrics;
};

// Samples of the program counter that lie in one line of the candidate's source.
struct profile_line {
    const char *launch;  // name of its function
    int line;            // from 1
    double samples;
    const char *reason;  // what most of them waited for; NULL: they did not wait
};

struct profile {
    struct metrics call;  // on a GPU its launch with the most threads speaks for the shape
    struct profile_launch *launches;  // in their order
    int n_launches, room;
    const struct finding *said;  // by tools that the user brought (ops/plugins.h): part of what was
    int n_said;                  // observed, so that a replay need not ask them again
    struct profile_line *lines;  // where samples were taken (hone profile RUN.NODE); else none
    int n_lines;
};

void profile_set(struct profile *p, enum metric_id id, double value);
double profile_get(const struct profile *p, enum metric_id id);  // NAN when absent

// The next launch, nothing known of it but its name. The list may move: earlier pointers end here.
struct profile_launch *profile_add_launch(struct arena *a, struct profile *p, const char *name);
double launch_get(const struct profile_launch *l, enum metric_id id);  // NAN when absent

// Room for so many launches in all, where that is known beforehand.
void profile_reserve(struct arena *a, struct profile *p, int n_launches);

// The share of a launch in the time of all; NAN where some was not timed. And those of all.
double profile_share(const struct profile *p, int launch);
void profile_shares(const struct profile *p, double *shares);

// "sums 105 µs (48%), scale 114 µs (52%)"; "" where there is but one, or nobody timed them.
const char *profile_launch_text(struct arena *a, const struct profile *p);

// Metrics that this version does not know are left out when a profile is read.
json_t *profile_to_json(const struct profile *p);
bool profile_from_json(struct arena *a, const json_t *json, struct profile *p, struct error *err);
