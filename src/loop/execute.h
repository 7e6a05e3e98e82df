// Run a loop program, slowly and with every access checked: the language's meaning.
//
// Blocks run one after the other. An access outside its buffer, a read of something
// never written, and an element that one block of a launch writes and another then
// reads or writes are errors, since on a real machine they would be silent.
//
// Threads of a block go step by step side by side. Between two barriers an element that
// one thread writes and another reads or writes is an error, whatever the order was here;
// so is a barrier that not all threads come to, or an operation of half a warp. Of two elements
// of i4 in one byte all this is asked of the byte.
//
// Asynchronous copies (intrinsics.def) are under way from the statement that starts them until the
// thread waits for their group: reading or writing the destination meanwhile is an error. They
// count as written when they land, so other threads need a barrier after the wait.
#pragma once

#include <stdbool.h>

struct error;
struct loop_program;

// `data[id]` holds buffer `id`'s elements, as they are stored, for every input and output; the
// rest is NULL and made here. Outputs need not be initialised. A broken rule is ERROR_PARSE.
bool execute(const struct loop_program *p, void *const *data, struct error *err);
