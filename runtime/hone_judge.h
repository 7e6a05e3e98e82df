// What the judge's kernels have in common (judge.cu, oracle.cu). Plain C but for the words below,
// which tests define themselves to run a kernel on a CPU, one thread after the other.
#ifndef HONE_JUDGE_H
#define HONE_JUDGE_H

typedef unsigned long long u64;

#ifdef __CUDACC__
static __device__ __forceinline__ u64 first(void) {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ u64 stride(void) {
    return (u64)gridDim.x * blockDim.x;
}
#define JUDGE_KERNEL extern "C" __global__ void
#define JUDGE_FN static __device__ __forceinline__
#define JUDGE_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define JUDGE_BITS(f) __float_as_uint(f)
#endif

struct judge_part {
    double sum, max;                       // of squared errors; the largest error
    u64 n_wrong, n_same, n_other, digest;  // n_same: words equal to the poison; n_other: others
};

JUDGE_FN void judge_add(struct judge_part *p, struct judge_part q) {
    p->sum += q.sum;
    p->max = q.max > p->max ? q.max : p->max;
    p->n_wrong += q.n_wrong;
    p->n_same += q.n_same;
    p->n_other += q.n_other;
    p->digest += q.digest;
}

// Threads whose parts become one: a warp. All of them must come here.
#define JUDGE_LANES 32
JUDGE_FN void judge_leave(struct judge_part *parts, struct judge_part p) {
    struct judge_part *to = &parts[first() / JUDGE_LANES];
#ifdef __CUDACC__
    for (int step = JUDGE_LANES / 2; step; step /= 2) {
        struct judge_part q = {
            __shfl_down_sync(~0u, p.sum, step),     __shfl_down_sync(~0u, p.max, step),
            __shfl_down_sync(~0u, p.n_wrong, step), __shfl_down_sync(~0u, p.n_same, step),
            __shfl_down_sync(~0u, p.n_other, step), __shfl_down_sync(~0u, p.digest, step)};
        judge_add(&p, q);
    }
    if (first() % JUDGE_LANES == 0)
        *to = p;
#else
    if (first() % JUDGE_LANES == 0)
        *to = p;
    else
        judge_add(to, p);
#endif
}

// As oracle/oracle.c counts errors: in units of the spread.
JUDGE_FN double judge_error(float value, double truth, double spread) {
    float rounded = (float)truth;
    if (isnan(spread))
        return 0;
    if (value == rounded)
        return spread > 0 && isfinite(value) ? fabs((double)value - truth) / spread : 0;
    if (isnan(rounded))
        return isnan(value) ? 0 : JUDGE_INFINITY;
    if (value == 0 && fabsf(rounded) < 1.17549435e-38f)
        return 0;
    if (isinf(value) && fabsf(rounded) > 3.40282347e38f / 4 && (value < 0) == (rounded < 0))
        return 0;
    if (isinf(rounded) || !(spread > 0))
        return JUDGE_INFINITY;
    double e = fabs((double)value - truth) / spread;
    return isnan(e) ? JUDGE_INFINITY : e;
}

#endif
