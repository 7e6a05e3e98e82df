// Emitted CUDA, run without a GPU: its text is compiled as C over runtime/dev_cpu.h and run in
// a process of its own, so that a fault or an endless loop is a result like any other.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;

enum { FIBRE_BUFFERS_MAX = 32, FIBRE_MUTANTS_MAX = 64 };

// A buffer that the plan's launches name; `data` NULL: an output.
struct fibre_buffer {
    const char *name;
    int64_t count;
    const float *data;
};

struct fibre_program {
    const char *dir;  // where it lives; fibre_remove() deletes it
    int64_t n_outputs_floats;
    // Every barrier, guard and wait of the text can be taken out when it is run: mutant i + 1
    // is the text without mutant[i].
    const char *mutant[FIBRE_MUTANTS_MAX];
    int n_mutants;
};

// Compile with `cc`; a text that does not compile fails the test with the compiler's words.
void fibre_build(struct arena *a, const char *cc, const char *source,
                 const struct fibre_buffer *buffers, int n_buffers, struct fibre_program *p);

// Run once. False and what went wrong, or true and the outputs, one after the other.
bool fibre_run(struct arena *a, const struct fibre_program *p, uint64_t seed, int mutant,
               float **outputs, const char **fault);

void fibre_remove(const struct fibre_program *p);
