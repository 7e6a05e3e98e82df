#include "common.h"

#if TWIN == 0
typedef long long number;
#else
typedef unsigned number;
#endif
enum { STEPS = 256 };

__global__ void work(const number *in, number *out, number factor) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    number v = in[at], sum = 0;
    for (int i = 0; i < STEPS; i++) {
        v = v * factor + (number)i;
        sum += v * v;
    }
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 64;
    number *in = device<number>((size_t)blocks * 256), *out = device<number>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out, 12345);
    done();
}
