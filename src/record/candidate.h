// A candidate: something that can be evaluated. JSON form hone.candidate/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum tier { TIER_K, TIER_C, TIER_COUNT };  // kernel block lowered by us; C written by somebody

struct candidate {
    enum tier tier;
    const char *source;  // C with its plan in `#pragma hone` lines; what is compiled
    const char *kernel;  // tier K: the canonical kernel block, else NULL
    const char *label;   // a few words for people: "plain", "default", a file's name
    const char *hash;    // SHA-256 of the source: its identity
};

// Fill hash from source.
void candidate_seal(struct arena *a, struct candidate *c);

const char *tier_name(enum tier t);
json_t *candidate_to_json(const struct candidate *c);
bool candidate_from_json(struct arena *a, const json_t *json, struct candidate *c,
                         struct error *err);
