// As much of CUTLASS as hone reads itself; the compiler of the tests (bin/nvcc) reads none of it.
#define CUTLASS_MAJOR 4
#define CUTLASS_MINOR 2
#define CUTLASS_PATCH 0
