// gather_rows, by hone VERSION.
// kernel for gather_rows on sm_90a
// stage y : scatter  block 256  vec 8  ahead 2
#include "dev.h"

#ifndef M
#define M 1000
#endif
#ifndef V
#define V 300
#endif
#ifndef D
#define D 24
#endif

HONE_ASSERT(M == 1000, "lowered for M = 1000");
HONE_ASSERT(V == 300, "lowered for V = 300");
HONE_ASSERT(D == 24, "lowered for D = 24");

#pragma hone scratch t_2_counts i32[300] = 0
#pragma hone scratch t_2_taken i32[1] = 0
#pragma hone scratch t_2_first i32[300]
#pragma hone scratch t_2_slots i32[1000]
#pragma hone scratch t_2_sources i32[1000]
#pragma hone launch t_2_count grid(4) block(256) args(i, t_2_counts, t_2_slots)
#pragma hone launch t_2_begin grid(2) block(256) args(t_2_counts, t_2_taken, t_2_first)
#pragma hone launch t_2_place grid(4) block(256) args(i, t_2_first, t_2_slots, t_2_sources)
#pragma hone launch t_2_order grid(4) block(256) args(i, t_2_counts, t_2_first, t_2_slots, t_2_sources)
#pragma hone launch y_sums grid(4) block(256) args(b, x, y, t_2_counts, t_2_first, t_2_slots)

HONE_KERNEL(256) t_2_count(const long long *__restrict__ i, int *t_2_counts, int *__restrict__ t_2_slots) {
    int one;
    int own;
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 1000) {
        one = 1;
        own = 0;
        long long i_2 = i[i_v];
        int row = hone_to_int(i_2, 0, 299);
        hone_take(&own, &t_2_counts[row], &one);
        t_2_slots[i_v] = own;
    }
}

HONE_KERNEL(256) t_2_begin(const int *__restrict__ t_2_counts, int *t_2_taken, int *__restrict__ t_2_first) {
    int more;
    int from;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 256 + thread;
    int own_v = (row < 300 ? t_2_counts[row] : 0);
    int before = hone_warp_before_sum_i32(own_v);
    int all = hone_warp_sum_i32(own_v);
    more = all;
    from = 0;
    if (thread % 32 < 1) {
        hone_take(&from, &t_2_taken[0], &more);
    }
    int start = hone_warp_sum_i32(from);
    if (row < 300) {
        t_2_first[row] = hone_add_i32(start, before);
    }
}

HONE_KERNEL(256) t_2_place(const long long *__restrict__ i, const int *__restrict__ t_2_first, const int *__restrict__ t_2_slots, int *__restrict__ t_2_sources) {
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 1000) {
        long long i_2 = i[i_v];
        int row = hone_to_int(i_2, 0, 299);
        int at = hone_to_int(hone_add_i32(t_2_first[row], t_2_slots[i_v]), 0, 999);
        t_2_sources[at] = (int)i_v;
    }
}

HONE_KERNEL(256) t_2_order(const long long *__restrict__ i, const int *__restrict__ t_2_counts, const int *__restrict__ t_2_first, int *__restrict__ t_2_slots, const int *__restrict__ t_2_sources) {
    int less;
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 1000) {
        long long i_2 = i[i_v];
        int row = hone_to_int(i_2, 0, 299);
        int first = hone_to_int(t_2_first[row], 0, 1000);
        int last = hone_to_int(hone_add_i32(t_2_first[row], t_2_counts[row]), 0, 1000);
        int own_v = (int)i_v;
        less = (int)first;
        for (int k = first; k < last; k++) {
            less = hone_add_i32(less, (t_2_sources[k] < own_v ? 1 : 0));
        }
        int at = hone_to_int(less, 0, 999);
        t_2_slots[at] = own_v;
    }
}

HONE_KERNEL(256) y_sums(const unsigned short *__restrict__ b, const unsigned short *__restrict__ x, unsigned short *__restrict__ y, const int *__restrict__ t_2_counts, const int *__restrict__ t_2_first, const int *__restrict__ t_2_slots) {
    f32x8 sum;
    f32x8 terms[2];
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 900) {
        int i_2 = i_v * 8 % D;
        int i_3 = i_v * 8 / D;
        f32x8 b_v = hone_load8_bf16(&b[i_3 * D + i_2]);
        sum = b_v;
        int last = hone_to_int(hone_add_i32(t_2_first[i_3], t_2_counts[i_3]), 0, 1000);
        int first = hone_to_int(t_2_first[i_3], 0, 1000);
        for (int k = first; k < last; k += 2) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                int q = hone_to_int(t_2_slots[(k + j < last - 1 ? k + j : last - 1)], 0, 999);
                f32x8 x_v = hone_load8_bf16(&x[q * D + i_2]);
                f32x8 t_1 = x_v * 0.5f;
                terms[j] = t_1;
            }
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                if (k + j < last) {
                    sum += terms[j];
                }
            }
        }
        f32x8 y_f32 = hone_max8(sum, hone_all8(0.0f));
        hone_store8_bf16(&y[i_3 * D + i_2], y_f32);
    }
}
