// What the compiled code says about itself: floating point instructions in innermost
// loops, one lane at a time or packed, from the disassembly.
#pragma once

#include <stddef.h>

struct arena;
struct profile;

// Of all innermost loops together, but for `sums`.
struct inspection {
    double scalar, vector;  // floating point arithmetic
    double vector_bytes;    // widths of the vectors in it, summed
    double fused;           // multiply-adds on vectors
    double products, additions;
    double stack;    // vectors that are moved from or to the stack
    double gathers;  // and scatters
    double strided;  // accesses that go on by a kilobyte or more a turn and use little of a line
    // Registers that the loop with most multiply-adds sums into; without any, that with most
    // additions.
    double sums;
    // By llvm-mca, of the loop with most arithmetic; 0: not known (mca.h).
    double cycles, unit_cycles;
    const char *loop;  // its text within what was given; NULL: there is none
    size_t loop_len;
};

// Add what is known as metrics to the profile; leave them out where there is no disassembler or
// the instruction set is not known here. Kept next to the object.
void inspect(struct arena *a, const char *object, struct profile *profile);

// The counting alone, on the text that `objdump -d --no-show-raw-insn` prints for x86-64.
void inspect_text(const char *text, struct inspection *out);
