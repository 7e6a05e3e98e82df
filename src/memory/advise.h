// From lessons to advice: the nearer a sibling, the more its lesson counts.
#pragma once

#include "record/advice.h"
#include "record/lesson.h"

struct problem;
struct target;

// `lessons` are those of the problem's skeleton and target. `out->run` stays as it is.
void advise(struct arena *a, const struct problem *p, const struct target *t,
            const struct lesson *lessons, int n, struct advice *out);
