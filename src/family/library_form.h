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
