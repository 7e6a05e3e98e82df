// Read by every program here. TWIN is 0 or 1; README.md says what the programs are for.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                               \
    do {                                                          \
        cudaError_t code_ = (call);                               \
        if (code_ != cudaSuccess) {                               \
            printf("%s: %s\n", #call, cudaGetErrorString(code_)); \
            exit(1);                                              \
        }                                                         \
    } while (0)

enum { TURNS = 20 };

static inline int multiprocessors(void) {
    int n = 0;
    CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    return n;
}

// Device memory of n elements, every byte 1: small positive numbers in any type.
template <typename T> static T *device(size_t n) {
    T *p = nullptr;
    CHECK(cudaMalloc(&p, n * sizeof(T)));
    CHECK(cudaMemset(p, 1, n * sizeof(T)));
    return p;
}

static inline void done(void) {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    puts("done");
}
