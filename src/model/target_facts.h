// A target's facts as JSON, so that what was found on one machine can be replayed on another:
// moves and lowering depend on them. hone.target/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;
struct target;

json_t *target_facts_to_json(const struct target *t);
bool target_facts_from_json(struct arena *a, const json_t *json, struct target *t,
                            struct error *err);
