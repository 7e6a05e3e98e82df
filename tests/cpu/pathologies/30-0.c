enum { EACH = 1 };
#pragma hone launch rows grid(R / 1) args(x, y)

void rows(long block, const float *restrict x, float *restrict y) {
    for (long row = block * EACH; row < (block + 1) * EACH; row++) {
        float best[4] = {x[row * 16], x[row * 16 + 1], x[row * 16 + 2], x[row * 16 + 3]};
        for (int j = 4; j < 16; j += 4)
            for (int i = 0; i < 4; i++)
                best[i] = x[row * 16 + j + i] > best[i] ? x[row * 16 + j + i] : best[i];
        best[0] = best[1] > best[0] ? best[1] : best[0];
        best[2] = best[3] > best[2] ? best[3] : best[2];
        y[row] = best[2] > best[0] ? best[2] : best[0];
    }
}
