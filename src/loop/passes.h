// Passes over loop programs. Each keeps what the program computes; the tests run every
// program before and after.
#pragma once

#include <stdbool.h>

struct error;
struct loop_program;

// Unroll the loops marked for it, in kernels without threads: compilers for GPUs unroll, and
// the text stays short. requires: their ends are constants.
// gives: no marked loop left, so that register indices are constants.
void pass_unroll(struct loop_program *p);

// Remove what nobody reads: lets, and stores to local arrays and registers.
void pass_prune(struct loop_program *p);

// Check what a printer relies on: every variable is bound before it is used, lanes and types
// agree and exist (loop.h says which types have lanes), register indices are constants (with
// threads: constants and variables of loops marked for unrolling), streaming stores go to global
// memory, shared arrays and barriers only stand where there are threads, warp operations are whole
// values of lets, intrinsics have the operands that their row asks for. False and the broken rule
// otherwise; a broken rule is a bug of the code that built the program.
bool pass_verify(const struct loop_program *p, struct error *err);
