// The form of attention: softmax(f(q k)) v, where f is by element, and what follows by element.
#pragma once

#include "family/emitter.h"

// One operand that exists, and the map by which it is read.
struct attention_side {
    node_id leaf;
    struct axis_map map;
};

struct attention_form {
    node_id scores, x, result;  // the first product, what the softmax is of, the second product
    struct attention_side q, k, v;
    enum dtype storage;  // of all three
    bool is_rounded;     // the problem says that the softmax is rounded to that type
    bool is_causal;      // of x all keys behind the query are as good as nothing
    // x is the product times this, where a causal mask lets it be; 0: it is something else. Small
    // enough to be multiplied by log2(e) before anything is subtracted.
    double factor;
    int64_t batch, m, n, depth, width;  // queries, keys, elements of a key and of a value
    // The space: batch axes, then queries, keys, width, depth.
    int axis_m, axis_n, axis_width, axis_depth;
    struct axis_map at, out;  // of scores and of results
};

bool attention_find(struct form *form, struct objection *why);

void attention_build_space(struct lowering *l, const struct attention_form *f);
