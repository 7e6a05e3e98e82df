// The proof of an import: PyTorch and the interpreter on the same inputs.
#pragma once

#include <stdbool.h>

#include "ops/import_child.h"

// Draw the inputs of the problem at small sizes, which the import's answer has, interpret it, and
// let the child compute the same.
bool import_verify(struct import_child *c, const json_t *answer, struct import_result *m,
                   struct error *err);
