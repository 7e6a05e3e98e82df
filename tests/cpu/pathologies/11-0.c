enum { PART = 16384 };
#pragma hone launch all grid(L / 16384) args(x, y)

void all(long block, const float *restrict x, float *restrict y) {
    for (long i = block * PART; i < (block + 1) * PART; i++)
        y[i] = (x[i] * 2.0f + 1.0f) * 3.0f;
}
