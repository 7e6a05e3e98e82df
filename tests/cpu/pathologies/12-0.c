#pragma hone launch sheet grid(C) args(x, z, y)

void sheet(long block, const float *restrict x, const float *restrict z, float *restrict y) {
    for (long i = 0; i < R; i++)
        y[i * C + block] = x[i * C + block] * 2.0f + z[i * C + block];
}
