#include <math.h>
#pragma hone launch rows grid(R / 16) args(x, y)

void rows(long block, const float *restrict x, float *restrict y) {
    for (long row = block * 16; row < (block + 1) * 16; row++) {
        float part[64] = {0}, sum = 0;
        for (long j = 0; j < C; j += 64)
            for (int i = 0; i < 64; i++)
                part[i] += x[row * C + j + i] * x[row * C + j + i];
        for (int i = 0; i < 64; i++)
            sum += part[i];
        const float root = 1.0f / sqrtf(sum / C + 0.000001f);
        for (long j = 0; j < C; j++)
            y[row * C + j] = x[row * C + j] * root;
    }
}
