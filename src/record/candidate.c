// JSON form, tiers by file suffix, and the hash that seals a candidate.
#include "record/candidate.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

void candidate_seal(struct arena *a, struct candidate *c) {
    c->hash = hash_text(a, c->source);
}

uint64_t candidate_code(const struct candidate *c) {
    const char *text = c->source;
    while (text[0] == '/' && text[1] == '/') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return hash_bytes(text, strlen(text), 1);
}

const char *tier_name(enum tier t) {
    static const char *const names[TIER_COUNT] = {[TIER_K] = "K", [TIER_C] = "C", [TIER_D] = "D"};
    return names[t];
}

const char *tier_language(enum tier t) {
    static const char *const names[TIER_COUNT] = {
        [TIER_K] = "hone", [TIER_C] = "C", [TIER_D] = "CUDA"};
    return names[t];
}

enum tier tier_of_file(const char *path) {
    size_t len = strlen(path);
    return len > 3 && strcmp(path + len - 3, ".cu") == 0 ? TIER_D : TIER_C;
}

json_t *candidate_to_json(const struct candidate *c) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "schema", "hone.candidate/1", "tier",
                     tier_name(c->tier), "label", c->label ? c->label : "", "hash",
                     c->hash ? c->hash : "", "source", c->source, "kernel",
                     json_optional_text(c->kernel));
}

static enum tier tier_parse(struct json_reader *r, const char *name) {
    for (int t = 0; t < TIER_COUNT; t++)
        if (strcmp(name, tier_name((enum tier)t)) == 0)
            return (enum tier)t;
    json_reader_fail(r, "unknown tier '%s'", name);
    return TIER_K;
}

bool candidate_from_json(struct arena *a, const json_t *json, struct candidate *c,
                         struct error *err) {
    struct json_reader r = {.where = "candidate"};
    json_read_schema(&r, json, "hone.candidate/1");
    *c = (struct candidate){0};
    c->tier = tier_parse(&r, json_read_string(&r, a, json, "tier"));
    c->label = json_read_string(&r, a, json, "label");
    c->hash = json_read_string(&r, a, json, "hash");
    c->source = json_read_string(&r, a, json, "source");
    c->kernel = json_read_optional_string(&r, a, json, "kernel");
    return json_reader_done(&r, err);
}
