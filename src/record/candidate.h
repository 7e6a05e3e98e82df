// A candidate: something that can be evaluated. JSON form hone.candidate/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

enum tier {
    TIER_K,  // a kernel block, lowered by us to C or CUDA, whichever its target takes
    TIER_C,  // C for the CPU, written by somebody
    TIER_D,  // CUDA device code, written by somebody
    TIER_COUNT
};

struct candidate {
    enum tier tier;
    const char *source;  // with its plan in `#pragma hone` lines; what is compiled
    const char *kernel;  // tier K: the canonical kernel block, else NULL
    const char *label;   // a few words for people: "plain", "default", a file's name
    const char *hash;    // SHA-256 of the source: its identity
};

// Fill hash from source.
void candidate_seal(struct arena *a, struct candidate *c);

// What the source says, whatever the comment at its head calls it: blocks that are lowered to the
// same code have the same. Two that differ do once in 10^19.
uint64_t candidate_code(const struct candidate *c);

const char *tier_name(enum tier t);

// What a tier is written in: "C", "CUDA", or for kernel blocks "hone".
const char *tier_language(enum tier t);

// The tier of a source by its file's name: `.cu` is CUDA, anything else C.
enum tier tier_of_file(const char *path);

json_t *candidate_to_json(const struct candidate *c);
bool candidate_from_json(struct arena *a, const json_t *json, struct candidate *c,
                         struct error *err);
