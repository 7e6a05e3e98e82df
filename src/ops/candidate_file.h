// A candidate as a command names it: a file of C, of CUDA, or with a kernel block, one of our
// own (`plain`, `default`), `library` (library_candidate.h), or a node of a stored run (`3.7`; `3`
// and `last` mean the champion).
//
// A file that is too large, or no text, is refused: that is a verdict on it, as on one that does
// not compile, and no mistake of the command, which goes on with the next. One that is missing, a
// directory, or a kernel block with mistakes is an error.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"
#include "model/target.h"
#include "record/candidate.h"
#include "record/verdict.h"

struct arena;
struct error;

struct candidate_file {
    struct candidate candidate;  // of one that is refused only tier and label
    const char *refusal;         // why it cannot be judged, whatever it says; NULL: it can
    enum verdict_kind refused_as;
};

struct candidate_name {
    const char *name;
    const struct problem *problem;
    const struct target *target;  // what a kernel block is lowered for
};
bool candidate_file_read(struct arena *a, const struct candidate_name *n, struct candidate_file *f,
                         struct error *err);

// Does the name stand for something: one of our own, a node of a run, or a file that is there? The
// error names what a candidate may be. For who has several, before much is done for the first.
bool candidate_file_is_there(const char *name, struct error *err);

// "cpu" or "cuda", when the name says what it is for; NULL: anything.
bool candidate_file_target(struct arena *a, const char *name, const struct problem *p,
                           const char **target, struct error *err);
