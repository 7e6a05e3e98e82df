// Bias, GELU, gate and residual in one pass, a thread for each element.
#pragma hone launch chain grid(N / 256, M) block(256) args(x, bias, gate, skip, y)
extern "C" __global__ void chain(const float *x, const float *bias, const float *gate,
                                 const float *skip, float *y) {
    int column = blockIdx.x * 256 + threadIdx.x;
    long long i = (long long)blockIdx.y * N + column;
    float t = x[i] + bias[column];
    y[i] = 0.5f * t * (1.0f + erff(t * 0.70710678f)) * gate[i] + skip[i];
}
