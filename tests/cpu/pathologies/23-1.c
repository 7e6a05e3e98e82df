typedef float vec __attribute__((vector_size(32), aligned(4)));
enum { OUT = 4, STRIPS = 2, LANES = 8, WIDTH = W + 2, SIZE = (H + 2) * (W + 2) };
#pragma hone launch filter grid(B *(O / 4) * H) args(x, w, y)

void filter(long block, const float *restrict x, const float *restrict w, float *restrict y) {
    const long h = block % H, o = block / H % (O / OUT) * OUT, b = block / H / (O / OUT);
    for (long from = 0; from < W; from += STRIPS * LANES) {
        vec sum[OUT][STRIPS] = {0};
        for (long at = 0; at < 9; at++) {
            const float *in = &x[b * C * SIZE + (h + at / 3) * WIDTH + at % 3 + from];
            const float *by = &w[o * C * 9 + at];
            for (long c = 0; c < C; c++, in += SIZE, by += 9)
#pragma GCC unroll 32
                for (int i = 0; i < OUT; i++)
#pragma GCC unroll 32
                    for (int j = 0; j < STRIPS; j++)
                        sum[i][j] += by[i * C * 9] * *(const vec *)&in[j * LANES];
        }
#pragma GCC unroll 32
        for (int i = 0; i < OUT; i++)
#pragma GCC unroll 32
            for (int j = 0; j < STRIPS; j++)
                *(vec *)&y[((b * O + o + i) * H + h) * W + from + j * LANES] = sum[i][j];
    }
}
