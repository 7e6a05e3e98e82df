// Mutation tests of emitted CUDA: a text without one of its barriers, guards, sides of minima or
// masks (fibre.h) must fail, by its results, by a fault or by the check for races.
#pragma once

#include "text_subject.h"

struct mutant_kernel {
    const char *problem;
    const char *stages;  // of a kernel block; NULL: plain
};

// What can be missing from a text without a difference.
struct mutant_same {
    const char *problem, *what;
    int before;  // so many of these in the text do make one
};

struct mutant_set {
    const struct mutant_kernel *kernels;
    int n_kernels;
    const struct mutant_same *same;
    int n_same;
};

struct mutant_tally {
    int all[FIBRE_KINDS], killed[FIBRE_KINDS];
    int races;  // of the killed: by the check for races
    int same;   // not among them: makes no difference, as was said
};

void mutants_subject(struct text_subject *s, const struct mutant_kernel *k, uint64_t seed);
// Every mutant of every text; one that survives fails the test. Prints a line about them.
void mutants_try(const struct mutant_set *set, struct mutant_tally *tally);
// From here on the card has so many multiprocessors; 0: as many as the first of its kind.
void mutants_card(int sms);
// The loops that a subject's text was printed from.
struct loop_program *mutants_loops(struct text_subject *s, const char *stages);
// Is it a commit, a wait, a fence or an arrival?
bool mutants_is_order(const struct loop_stmt *s);
