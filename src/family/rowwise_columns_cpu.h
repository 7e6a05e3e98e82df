// rowwise's `columns` emitter on a CPU: rowwise_columns_cpu.c has knobs, rules and the estimate,
// rowwise_columns_cpu_lower.c the loops.
#pragma once

#include "family/emitter.h"
#include "family/rows.h"

// Vectors of a strip, at most; and strips of a block with `overlap strips`.
enum { COLUMNS_CPU_STRIP_MAX = 32, COLUMNS_CPU_RUN = 8 };

// The group of the space that neighbours in memory lie along: kept axes of one element may follow.
int columns_cpu_lane_group(const struct space *space, const struct rows_form *f);

void columns_cpu_lower(struct lowering *l, const struct form *form,
                       const struct kernel_stage *stage);
