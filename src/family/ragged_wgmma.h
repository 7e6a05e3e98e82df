// What the parts of ragged's `wgmma` emitter share. ragged_wgmma.c has knobs, rules and estimates,
// ragged_wgmma_lower.c the walk over groups.
#pragma once

#include "family/gemm_wgmma.h"
#include "family/ragged_form.h"

// The product as one of matrices: of all rows, or of a matrix for each group.
struct gemm_form ragged_as_gemm(const struct form *f);

// requires: the form is one that the emitter accepts.
struct wgmma_sizes ragged_wgmma_sizes(const struct form *f, const struct kernel_stage *s);
// Tiles that there are at most: how long groups are is not known.
double ragged_wgmma_tiles(const struct ragged_form *r, const struct wgmma_sizes *z);

void ragged_wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *s);
