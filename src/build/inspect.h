// What the compiled code says about itself: floating point instructions in innermost
// loops, one lane at a time or packed, from the disassembly.
#pragma once

struct arena;
struct profile;

// Add `hot_scalar` and `hot_vector` to the profile; leave them out where there is no
// disassembler or the instruction set is not known here. Kept next to the object.
void inspect(struct arena *a, const char *object, struct profile *profile);

// The counting alone, on the text that `objdump -d --no-show-raw-insn` prints for x86-64.
void inspect_text(const char *text, double *scalar, double *vector);
