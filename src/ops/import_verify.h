// The proof of an import: PyTorch and the interpreter on the same inputs.
#pragma once

#include <stdbool.h>

#include "ops/import_child.h"

// Make the sizes small, draw the inputs, interpret, and let the child compute the same.
bool import_verify(struct import_child *c, struct imported *m, struct error *err);
