// The Python child of `hone import`: one question, one answer, both JSON in files.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "ops/op_import.h"

struct import_child {
    struct arena *a;
    const struct import_request *request;
    const char *python;  // set by the first answer
    const char *dir;     // scratch, with our Python files in it
};

// Write our Python files into a scratch directory. import_child_end removes it.
bool import_child_begin(struct import_child *c, struct error *err);
void import_child_end(struct import_child *c);

// Ask; `what` is "" or "verify", `more` (or NULL) is merged into the question. The answer
// is an object whose "status" is "ok" or "refused"; all else is an error by then. The caller
// releases it.
json_t *import_child_ask(struct import_child *c, const char *what, json_t *more, struct error *err);
