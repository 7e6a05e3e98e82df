enum { PART = 208 };
#pragma hone launch sums grid(C / 208) args(x, y)

void sums(long block, const float *restrict x, float *restrict y) {
    float sum[PART] = {0};
    for (long i = 0; i < R; i++)
        for (long j = 0; j < PART; j++)
            sum[j] += x[i * C + block * PART + j];
    for (long j = 0; j < PART; j++)
        y[block * PART + j] = sum[j];
}
