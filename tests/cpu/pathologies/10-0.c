#pragma hone launch all grid(S) args(x, y)

void all(long block, const float *restrict x, float *restrict y) {
    y[block] = x[block] * 2.0f + 1.0f;
}
