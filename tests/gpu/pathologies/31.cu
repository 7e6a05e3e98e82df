#include "common.h"

struct item {
    float x, y, z, mass, a, b, c, d;
};

#if TWIN == 0
__global__ void work(item *all, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        all[i].mass = all[i].mass * 0.5f + 1;
}
int main() {
    size_t n = (size_t)1 << 25;
    item *all = device<item>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(all, n);
    done();
}
#else
__global__ void work(float4 *mass, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = mass[i];
        v.x = v.x * 0.5f + 1, v.y = v.y * 0.5f + 1, v.z = v.z * 0.5f + 1, v.w = v.w * 0.5f + 1;
        mass[i] = v;
    }
}
int main() {
    size_t n = (size_t)1 << 25;
    float4 *mass = device<float4>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(mass, n);
    done();
}
#endif
