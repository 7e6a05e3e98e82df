#include <math.h>
#pragma hone scratch squares f32[R *C]
#pragma hone scratch roots f32[R]
#pragma hone launch square grid(R / 16) args(x, squares)
#pragma hone launch root grid(R / 16) args(squares, roots)
#pragma hone launch scale grid(R / 16) args(x, roots, y)

void square(long block, const float *restrict x, float *restrict squares) {
    for (long i = block * 16 * C; i < (block + 1) * 16 * C; i++)
        squares[i] = x[i] * x[i];
}

void root(long block, const float *restrict squares, float *restrict roots) {
    for (long row = block * 16; row < (block + 1) * 16; row++) {
        float part[64] = {0}, sum = 0;
        for (long j = 0; j < C; j += 64)
            for (int i = 0; i < 64; i++)
                part[i] += squares[row * C + j + i];
        for (int i = 0; i < 64; i++)
            sum += part[i];
        roots[row] = 1.0f / sqrtf(sum / C + 0.000001f);
    }
}

void scale(long block, const float *restrict x, const float *restrict roots, float *restrict y) {
    for (long row = block * 16; row < (block + 1) * 16; row++)
        for (long j = 0; j < C; j++)
            y[row * C + j] = x[row * C + j] * roots[row];
}
