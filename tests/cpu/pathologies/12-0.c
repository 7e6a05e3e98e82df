#pragma hone launch sheet grid(C / 16) args(x, z, y)

void sheet(long block, const float *restrict x, const float *restrict z, float *restrict y) {
    for (long j = block * 16; j < (block + 1) * 16; j++)
        for (long i = 0; i < R; i++)
            y[i * C + j] = x[i * C + j] * 2.0f + z[i * C + j];
}
