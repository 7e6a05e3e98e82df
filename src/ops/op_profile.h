// A program of the user's, run, timed and explained: profile/collect.h gathers, the
// tools of ops/diagnosis.h explain. hone.program/1.
#pragma once

#include "ops/diagnosis.h"
#include "profile/collect.h"

struct profile_request {
    const char *const *argv;  // NULL-terminated
    const char *kernel;       // regular expression; NULL: all
    int top;
    double timeout_s;  // 0: none
    bool is_json;      // its standard output must not get between
    bool only_timeline;
    bool by_ncu;       // ncu runs it, in place of our library
    const char *tool;  // one of the user's, besides those in his directory; NULL: none
};

struct program_profile {
    const char *const *argv;
    struct collected collected;
    struct diagnosis diagnosis;
};

bool op_profile(struct arena *a, const struct profile_request *q, struct program_profile *out,
                struct error *err);
// The status that the program ended with, as a shell says it; 1 where it went well but launched
// nothing, so that there is nothing to explain.
int op_profile_status(const struct program_profile *p);
const char *op_profile_text(struct arena *a, const struct program_profile *p);
json_t *op_profile_json(const struct program_profile *p);
