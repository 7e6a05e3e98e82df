#pragma hone launch product grid(M) args(a, b, c)

void product(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    for (long j = 0; j < N; j++) {
        float sum = 0;
        for (long k = 0; k < K; k++)
            sum += a[block * K + k] * b[j * K + k];
        c[block * N + j] = sum;
    }
}
