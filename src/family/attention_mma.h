// What the two halves of attention's `mma` emitter share: the stage's knobs as sizes.
#pragma once

#include "family/attention_form.h"

struct attention_sizes {
    int rows, keys;  // of a block's tile: queries, and keys of one turn
    int threads;
    int parts;  // of 16 bits that a probability is the sum of
};
// Of 16 bits that a probability must be the sum of.
int attention_parts(const struct form *f);
struct attention_sizes attention_read_sizes(const struct form *f, const struct kernel_stage *s);

void attention_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
