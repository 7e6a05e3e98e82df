typedef float vec __attribute__((vector_size(32), aligned(4)));
enum { LANES = 8 };
#pragma hone launch sheet grid(C / 16) args(x, z, y)

void sheet(long block, const float *restrict x, const float *restrict z, float *restrict y) {
    for (long from = block * 16; from < (block + 1) * 16; from += LANES)
        for (long row = 0; row < R; row++) {
            const long at = row * C + from;
            *(vec *)&y[at] = *(const vec *)&x[at] * 2.0f + *(const vec *)&z[at];
        }
}
