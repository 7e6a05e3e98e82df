// An emitted CUDA text and what it should compute; run by the fibre runtime (fibre.h).
#pragma once

#include "fibre.h"
#include "lowering.h"
#include "record/candidate.h"

struct text_subject {
    struct arena arena;
    struct problem *problem;
    struct candidate candidate;
    struct expectation expected;
    double limit;  // of the error, in spreads
};

// Inputs of that seed, and four times what the honest computation is off by, as a judge allows.
void text_expect(struct text_subject *s, uint64_t seed);
void text_add(struct fibre_program *p, const struct text_subject *s);
// False and what is wrong.
bool text_is_right(struct text_subject *s, const struct fibre_program *p, struct fibre_run r,
                   const char **fault);
void text_close(struct text_subject *s);
