// What an emitter keeps of a row between its walks, and in which of its arrays.
#pragma once

#include "family/rows.h"

struct rows_keep {
    struct rows_walks walks;
    bool *is_kept;      // per node
    int *slot;          // per node: whose lives do not overlap share an array
    enum dtype *types;  // per slot: how an element is stored
    int n_slots, n_kept;
};

// What is read, and what takes many instructions, is kept; all else is computed again.
void rows_plan_keep(const struct rows_form *f, struct arena *a, struct rows_keep *k);
// Bytes of one element of a row in all slots.
int64_t rows_keep_bytes(const struct rows_keep *k);
