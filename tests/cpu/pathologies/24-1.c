typedef float vec __attribute__((vector_size(32), aligned(4)));
enum { ROWS = 4, COLS = 2, LANES = 8 };
#pragma hone launch product grid((M / 4) * (N / 2)) args(a, b, c)

static float total(vec v) {
    float sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += v[i];
    return sum;
}

void product(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    const long row = block / (N / COLS) * ROWS, column = block % (N / COLS) * COLS;
    vec sum[ROWS][COLS] = {0};
    for (long k = 0; k < K; k += LANES)
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 16
            for (int j = 0; j < COLS; j++)
                sum[i][j] +=
                    *(const vec *)&a[(row + i) * K + k] * *(const vec *)&b[(column + j) * K + k];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 16
        for (int j = 0; j < COLS; j++)
            c[(row + i) * N + column + j] = total(sum[i][j]);
}
