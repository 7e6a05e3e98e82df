// Print a loop program as C: its sizes by name, its plan as `#pragma hone` lines, one
// function per kernel. The text needs runtime/hone_math.h (with `libm`: <math.h>), where something
// is not f32 runtime/hone_types.h, and gcc or clang, nothing else.
#pragma once

struct arena;
struct loop_program;

// requires: unrolled and verified (passes.h).
const char *print_c(struct arena *a, const struct loop_program *p);
