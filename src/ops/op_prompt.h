// What a model would be told: the operation behind `hone show RUN.NODE --prompt ROLE`.
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct str;

// The prompt of a role for a node of a stored run, without a call.
bool op_prompt(struct arena *a, const char *store, const char *name, const char *role,
               struct str *out, struct error *err);
