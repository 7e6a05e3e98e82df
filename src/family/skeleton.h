// A start for a user's own kernel where hone has none.
#pragma once

struct arena;
struct problem;
struct target;

// C or CUDA that compiles and computes nothing. `contract`: what a kernel must keep to, for its
// head.
const char *skeleton_print(struct arena *a, const struct problem *p, const struct target *t,
                           const char *contract);
