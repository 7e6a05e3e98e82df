// Part of dev.h: vectors of two, four and eight lanes on a GPU (their types, operators and masks),
// and memory read and written by them. With HONE_ANY_ALIGNMENT an access may begin at any element.
#pragma once

typedef float2 f32x2;
typedef float4 f32x4;
typedef int2 i32x2;
typedef int4 i32x4;
struct f32x8 {
    f32x4 low, high;
};
struct i32x8 {
    i32x4 low, high;
};

#define HONE_X(v) (v).x
#define HONE_Y(v) (v).y
#define HONE_Z(v) (v).z
#define HONE_W(v) (v).w
#define HONE_LOW(v) (v).low
#define HONE_HIGH(v) (v).high

HONE_FN f32x2 hone_pack2(float x, float y) {
    return make_float2(x, y);
}
HONE_FN f32x4 hone_pack4(float x, float y, float z, float w) {
    return make_float4(x, y, z, w);
}

HONE_FN i32x2 hone_pack_mask2(int x, int y) {
    return make_int2(x, y);
}
HONE_FN i32x4 hone_pack_mask4(int x, int y, int z, int w) {
    return make_int4(x, y, z, w);
}
HONE_FN f32x8 hone_pair8(f32x4 low, f32x4 high) {
    f32x8 v = {low, high};
    return v;
}
HONE_FN i32x8 hone_pair_mask8(i32x4 low, i32x4 high) {
    i32x8 v = {low, high};
    return v;
}

// A condition in every lane.
HONE_FN i32x2 hone_all_mask2(int m) {
    return make_int2(-(m != 0), -(m != 0));
}
HONE_FN i32x4 hone_all_mask4(int m) {
    return make_int4(-(m != 0), -(m != 0), -(m != 0), -(m != 0));
}

#define HONE_OPERATOR(op)                                                   \
    HONE_FN f32x2 operator op(f32x2 a, f32x2 b) {                           \
        return make_float2(a.x op b.x, a.y op b.y);                         \
    }                                                                       \
    HONE_FN f32x2 operator op(f32x2 a, float b) {                           \
        return make_float2(a.x op b, a.y op b);                             \
    }                                                                       \
    HONE_FN f32x2 operator op(float a, f32x2 b) {                           \
        return make_float2(a op b.x, a op b.y);                             \
    }                                                                       \
    HONE_FN f32x4 operator op(f32x4 a, f32x4 b) {                           \
        return make_float4(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); \
    }                                                                       \
    HONE_FN f32x4 operator op(f32x4 a, float b) {                           \
        return make_float4(a.x op b, a.y op b, a.z op b, a.w op b);         \
    }                                                                       \
    HONE_FN f32x4 operator op(float a, f32x4 b) {                           \
        return make_float4(a op b.x, a op b.y, a op b.z, a op b.w);         \
    }                                                                       \
    HONE_FN f32x8 operator op(f32x8 a, f32x8 b) {                           \
        return hone_pair8(a.low op b.low, a.high op b.high);                \
    }                                                                       \
    HONE_FN f32x8 operator op(f32x8 a, float b) {                           \
        return hone_pair8(a.low op b, a.high op b);                         \
    }                                                                       \
    HONE_FN f32x8 operator op(float a, f32x8 b) {                           \
        return hone_pair8(a op b.low, a op b.high);                         \
    }
HONE_OPERATOR(+)
HONE_OPERATOR(-)
HONE_OPERATOR(*)
HONE_OPERATOR(/)
#undef HONE_OPERATOR

#define HONE_COMPARISON(op)                                                           \
    HONE_FN i32x2 operator op(f32x2 a, f32x2 b) {                                     \
        return make_int2(-(a.x op b.x), -(a.y op b.y));                               \
    }                                                                                 \
    HONE_FN i32x2 operator op(f32x2 a, float b) {                                     \
        return make_int2(-(a.x op b), -(a.y op b));                                   \
    }                                                                                 \
    HONE_FN i32x2 operator op(float a, f32x2 b) {                                     \
        return make_int2(-(a op b.x), -(a op b.y));                                   \
    }                                                                                 \
    HONE_FN i32x4 operator op(f32x4 a, f32x4 b) {                                     \
        return make_int4(-(a.x op b.x), -(a.y op b.y), -(a.z op b.z), -(a.w op b.w)); \
    }                                                                                 \
    HONE_FN i32x4 operator op(f32x4 a, float b) {                                     \
        return make_int4(-(a.x op b), -(a.y op b), -(a.z op b), -(a.w op b));         \
    }                                                                                 \
    HONE_FN i32x4 operator op(float a, f32x4 b) {                                     \
        return make_int4(-(a op b.x), -(a op b.y), -(a op b.z), -(a op b.w));         \
    }                                                                                 \
    HONE_FN i32x8 operator op(f32x8 a, f32x8 b) {                                     \
        return hone_pair_mask8(a.low op b.low, a.high op b.high);                     \
    }                                                                                 \
    HONE_FN i32x8 operator op(f32x8 a, float b) {                                     \
        return hone_pair_mask8(a.low op b, a.high op b);                              \
    }                                                                                 \
    HONE_FN i32x8 operator op(float a, f32x8 b) {                                     \
        return hone_pair_mask8(a op b.low, a op b.high);                              \
    }
HONE_COMPARISON(<)
HONE_COMPARISON(<=)
HONE_COMPARISON(==)
HONE_COMPARISON(!=)
#undef HONE_COMPARISON

#define HONE_MASKS(op)                                                    \
    HONE_FN i32x2 operator op(i32x2 a, i32x2 b) {                         \
        return make_int2(a.x op b.x, a.y op b.y);                         \
    }                                                                     \
    HONE_FN i32x4 operator op(i32x4 a, i32x4 b) {                         \
        return make_int4(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); \
    }                                                                     \
    HONE_FN i32x8 operator op(i32x8 a, i32x8 b) {                         \
        return hone_pair_mask8(a.low op b.low, a.high op b.high);         \
    }
HONE_MASKS(&)
HONE_MASKS(|)
HONE_MASKS(^)
#undef HONE_MASKS
HONE_FN i32x2 operator~(i32x2 a) {
    return make_int2(~a.x, ~a.y);
}
HONE_FN i32x4 operator~(i32x4 a) {
    return make_int4(~a.x, ~a.y, ~a.z, ~a.w);
}
HONE_FN i32x8 operator~(i32x8 a) {
    return hone_pair_mask8(~a.low, ~a.high);
}

HONE_FN f32x2 operator-(f32x2 a) {
    return make_float2(-a.x, -a.y);
}
HONE_FN f32x4 operator-(f32x4 a) {
    return make_float4(-a.x, -a.y, -a.z, -a.w);
}
HONE_FN f32x8 operator-(f32x8 a) {
    return hone_pair8(-a.low, -a.high);
}
#define HONE_ACCUMULATE(type, other)            \
    HONE_FN void operator+=(type &a, other b) { \
        a = a + b;                              \
    }
HONE_ACCUMULATE(f32x2, f32x2)
HONE_ACCUMULATE(f32x2, float)
HONE_ACCUMULATE(f32x4, f32x4)
HONE_ACCUMULATE(f32x4, float)
HONE_ACCUMULATE(f32x8, f32x8)
HONE_ACCUMULATE(f32x8, float)
#undef HONE_ACCUMULATE

#ifdef HONE_ANY_ALIGNMENT

// Arrays that begin anywhere: every vector in words where those are aligned, else in bytes. Slower;
// exported kernels have it for callers whose arrays are no multiples of 16 bytes.
HONE_FN void hone_move_any(void *to, const void *from, int bytes) {
    if (((unsigned long long)to | (unsigned long long)from) % 4 == 0)
        for (int i = 0; i < bytes / 4; i++)
            ((unsigned *)to)[i] = ((const unsigned *)from)[i];
    else
        for (int i = 0; i < bytes; i++)
            ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}
#define HONE_ANY(n)                                                  \
    HONE_FN void hone_get_words##n(const void *from, unsigned *w) {  \
        hone_move_any(w, from, 4 * n);                               \
    }                                                                \
    HONE_FN void hone_put_words##n(void *to, const unsigned *w) {    \
        hone_move_any(to, w, 4 * n);                                 \
    }                                                                \
    HONE_FN void hone_stream_words##n(void *to, const unsigned *w) { \
        hone_move_any(to, w, 4 * n);                                 \
    }
HONE_ANY(1)
HONE_ANY(2)
HONE_ANY(4)
#undef HONE_ANY
HONE_FN f32x2 hone_load2(const float *from) {
    return make_float2(from[0], from[1]);
}
HONE_FN f32x4 hone_load4(const float *from) {
    return make_float4(from[0], from[1], from[2], from[3]);
}
HONE_FN void hone_store2(float *to, f32x2 v) {
    to[0] = v.x, to[1] = v.y;
}
HONE_FN void hone_store2_i32(int *to, i32x2 v) {
    to[0] = v.x, to[1] = v.y;
}
HONE_FN void hone_store4(float *to, f32x4 v) {
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
HONE_FN float hone_once1(const float *from) {
    return __ldcs(from);
}
HONE_FN f32x2 hone_once2(const float *from) {
    return make_float2(__ldcs(from), __ldcs(from + 1));
}
HONE_FN f32x4 hone_once4(const float *from) {
    return make_float4(__ldcs(from), __ldcs(from + 1), __ldcs(from + 2), __ldcs(from + 3));
}
HONE_FN void hone_stream1(float *to, float v) {
    __stcs(to, v);
}
HONE_FN void hone_stream2(float *to, f32x2 v) {
    __stcs(to, v.x), __stcs(to + 1, v.y);
}
HONE_FN void hone_stream4(float *to, f32x4 v) {
    __stcs(to, v.x), __stcs(to + 1, v.y), __stcs(to + 2, v.z), __stcs(to + 3, v.w);
}

#else

// Consecutive elements, aligned to the vector's size.
HONE_FN f32x2 hone_load2(const float *from) {
    return *(const float2 *)from;
}
HONE_FN f32x4 hone_load4(const float *from) {
    return *(const float4 *)from;
}
HONE_FN void hone_store2(float *to, f32x2 v) {
    *(float2 *)to = v;
}
HONE_FN void hone_store2_i32(int *to, i32x2 v) {
    *(int2 *)to = v;
}
HONE_FN void hone_store4(float *to, f32x4 v) {
    *(float4 *)to = v;
}

// Words of 32 bits, aligned to all of them together; hone_stream_words as hone_stream1 below.
HONE_FN void hone_get_words1(const void *from, unsigned *w) {
    w[0] = *(const unsigned *)from;
}
HONE_FN void hone_get_words2(const void *from, unsigned *w) {
    uint2 v = *(const uint2 *)from;
    w[0] = v.x, w[1] = v.y;
}
HONE_FN void hone_get_words4(const void *from, unsigned *w) {
    uint4 v = *(const uint4 *)from;
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
}
HONE_FN void hone_put_words1(void *to, const unsigned *w) {
    *(unsigned *)to = w[0];
}
HONE_FN void hone_put_words2(void *to, const unsigned *w) {
    *(uint2 *)to = make_uint2(w[0], w[1]);
}
HONE_FN void hone_put_words4(void *to, const unsigned *w) {
    *(uint4 *)to = make_uint4(w[0], w[1], w[2], w[3]);
}
HONE_FN void hone_stream_words1(void *to, const unsigned *w) {
    __stcs((unsigned *)to, w[0]);
}
HONE_FN void hone_stream_words2(void *to, const unsigned *w) {
    __stcs((uint2 *)to, make_uint2(w[0], w[1]));
}
HONE_FN void hone_stream_words4(void *to, const unsigned *w) {
    __stcs((uint4 *)to, make_uint4(w[0], w[1], w[2], w[3]));
}

// Global memory that the kernel only reads, and reads once: not worth keeping in the caches.
HONE_FN float hone_once1(const float *from) {
    return __ldcs(from);
}
HONE_FN f32x2 hone_once2(const float *from) {
    return __ldcs((const float2 *)from);
}
HONE_FN f32x4 hone_once4(const float *from) {
    return __ldcs((const float4 *)from);
}

// Results that nobody reads soon.
HONE_FN void hone_stream1(float *to, float v) {
    __stcs(to, v);
}
HONE_FN void hone_stream2(float *to, f32x2 v) {
    __stcs((float2 *)to, v);
}
HONE_FN void hone_stream4(float *to, f32x4 v) {
    __stcs((float4 *)to, v);
}

#endif
