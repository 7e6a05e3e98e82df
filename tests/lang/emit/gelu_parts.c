// gelu_parts, by hone VERSION.
// kernel for gelu_parts on cpu
// stage y.half   : map  vec 16  unroll 1  grain 16384  store cached
// stage y.scaled : map  vec 16  unroll 1  grain 16384  store cached
// stage y        : map  vec 16  unroll 1  grain 16384  store cached
#include "hone_math.h"
#include "hone_types.h"

#pragma hone scratch y_half f32[6, 9]
#pragma hone scratch y_scaled f32[6, 9]
#pragma hone launch y_half_map grid(1) args(x, y_half)
#pragma hone launch y_scaled_map grid(1) args(x, y_scaled)
#pragma hone launch y_map grid(1) args(y, y_half, y_scaled)

void y_half_map(long block, const unsigned short *restrict x, float *restrict y_half) {
    for (long j = 0; j < 48; j += 16) {
        f32x16 x_v = hone_load16_f16(&x[j]);
        f32x16 y_half_v = x_v * 0.5f;
        hone_store16(&y_half[j], y_half_v);
    }
    for (long j = 48; j < 54; j++) {
        float x_v = hone_from_f16(x[j]);
        float y_half_v = x_v * 0.5f;
        y_half[j] = y_half_v;
    }
}

void y_scaled_map(long block, const unsigned short *restrict x, float *restrict y_scaled) {
    for (long j = 0; j < 48; j += 16) {
        f32x16 x_v = hone_load16_f16(&x[j]);
        f32x16 y_scaled_v = x_v * 0.707106769f;
        hone_store16(&y_scaled[j], y_scaled_v);
    }
    for (long j = 48; j < 54; j++) {
        float x_v = hone_from_f16(x[j]);
        float y_scaled_v = x_v * 0.707106769f;
        y_scaled[j] = y_scaled_v;
    }
}

void y_map(long block, unsigned short *restrict y, const float *restrict y_half, const float *restrict y_scaled) {
    for (long j = 0; j < 48; j += 16) {
        f32x16 y_half_v = hone_load16(&y_half[j]);
        f32x16 y_scaled_v = hone_load16(&y_scaled[j]);
        f32x16 y_erf = hone_erf16(y_scaled_v);
        f32x16 y_gate = y_erf + 1.0f;
        f32x16 y_f32 = y_half_v * y_gate;
        hone_store16_f16(&y[j], y_f32);
    }
    for (long j = 48; j < 54; j++) {
        float y_half_v = y_half[j];
        float y_scaled_v = y_scaled[j];
        float y_erf = hone_erf1(y_scaled_v);
        float y_gate = y_erf + 1.0f;
        float y_f32 = y_half_v * y_gate;
        y[j] = hone_to_f16(y_f32);
    }
}
