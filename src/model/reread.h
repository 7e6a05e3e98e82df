// Second reads: a value that is reduced and then met by its own reduction (softmax, norms) has to
// be kept meanwhile. Where one group of it does not fit the chip, it is read from memory again.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"

struct arena;

// Per input of the problem, whether it is read a second time on a chip that keeps `on_chip` bytes.
// Further passes are not counted: laws (online softmax, shifted variance) make one of them.
void reread_find(struct arena *a, const struct problem *p, double on_chip, bool *is_again);
