// Where CUTLASS is, and the compiler that it takes: $CUTLASS_PATH names its directory, and nvcc is
// in $CUDA_HOME, in $CUDA_PATH, along $PATH or in /usr/local/cuda. hone brings neither.
#pragma once

#include <stdbool.h>

struct cutlass_path {
    char include[1024];  // directory that has cutlass/version.h
    char nvcc[1024];
    char version[24];  // "4.2.0"
    char why[1200];    // it is absent; "" where it is there
};

// False: `why` says what is missing.
bool cutlass_path_find(struct cutlass_path *c);
