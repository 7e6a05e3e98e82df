// How many cycles a turn of a loop takes by llvm-mca's model of this processor, and how many if
// nothing waited for anything: where the two are far apart a chain of instructions is in the way.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

// `loop`: instructions as objdump prints them, from the first to the jump back. False: there is no
// llvm-mca, it does not know the processor, or there is a call in the loop.
bool mca_examine(struct arena *a, const char *loop, size_t len, double *cycles,
                 double *unit_cycles);

// The two halves of it, for tests: what it is asked (NULL: a call), and what it answers.
const char *mca_question(struct arena *a, const char *loop, size_t len);
bool mca_answer(const char *text, double *cycles, double *unit_cycles);
