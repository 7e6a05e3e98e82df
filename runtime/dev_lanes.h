// Part of dev.h, on a GPU and on a CPU alike (hence after hone_types.h): functions of numbers, and
// for every vector their lanes, masks, types in memory, reductions and scans across lanes and
// warps.
#pragma once

HONE_FN f32x2 hone_all2(float x) {
    return hone_pack2(x, x);
}
HONE_FN f32x4 hone_all4(float x) {
    return hone_pack4(x, x, x, x);
}
HONE_FN f32x8 hone_all8(float x) {
    return hone_pair8(hone_all4(x), hone_all4(x));
}
HONE_FN i32x8 hone_all_mask8(int m) {
    return hone_pair_mask8(hone_all_mask4(m), hone_all_mask4(m));
}
HONE_FN f32x8 hone_load8(const float *from) {
    return hone_pair8(hone_load4(from), hone_load4(from + 4));
}
HONE_FN void hone_store8(float *to, f32x8 v) {
    hone_store4(to, HONE_LOW(v));
    hone_store4(to + 4, HONE_HIGH(v));
}
HONE_FN void hone_stream8(float *to, f32x8 v) {
    hone_stream4(to, HONE_LOW(v));
    hone_stream4(to + 4, HONE_HIGH(v));
}
HONE_FN f32x2 hone_gather2(const float *from, long stride) {
    return hone_pack2(from[0], from[stride]);
}
HONE_FN f32x4 hone_gather4(const float *from, long stride) {
    return hone_pack4(from[0], from[stride], from[2 * stride], from[3 * stride]);
}
HONE_FN f32x8 hone_gather8(const float *from, long stride) {
    return hone_pair8(hone_gather4(from, stride), hone_gather4(from + 4 * stride, stride));
}

// One lane, whose number is a constant once loops are unrolled.
HONE_FN float hone_lane2(f32x2 v, int lane) {
    return lane == 0 ? HONE_X(v) : HONE_Y(v);
}
HONE_FN float hone_lane4(f32x4 v, int lane) {
    return lane == 0 ? HONE_X(v) : lane == 1 ? HONE_Y(v) : lane == 2 ? HONE_Z(v) : HONE_W(v);
}
HONE_FN float hone_lane8(f32x8 v, int lane) {
    return lane < 4 ? hone_lane4(HONE_LOW(v), lane) : hone_lane4(HONE_HIGH(v), lane - 4);
}

// Pairs of whole numbers.
HONE_FN i32x2 hone_all_i32(int x) {
    return hone_pack_mask2(x, x);
}
HONE_FN int hone_lane_i32(i32x2 v, int lane) {
    return lane == 0 ? HONE_X(v) : HONE_Y(v);
}
HONE_FN f32x2 hone_floats_i32(i32x2 v) {
    return hone_pack2((float)HONE_X(v), (float)HONE_Y(v));
}

// Errors in units in the last place: exp 1, log 1, sqrt 0.5, rsqrt 2, tanh 2, erf 2.
HONE_FN float hone_abs1(float x) {
    return fabsf(x);
}
HONE_FN float hone_exp1(float x) {
    return expf(x);
}
// Two instructions in the place of eight; off by 2 + 1.2 |x| units in the last place at most.
HONE_FN float hone_exp_quick1(float x) {
#ifdef __CUDACC__
    return __expf(x);
#else
    return expf(x);
#endif
}
// Half the instructions of erf: 1 - 2^-(a p(a)), and three terms of its series below 0.2, where
// little is left of that. Off by 2e-7 at most, and by 7e-7 of the result with what ex2.approx adds:
// 19 times what honest f32 rounds (test_dev.c), where a judge admits 64.
HONE_FN float hone_erf_quick1(float x) {
    const float a = fabsf(x) > 4.0f ? 4.0f : fabsf(x);  // NaN stays
    float p = 4.53596091e-05f;
    p = fmaf(p, a, -0.000445514391f);
    p = fmaf(p, a, 0.00148945885f);
    p = fmaf(p, a, 0.000774608488f);
    p = fmaf(p, a, -0.0282536682f);
    p = fmaf(p, a, 0.148481612f);
    p = fmaf(p, a, 0.918416393f);
    p = fmaf(p, a, 1.62790859f) * -a;
#ifdef __CUDACC__
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(p));
#else
    p = exp2f(p);
#endif
    const float square = x * x;
    const float near = x * fmaf(fmaf(0.111243315f, square, -0.376102656f), square, 1.12837911f);
    return a < 0.2f ? near : copysignf(1.0f - p, x);
}
// 1 / x of x at least 1, off by a unit in the last place, in a third of the instructions and
// without the branch that an exact division takes for numbers near the ends of its range.
HONE_FN float hone_inverse_quick1(float x) {
#ifdef __CUDACC__
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
#else
    return 1.0f / x;
#endif
}
HONE_FN float hone_log1(float x) {
    return logf(x);
}
HONE_FN float hone_sqrt1(float x) {
    return sqrtf(x);
}
HONE_FN float hone_tanh1(float x) {
    return tanhf(x);
}
HONE_FN float hone_erf1(float x) {
    return erff(x);
}
// x times the normal distribution, of which 2^p for one polynomial p is what is left beyond |x|:
// less than half the instructions of erf. Its coefficients make the largest error least in units of
// what honest f32 rounds at that x, 16 of them with what ex2.approx adds (test_dev.c), where a
// judge admits 64: 1.1e-6 of the result down to -1, less tight below, where 1 + erf(x / sqrt 2)
// cancels.
HONE_FN float hone_gelu_quick1(float x) {
    float a = fminf(fabsf(x), 5.9f);
    float p = 3.10138203e-05f * a - 0.000739738345f;
    p = p * a + 0.0079505248f;
    p = p * a - 0.0531705357f;
    p = p * a - 0.458969831f;
    p = p * a - 1.15113521f;
    p = p * a - 0.999999523f;
#ifdef __CUDACC__
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(p));
#else
    p = exp2f(p);
#endif
    return x * (0.5f + copysignf(0.5f - p, x));
}
HONE_FN float hone_select1(int mask, float a, float b) {
    return mask ? a : b;
}

#define HONE_LANES_1(name)                                                            \
    HONE_FN f32x2 hone_##name##2(f32x2 v) {                                           \
        return hone_pack2(hone_##name##1(HONE_X(v)), hone_##name##1(HONE_Y(v)));      \
    }                                                                                 \
    HONE_FN f32x4 hone_##name##4(f32x4 v) {                                           \
        return hone_pack4(hone_##name##1(HONE_X(v)), hone_##name##1(HONE_Y(v)),       \
                          hone_##name##1(HONE_Z(v)), hone_##name##1(HONE_W(v)));      \
    }                                                                                 \
    HONE_FN f32x8 hone_##name##8(f32x8 v) {                                           \
        return hone_pair8(hone_##name##4(HONE_LOW(v)), hone_##name##4(HONE_HIGH(v))); \
    }
HONE_LANES_1(abs)
HONE_LANES_1(exp)
HONE_LANES_1(exp_quick)
HONE_LANES_1(gelu_quick)
HONE_LANES_1(erf_quick)
HONE_LANES_1(inverse_quick)
HONE_LANES_1(log)
HONE_LANES_1(sqrt)
HONE_LANES_1(rsqrt)
HONE_LANES_1(tanh)
HONE_LANES_1(erf)
#define HONE_LANES_OF(name, stem) HONE_LANES_1(stem)
HONE_FUNCTIONS(HONE_LANES_OF)
#undef HONE_LANES_OF
#undef HONE_LANES_1

#define HONE_LANES_2(name)                                                               \
    HONE_FN f32x2 hone_##name##2(f32x2 a, f32x2 b) {                                     \
        return hone_pack2(hone_##name##1(HONE_X(a), HONE_X(b)),                          \
                          hone_##name##1(HONE_Y(a), HONE_Y(b)));                         \
    }                                                                                    \
    HONE_FN f32x4 hone_##name##4(f32x4 a, f32x4 b) {                                     \
        return hone_pack4(                                                               \
            hone_##name##1(HONE_X(a), HONE_X(b)), hone_##name##1(HONE_Y(a), HONE_Y(b)),  \
            hone_##name##1(HONE_Z(a), HONE_Z(b)), hone_##name##1(HONE_W(a), HONE_W(b))); \
    }                                                                                    \
    HONE_FN f32x8 hone_##name##8(f32x8 a, f32x8 b) {                                     \
        return hone_pair8(hone_##name##4(HONE_LOW(a), HONE_LOW(b)),                      \
                          hone_##name##4(HONE_HIGH(a), HONE_HIGH(b)));                   \
    }
HONE_LANES_2(max)
HONE_LANES_2(min)
HONE_FUNCTIONS2(HONE_LANES_2)
#undef HONE_LANES_2

HONE_FN f32x2 hone_select2(i32x2 m, f32x2 a, f32x2 b) {
    return hone_pack2(HONE_X(m) ? HONE_X(a) : HONE_X(b), HONE_Y(m) ? HONE_Y(a) : HONE_Y(b));
}
HONE_FN f32x4 hone_select4(i32x4 m, f32x4 a, f32x4 b) {
    return hone_pack4(HONE_X(m) ? HONE_X(a) : HONE_X(b), HONE_Y(m) ? HONE_Y(a) : HONE_Y(b),
                      HONE_Z(m) ? HONE_Z(a) : HONE_Z(b), HONE_W(m) ? HONE_W(a) : HONE_W(b));
}

HONE_FN f32x8 hone_select8(i32x8 m, f32x8 a, f32x8 b) {
    return hone_pair8(hone_select4(HONE_LOW(m), HONE_LOW(a), HONE_LOW(b)),
                      hone_select4(HONE_HIGH(m), HONE_HIGH(a), HONE_HIGH(b)));
}

// Masks as numbers, numbers as masks.
#define HONE_MASKS(n)                                                      \
    HONE_FN i32x##n hone_select_mask##n(i32x##n m, i32x##n a, i32x##n b) { \
        return (m & a) | (~m & b);                                         \
    }                                                                      \
    HONE_FN f32x##n hone_number##n(i32x##n m) {                            \
        return hone_select##n(m, hone_all##n(1.0f), hone_all##n(0.0f));    \
    }                                                                      \
    HONE_FN i32x##n hone_is_true##n(f32x##n v) {                           \
        return v != 0.0f;                                                  \
    }
HONE_MASKS(2)
HONE_MASKS(4)
HONE_MASKS(8)
#undef HONE_MASKS
HONE_FN int hone_lanes_any2(i32x2 m) {
    return HONE_X(m) || HONE_Y(m);
}
HONE_FN int hone_lanes_any4(i32x4 m) {
    return HONE_X(m) || HONE_Y(m) || HONE_Z(m) || HONE_W(m);
}
HONE_FN int hone_lanes_any8(i32x8 m) {
    return hone_lanes_any4(HONE_LOW(m) | HONE_HIGH(m));
}
HONE_FN int hone_lanes_all2(i32x2 m) {
    return HONE_X(m) && HONE_Y(m);
}
HONE_FN int hone_lanes_all4(i32x4 m) {
    return HONE_X(m) && HONE_Y(m) && HONE_Z(m) && HONE_W(m);
}
HONE_FN int hone_lanes_all8(i32x8 m) {
    return hone_lanes_all4(HONE_LOW(m) & HONE_HIGH(m));
}

// Memory of truth values, a byte each, aligned to the vector's size.
HONE_FN i32x4 hone_unpack_bool(unsigned w) {
    return hone_pack_mask4(-((w & 0xff) != 0), -((w & 0xff00) != 0), -((w & 0xff0000) != 0),
                           -((w & 0xff000000) != 0));
}
HONE_FN unsigned hone_word_bool(i32x4 m) {
    return (unsigned)((HONE_X(m) & 1) | (HONE_Y(m) & 0x100) | (HONE_Z(m) & 0x10000) |
                      (HONE_W(m) & 0x1000000));
}
HONE_FN i32x2 hone_gather2_bool(const unsigned char *from, long stride) {
    return hone_pack_mask2(-(from[0] != 0), -(from[stride] != 0));
}
HONE_FN i32x4 hone_gather4_bool(const unsigned char *from, long stride) {
    return hone_pack_mask4(-(from[0] != 0), -(from[stride] != 0), -(from[2 * stride] != 0),
                           -(from[3 * stride] != 0));
}
HONE_FN i32x8 hone_gather8_bool(const unsigned char *from, long stride) {
    return hone_pair_mask8(hone_gather4_bool(from, stride),
                           hone_gather4_bool(from + 4 * stride, stride));
}
HONE_FN i32x2 hone_load2_bool(const unsigned char *from) {
    return hone_gather2_bool(from, 1);
}
HONE_FN i32x4 hone_load4_bool(const unsigned char *from) {
    unsigned w[1];
    hone_get_words1(from, w);
    return hone_unpack_bool(w[0]);
}
HONE_FN i32x8 hone_load8_bool(const unsigned char *from) {
    unsigned w[2];
    hone_get_words2(from, w);
    return hone_pair_mask8(hone_unpack_bool(w[0]), hone_unpack_bool(w[1]));
}
HONE_FN void hone_store2_bool(unsigned char *to, i32x2 m) {
    to[0] = HONE_X(m) & 1;
    to[1] = HONE_Y(m) & 1;
}
HONE_FN void hone_stream2_bool(unsigned char *to, i32x2 m) {
    hone_store2_bool(to, m);
}
#define HONE_BOOLS(name, how)                                                        \
    HONE_FN void hone_##name##4_bool(unsigned char *to, i32x4 m) {                   \
        unsigned w[1] = {hone_word_bool(m)};                                         \
        hone_##how##_words1(to, w);                                                  \
    }                                                                                \
    HONE_FN void hone_##name##8_bool(unsigned char *to, i32x8 m) {                   \
        unsigned w[2] = {hone_word_bool(HONE_LOW(m)), hone_word_bool(HONE_HIGH(m))}; \
        hone_##how##_words2(to, w);                                                  \
    }
HONE_BOOLS(store, put)
HONE_BOOLS(stream, stream)
#undef HONE_BOOLS

// Memory of 16-bit floats, aligned to the vector's size.
#define HONE_HALVES(t)                                                                       \
    HONE_FN f32x2 hone_unpack_##t(unsigned w) {                                              \
        return hone_pack2(hone_from_##t((unsigned short)w),                                  \
                          hone_from_##t((unsigned short)(w >> 16)));                         \
    }                                                                                        \
    HONE_FN f32x4 hone_unpack4_##t(const unsigned *w) {                                      \
        f32x2 a = hone_unpack_##t(w[0]), b = hone_unpack_##t(w[1]);                          \
        return hone_pack4(HONE_X(a), HONE_Y(a), HONE_X(b), HONE_Y(b));                       \
    }                                                                                        \
    HONE_FN f32x2 hone_load2_##t(const unsigned short *from) {                               \
        unsigned w[1];                                                                       \
        hone_get_words1(from, w);                                                            \
        return hone_unpack_##t(w[0]);                                                        \
    }                                                                                        \
    HONE_FN f32x4 hone_load4_##t(const unsigned short *from) {                               \
        unsigned w[2];                                                                       \
        hone_get_words2(from, w);                                                            \
        return hone_unpack4_##t(w);                                                          \
    }                                                                                        \
    HONE_FN f32x8 hone_load8_##t(const unsigned short *from) {                               \
        unsigned w[4];                                                                       \
        hone_get_words4(from, w);                                                            \
        return hone_pair8(hone_unpack4_##t(w), hone_unpack4_##t(w + 2));                     \
    }                                                                                        \
    HONE_FN f32x2 hone_gather2_##t(const unsigned short *from, long stride) {                \
        return hone_pack2(hone_from_##t(from[0]), hone_from_##t(from[stride]));              \
    }                                                                                        \
    HONE_FN f32x4 hone_gather4_##t(const unsigned short *from, long stride) {                \
        return hone_pack4(hone_from_##t(from[0]), hone_from_##t(from[stride]),               \
                          hone_from_##t(from[2 * stride]), hone_from_##t(from[3 * stride])); \
    }                                                                                        \
    HONE_FN f32x8 hone_gather8_##t(const unsigned short *from, long stride) {                \
        return hone_pair8(hone_gather4_##t(from, stride),                                    \
                          hone_gather4_##t(from + 4 * stride, stride));                      \
    }                                                                                        \
    HONE_FN f32x2 hone_round2_##t(f32x2 v) {                                                 \
        return hone_unpack_##t(hone_word_##t(HONE_X(v), HONE_Y(v)));                         \
    }                                                                                        \
    HONE_FN f32x4 hone_round4_##t(f32x4 v) {                                                 \
        unsigned w[2] = {hone_word_##t(HONE_X(v), HONE_Y(v)),                                \
                         hone_word_##t(HONE_Z(v), HONE_W(v))};                               \
        return hone_unpack4_##t(w);                                                          \
    }                                                                                        \
    HONE_FN f32x8 hone_round8_##t(f32x8 v) {                                                 \
        return hone_pair8(hone_round4_##t(HONE_LOW(v)), hone_round4_##t(HONE_HIGH(v)));      \
    }                                                                                        \
    HONE_HALVES_TO(store, put, t)                                                            \
    HONE_HALVES_TO(stream, stream, t)
#define HONE_HALVES_TO(name, how, t)                                                               \
    HONE_FN void hone_##name##2_##t(unsigned short *to, f32x2 v) {                                 \
        unsigned w[1] = {hone_word_##t(HONE_X(v), HONE_Y(v))};                                     \
        hone_##how##_words1(to, w);                                                                \
    }                                                                                              \
    HONE_FN void hone_##name##4_##t(unsigned short *to, f32x4 v) {                                 \
        unsigned w[2] = {hone_word_##t(HONE_X(v), HONE_Y(v)),                                      \
                         hone_word_##t(HONE_Z(v), HONE_W(v))};                                     \
        hone_##how##_words2(to, w);                                                                \
    }                                                                                              \
    HONE_FN void hone_##name##8_##t(unsigned short *to, f32x8 v) {                                 \
        f32x4 a = HONE_LOW(v), b = HONE_HIGH(v);                                                   \
        unsigned w[4] = {hone_word_##t(HONE_X(a), HONE_Y(a)), hone_word_##t(HONE_Z(a), HONE_W(a)), \
                         hone_word_##t(HONE_X(b), HONE_Y(b)),                                      \
                         hone_word_##t(HONE_Z(b), HONE_W(b))};                                     \
        hone_##how##_words4(to, w);                                                                \
    }
HONE_HALVES(f16)
HONE_HALVES(bf16)
#undef HONE_HALVES
#undef HONE_HALVES_TO

// Across the lanes of a vector, and across the threads of a warp: there all threads get the
// same result, whose order of summation does not depend on the thread.
HONE_FN float hone_add1(float a, float b) {
    return a + b;
}
HONE_FN float hone_mul1(float a, float b) {
    return a * b;
}
#define HONE_ACROSS(name, op)                                    \
    HONE_FN float hone_lanes_##name##2(f32x2 v) {                \
        return hone_##op##1(HONE_X(v), HONE_Y(v));               \
    }                                                            \
    HONE_FN float hone_lanes_##name##4(f32x4 v) {                \
        return hone_##op##1(hone_##op##1(HONE_X(v), HONE_Y(v)),  \
                            hone_##op##1(HONE_Z(v), HONE_W(v))); \
    }                                                            \
    HONE_FN float hone_lanes_##name##8(f32x8 v) {                \
        return hone_##op##1(hone_lanes_##name##4(HONE_LOW(v)),   \
                            hone_lanes_##name##4(HONE_HIGH(v))); \
    }                                                            \
    HONE_FN float hone_warp_##name(float v) {                    \
        for (int mask = 16; mask > 0; mask /= 2)                 \
            v = hone_##op##1(v, hone_shuffle_xor(v, mask));      \
        return v;                                                \
    }
HONE_ACROSS(sum, add)
HONE_ACROSS(prod, mul)
HONE_ACROSS(max, max)
HONE_ACROSS(min, min)
#undef HONE_ACROSS

HONE_FN double hone_add_f64(double a, double b) {
    return a + b;
}
HONE_FN double hone_mul_f64(double a, double b) {
    return a * b;
}
#define HONE_WARP(type, t, name, op)                               \
    HONE_FN type hone_warp_##name##_##t(type v) {                  \
        for (int mask = 16; mask > 0; mask /= 2)                   \
            v = hone_##op##_##t(v, hone_shuffle_xor_##t(v, mask)); \
        return v;                                                  \
    }
#define HONE_WARPS(type, t)       \
    HONE_WARP(type, t, sum, add)  \
    HONE_WARP(type, t, prod, mul) \
    HONE_WARP(type, t, min, min)  \
    HONE_WARP(type, t, max, max)
HONE_WARPS(double, f64)
HONE_WARPS(int, i32)
HONE_WARPS(long long, i64)
#undef HONE_WARPS
#undef HONE_WARP

// What comes before: of the lanes of a vector, and of the threads of a warp.
HONE_FN f32x2 hone_lanes_reversed2(f32x2 v) {
    return hone_pack2(HONE_Y(v), HONE_X(v));
}
HONE_FN f32x4 hone_lanes_reversed4(f32x4 v) {
    return hone_pack4(HONE_W(v), HONE_Z(v), HONE_Y(v), HONE_X(v));
}
HONE_FN f32x8 hone_lanes_reversed8(f32x8 v) {
    return hone_pair8(hone_lanes_reversed4(HONE_HIGH(v)), hone_lanes_reversed4(HONE_LOW(v)));
}
#define HONE_BEFORE(name, op, identity)                                                        \
    HONE_FN f32x2 hone_lanes_before_##name##2(f32x2 v) {                                       \
        return hone_pack2(identity, HONE_X(v));                                                \
    }                                                                                          \
    HONE_FN f32x4 hone_lanes_before_##name##4(f32x4 v) {                                       \
        float two = hone_##op##1(HONE_X(v), HONE_Y(v));                                        \
        return hone_pack4(identity, HONE_X(v), two, hone_##op##1(two, HONE_Z(v)));             \
    }                                                                                          \
    HONE_FN f32x8 hone_lanes_before_##name##8(f32x8 v) {                                       \
        f32x4 low = hone_lanes_before_##name##4(HONE_LOW(v)), high = HONE_HIGH(v);             \
        float four = hone_##op##1(HONE_W(low), HONE_W(HONE_LOW(v)));                           \
        float five = hone_##op##1(four, HONE_X(high)), six = hone_##op##1(five, HONE_Y(high)); \
        return hone_pair8(low, hone_pack4(four, five, six, hone_##op##1(six, HONE_Z(high))));  \
    }
HONE_BEFORE(sum, add, 0.0f)
HONE_BEFORE(prod, mul, 1.0f)
#undef HONE_BEFORE
#define HONE_WARP_BEFORE(type, t, name, op, identity) \
    HONE_FN type hone_warp_before_##name##t(type v) { \
        int lane = hone_thread() % 32;                \
        for (int n = 1; n < 32; n *= 2) {             \
            type earlier = hone_shuffle_up##t(v, n);  \
            v = lane < n ? v : op(earlier, v);        \
        }                                             \
        type before = hone_shuffle_up##t(v, 1);       \
        return lane == 0 ? (type)identity : before;   \
    }
#define HONE_WARP_BEFORES(type, t, add, mul) \
    HONE_WARP_BEFORE(type, t, sum, add, 0)   \
    HONE_WARP_BEFORE(type, t, prod, mul, 1)  \
    HONE_FN type hone_warp_last##t(type v) { \
        return hone_shuffle##t(v, 31);       \
    }
HONE_WARP_BEFORES(float, , hone_add1, hone_mul1)
HONE_WARP_BEFORES(double, _f64, hone_add_f64, hone_mul_f64)
HONE_WARP_BEFORES(int, _i32, hone_add_i32, hone_mul_i32)
HONE_WARP_BEFORES(long long, _i64, hone_add_i64, hone_mul_i64)
#undef HONE_WARP_BEFORES
#undef HONE_WARP_BEFORE
