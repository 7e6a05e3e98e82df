// Print a loop program with threads as CUDA: its sizes by name, its plan as `#pragma hone`
// lines, one entry per kernel. The text needs runtime/dev.h and nothing else; NVRTC and nvcc
// compile it, and so does any C compiler over runtime/dev_cpu.h.
#pragma once

#include <stdint.h>

struct arena;
struct loop_kernel;
struct loop_program;

// requires: verified (passes.h), every kernel with threads.
const char *print_cuda(struct arena *a, const struct loop_program *p);

// Bytes of shared memory that a kernel's arrays take, each begun where it has to and rounded up
// to 16.
int64_t print_cuda_shared(const struct loop_program *p, const struct loop_kernel *k);
