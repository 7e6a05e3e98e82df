typedef float vec __attribute__((vector_size(32), aligned(4)));
enum { LANES = 8 };
#pragma hone launch product grid(M) args(a, b, c)

static float total(vec v) {
    float sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += v[i];
    return sum;
}

void product(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    for (long j = 0; j < N; j++) {
        vec sum = {0};
        for (long k = 0; k < K; k += LANES)
            sum += *(const vec *)&a[block * K + k] * *(const vec *)&b[j * K + k];
        c[block * N + j] = total(sum);
    }
}
