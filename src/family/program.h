// From a complete kernel block to a loop program: the step between checking and printing,
// open to tests, which run the program.
#pragma once

#include "family/family.h"
#include "loop/loop_build.h"

// A program with the problem's sizes, inputs and outputs; buffers 0.. are the inputs and then
// the outputs, in the problem's order.
struct loop_program *program_new(struct arena *a, const struct problem *p);

// State while stages are added one after the other.
struct program_state {
    struct arena *arena;
    const struct problem *problem;
    struct loop_program *program;
    bool *is_ready;               // per node: materialised
    struct loop_buffer **buffer;  // per node
};
void program_begin(struct program_state *s, struct arena *a, const struct problem *p);

// The region of a stage, and what its lowering needs; afterwards its values are ready.
struct region *program_region(struct program_state *s, const struct kernel_stage *stage);
// `type`: what the stage keeps its values as; NULL: their own types.
void program_prepare(struct program_state *s, const struct region *r, const char *type,
                     struct lowering *l);
void program_done(struct program_state *s, const struct region *r, struct lowering *l);

// All stages of a checked kernel; loops not yet unrolled.
struct loop_program *program_lower(struct arena *a, const struct problem *p, const struct target *t,
                                   const struct kernel *k);
