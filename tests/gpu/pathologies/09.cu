#include "common.h"

enum { STEPS = 256 };

__global__ void work(const int *in, int *out, int divisor) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int v = in[at], sum = 0;
    for (int i = 0; i < STEPS; i++) {
#if TWIN == 0
        sum += v / (divisor + i) + v % (divisor + i);
#else
        sum += (v >> (divisor + i & 15)) + (v & (divisor + i));
#endif
        v += 12345;
    }
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 64;
    int *in = device<int>((size_t)blocks * 256), *out = device<int>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out, 24);
    done();
}
