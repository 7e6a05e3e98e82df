// Micro-kernels that measure what a GPU can do: traffic in four mixes, multiply-adds in f32 and
// f64, functions, and the tensor cores in bf16, tf32, f8 and i8 (mma.sync everywhere that has the
// type, wgmma where there is one).
// Built by NVRTC, which has no headers of its own: plain types only.

typedef unsigned long long u64;

static __device__ __forceinline__ u64 first(void) {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ u64 stride(void) {
    return (u64)gridDim.x * blockDim.x;
}

// Traffic. `n` counts float4; each thread keeps several loads in flight.

extern "C" __global__ void traffic_read(const float4 *a, const float4 *b, float4 *c, u64 n) {
    float s = 0;
#pragma unroll 8
    for (u64 i = first(); i < n; i += stride()) {
        float4 v = a[i];
        s += v.x + v.y + v.z + v.w;
    }
    if (s == 1.2345e30f)  // never, but the compiler cannot know
        c[0].x = s;
}

extern "C" __global__ void traffic_triad(const float4 *a, const float4 *b, float4 *c, u64 n) {
#pragma unroll 4
    for (u64 i = first(); i < n; i += stride()) {
        float4 v = a[i], w = b[i];
        c[i] = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);
    }
}

extern "C" __global__ void traffic_copy(const float4 *a, const float4 *b, float4 *c, u64 n) {
#pragma unroll 4
    for (u64 i = first(); i < n; i += stride())
        c[i] = a[i];
}

extern "C" __global__ void traffic_write(const float4 *a, const float4 *b, float4 *c, u64 n) {
    for (u64 i = first(); i < n; i += stride())
        c[i] = make_float4(1, 2, 3, 4);
}

// The same by blocks that have a stretch of TILE elements per thread to themselves (the host counts
// on 4), loads before stores.
#define TILE 4
#define TILE_AT(k) ((u64)blockIdx.x * blockDim.x * TILE + (k) * blockDim.x + threadIdx.x)
#define TILE_FOR(k) _Pragma("unroll") for (int k = 0; k < TILE; k++) if (TILE_AT(k) < n)

extern "C" __global__ void tiles_read(const float4 *a, const float4 *b, float4 *c, u64 n) {
    float4 v[TILE] = {};
    float s = 0;
    TILE_FOR(k) v[k] = a[TILE_AT(k)];
    TILE_FOR(k) s += v[k].x + v[k].y + v[k].z + v[k].w;
    if (s == 1.2345e30f)
        c[0].x = s;
}

extern "C" __global__ void tiles_triad(const float4 *a, const float4 *b, float4 *c, u64 n) {
    float4 v[TILE], w[TILE];
    TILE_FOR(k) {
        v[k] = a[TILE_AT(k)];
        w[k] = b[TILE_AT(k)];
    }
    TILE_FOR(k)
        c[TILE_AT(k)] =
            make_float4(v[k].x + w[k].x, v[k].y + w[k].y, v[k].z + w[k].z, v[k].w + w[k].w);
}

extern "C" __global__ void tiles_copy(const float4 *a, const float4 *b, float4 *c, u64 n) {
    float4 v[TILE];
    TILE_FOR(k) v[k] = a[TILE_AT(k)];
    TILE_FOR(k) c[TILE_AT(k)] = v[k];
}

extern "C" __global__ void tiles_write(const float4 *a, const float4 *b, float4 *c, u64 n) {
    TILE_FOR(k) c[TILE_AT(k)] = make_float4(1, 2, 3, 4);
}

// Small values that differ, so that the data lines switch as on real data.
extern "C" __global__ void traffic_fill(const float4 *a, const float4 *b, float4 *c, u64 n) {
    for (u64 i = first(); i < n; i += stride()) {
        unsigned h = (unsigned)i * 2654435761u;
        c[i] = make_float4((h & 255) * 0.01f - 1, (h >> 8 & 255) * 0.01f - 1,
                           (h >> 16 & 255) * 0.01f - 1, (h >> 24) * 0.01f - 1);
    }
}

extern "C" __global__ void empty(void) {
}

// Multiply-adds: CHAINS independent chains in every thread, `n` steps each.
#define CHAINS 8

extern "C" __global__ void fma_f32(float *out, u64 n) {
    float x[CHAINS], m = 0.999f + threadIdx.x * 1e-7f, d = 1e-3f;
    for (int c = 0; c < CHAINS; c++)
        x[c] = c + threadIdx.x;
#pragma unroll 16
    for (u64 i = 0; i < n; i++)
        for (int c = 0; c < CHAINS; c++)
            x[c] = x[c] * m + d;
    float s = 0;
    for (int c = 0; c < CHAINS; c++)
        s += x[c];
    if (s == 1.2345e30f)
        *out = s;
}

extern "C" __global__ void fma_f64(float *out, u64 n) {
    double x[CHAINS], m = 0.999 + threadIdx.x * 1e-7, d = 1e-3;
    for (int c = 0; c < CHAINS; c++)
        x[c] = c + threadIdx.x;
#pragma unroll 16
    for (u64 i = 0; i < n; i++)
        for (int c = 0; c < CHAINS; c++)
            x[c] = x[c] * m + d;
    double s = 0;
    for (int c = 0; c < CHAINS; c++)
        s += x[c];
    if (s == 1.2345e300)
        *out = (float)s;
}

// Functions: exp of any kind comes down to one of these.
extern "C" __global__ void function_f32(float *out, u64 n) {
    float x[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        x[c] = -1.0f - c - threadIdx.x;
#pragma unroll 16
    for (u64 i = 0; i < n; i++)
        for (int c = 0; c < CHAINS; c++)
            asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[c]));
    float s = 0;
    for (int c = 0; c < CHAINS; c++)
        s += x[c];
    if (s == 1.2345e30f)
        *out = s;
}

// Tensor cores through mma.sync: operands in registers, 8 accumulator tiles per warp.
// 16x8x16 in bf16 is 4096 flops, 16x8x8 in tf32 is 2048, 16x8x32 in f8 and i8 is 8192.
#define MMA_LOOP(type, constraint, instruction)                                                                      \
    type acc[CHAINS][4] = {};                                                                      \
    unsigned a0 = 0x3f803f80u + threadIdx.x, a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3;                \
    unsigned b0 = 0x3f003f00u + threadIdx.x, b1 = b0 + 1;                                          \
    for (u64 i = 0; i < n; i++)                                                                    \
        _Pragma("unroll") for (int c = 0; c < CHAINS; c++)                                         \
            asm volatile(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"      \
                         : constraint(acc[c][0]), constraint(acc[c][1]), constraint(acc[c][2]), constraint(acc[c][3])  \
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                  \
    float s = 0;                                                                                   \
    for (int c = 0; c < CHAINS; c++)                                                               \
        s += acc[c][0] + acc[c][1] + acc[c][2] + acc[c][3];                                        \
    if (s == 1.2345e30f)                                                                           \
        *out = s;

extern "C" __global__ void mma_bf16(float *out, u64 n) {
    MMA_LOOP(float, "+f", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
}

extern "C" __global__ void mma_tf32(float *out, u64 n) {
    MMA_LOOP(float, "+f", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
}

extern "C" __global__ void mma_i8(float *out, u64 n) {
    MMA_LOOP(int, "+r", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
}

#if __CUDA_ARCH__ >= 890
extern "C" __global__ void mma_f8(float *out, u64 n) {
    MMA_LOOP(float, "+f", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
}
#endif

#ifdef HONE_WGMMA
// Tensor cores through wgmma: operands in shared memory in the 128-byte swizzle, one 64x128 tile
// of the result per warp group. Rows of 128 bytes hold four slices of K, 32 bytes each.
#define WGMMA_SHARED_BYTES ((64 + 128) * 128)

// Matrix descriptor: address, groups of eight rows 1024 bytes apart, 128-byte swizzle.
static __device__ __forceinline__ u64 descriptor(const void *p) {
    u64 address = (u64)__cvta_generic_to_shared(p);
    return (address & 0x3ffff) >> 4 | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

#define R8(k, x, i)                                                                                \
    k(x[i]), k(x[i + 1]), k(x[i + 2]), k(x[i + 3]), k(x[i + 4]), k(x[i + 5]), k(x[i + 6]),         \
        k(x[i + 7])

#define WGMMA(k, shape_and_types, tail)                                                               \
    asm volatile("{ wgmma.mma_async.sync.aligned." shape_and_types " "                             \
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                         \
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"                \
                 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"                \
                 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "              \
                 "%64, %65, 1" tail "; }"                                                    \
                 : R8(k, acc, 0), R8(k, acc, 8), R8(k, acc, 16), R8(k, acc, 24), R8(k, acc, 32),   \
                   R8(k, acc, 40), R8(k, acc, 48), R8(k, acc, 56)                                  \
                 : "l"(a + 2 * slice), "l"(b + 2 * slice))

#define WGMMA_LOOP(type, k, shape_and_types, tail)                                                          \
    extern __shared__ __align__(1024) unsigned char shared[];                                      \
    unsigned char *mine = shared + threadIdx.x / 128 * WGMMA_SHARED_BYTES;                         \
    for (int i = threadIdx.x % 128; i < WGMMA_SHARED_BYTES / 4; i += 128)                          \
        ((unsigned *)mine)[i] = 0x3f003f00u + ((unsigned)i * 40503u & 0x007f007fu);                \
    asm volatile("fence.proxy.async.shared::cta;");                                                \
    __syncthreads();                                                                               \
    u64 a = descriptor(mine), b = descriptor(mine + 64 * 128);                                     \
    type acc[64] = {};                                                                             \
    for (u64 i = 0; i < n; i++) {                                                                  \
        asm volatile("wgmma.fence.sync.aligned;");                                                 \
        _Pragma("unroll") for (int slice = 0; slice < 4; slice++) WGMMA(k, shape_and_types, tail);    \
        asm volatile("wgmma.commit_group.sync.aligned;");                                          \
        asm volatile("wgmma.wait_group.sync.aligned 0;");                                          \
    }                                                                                              \
    float s = 0;                                                                                   \
    for (int c = 0; c < 64; c++)                                                                   \
        s += acc[c];                                                                               \
    if (s == 1.2345e30f)                                                                           \
        *out = s;

extern "C" __global__ void wgmma_bf16(float *out, u64 n) {
    WGMMA_LOOP(float, "+f", "m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0")
}

extern "C" __global__ void wgmma_tf32(float *out, u64 n) {
    WGMMA_LOOP(float, "+f", "m64n128k8.f32.tf32.tf32", ", 1, 1")
}

extern "C" __global__ void wgmma_f8(float *out, u64 n) {
    WGMMA_LOOP(float, "+f", "m64n128k32.f32.e4m3.e4m3", ", 1, 1")
}

extern "C" __global__ void wgmma_i8(float *out, u64 n) {
    WGMMA_LOOP(int, "+r", "m64n128k32.s32.s8.s8", "")
}
#endif
