// What hone_types.h has for vectors of floats: masks, the library's functions lane by lane, memory
// of f16, bf16 and bool. That includes it once for each width, after hone_math.h. A conversion is
// the scalar one in each lane; by instructions where the compiler has them (F16C).

typedef unsigned HONE_W __attribute__((vector_size(4 * HONE_LANES)));
typedef unsigned char HONE_B __attribute__((vector_size(HONE_LANES), aligned(1), may_alias));
typedef unsigned short HONE_H __attribute__((vector_size(2 * HONE_LANES), aligned(2), may_alias));

// Masks as numbers, numbers as masks.
HONE_INLINE HONE_I HONE_(select_mask)(HONE_I m, HONE_I a, HONE_I b) {
    return (m & a) | (~m & b);
}

HONE_INLINE HONE_F HONE_(number)(HONE_I m) {
    return (HONE_F)(m & 0x3f800000);
}

HONE_INLINE HONE_I HONE_(is_true)(HONE_F x) {
    return x != 0;
}

#if HONE_LANES > 4
#define HONE_HALVES(name, op)                                                   \
    HONE_INLINE int HONE_(lanes_##name)(HONE_I m) {                             \
        union {                                                                 \
            HONE_I whole;                                                       \
            HONE_JOIN(i32x, HONE_HALF) half[2];                                 \
        } u = {m};                                                              \
        return HONE_JOIN(hone_lanes_##name, HONE_HALF)(u.half[0] op u.half[1]); \
    }
HONE_HALVES(any, |)
HONE_HALVES(all, &)
#undef HONE_HALVES
#else
HONE_INLINE int HONE_(lanes_any)(HONE_I m) {
    int any = 0;
    for (int i = 0; i < HONE_LANES; i++)
        any |= m[i];
    return any != 0;
}

HONE_INLINE int HONE_(lanes_all)(HONE_I m) {
    int all = -1;
    for (int i = 0; i < HONE_LANES; i++)
        all &= m[i];
    return all != 0;
}
#endif

// The library's functions, lane by lane.
#define HONE_EACH(name, stem)                  \
    HONE_INLINE HONE_F HONE_(stem)(HONE_F x) { \
        for (int i = 0; i < HONE_LANES; i++)   \
            x[i] = hone_##stem##1(x[i]);       \
        return x;                              \
    }
HONE_FUNCTIONS(HONE_EACH)
#undef HONE_EACH
#define HONE_EACH(stem)                                  \
    HONE_INLINE HONE_F HONE_(stem)(HONE_F x, HONE_F y) { \
        for (int i = 0; i < HONE_LANES; i++)             \
            x[i] = hone_##stem##1(x[i], y[i]);           \
        return x;                                        \
    }
HONE_FUNCTIONS2(HONE_EACH)
#undef HONE_EACH
// Memory.

HONE_INLINE HONE_W HONE_(choose)(HONE_I m, HONE_W a, HONE_W b) {
    return ((HONE_W)m & a) | (~(HONE_W)m & b);
}

// A NaN of many as the one that is stored: the instruction would keep its bits.
HONE_INLINE HONE_F HONE_(one_nan)(HONE_F x) {
    HONE_W quiet = ((HONE_W)x & 0x80000000u) | 0x7fc00000u;
#if HONE_LANES == 16 && defined(__AVX512F__) && !defined(__clang__)
    unsigned short is_nan = __builtin_ia32_cmpps512_mask(x, x, 3, -1, 4);
    return __builtin_ia32_blendmps_512_mask(x, (HONE_F)quiet, is_nan);
#else
    return (HONE_F)HONE_(choose)(x != x, quiet, (HONE_W)x);
#endif
}

#if HONE_LANES == 8 && defined(__F16C__)
typedef short hone_i16x8 __attribute__((vector_size(16)));
HONE_INLINE f32x8 hone_widen8_f16(HONE_H h) {
    return __builtin_ia32_vcvtph2ps256((hone_i16x8)h);
}
HONE_INLINE HONE_H hone_narrow8_f16(f32x8 x) {
    return (HONE_H)__builtin_ia32_vcvtps2ph256(hone_one_nan8(x), 0);
}
#elif HONE_LANES == 16 && defined(__AVX512F__)
typedef short hone_i16x16 __attribute__((vector_size(32)));
HONE_INLINE f32x16 hone_widen16_f16(HONE_H h) {
    return __builtin_ia32_vcvtph2ps512_mask((hone_i16x16)h, (f32x16){0}, -1, 4);
}
HONE_INLINE HONE_H hone_narrow16_f16(f32x16 x) {
#if !defined(__clang__)
    if (__builtin_expect(__builtin_ia32_cmpps512_mask(x, x, 3, -1, 4) == 0, 1))
        return (HONE_H)__builtin_ia32_vcvtps2ph512_mask(x, 0, (hone_i16x16){0}, -1);
#endif
    return (HONE_H)__builtin_ia32_vcvtps2ph512_mask(hone_one_nan16(x), 0, (hone_i16x16){0}, -1);
}
#elif HONE_LANES == 16 && defined(__F16C__)
HONE_INLINE f32x16 hone_widen16_f16(HONE_H h) {
    union {
        HONE_H whole;
        u16u8 half[2];
    } from = {h};
    union {
        f32x8 half[2];
        f32x16 whole;
    } to = {{hone_widen8_f16(from.half[0]), hone_widen8_f16(from.half[1])}};
    return to.whole;
}
HONE_INLINE HONE_H hone_narrow16_f16(f32x16 x) {
    union {
        f32x16 whole;
        f32x8 half[2];
    } from = {x};
    union {
        u16u8 half[2];
        HONE_H whole;
    } to = {{hone_narrow8_f16(from.half[0]), hone_narrow8_f16(from.half[1])}};
    return to.whole;
}
#else
HONE_INLINE HONE_F HONE_OF(widen, f16)(HONE_H h) {
    HONE_W w = __builtin_convertvector(h, HONE_W), m = w & 0x7fff, moved = m << 13;
    HONE_F small = (HONE_F)(moved + 0x38800000u) - 0x1p-14f;
    HONE_W x = HONE_(choose)(m < 0x400, (HONE_W)small, moved + 0x38000000u);
    x = HONE_(choose)(m < 0x7c00, x, moved | 0x7f800000u);
    return (HONE_F)(x | (w & 0x8000) << 16);
}
HONE_INLINE HONE_H HONE_OF(narrow, f16)(HONE_F x) {
    HONE_W u = (HONE_W)x, m = u & 0x7fffffff;
    HONE_W small = (HONE_W)((HONE_F)m + 0.5f) - 0x3f000000u;
    HONE_W normal = (m - 0x38000000u + 0xfff + (m >> 13 & 1)) >> 13;
    HONE_W h = HONE_(choose)(m < 0x38800000u, small, normal);
    h = HONE_(choose)(m < 0x47800000u, h, (HONE_W){0} + 0x7c00);
    h = HONE_(choose)(m > 0x7f800000u, (HONE_W){0} + 0x7e00, h);
    return __builtin_convertvector(h | (u >> 16 & 0x8000), HONE_H);
}
#endif

HONE_INLINE HONE_F HONE_OF(widen, bf16)(HONE_H h) {
#if HONE_LANES == 16 && defined(__AVX512BW__) && !defined(__clang__)
    // Each into the upper half of its lane, zeros below: one shuffle. (Widening and a shift are two
    // instructions, and Zen 4 shifts where it adds: a maximum of a row 3.2 and 2.6 cycles a
    // vector.)
    typedef short all __attribute__((vector_size(64)));
    all place = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
                 0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
    typedef int half __attribute__((vector_size(32)));
    all low = (all)__builtin_ia32_si512_256si((half)h);
    return (HONE_F)__builtin_ia32_permvarhi512_mask(low, place, (all){0}, 0xaaaaaaaa);
#elif HONE_LANES == 16 && defined(__AVX512F__) && !defined(__clang__)
    typedef short half __attribute__((vector_size(32)));
    HONE_I w = __builtin_ia32_pmovzxwd512_mask((half)h, (HONE_I){0}, -1);
    return (HONE_F)((HONE_W)w << 16);
#else
    return (HONE_F)(__builtin_convertvector(h, HONE_W) << 16);
#endif
}
HONE_INLINE HONE_H HONE_OF(narrow, bf16)(HONE_F x) {
#if HONE_LANES == 16 && defined(__AVX512BF16__) && defined(__AVX512DQ__)
    // The instruction takes denormal numbers for 0 and keeps the bits of NaN: neither is likely.
    unsigned short others;
    HONE_H h;
    __asm__("vfpclassps $0xa1, %1, %0" : "=k"(others) : "v"(x));
    if (__builtin_expect(others == 0, 1)) {
        __asm__("vcvtneps2bf16 %1, %0" : "=v"(h) : "v"(x));
        return h;
    }
#endif
    HONE_W u = (HONE_W)HONE_(one_nan)(x);
    // Not of NaN, which the carry could turn into something else.
    HONE_W carry = HONE_(choose)(x == x, 0x7fff + (u >> 16 & 1), (HONE_W){0});
    return __builtin_convertvector((u + carry) >> 16, HONE_H);
}

// Truth values are bytes.
HONE_INLINE HONE_I HONE_OF(load, bool)(const unsigned char *p) {
    return __builtin_convertvector(*(const HONE_B *)p, HONE_W) != 0;
}
HONE_INLINE HONE_I HONE_OF(gather, bool)(const unsigned char *p, long stride) {
    HONE_I m;
    for (int i = 0; i < HONE_LANES; i++)
        m[i] = -(p[i * stride] != 0);
    return m;
}
HONE_INLINE void HONE_OF(store, bool)(unsigned char *p, HONE_I m) {
    *(HONE_B *)p = __builtin_convertvector((HONE_W)m & 1, HONE_B);
}
HONE_INLINE void HONE_OF(stream, bool)(unsigned char *p, HONE_I m) {
    HONE_OF(store, bool)(p, m);
}

// 16 or 32 bytes past the caches; p is a multiple of the vector's size. Vectors of four, and what
// may lie anywhere (HONE_STREAM_ANY), are stored as usual.
HONE_INLINE void HONE_(past_caches)(unsigned short *p, HONE_H h) {
#if HONE_LANES == 16 && defined(__AVX__) && !defined(HONE_STREAM_ANY) && !defined(__clang__)
    typedef long long words __attribute__((vector_size(32)));
    union {
        HONE_H half;
        words whole;
    } from = {h};
    __builtin_ia32_movntdq256((words *)p, from.whole);
#elif HONE_LANES == 8 && defined(__SSE2__) && !defined(HONE_STREAM_ANY) && !defined(__clang__)
    typedef long long words __attribute__((vector_size(16)));
    union {
        HONE_H half;
        words whole;
    } from = {h};
    __builtin_ia32_movntdq((words *)p, from.whole);
#elif HONE_LANES >= 8 && defined(__clang__) && !defined(HONE_STREAM_ANY)
    typedef unsigned short whole __attribute__((vector_size(2 * HONE_LANES), may_alias));
    __builtin_nontemporal_store((whole)h, (whole *)p);
#else
    *(HONE_H *)p = h;
#endif
}

#define HONE_MEMORY(t)                                                            \
    HONE_INLINE HONE_F HONE_OF(load, t)(const unsigned short *p) {                \
        return HONE_OF(widen, t)(*(const HONE_H *)p);                             \
    }                                                                             \
    HONE_INLINE HONE_F HONE_OF(gather, t)(const unsigned short *p, long stride) { \
        HONE_F v;                                                                 \
        for (int i = 0; i < HONE_LANES; i++)                                      \
            v[i] = hone_from_##t(p[i * stride]);                                  \
        return v;                                                                 \
    }                                                                             \
    HONE_INLINE void HONE_OF(store, t)(unsigned short *p, HONE_F v) {             \
        *(HONE_H *)p = HONE_OF(narrow, t)(v);                                     \
    }                                                                             \
    HONE_INLINE void HONE_OF(stream, t)(unsigned short *p, HONE_F v) {            \
        HONE_(past_caches)(p, HONE_OF(narrow, t)(v));                             \
    }                                                                             \
    HONE_INLINE HONE_F HONE_OF(round, t)(HONE_F v) {                              \
        return HONE_OF(widen, t)(HONE_OF(narrow, t)(v));                          \
    }
HONE_MEMORY(f16)
HONE_MEMORY(bf16)
#undef HONE_MEMORY

// Two vectors of 16 lanes: a whole line past the caches, where p is a multiple of one.
#if HONE_LANES == 16
typedef unsigned short hone_line __attribute__((vector_size(64)));
HONE_INLINE void hone_past_caches_line(unsigned short *p, hone_line h) {
#if defined(__AVX512F__)
    if ((unsigned long)p % 64 == 0) {
#if defined(__clang__)
        __builtin_nontemporal_store(h, (hone_line *)p);
#else
        typedef long long words __attribute__((vector_size(64)));
        __builtin_ia32_movntdq512((words *)p, (words)h);
#endif
        return;
    }
#endif
    union {
        hone_line whole;
        u16u16 half[2];
    } from = {h};
    hone_past_caches16(p, from.half[0]);
    hone_past_caches16(p + 16, from.half[1]);
}
// In registers: what is stored in halves and loaded as a whole waits for both stores.
HONE_INLINE hone_line hone_join_halves(u16u16 low, u16u16 high) {
#if defined(__AVX512F__) && !defined(__clang__)
    typedef int half __attribute__((vector_size(32)));
    typedef long long words __attribute__((vector_size(64)));
    typedef long long half_words __attribute__((vector_size(32)));
    words whole = (words)__builtin_ia32_si512_256si((half)low);
    return (hone_line)__builtin_ia32_inserti64x4_mask(whole, (half_words)high, 1, whole, -1);
#else
    union {
        u16u16 half[2];
        hone_line whole;
    } h = {{low, high}};
    return h.whole;
#endif
}
HONE_INLINE void hone_stream_pair16_f16(unsigned short *p, f32x16 low, f32x16 high) {
#if defined(__AVX512F__) && !defined(__clang__)
    // No NaN in either: one comparison for both.
    if (__builtin_expect(__builtin_ia32_cmpps512_mask(low, high, 3, -1, 4) == 0, 1)) {
        hone_i16x16 none = {0};
        u16u16 a = (u16u16)__builtin_ia32_vcvtps2ph512_mask(low, 0, none, -1);
        u16u16 b = (u16u16)__builtin_ia32_vcvtps2ph512_mask(high, 0, none, -1);
        hone_past_caches_line(p, hone_join_halves(a, b));
        return;
    }
#endif
    hone_past_caches_line(p, hone_join_halves(hone_narrow16_f16(low), hone_narrow16_f16(high)));
}
HONE_INLINE void hone_stream_pair16_bf16(unsigned short *p, f32x16 low, f32x16 high) {
#if defined(__AVX512BF16__) && defined(__AVX512DQ__)
    // As in narrow: one conversion for both.
    unsigned short others, more;
    __asm__("vfpclassps $0xa1, %1, %0" : "=k"(others) : "v"(low));
    __asm__("vfpclassps $0xa1, %1, %0" : "=k"(more) : "v"(high));
    if (__builtin_expect((others | more) == 0, 1)) {
        hone_line h;
        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(h) : "v"(low), "v"(high));
        hone_past_caches_line(p, h);
        return;
    }
#endif
    hone_past_caches_line(p, hone_join_halves(hone_narrow16_bf16(low), hone_narrow16_bf16(high)));
}
#endif
