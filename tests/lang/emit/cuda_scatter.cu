// gather_rows, by hone VERSION.
// kernel for gather_rows on sm_90a
// stage y : scatter  block 256  vec 8  rows 64  piece 512
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

#pragma hone scratch t_2_counts i32[10]
#pragma hone scratch t_2_totals i32[5]
#pragma hone scratch t_2_groups i32[1]
#pragma hone scratch t_2_begins i32[10]
#pragma hone scratch t_2_ends i32[5]
#pragma hone scratch t_2_sources i32[1000]
#pragma hone scratch t_2_rows i32[1000]
#pragma hone scratch t_2_order i32[1000]
#pragma hone scratch t_2_first i32[300]
#pragma hone scratch t_2_last i32[300]
#pragma hone launch y_count grid(1) block(128) args(i, t_2_counts)
#pragma hone launch y_add grid(1) block(128) args(t_2_counts, t_2_totals)
#pragma hone launch y_join grid(1) block(128) args(t_2_totals, t_2_groups)
#pragma hone launch y_begin grid(1) block(128) args(t_2_counts, t_2_totals, t_2_groups, t_2_begins, t_2_ends)
#pragma hone launch y_place grid(1) block(128) args(i, t_2_begins, t_2_sources, t_2_rows)
#pragma hone launch y_sort grid(3) block(128) args(t_2_begins, t_2_ends, t_2_sources, t_2_rows, t_2_order, t_2_first, t_2_last)
#pragma hone launch y_sums grid(4) block(256) args(b, x, y, t_2_order, t_2_first, t_2_last)

HONE_KERNEL(128) y_count(const long long *__restrict__ i, int *__restrict__ t_2_counts) {
    int n;
    const int thread = hone_thread();
    if (thread < 10) {
        int range = thread % 5;
        int piece = thread / 5;
        n = 0;
        for (int q = piece * 512; q < (1000 < piece * 512 + 512 ? 1000 : piece * 512 + 512); q++) {
            long long i_v = i[q];
            int row = hone_to_int(i_v, 0, 299);
            int to = row / 64;
            if (to < range + 1) {
                if (range - 1 < to) {
                    n = hone_add_i32(n, 1);
                }
            }
        }
        t_2_counts[range * 2 + piece] = n;
    }
}

HONE_KERNEL(128) y_add(const int *__restrict__ t_2_counts, int *__restrict__ t_2_totals) {
    int total;
    const int thread = hone_thread();
    if (thread < 5) {
        total = 0;
        for (int k = thread * 2; k < thread * 2 + 2; k++) {
            total = hone_add_i32(total, t_2_counts[k]);
        }
        t_2_totals[thread] = total;
    }
}

HONE_KERNEL(128) y_join(const int *__restrict__ t_2_totals, int *__restrict__ t_2_groups) {
    int total_;
    const int thread = hone_thread();
    if (thread < 1) {
        total_ = 0;
        for (int k = thread * 32; k < 5; k++) {
            total_ = hone_add_i32(total_, t_2_totals[k]);
        }
        t_2_groups[thread] = total_;
    }
}

HONE_KERNEL(128) y_begin(const int *__restrict__ t_2_counts, const int *__restrict__ t_2_totals, const int *__restrict__ t_2_groups, int *__restrict__ t_2_begins, int *__restrict__ t_2_ends) {
    int next;
    const int thread = hone_thread();
    if (thread < 5) {
        int group = thread / 32;
        next = 0;
        for (int k = 0; k < group; k++) {
            next = hone_add_i32(next, t_2_groups[k]);
        }
        for (int k = group * 32; k < thread; k++) {
            next = hone_add_i32(next, t_2_totals[k]);
        }
        for (int piece = 0; piece < 2; piece++) {
            int pair = thread * 2 + piece;
            t_2_begins[pair] = next;
            next = hone_add_i32(next, t_2_counts[pair]);
        }
        t_2_ends[thread] = next;
    }
}

HONE_KERNEL(128) y_place(const long long *__restrict__ i, const int *__restrict__ t_2_begins, int *__restrict__ t_2_sources, int *__restrict__ t_2_rows) {
    int slot;
    const int thread = hone_thread();
    if (thread < 10) {
        int range = thread % 5;
        int piece = thread / 5;
        slot = t_2_begins[range * 2 + piece];
        for (int q = piece * 512; q < (1000 < piece * 512 + 512 ? 1000 : piece * 512 + 512); q++) {
            long long i_v = i[q];
            int row = hone_to_int(i_v, 0, 299);
            int to = row / 64;
            if (to < range + 1) {
                if (range - 1 < to) {
                    int at = hone_to_int(slot, 0, 999);
                    t_2_sources[at] = (int)q;
                    t_2_rows[at] = (int)row;
                    slot = hone_add_i32(slot, 1);
                }
            }
        }
    }
}

HONE_KERNEL(128) y_sort(const int *__restrict__ t_2_begins, const int *__restrict__ t_2_ends, const int *__restrict__ t_2_sources, const int *__restrict__ t_2_rows, int *__restrict__ t_2_order, int *__restrict__ t_2_first, int *__restrict__ t_2_last) {
    int filled;
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 128 + thread;
    if (i_v < 300) {
        int range = i_v / 64;
        int begin = hone_to_int(t_2_begins[range * 2], 0, 1000);
        int end = hone_to_int(t_2_ends[range], 0, 1000);
        int own = (int)i_v;
        filled = (int)begin;
        for (int k = begin; k < end; k++) {
            filled = hone_add_i32(filled, (t_2_rows[k] < own ? 1 : 0));
        }
        t_2_first[i_v] = filled;
        for (int k = begin; k < end; k++) {
            int other = hone_to_int(t_2_rows[k], 0, 299);
            if (other < i_v + 1) {
                if (i_v - 1 < other) {
                    int at = hone_to_int(filled, 0, 999);
                    t_2_order[at] = t_2_sources[k];
                    filled = hone_add_i32(filled, 1);
                }
            }
        }
        t_2_last[i_v] = filled;
    }
}

HONE_KERNEL(256) y_sums(const unsigned short *__restrict__ b, const unsigned short *__restrict__ x, unsigned short *__restrict__ y, const int *__restrict__ t_2_order, const int *__restrict__ t_2_first, const int *__restrict__ t_2_last) {
    f32x8 sum;
    const int block = hone_block();
    const int thread = hone_thread();
    int i_v = block * 256 + thread;
    if (i_v < 900) {
        int i_2 = i_v * 8 % D;
        int i_3 = i_v * 8 / D;
        f32x8 b_v = hone_load8_bf16(&b[i_3 * D + i_2]);
        sum = b_v;
        int first = hone_to_int(t_2_first[i_3], 0, 1000);
        int last = hone_to_int(t_2_last[i_3], 0, 1000);
        for (int k = first; k < last; k++) {
            int q = hone_to_int(t_2_order[k], 0, 999);
            f32x8 x_v = hone_load8_bf16(&x[q * D + i_2]);
            f32x8 t_1 = x_v * 0.5f;
            sum += t_1;
        }
        f32x8 y_f32 = hone_max8(sum, hone_all8(0.0f));
        hone_store8_bf16(&y[i_3 * D + i_2], y_f32);
    }
}
