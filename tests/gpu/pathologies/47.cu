#include "common.h"

template <int PART> __global__ void work(const float4 *x, const float4 *y, float4 *out) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i];
    if (PART == 0 || PART == 3)
        v = make_float4(v.x * 2 + 1, v.y * 2 + 1, v.z * 2 + 1, v.w * 2 + 1);
    if (PART == 1 || PART == 3) {
        float4 w = y[i];
        v = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);
    }
    if (PART == 2 || PART == 3)
        v = make_float4(v.x * v.x, v.y * v.y, v.z * v.z, v.w * v.w);
    out[i] = v;
}

int main() {
    size_t n = (size_t)1 << 24;
    unsigned blocks = (unsigned)(n / 256);
    float4 *x = device<float4>(n), *y = device<float4>(n), *out = device<float4>(n);
    for (int i = 0; i < TURNS; i++) {
#if TWIN == 0
        work<0><<<blocks, 256>>>(x, y, out);
        work<1><<<blocks, 256>>>(out, y, x);
        work<2><<<blocks, 256>>>(x, y, out);
#else
        work<3><<<blocks, 256>>>(x, y, out);
#endif
    }
    done();
}
