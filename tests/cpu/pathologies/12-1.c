#pragma hone launch sheet grid(R / 16) args(x, z, y)

void sheet(long block, const float *restrict x, const float *restrict z, float *restrict y) {
    for (long i = block * 16; i < (block + 1) * 16; i++)
        for (long j = 0; j < C; j++)
            y[i * C + j] = x[i * C + j] * 2.0f + z[i * C + j];
}
