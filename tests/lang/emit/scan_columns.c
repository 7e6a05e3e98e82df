// running, by hone VERSION.
// kernel for running on cpu
// stage y : scan  vec 4  unroll 4  grain 64  split 2  store stream
#include "hone_math.h"

#ifndef M
#define M 3000
#endif
#ifndef N
#define N 100
#endif

_Static_assert(M == 3000, "lowered for M = 3000");
_Static_assert(N == 100, "lowered for N = 100");

#pragma hone scratch y_sums f32[2, 100]
#pragma hone scratch y_carries f32[2, 100]
#pragma hone launch y_sums_2 grid(4) args(x, y_sums)
#pragma hone launch y_carries_2 grid(1) args(y_sums, y_carries)
#pragma hone launch y_scan grid(4) args(x, y, y_carries)

void y_sums_2(long block, const float *restrict x, float *restrict y_sums) {
    _Alignas(64) float open[64];
    _Alignas(64) float before[64];
    long piece = block % 2;
    long begin = block / 2 * 64;
    for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
        hone_store4(&before[j - begin], hone_all4(0.0f));
    }
    for (long run = piece * 2048; run < (3000 < piece * 2048 + 2048 ? 3000 : piece * 2048 + 2048); run += 1024) {
        for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
            hone_store4(&open[j - begin], hone_all4(0.0f));
        }
        for (long p = run; p < ((3000 < piece * 2048 + 2048 ? 3000 : piece * 2048 + 2048) < run + 1024 ? (3000 < piece * 2048 + 2048 ? 3000 : piece * 2048 + 2048) : run + 1024); p += 4) {
            for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
                f32x4 open_v = hone_load4(&open[j - begin]);
                f32x4 x_v = hone_load4(&x[p * N + j]);
                f32x4 t_1 = x_v * 0.5f;
                f32x4 sum_v = open_v + t_1;
                f32x4 x_2 = hone_load4(&x[(p + 1) * N + j]);
                f32x4 t_1_2 = x_2 * 0.5f;
                f32x4 sum_2 = sum_v + t_1_2;
                f32x4 x_3 = hone_load4(&x[(p + 2) * N + j]);
                f32x4 t_1_3 = x_3 * 0.5f;
                f32x4 sum_3 = sum_2 + t_1_3;
                f32x4 x_4 = hone_load4(&x[(p + 3) * N + j]);
                f32x4 t_1_4 = x_4 * 0.5f;
                f32x4 sum_4 = sum_3 + t_1_4;
                hone_store4(&open[j - begin], sum_4);
            }
        }
        for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
            hone_store4(&before[j - begin], hone_load4(&before[j - begin]) + hone_load4(&open[j - begin]));
        }
    }
    for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
        hone_store4(&y_sums[piece * 100 + j], hone_load4(&before[j - begin]));
    }
}

void y_carries_2(long block, const float *restrict y_sums, float *restrict y_carries) {
    float sum;
    for (long line = 0; line < 100; line++) {
        sum = 0.0f;
        for (long piece = 0; piece < 2; piece++) {
            y_carries[piece * 100 + line] = sum;
            sum += y_sums[piece * 100 + line];
        }
    }
}

void y_scan(long block, const float *restrict x, float *restrict y, const float *restrict y_carries) {
    _Alignas(64) float open_2[64];
    _Alignas(64) float before_2[64];
    long piece = block % 2;
    long begin = block / 2 * 64;
    for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
        hone_store4(&before_2[j - begin], hone_load4(&y_carries[piece * 100 + j]));
    }
    for (long run = piece * 2048; run < (3000 < piece * 2048 + 2048 ? 3000 : piece * 2048 + 2048); run += 1024) {
        for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
            hone_store4(&open_2[j - begin], hone_all4(0.0f));
        }
        for (long p = run; p < ((3000 < piece * 2048 + 2048 ? 3000 : piece * 2048 + 2048) < run + 1024 ? (3000 < piece * 2048 + 2048 ? 3000 : piece * 2048 + 2048) : run + 1024); p += 4) {
            for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
                f32x4 open_v = hone_load4(&open_2[j - begin]);
                f32x4 x_v = hone_load4(&x[p * N + j]);
                f32x4 t_1 = x_v * 0.5f;
                f32x4 sum_v = open_v + t_1;
                f32x4 y_v = hone_load4(&before_2[j - begin]) + sum_v;
                hone_stream4(&y[p * N + j], y_v);
                f32x4 x_2 = hone_load4(&x[(p + 1) * N + j]);
                f32x4 t_1_2 = x_2 * 0.5f;
                f32x4 sum_2 = sum_v + t_1_2;
                f32x4 y_2 = hone_load4(&before_2[j - begin]) + sum_2;
                hone_stream4(&y[(p + 1) * N + j], y_2);
                f32x4 x_3 = hone_load4(&x[(p + 2) * N + j]);
                f32x4 t_1_3 = x_3 * 0.5f;
                f32x4 sum_3 = sum_2 + t_1_3;
                f32x4 y_3 = hone_load4(&before_2[j - begin]) + sum_3;
                hone_stream4(&y[(p + 2) * N + j], y_3);
                f32x4 x_4 = hone_load4(&x[(p + 3) * N + j]);
                f32x4 t_1_4 = x_4 * 0.5f;
                f32x4 sum_4 = sum_3 + t_1_4;
                f32x4 y_4 = hone_load4(&before_2[j - begin]) + sum_4;
                hone_stream4(&y[(p + 3) * N + j], y_4);
                hone_store4(&open_2[j - begin], sum_4);
            }
        }
        for (long j = begin; j < (N < begin + 64 ? N : begin + 64); j += 4) {
            hone_store4(&before_2[j - begin], hone_load4(&before_2[j - begin]) + hone_load4(&open_2[j - begin]));
        }
    }
}
