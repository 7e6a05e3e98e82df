#pragma hone launch product grid(M) args(a, b, c)

void product(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    float sum[N];
    for (long j = 0; j < N; j++)
        sum[j] = 0;
    for (long k = 0; k < K; k++)
        for (long j = 0; j < N; j++)
            sum[j] += a[block * K + k] * b[k * N + j];
    for (long j = 0; j < N; j++)
        c[block * N + j] = sum[j];
}
