// A program of ten kernels of different kinds, for the question how long `hone profile -- ./program`
// takes beyond the program's own runs (bench/gpu_program.sh).
#include "pathologies/common.h"

enum { N = 1 << 24, SIDE = 4096 };

__global__ void scale(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * in[i];
}
__global__ void add(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += in[i];
}
__global__ void roots(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i] + 1;
    for (int k = 0; k < 64; k++)
        v = sqrtf(v) + 1;
    out[i] = v;
}
__global__ void polynomial(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int k = 0; k < 256; k++)
        v = fmaf(v, 0.5f, 0.25f);
    out[i] = v;
}
__global__ void turn(const float *in, float *out) {
    int x = blockIdx.x * 16 + threadIdx.x % 16, y = blockIdx.y * 16 + threadIdx.x / 16;
    out[(size_t)x * SIDE + y] = in[(size_t)y * SIDE + x];
}
__global__ void sum_rows(const float *in, float *out) {
    __shared__ float part[256];
    float v = 0;
    for (int i = threadIdx.x; i < SIDE; i += 256)
        v += in[(size_t)blockIdx.x * SIDE + i];
    part[threadIdx.x] = v;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}
__global__ void sum_columns(const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    float v = 0;
    for (int y = 0; y < SIDE; y++)
        v += in[(size_t)y * SIDE + x];
    out[x] = v;
}
__global__ void count(const float *in, unsigned *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[__float_as_uint(in[i]) % 61], 1);
}
__global__ void gather(const float *in, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * 2654435761u % N];
}
__global__ void product(const float *a, const float *b, float *c) {
    __shared__ float left[16][17], right[16][17];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float v = 0;
    for (int k = 0; k < 1024; k += 16) {
        left[y][x] = a[(size_t)(blockIdx.y * 16 + y) * SIDE + k + x];
        right[y][x] = b[(size_t)(k + y) * SIDE + blockIdx.x * 16 + x];
        __syncthreads();
        for (int j = 0; j < 16; j++)
            v += left[y][j] * right[j][x];
        __syncthreads();
    }
    c[(size_t)(blockIdx.y * 16 + y) * SIDE + blockIdx.x * 16 + x] = v;
}

// TURNS: how often each is launched; 10 unless told.
int main(int argc, char **argv) {
    int turns = argc > 1 ? atoi(argv[1]) : 10;
    float *in = device<float>(N), *other = device<float>(N), *out = device<float>(N);
    for (int i = 0; i < turns; i++) {
        scale<<<N / 256, 256>>>(in, out);
        add<<<N / 256, 256>>>(in, out);
        roots<<<N / 256, 256>>>(in, out);
        polynomial<<<N / 256, 256>>>(in, out);
        turn<<<dim3(SIDE / 16, SIDE / 16), 256>>>(in, out);
        sum_rows<<<SIDE, 256>>>(in, out);
        sum_columns<<<SIDE / 256, 256>>>(in, out);
        count<<<N / 256, 256>>>(in, (unsigned *)out);
        gather<<<N / 256, 256>>>(in, out);
        product<<<dim3(64, 64), 256>>>(in, other, out);
    }
    done();
}
