// tokens, by hone VERSION.
// kernel for tokens on sm_90a
// stage y : map as rows  threads 32  rows 2  vec 1
#include "dev.h"

#ifndef B
#define B 20
#endif
#ifndef T
#define T 50
#endif
#ifndef V
#define V 70
#endif
#ifndef D
#define D 48
#endif

HONE_ASSERT(B == 20, "lowered for B = 20");
HONE_ASSERT(T == 50, "lowered for T = 50");
HONE_ASSERT(V == 70, "lowered for V = 70");
HONE_ASSERT(D == 48, "lowered for D = 48");

#pragma hone scratch t_1_counts i32[70] = 0
#pragma hone scratch t_1_taken i32[1] = 0
#pragma hone scratch t_1_first i32[70]
#pragma hone scratch t_1_slots i32[1000]
#pragma hone scratch t_1_sources i32[1000]
#pragma hone launch t_1_count grid(4) block(256) args(i, t_1_counts, t_1_slots)
#pragma hone launch t_1_begin grid(1) block(256) args(t_1_counts, t_1_taken, t_1_first)
#pragma hone launch t_1_place grid(4) block(256) args(i, t_1_first, t_1_slots, t_1_sources)
#pragma hone launch y_map grid(35) block(64) args(w, p, y, t_1_counts, t_1_first, t_1_sources)

HONE_KERNEL(256) t_1_count(const long long *__restrict__ i, int *t_1_counts, int *__restrict__ t_1_slots) {
    int one;
    int own;
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 1000) {
        one = 1;
        own = 0;
        int i_2 = i_v % T;
        int i_3 = i_v / T;
        long long i_4 = i[i_3 * T + i_2];
        int row = hone_to_int(i_4, 0, 69);
        hone_take(&own, &t_1_counts[row], &one);
        t_1_slots[i_v] = own;
    }
}

HONE_KERNEL(256) t_1_begin(const int *__restrict__ t_1_counts, int *t_1_taken, int *__restrict__ t_1_first) {
    int more;
    int from;
    const int thread = hone_thread();
    int own_v = (thread < 70 ? t_1_counts[thread] : 0);
    int before = hone_warp_before_sum_i32(own_v);
    int all = hone_warp_sum_i32(own_v);
    more = all;
    from = 0;
    if (thread % 32 < 1) {
        hone_take(&from, &t_1_taken[0], &more);
    }
    int start = hone_warp_sum_i32(from);
    if (thread < 70) {
        t_1_first[thread] = hone_add_i32(start, before);
    }
}

HONE_KERNEL(256) t_1_place(const long long *__restrict__ i, const int *__restrict__ t_1_first, const int *__restrict__ t_1_slots, int *__restrict__ t_1_sources) {
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 1000) {
        int i_2 = i_v % T;
        int i_3 = i_v / T;
        long long i_4 = i[i_3 * T + i_2];
        int row = hone_to_int(i_4, 0, 69);
        int at = hone_to_int(hone_add_i32(t_1_first[row], t_1_slots[i_v]), 0, 999);
        t_1_sources[at] = (int)i_v;
    }
}

HONE_KERNEL(64) y_map(const unsigned short *__restrict__ w, const unsigned short *__restrict__ p, unsigned short *__restrict__ y, const int *__restrict__ t_1_counts, const int *__restrict__ t_1_first, const int *__restrict__ t_1_sources) {
    float t_1_row[2];
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 2 + thread / 32;
    int column = thread % 32;
    int first = hone_to_int(t_1_first[row], 0, 1000);
    int last = hone_to_int(hone_add_i32(t_1_first[row], t_1_counts[row]), 0, 1000);
    if (first < last) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            int at = item * 32 + column;
            if (at < 48) {
                t_1_row[item] = hone_from_bf16(w[row * 48 + at]);
            }
        }
        for (int k = first; k < last; k++) {
            int q = hone_to_int(t_1_sources[k], 0, 999);
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int at = item * 32 + column;
                if (at < 48) {
                    int i_v = q % T;
                    int i_2 = q / T;
                    float t_2 = t_1_row[item] * 2.0f;
                    float p_v = hone_from_bf16(p[i_v * D + at]);
                    float y_f32 = t_2 + p_v;
                    y[(i_2 * T + i_v) * D + at] = hone_to_bf16(y_f32);
                }
            }
        }
    }
}
