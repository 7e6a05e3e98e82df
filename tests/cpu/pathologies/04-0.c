typedef float vec __attribute__((vector_size(32), aligned(4)));
#pragma hone launch product grid(M) args(a, b, c)

void product(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    for (long j = 0; j < N; j += 8) {
        vec sum = {0};
        for (long k = 0; k < K; k++)
            sum += a[block * K + k] * *(const vec *)&b[k * N + j];
        *(vec *)&c[block * N + j] = sum;
    }
}
