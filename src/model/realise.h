// How a contraction may honestly be computed: the pipes that give products at least as good as the
// problem's precision asks for, and how many products each of them needs for one.
#pragma once

#include "ir/problem.h"
#include "model/target.h"

// One way: `products` passes through `pipe`. f32 from three TF32 products is {PIPE_TF32, 3}.
struct realisation {
    enum pipe pipe;
    int products;
};

// The fastest way at these rates (0 or NAN: the device has no such pipe). There is always one:
// multiply-adds in f32, or f64 for results that are.
struct realisation realise(const struct problem *p, const struct node *n,
                           const double rates[PIPE_COUNT]);
