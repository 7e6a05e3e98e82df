#pragma hone launch all grid(3) args(x, y)

void all(long block, const float *restrict x, float *restrict y) {
    const long from = block == 0 ? 0 : L / 8 * (5 + block),
               to = block == 2 ? L : L / 8 * (6 + block);
    for (long i = from; i < to; i++)
        y[i] = (x[i] * 2.0f + 1.0f) * 3.0f;
}
