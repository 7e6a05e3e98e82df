// Emitted CUDA, run without a GPU: its text is compiled as C over runtime/dev_cpu.h and run in
// a process of its own, so that a fault or an endless loop is a result like any other. Several
// texts share one program, since starting the compiler costs most.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/types.h"

struct arena;

enum { FIBRE_TEXTS_MAX = 32, FIBRE_BUFFERS_MAX = 48, FIBRE_MUTANTS_MAX = 1024 };

// A buffer that the plan's launches name; `data` NULL: an output.
struct fibre_buffer {
    const char *name;
    int64_t count;
    const void *data;
    enum dtype dtype;
};

// What can be taken out of a text: a barrier or wait, an `if`, one side of the smaller or larger of
// two indices, which is how ends of loops and clamps are printed, and a condition on an index of a
// value that is chosen (padding). A smaller of two values is no guard.
enum fibre_kind { FIBRE_BARRIER, FIBRE_GUARD, FIBRE_MINIMUM, FIBRE_MASK, FIBRE_KINDS };

struct fibre_mutant {
    enum fibre_kind kind;
    const char *what;  // is missing
};

struct fibre_text {
    const char *source;
    struct fibre_buffer buffers[FIBRE_BUFFERS_MAX];
    int n_buffers;
    // Each can be missing when the text is run: mutant i + 1 is the text without mutants[i].
    // Filled by fibre_build.
    struct fibre_mutant mutants[FIBRE_MUTANTS_MAX];
    int n_mutants;
};

struct fibre_program {
    const char *dir;  // where it lives; fibre_remove() deletes it
    struct fibre_text texts[FIBRE_TEXTS_MAX];
    int n_texts;
};

// Compile all texts with `cc`; one that does not compile fails the test with the compiler's
// words.
void fibre_build(struct arena *a, const char *cc, struct fibre_program *p);

// Run one of them. False and what went wrong, or true and the outputs' bytes, one after the other.
struct fibre_run {
    int text;
    uint64_t seed;
    int mutant;  // 0: the text as it is
};
bool fibre_run(struct arena *a, const struct fibre_program *p, struct fibre_run run,
               float **outputs, const char **fault);

void fibre_remove(const struct fibre_program *p);
