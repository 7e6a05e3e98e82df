#include "common.h"

#if TWIN == 0
typedef unsigned char piece;
#else
typedef uint4 piece;
#endif

__global__ void work(const piece *in, piece *out, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        out[i] = in[i];
}

int main() {
    size_t bytes = (size_t)1 << 29, n = bytes / sizeof(piece);
    piece *in = device<piece>(n), *out = device<piece>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<multiprocessors() * 8, 256>>>(in, out, n);
    done();
}
