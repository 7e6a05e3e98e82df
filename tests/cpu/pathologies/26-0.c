typedef float vec __attribute__((vector_size(32), aligned(4)));
typedef int index __attribute__((vector_size(32)));
#pragma hone launch sums grid(C) args(x, y)

void sums(long block, const float *restrict x, float *restrict y) {
    const index at = {0, 1, 2, 3, 4, 5, 6, 7};
    const vec all = (vec)(index){-1, -1, -1, -1, -1, -1, -1, -1};
    vec sum = {0};
    for (long i = 0; i < R; i += 8)
        sum += __builtin_ia32_gathersiv8sf(all, &x[i * C + block], at * (int)C, all, 4);
    float total = 0;
    for (int i = 0; i < 8; i++)
        total += sum[i];
    y[block] = total;
}
