// The plan of source by a person or a model, read against a problem and a target as the judge reads
// it, without a judge: what breaks a rule there is known before anything is compiled.
#pragma once

#include <stdbool.h>

struct arena;
struct candidate;
struct error;
struct plan;
struct problem;
struct target;

// False: ERROR_PARSE with the line and the reason.
bool source_plan(struct arena *a, const struct problem *p, const struct target *t,
                 const char *source, struct plan *plan, struct error *err);

// The same of any candidate: one that was lowered from a kernel block may call libraries.
bool candidate_plan(struct arena *a, const struct problem *p, const struct target *t,
                    const struct candidate *c, struct plan *plan, struct error *err);
