// The form of late interaction (MaxSim): a product of many matrices with one, the largest along the
// rows of each, and the sum of these.
#pragma once

#include "family/emitter.h"

struct maxsim_form {
    node_id product, best, total;
    node_id docs, query;  // [documents, tokens, depth] and [queries, depth], materialised
    enum dtype storage;   // of both
    int64_t documents, tokens, queries, depth;
};

bool maxsim_find(struct form *form, struct objection *why);

// The space of results: documents.
void maxsim_build_space(struct lowering *l, const struct maxsim_form *f);
