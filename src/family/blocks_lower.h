// The kernel of `rowwise as blocks`: see rowwise_blocks.c for what it is and when it is legal.
#pragma once

#include "family/laws.h"
#include "family/rows.h"

// Do vectors fit a row although it begins and ends anywhere? Then the elements before the first
// and behind the last of them are taken one by one.
bool blocks_have_edges(const struct rows_form *f);

// Reductions of two levels that one meeting of the blocks of a row suffices for: those of a
// softmax, or mean and variance, which one walk suffices for as well. False: there are none.
bool blocks_find_once(const struct rows_form *f, struct law_match *m);
bool blocks_is_variance(const struct law_match *m);

void blocks_lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage);
