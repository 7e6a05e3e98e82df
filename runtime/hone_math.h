// Vector types, loads and stores, and short branch-free functions for emitted C.
//
// Other types, and the functions of the library, are in hone_types.h, to be included after this.
//
// The same text serves vectors of 1, 4, 8 and 16 lanes: it includes itself once per
// width with HONE_LANES set. Names end in the lanes: f32x8, hone_exp8, hone_load16.
// It needs the vector extensions of gcc or clang and no other header (immintrin.h alone
// would cost ten times the compile). Where the machine has an instruction that the
// extensions cannot say, a compiler builtin says it; the general form stands next to it.
//
// Exponentials, logarithms, erf and tanh are in hone_functions.h, once per width too.
#ifndef HONE_LANES
#ifndef HONE_MATH_H
#define HONE_MATH_H

#define HONE_JOIN_(a, b) a##b
#define HONE_JOIN(a, b) HONE_JOIN_(a, b)
#define HONE_F HONE_JOIN(f32x, HONE_LANES)  // the vector type of this width
#define HONE_I HONE_JOIN(i32x, HONE_LANES)  // integers of the same width: masks, bits
#define HONE_U HONE_JOIN(f32u, HONE_LANES)  // the same anywhere in memory
#define HONE_(name) HONE_JOIN(hone_##name, HONE_SUFFIX)
#define HONE_INLINE static inline __attribute__((always_inline, unused))

// The nearest whole number, for |x| below 2^22: adding 1.5 * 2^23 leaves no room for a
// fraction. The lowest bits are then the number itself.
#define HONE_ROUND 12582912.0f
#define HONE_ROUND_BITS 0x4b400000

// gcc tells how it would pass vectors that the machine lacks; these are never passed.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#if defined(__clang__)
#define HONE_PAST_CACHES_QUAD(p, v) __builtin_nontemporal_store(v, (quad *)(p))
#define HONE_PAST_CACHES_WORD(p, v) __builtin_nontemporal_store(v, p)
#else
#define HONE_PAST_CACHES_QUAD(p, v) __builtin_ia32_movntps(p, v)
#define HONE_PAST_CACHES_WORD(p, v) __builtin_ia32_movnti(p, v)
#endif

// A float as a vector of one lane; the functions for plain floats follow below.
#define HONE_SUFFIX _lane
#define HONE_LANES 1
#include "hone_math.h"
#undef HONE_LANES
#undef HONE_SUFFIX
#define HONE_SUFFIX HONE_LANES
#define HONE_LANES 4
#include "hone_math.h"
#undef HONE_LANES
#define HONE_LANES 8
#define HONE_HALF 4
#include "hone_math.h"
#undef HONE_HALF
#undef HONE_LANES
#define HONE_LANES 16
#define HONE_HALF 8
#include "hone_math.h"
#undef HONE_HALF
#undef HONE_LANES
#undef HONE_SUFFIX

#define HONE_SCALAR(name)                         \
    HONE_INLINE float hone_##name##1(float x) {   \
        return hone_##name##_lane((f32x1){x})[0]; \
    }
#define HONE_SCALAR2(name)                                    \
    HONE_INLINE float hone_##name##1(float x, float y) {      \
        return hone_##name##_lane((f32x1){x}, (f32x1){y})[0]; \
    }
HONE_SCALAR(abs)
HONE_SCALAR(exp)
HONE_SCALAR(exp_quick)
HONE_SCALAR(log)
HONE_SCALAR(sqrt)
HONE_SCALAR(rsqrt)
HONE_SCALAR(tanh)
HONE_SCALAR(erf)
HONE_SCALAR(gelu_quick)
HONE_SCALAR2(max)
HONE_SCALAR2(min)

#endif
#else

typedef float HONE_F __attribute__((vector_size(4 * HONE_LANES)));
typedef int HONE_I __attribute__((vector_size(4 * HONE_LANES)));
typedef float HONE_U __attribute__((vector_size(4 * HONE_LANES), aligned(4), may_alias));

// Memory.

HONE_INLINE HONE_F HONE_(load)(const float *p) {
    return *(const HONE_U *)p;
}

HONE_INLINE HONE_F HONE_(gather)(const float *p, long stride) {
    HONE_F v;
#if HONE_LANES == 16 && defined(__AVX512F__)
    // Every second one of two vectors, the second of which ends with the last that is wanted.
    if (__builtin_constant_p(stride) && stride == 2) {
        f32x16 low = hone_load16(p), high = hone_load16(p + 15);
#if defined(__clang__)
        return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27,
                                       29, 31);
#else
        return __builtin_shuffle(
            low, high, (i32x16){0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31});
#endif
    }
#endif
    for (int i = 0; i < HONE_LANES; i++)
        v[i] = p[i * stride];
    return v;
}

HONE_INLINE void HONE_(store)(float *p, HONE_F v) {
    *(HONE_U *)p = v;
}

// Past the caches; p is a multiple of the vector's size. With HONE_STREAM_ANY it may be any float's
// address: what goes past the caches is then parts of 16 bytes, or of 4, which the processor
// collects to whole lines all the same. Ordinary stores would read each line first.
HONE_INLINE void HONE_(stream)(float *p, HONE_F v) {
#if defined(HONE_STREAM_ANY) && (defined(__SSE2__) || defined(__clang__))
    typedef float quad __attribute__((vector_size(16)));
    union {
        HONE_F whole;
        quad quads[(HONE_LANES + 3) / 4];
        int words[HONE_LANES];
    } from = {v};
    if (HONE_LANES % 4 == 0 && (unsigned long)p % 16 == 0)
        for (int i = 0; i < HONE_LANES / 4; i++)
            HONE_PAST_CACHES_QUAD(p + 4 * i, from.quads[i]);
    else
        for (int i = 0; i < HONE_LANES; i++)
            HONE_PAST_CACHES_WORD((int *)p + i, from.words[i]);
#elif defined(__clang__)
    __builtin_nontemporal_store(v, (HONE_F *)p);
#elif HONE_LANES == 16 && defined(__AVX512F__)
    __builtin_ia32_movntps512(p, v);
#elif HONE_LANES == 8 && defined(__AVX__)
    __builtin_ia32_movntps256(p, v);
#elif HONE_LANES == 4 && defined(__SSE__)
    __builtin_ia32_movntps(p, v);
#else
    *(HONE_U *)p = v;
#endif
}

// x - 0 is x whatever x is, and the compiler knows it; 0 + x is not (of -0), and costs an addition.
HONE_INLINE HONE_F HONE_(all)(float x) {
    return x - (HONE_F){0};
}

HONE_INLINE HONE_I HONE_(all_mask)(int m) {
    return (HONE_I){0} - (m != 0);
}

// Choice. Masks are all ones or all zeros in each lane, as comparisons give them.

HONE_INLINE HONE_F HONE_(select)(HONE_I m, HONE_F a, HONE_F b) {
    return (HONE_F)((m & (HONE_I)a) | (~m & (HONE_I)b));
}

// The larger of two, b when either is NaN: one instruction where there is one.
HONE_INLINE HONE_F HONE_(larger)(HONE_F a, HONE_F b) {
#if HONE_LANES == 16 && defined(__AVX512F__) && defined(__clang__)
    return __builtin_ia32_maxps512(a, b, 4);
#elif HONE_LANES == 16 && defined(__AVX512F__)
    return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
#elif HONE_LANES == 8 && defined(__AVX__)
    return __builtin_ia32_maxps256(a, b);
#elif HONE_LANES == 4 && defined(__SSE__)
    return __builtin_ia32_maxps(a, b);
#else
    return HONE_(select)(a > b, a, b);
#endif
}

HONE_INLINE HONE_F HONE_(smaller)(HONE_F a, HONE_F b) {
#if HONE_LANES == 16 && defined(__AVX512F__) && defined(__clang__)
    return __builtin_ia32_minps512(a, b, 4);
#elif HONE_LANES == 16 && defined(__AVX512F__)
    return __builtin_ia32_minps512_mask(a, b, a, -1, 4);
#elif HONE_LANES == 8 && defined(__AVX__)
    return __builtin_ia32_minps256(a, b);
#elif HONE_LANES == 4 && defined(__SSE__)
    return __builtin_ia32_minps(a, b);
#else
    return HONE_(select)(a < b, a, b);
#endif
}

// b, but a where a is NaN.
HONE_INLINE HONE_F HONE_(keep_nan)(HONE_F a, HONE_F b) {
#if HONE_LANES == 16 && defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_blendmps_512_mask(b, a, __builtin_ia32_cmpps512_mask(a, a, 3, -1, 4));
#else
    return HONE_(select)(a != a, a, b);
#endif
}

// NaN when either is.
HONE_INLINE HONE_F HONE_(max)(HONE_F a, HONE_F b) {
    return HONE_(keep_nan)(a, HONE_(larger)(a, b));
}

HONE_INLINE HONE_F HONE_(min)(HONE_F a, HONE_F b) {
    return HONE_(keep_nan)(a, HONE_(smaller)(a, b));
}

HONE_INLINE HONE_F HONE_(abs)(HONE_F a) {
    return (HONE_F)((HONE_I)a & 0x7fffffff);
}

HONE_INLINE float HONE_(lane)(HONE_F v, long i) {
    return v[i];
}

// By lane: what the lanes before it make together, and the lanes in the opposite order.
#if HONE_LANES > 1
#if defined(__clang__)
#define HONE_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HONE_PICK(a, b, ...) __builtin_shuffle(a, b, (HONE_I){__VA_ARGS__})
#endif
// The first 1, 2, 4 or 8 lanes of `a`, and then those of `b` from the first on.
#if HONE_LANES == 4
#define HONE_MOVE1(a, b) HONE_PICK(a, b, 0, 4, 5, 6)
#define HONE_MOVE2(a, b) HONE_PICK(a, b, 0, 1, 4, 5)
#define HONE_REVERSED(v) HONE_PICK(v, v, 3, 2, 1, 0)
#elif HONE_LANES == 8
#define HONE_MOVE1(a, b) HONE_PICK(a, b, 0, 8, 9, 10, 11, 12, 13, 14)
#define HONE_MOVE2(a, b) HONE_PICK(a, b, 0, 1, 8, 9, 10, 11, 12, 13)
#define HONE_MOVE4(a, b) HONE_PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HONE_REVERSED(v) HONE_PICK(v, v, 7, 6, 5, 4, 3, 2, 1, 0)
#else
#define HONE_MOVE1(a, b) \
    HONE_PICK(a, b, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
#define HONE_MOVE2(a, b) \
    HONE_PICK(a, b, 0, 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)
#define HONE_MOVE4(a, b) HONE_PICK(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
#define HONE_MOVE8(a, b) HONE_PICK(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HONE_REVERSED(v) HONE_PICK(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#endif
#if HONE_LANES >= 8
#define HONE_FOUR(v, op, none) v = v op HONE_MOVE4(none, v)
#else
#define HONE_FOUR(v, op, none) (void)0
#endif
#if HONE_LANES >= 16
#define HONE_EIGHT(v, op, none) v = v op HONE_MOVE8(none, v)
#else
#define HONE_EIGHT(v, op, none) (void)0
#endif
#define HONE_BEFORE(name, op, nothing)                        \
    HONE_INLINE HONE_F HONE_(lanes_before_##name)(HONE_F v) { \
        HONE_F none = (HONE_F){0} + nothing;                  \
        v = HONE_MOVE1(none, v);                              \
        v = v op HONE_MOVE1(none, v);                         \
        v = v op HONE_MOVE2(none, v);                         \
        HONE_FOUR(v, op, none);                               \
        HONE_EIGHT(v, op, none);                              \
        return v;                                             \
    }
HONE_BEFORE(sum, +, 0.0f)
HONE_BEFORE(prod, *, 1.0f)
HONE_INLINE HONE_F HONE_(lanes_reversed)(HONE_F v) {
    return HONE_REVERSED(v);
}

// Of two vectors in runs of 1, 2, 4 or 8 lanes: the even runs of both in turns, and the odd ones.
#define HONE_WEAVE(run, even, odd)                                     \
    HONE_INLINE HONE_F HONE_(lanes_even##run##_)(HONE_F a, HONE_F b) { \
        return even;                                                   \
    }                                                                  \
    HONE_INLINE HONE_F HONE_(lanes_odd##run##_)(HONE_F a, HONE_F b) {  \
        return odd;                                                    \
    }
#if HONE_LANES == 4
HONE_WEAVE(1, HONE_PICK(a, b, 0, 4, 2, 6), HONE_PICK(a, b, 1, 5, 3, 7))
HONE_WEAVE(2, HONE_PICK(a, b, 0, 1, 4, 5), HONE_PICK(a, b, 2, 3, 6, 7))
#elif HONE_LANES == 8
HONE_WEAVE(1, HONE_PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14),
           HONE_PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15))
HONE_WEAVE(2, HONE_PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13),
           HONE_PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15))
HONE_WEAVE(4, HONE_PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
           HONE_PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15))
#else
HONE_WEAVE(1, HONE_PICK(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
           HONE_PICK(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
HONE_WEAVE(2, HONE_PICK(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
           HONE_PICK(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
HONE_WEAVE(4, HONE_PICK(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
           HONE_PICK(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
HONE_WEAVE(8, HONE_PICK(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
           HONE_PICK(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
#endif
#undef HONE_WEAVE

// The last 1, 2, 4 or 8 lanes of a, and then b from its first on: one instruction, which this
// compiler does not find for vectors of 16.
#if HONE_LANES == 16 && defined(__AVX512F__) && !defined(__clang__)
#define HONE_SLID(run, ...)                                                                     \
    HONE_INLINE f32x16 hone_lanes_slid##run##_16(f32x16 a, f32x16 b) {                          \
        return (f32x16)__builtin_ia32_alignd512_mask((i32x16)b, (i32x16)a, 16 - run, (i32x16)a, \
                                                     -1);                                       \
    }
#else
#define HONE_SLID(run, ...)                                            \
    HONE_INLINE HONE_F HONE_(lanes_slid##run##_)(HONE_F a, HONE_F b) { \
        return HONE_PICK(a, b, __VA_ARGS__);                           \
    }
#endif
#if HONE_LANES == 4
HONE_SLID(1, 3, 4, 5, 6)
HONE_SLID(2, 2, 3, 4, 5)
#elif HONE_LANES == 8
HONE_SLID(1, 7, 8, 9, 10, 11, 12, 13, 14)
HONE_SLID(2, 6, 7, 8, 9, 10, 11, 12, 13)
HONE_SLID(4, 4, 5, 6, 7, 8, 9, 10, 11)
#else
HONE_SLID(1, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
HONE_SLID(2, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)
HONE_SLID(4, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
HONE_SLID(8, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
#endif
#undef HONE_SLID
#undef HONE_PICK
#undef HONE_MOVE1
#undef HONE_MOVE2
#undef HONE_MOVE4
#undef HONE_MOVE8
#undef HONE_REVERSED
#undef HONE_FOUR
#undef HONE_EIGHT
#undef HONE_BEFORE
#endif

// Across lanes: the halves of a vector, down to four.
#if HONE_LANES > 4
#define HONE_HALVES(name, combine)                                                     \
    HONE_INLINE float HONE_(lanes_##name)(HONE_F v) {                                  \
        union {                                                                        \
            HONE_F whole;                                                              \
            HONE_JOIN(f32x, HONE_HALF) half[2];                                        \
        } u = {v};                                                                     \
        return HONE_JOIN(hone_lanes_##name, HONE_HALF)(combine(u.half[0], u.half[1])); \
    }
#define HONE_ADD(a, b) ((a) + (b))
#define HONE_MUL(a, b) ((a) * (b))
HONE_HALVES(sum, HONE_ADD)
HONE_HALVES(prod, HONE_MUL)
HONE_HALVES(max, HONE_JOIN(hone_max, HONE_HALF))
HONE_HALVES(min, HONE_JOIN(hone_min, HONE_HALF))
#undef HONE_ADD
#undef HONE_MUL
#undef HONE_HALVES
#elif HONE_LANES == 4
HONE_INLINE float hone_lanes_sum4(f32x4 v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}

HONE_INLINE float hone_lanes_prod4(f32x4 v) {
    return (v[0] * v[2]) * (v[1] * v[3]);
}

HONE_INLINE float hone_lanes_max4(f32x4 v) {
    f32x4 x = hone_max4(v, (f32x4){v[2], v[3], v[2], v[3]});
    return hone_max4(x, (f32x4){x[1], x[1], x[1], x[1]})[0];
}

HONE_INLINE float hone_lanes_min4(f32x4 v) {
    f32x4 x = hone_min4(v, (f32x4){v[2], v[3], v[2], v[3]});
    return hone_min4(x, (f32x4){x[1], x[1], x[1], x[1]})[0];
}
#endif

#include "hone_functions.h"
#endif
