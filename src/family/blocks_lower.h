// The kernel of `rowwise as blocks`: see rowwise_blocks.c for what it is and when it is legal.
#pragma once

#include "family/rows.h"

// Do vectors fit a row although it begins and ends anywhere? Then the elements before the first
// and behind the last of them are taken one by one.
bool blocks_have_edges(const struct rows_form *f);

void blocks_lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage);
