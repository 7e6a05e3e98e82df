// A candidate's launches on a GPU in a process of their own, for its profile: after the verdict, on
// inputs that are no secret, with nothing of the judge around. hone starts itself again
// (`hone _play DIR`) under the library of inject/, as it does with any program.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"
#include "model/target.h"
#include "profile/collect.h"
#include "record/candidate.h"
#include "record/profile.h"

struct arena;
struct error;

// One problem on one GPU; its inputs are drawn once.
struct play;
bool play_open(struct play **out, const struct problem *p, const struct target *t,
               struct error *err);
void play_close(struct play *p);

enum play_how {
    PLAY_FULL,   // counters, a timeline and samples, by three runs
    PLAY_QUICK,  // counters alone, by a process that stays (play_warm.h)
    PLAY_NCU,    // counters, by NVIDIA's ncu
};

// Run a candidate that was found correct, and add to `into` (the profile of its judgement, or an
// empty one) what was counted, launch by launch. False: the reason is in `err`, and `into` as it
// was.
bool play_candidate(struct play *p, struct arena *a, const struct candidate *c, enum play_how how,
                    struct profile *into, struct collected *out, struct error *err);

// Its cubin alone, with source lines, in a file that lives as long as `p`; needs no card.
bool play_compile(struct play *p, struct arena *a, const struct candidate *c, const char **path,
                  struct error *err);

// Body of the hidden command (play_process.c). `library`: stay and be asked; NULL: run and end.
int play_main(const char *dir, const char *library);
