typedef float vec __attribute__((vector_size(32), aligned(4)));
enum { ROWS = 4, COLS = 2, LANES = 8 };
#pragma hone launch product grid((M / 4) * (N / 16)) args(a, b, c)

void product(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    const long across = N / (COLS * LANES), row = block / across * ROWS;
    const long column = block % across * (COLS * LANES);
    vec sum[ROWS][COLS] = {0};
    for (long k = 0; k < K; k++)
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 16
            for (int j = 0; j < COLS; j++)
                sum[i][j] += a[(row + i) * K + k] * *(const vec *)&b[k * N + column + j * LANES];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 16
        for (int j = 0; j < COLS; j++)
            *(vec *)&c[(row + i) * N + column + j * LANES] = sum[i][j];
}
