// Part of dev.h: fragments of matrices and products by the threads of one warp, and how operands
// are brought into the form that products take: widened integers, f32 split into parts of tf32,
// sums packed to half precision.
#pragma once

// Fragments of matrices and their products (sm_80 on); intrinsics.def of the loop language says
// which thread has which element. The threads of a warp come together.
HONE_FN void hone_ldmatrix(int *to, const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from))
                 : "memory");
}
HONE_FN void hone_ldmatrix_transposed(int *to, const void *from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from))
                 : "memory");
}
#define HONE_MMA(name, shape, type)                                                         \
    HONE_FN void hone_mma_##name(float2 *c, const int *a, const int *b) {                   \
        asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                \
                     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : "+f"(c[0].x), "+f"(c[0].y), "+f"(c[1].x), "+f"(c[1].y)               \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));   \
    }
HONE_MMA(f16, "m16n8k16", "f16")
HONE_MMA(bf16, "m16n8k16", "bf16")
HONE_MMA(tf32, "m16n8k8", "tf32")
#if __CUDA_ARCH__ >= 890
HONE_MMA(e4m3, "m16n8k32", "e4m3")
HONE_MMA(e5m2, "m16n8k32", "e5m2")
#endif
#undef HONE_MMA
HONE_FN void hone_mma_i8(int2 *c, const int *a, const int *b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8"
                 ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0].x), "+r"(c[0].y), "+r"(c[1].x), "+r"(c[1].y)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Numbers from a counter.
HONE_FN void hone_take(int *to, void *counter, const int *more) {
    *to = atomicAdd((int *)counter, *more);
}
HONE_FN void hone_load_row(int *to, const void *from) {
    unsigned w[4];
    hone_get_words4(from, w);
    for (int i = 0; i < 4; i++)
        to[i] = (int)w[i];
}
HONE_FN void hone_load_rows(int *to, const void *first, const void *second) {
    unsigned v[4], w[4];
    hone_get_words4(first, v);
    hone_get_words4(second, w);
    for (int i = 0; i < 4; i++)
        to[2 * i] = (int)v[i], to[2 * i + 1] = (int)w[i];
}
HONE_FN void hone_word(int *to, const void *from) {
    *to = *(const int *)from;
}
HONE_FN void hone_words4(int *to, const void *from) {
    int4 w = *(const int4 *)from;
    to[0] = w.x, to[1] = w.y, to[2] = w.z, to[3] = w.w;
}
// Numbers of few bits are put into the last places of a power of two, which is then subtracted; the
// sign's bit, turned around, makes them run from 0 on. One operation of logic does both.
template <int mask, int magic> HONE_FN unsigned hone_place_bits(unsigned w) {
    unsigned r;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(w), "n"(mask), "n"(magic));
    return r;
}
HONE_FN unsigned hone_sub_f16x2(unsigned a, unsigned b) {
    unsigned r;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
HONE_FN unsigned hone_fma_f16x2(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
HONE_FN unsigned hone_fma_bf16x2(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
// 1024 + n + 8, less 1032; or 1024 + 16 (n + 8), a sixteenth of it, less 72.
HONE_FN void hone_widen_i4_f16(int *to, const int *first, const int *second) {
    for (int row = 0; row < 2; row++) {
        unsigned w = (unsigned)(row ? *second : *first), high = w >> 8;
        to[row] = (int)hone_sub_f16x2(hone_place_bits<0x000f000f, 0x64086408>(w), 0x64086408u);
        to[2 + row] = (int)hone_fma_f16x2(hone_place_bits<0x00f000f0, 0x64806480>(w), 0x2c002c00u,
                                          0xd480d480u);
        to[4 + row] =
            (int)hone_sub_f16x2(hone_place_bits<0x000f000f, 0x64086408>(high), 0x64086408u);
        to[6 + row] = (int)hone_fma_f16x2(hone_place_bits<0x00f000f0, 0x64806480>(high),
                                          0x2c002c00u, 0xd480d480u);
    }
}
// 128 + n + 8, less 136.
HONE_FN void hone_widen_i4_bf16(int *to, const int *first, const int *second) {
    for (int row = 0; row < 2; row++) {
        unsigned w = (unsigned)(row ? *second : *first);
        for (int i = 0; i < 4; i++)
            to[2 * i + row] = (int)hone_fma_bf16x2(
                hone_place_bits<0x000f000f, 0x43084308>(w >> 4 * i), 0x3f803f80u, 0xc308c308u);
    }
}
// 1024 + n + 128, less 1152.
HONE_FN void hone_widen_i8_f16(int *to, const int *first, const int *second) {
    for (int row = 0; row < 2; row++) {
        unsigned w = (unsigned)(row ? *second : *first) ^ 0x80808080u;
        to[row] = (int)hone_sub_f16x2(__byte_perm(w, 0x64646464u, 0x4140), 0x64806480u);
        to[2 + row] = (int)hone_sub_f16x2(__byte_perm(w, 0x64646464u, 0x4342), 0x64806480u);
    }
}
// bf16 has no room for that: 2^23 + n + 128 of f32.
HONE_FN void hone_widen_i8_bf16(int *to, const int *first, const int *second) {
    for (int row = 0; row < 2; row++) {
        unsigned w = (unsigned)(row ? *second : *first) ^ 0x80808080u;
        float v[4];
        for (int i = 0; i < 4; i++)
            v[i] = __int_as_float((int)__byte_perm(w, 0x4b000000u, 0x7650u + (unsigned)i)) -
                   8388736.0f;
        for (int i = 0; i < 2; i++)
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
                : "=r"(to[2 * i + row])
                : "f"(v[2 * i + 1]), "f"(v[2 * i]));
    }
}
// Elements 0 1, 2 3, 4 5, 6 7 to 0 4, 1 5, 2 6, 3 7.
HONE_FN void hone_deal(int *w) {
    unsigned a = (unsigned)w[0], b = (unsigned)w[1], c = (unsigned)w[2], d = (unsigned)w[3];
    w[0] = (int)__byte_perm(a, c, 0x5410);
    w[1] = (int)__byte_perm(a, c, 0x7632);
    w[2] = (int)__byte_perm(b, d, 0x5410);
    w[3] = (int)__byte_perm(b, d, 0x7632);
}
HONE_FN int hone_to_tf32(int word) {
    int r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__int_as_float(word)));
    return r;
}
HONE_FN void hone_round_tf32(int *word) {
    *word = hone_to_tf32(*word);
}
// The high part to nearest, and what is left of it, whose last bits a product does not look at. Of
// infinities and NaN one of them is NaN.
HONE_FN void hone_split_tf32(int *high, int *low, const int *word) {
    *high = (*word + 0x1000) & ~0x1fff;
    *low = __float_as_int(__int_as_float(*word) - __int_as_float(*high));
}
// The same, so that both add up to the word, whatever it is.
HONE_FN void hone_part_tf32(int *high, int *low, const int *word) {
    int w = *word, h = (w + 0x1000) & ~0x1fff;
    if ((h & 0x7f800000) == 0x7f800000)
        h = w & ~0x1fff;
    if ((w & 0x7fffffff) > 0x7f800000)
        h = 0x7fffe000;
    *high = h;
    *low =
        (w & 0x7f800000) == 0x7f800000 ? 0 : __float_as_int(__int_as_float(w) - __int_as_float(h));
}
HONE_FN void hone_join_tf32(float *to, const int *high, const int *low) {
    *to = __int_as_float(*high) + __int_as_float(*low);
}

// Over the four threads that have a row of a fragment: the largest of their numbers, and the sum.
HONE_FN void hone_quad_max(float2 *v) {
    float top = v->x > v->y || v->x != v->x ? v->x : v->y;
    for (int i = 1; i < 4; i *= 2) {
        float other = __shfl_xor_sync(0xffffffffu, top, i);
        top = top > other || top != top ? top : other;
    }
    *v = make_float2(top, top);
}
HONE_FN void hone_quad_sum(float2 *v) {
    float sum = v->x + v->y;
    for (int i = 1; i < 4; i *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, i);
    *v = make_float2(sum, sum);
}
HONE_FN void hone_power(float2 *v) {
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(v->x));
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(v->y));
}
HONE_FN void hone_pair(float2 *to, const float *v) {
    *to = make_float2(v[0], v[1]);
}
// Two numbers as a word, the first in its low half, and what is left of them.
HONE_FN void hone_pack_f16(int *word, float2 *v) {
    float x, y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(*word) : "f"(v->y), "f"(v->x));
    asm("{.reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
        : "=f"(x), "=f"(y)
        : "r"(*word));
    *v = make_float2(v->x - x, v->y - y);
}
HONE_FN void hone_pack_bf16(int *word, float2 *v) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(*word) : "f"(v->y), "f"(v->x));
    *v = make_float2(v->x - __int_as_float(*word << 16), v->y - __int_as_float(*word & 0xffff0000));
}
