// The profile of a candidate on a GPU, after its verdict: of a file, or of a node of a stored run.
// hone.candidate_profile/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "model/bound.h"
#include "profile/collect.h"
#include "record/candidate.h"
#include "record/finding.h"
#include "record/profile.h"
#include "record/run.h"
#include "record/verdict.h"

struct arena;
struct error;
struct problem;

struct candidate_profile_request {
    const char *file;       // of a problem, or the name of a node: "3.7", "last.2"
    const char *candidate;  // of the problem; NULL: default
    const char *target, *dims, *store;
    const char *tool;  // one of the user's, besides those in his directory; NULL: none
    bool by_ncu;       // ncu runs it, in place of our library
    int repeat;  // count it so often once more in a process that stays, and say how long it took
};

enum { REPEAT_MAX = 100 };

struct candidate_profile {
    const struct problem *problem;
    struct target target;
    struct bound bound;
    struct candidate candidate;
    struct verdict verdict;
    struct profile profile;  // of the judgement, with what was counted; empty where it is not ok
    struct collected collected;
    struct profile again;            // by the process that stays: counters alone
    double again_s[REPEAT_MAX + 1];  // the first with its start
    int n_again;
    struct finding findings[NODE_FINDINGS_MAX];
    int n_findings;
};

bool op_profile_candidate(struct arena *a, const struct candidate_profile_request *q,
                          struct candidate_profile *out, struct error *err);
const char *op_profile_candidate_text(struct arena *a, const struct candidate_profile *p);
json_t *op_profile_candidate_json(const struct candidate_profile *p);
