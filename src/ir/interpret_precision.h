// Inside the interpreter: products in a declared precision, whose factors are rounded first.
#pragma once

#include "ir/problem.h"
#include "ir/reading.h"

// A factor as the declared precision multiplies it: r's honest reading and variance become those
// of rounded copies, which are in `own`. requires: r has a value and an honest reading in f32.
void reading_narrow(const struct precision *q, struct reading *r, int64_t count,
                    struct reading *own);
