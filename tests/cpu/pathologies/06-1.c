enum { SIDE = 32 };
#pragma hone launch tiles grid((N / 32) * (M / 32)) args(x, y)

void tiles(long block, const float *restrict x, float *restrict y) {
    const long row = block / (M / SIDE) * SIDE, column = block % (M / SIDE) * SIDE;
    float tile[SIDE][SIDE];
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            tile[i][j] = x[(column + j) * N + row + i] * 2.0f;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            y[(row + i) * M + column + j] = tile[i][j];
}
