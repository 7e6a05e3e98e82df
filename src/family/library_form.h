// The form of a region that a vendor's library computes: one product or one convolution of
// materialised values, with nothing around it but a change of type of the result.
//
// It becomes a call of our host (ir/library_call.h), no kernel. Only a block that names the family
// gets it: a library is a peer and a baseline, so neither the default nor the search reaches for
// one.
#pragma once

#include "family/emitter.h"
#include "ir/library_call.h"

struct library_form {
    node_id lhs, rhs;  // materialised
    struct call call;
};

bool library_find(struct form *form, struct objection *why);

// For an emitter of gemm that makes a call of its own (gemm_cutlass.c): sizes and strides of the
// product `anchor`, whatever is around it, and what its products are made of.
bool library_find_product(const struct region *r, node_id anchor, struct library_form *f,
                          struct objection *why);
// Strides (row, column, batch) of another value that is read by `map` where the product's results
// are. False: its batches do not lie as the product's do.
bool library_find_strides(const struct region *r, node_id anchor, const struct call *c,
                          node_id leaf, const struct axis_map *map, int64_t strides[3]);
// Memory to work in, one for all calls of a program.
const struct loop_buffer *library_work_buffer(struct loop_program *p, int64_t bytes);
