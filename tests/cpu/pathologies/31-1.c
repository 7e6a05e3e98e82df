typedef float vec __attribute__((vector_size(32), aligned(4)));
enum { LANES = 8 };
#pragma hone launch sheet grid(R / 16) args(x, z, y)

void sheet(long block, const float *restrict x, const float *restrict z, float *restrict y) {
    for (long at = block * 16 * C; at < (block + 1) * 16 * C; at += LANES)
        *(vec *)&y[at] = *(const vec *)&x[at] * 2.0f + *(const vec *)&z[at];
}
