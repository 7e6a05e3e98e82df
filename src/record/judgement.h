// What the judge said once: of one candidate at one depth, or what reach became when the
// ceilings were measured again. A run's judgements in their order are what a replay needs in
// place of a machine. hone.judgement/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/measurement.h"
#include "record/profile.h"
#include "record/screening.h"
#include "record/verdict.h"

struct arena;
struct candidate;
struct error;

struct judgement {
    int number;  // within the run, from 1
    const char
        *subject;  // judgement_subject() of the candidate; "bound" for a bound, "end" for an end
    const char *baseline;  // likewise; NULL: none
    const char *depth;     // "race", "screen", "rank", ...
    struct verdict verdict;
    struct measurement measurement;
    struct profile profile;
    struct screening screening;  // depth "race": what it said; else absent
    const char *bound;           // subject "bound": JSON of model/bound; else NULL
    const char *facts;           // likewise: a target in JSON, ceilings included
};

// What names a candidate however its code is printed: the hash of its kernel block, or of its
// source where it has none.
const char *judgement_subject(struct arena *a, const struct candidate *c);

json_t *judgement_to_json(const struct judgement *j);
bool judgement_from_json(struct arena *a, const json_t *json, struct judgement *j,
                         struct error *err);
