// The candidate and baseline `library`: the problem's products and convolutions by the libraries
// that the target has, what is around them by our own stages. It is a kernel block like any other
// and is judged like any other; its label says which libraries they are.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"
#include "model/target.h"
#include "record/candidate.h"

struct arena;
struct error;

// ERROR_UNSUPPORTED: no library computes any of the problem, or the one that would is not
// installed here.
bool library_candidate(struct arena *a, const struct problem *p, const struct target *t,
                       struct candidate *c, struct error *err);
