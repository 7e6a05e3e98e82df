// Part of dev_cpu.h: what dev_mma.h has on a GPU, fragments of matrices and their products.
#pragma once

// Fragments and their products: each thread leaves its operands in its fibre, the last one that
// comes does the work for all, and each takes its results.
static __attribute__((unused)) void hone_dev_meet(hone_dev_together together, int line) {
    hone_dev.now->together = together;
    hone_dev.now->is_group = 0;
    hone_dev_stop(HONE_DEV_AT_SHUFFLE, line);
}

static void hone_dev_load_matrices(struct hone_dev_fibre *f, int transposed) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int g = lane / 4, q = lane % 4;
            uint16_t half[2];
            for (int j = 0; j < 2; j++) {
                int row = transposed ? 2 * q + j : g, column = transposed ? g : 2 * q + j;
                memcpy(&half[j], (const char *)f[8 * i + row].row + 2 * column, 2);
            }
            memcpy(&f[lane].word[i], half, 4);
        }
}
static __attribute__((unused)) void hone_dev_rows(struct hone_dev_fibre *f) {
    hone_dev_load_matrices(f, 0);
}
static __attribute__((unused)) void hone_dev_columns(struct hone_dev_fibre *f) {
    hone_dev_load_matrices(f, 1);
}
static __attribute__((unused)) void hone_dev_ldmatrix(int *to, const void *from,
                                                      hone_dev_together how, int line) {
    hone_dev_aligned(from, 16);
    hone_dev.now->row = from;
    hone_dev_meet(how, line);
    memcpy(to, hone_dev.now->word, sizeof hone_dev.now->word);
}
#define hone_ldmatrix(to, from) hone_dev_ldmatrix(to, from, hone_dev_rows, __LINE__)
#define hone_ldmatrix_transposed(to, from) hone_dev_ldmatrix(to, from, hone_dev_columns, __LINE__)

static float hone_from_f16(unsigned short h);
static float hone_from_f8e4m3(unsigned char b);
static float hone_from_f8e5m2(unsigned char b);
static float hone_from_bf16(unsigned short h);
static float hone_dev_from_tf32(int word) {
    float v;
    word &= ~0x1fff;
    memcpy(&v, &word, 4);
    return v;
}
// Element number `half` of a word.
static float hone_dev_half_f16(int word, int half) {
    return hone_from_f16((unsigned short)((unsigned)word >> 16 * half));
}
static float hone_dev_half_bf16(int word, int half) {
    return hone_from_bf16((unsigned short)((unsigned)word >> 16 * half));
}
static float hone_dev_half_e4m3(int word, int half) {
    return hone_from_f8e4m3((unsigned char)((unsigned)word >> 8 * half));
}
static float hone_dev_half_e5m2(int word, int half) {
    return hone_from_f8e5m2((unsigned char)((unsigned)word >> 8 * half));
}
static float hone_dev_half_tf32(int word, int half) {
    (void)half;
    return hone_dev_from_tf32(word);
}
// `per` elements to a word, 8 * per deep.
static void hone_dev_multiply(struct hone_dev_fibre *f, int per, float (*element)(int, int)) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int column = lane % 4 * 2 + i % 2;
            double sum = (double)f[lane].sum[i];
            for (int k = 0; k < 8 * per; k++) {
                int q = k % (4 * per) / per, half = k % per, later = k / (4 * per);
                sum += (double)element(f[lane / 4 * 4 + q].word[i / 2 + 2 * later], half) *
                       (double)element(f[column * 4 + q].other[later], half);
            }
            f[lane].sum[i] = (float)sum;
        }
}
#define HONE_DEV_MMA(t, per)                                                         \
    static __attribute__((unused)) void hone_dev_mma_##t(struct hone_dev_fibre *f) { \
        hone_dev_multiply(f, per, hone_dev_half_##t);                                \
    }
HONE_DEV_MMA(f16, 2)
HONE_DEV_MMA(bf16, 2)
HONE_DEV_MMA(tf32, 1)
HONE_DEV_MMA(e4m3, 4)
HONE_DEV_MMA(e5m2, 4)
#undef HONE_DEV_MMA
// Four whole numbers of 8 bits to a word; the sums' bits stand for themselves.
static __attribute__((unused)) void hone_dev_mma_i8(struct hone_dev_fibre *f) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            int column = lane % 4 * 2 + i % 2;
            unsigned sum;
            memcpy(&sum, &f[lane].sum[i], 4);
            for (int k = 0; k < 32; k++) {
                int q = k % 16 / 4, later = k / 16, shift = k % 4 * 8;
                int x = f[lane / 4 * 4 + q].word[i / 2 + 2 * later] >> shift;
                int y = f[column * 4 + q].other[later] >> shift;
                sum += (unsigned)((int)(signed char)x * (int)(signed char)y);
            }
            memcpy(&f[lane].sum[i], &sum, 4);
        }
}
static __attribute__((unused)) void hone_dev_mma(void *sum, const int *a, const int *b,
                                                 hone_dev_together how, int line) {
    struct hone_dev_fibre *f = hone_dev.now;
    memcpy(f->sum, sum, sizeof f->sum);
    memcpy(f->word, a, sizeof f->word);
    memcpy(f->other, b, sizeof f->other);
    hone_dev_meet(how, line);
    memcpy(sum, f->sum, sizeof f->sum);
}
#define hone_mma_f16(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_f16, __LINE__)
#define hone_mma_bf16(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_bf16, __LINE__)
#define hone_mma_tf32(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_tf32, __LINE__)
#define hone_mma_i8(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_i8, __LINE__)
#define hone_mma_e4m3(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_e4m3, __LINE__)
#define hone_mma_e5m2(sum, a, b) hone_dev_mma(sum, a, b, hone_dev_mma_e5m2, __LINE__)
static __attribute__((unused)) void hone_dev_quad_max(struct hone_dev_fibre *f) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        const struct hone_dev_fibre *q = &f[lane / 4 * 4];
        f[lane].sum[2] = q->sum[0];
        for (int i = 1; i < 8; i++) {
            float v = q[i / 2].sum[i % 2];
            f[lane].sum[2] = v != v || v > f[lane].sum[2] ? v : f[lane].sum[2];
        }
    }
}
static __attribute__((unused)) void hone_dev_quad_sum(struct hone_dev_fibre *f) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        f[lane].sum[2] = 0;
        for (int i = 0; i < 8; i++)
            f[lane].sum[2] += f[lane / 4 * 4 + i / 2].sum[i % 2];
    }
}
static __attribute__((unused)) void hone_dev_quad(void *v, hone_dev_together how, int line) {
    struct hone_dev_fibre *f = hone_dev.now;
    memcpy(f->sum, v, 2 * sizeof(float));
    hone_dev_meet(how, line);
    memcpy(v, &f->sum[2], sizeof(float));
    memcpy((float *)v + 1, &f->sum[2], sizeof(float));
}
#define hone_quad_max(v) hone_dev_quad(v, hone_dev_quad_max, __LINE__)
#define hone_quad_sum(v) hone_dev_quad(v, hone_dev_quad_sum, __LINE__)
HONE_FN void hone_take(int *to, void *counter, const int *more) {
    hone_dev_aligned(counter, 4);
    *to = *(int *)counter;
    *(int *)counter = (int)((unsigned)*to + (unsigned)*more);
}
HONE_FN void hone_load_row(int *to, const void *from) {
    hone_dev_aligned(from, 16);
    memcpy(to, from, 16);
}
HONE_FN void hone_load_rows(int *to, const void *first, const void *second) {
    hone_dev_aligned(first, 16);
    hone_dev_aligned(second, 16);
    for (int i = 0; i < 4; i++) {
        memcpy(&to[2 * i], (const char *)first + 4 * i, 4);
        memcpy(&to[2 * i + 1], (const char *)second + 4 * i, 4);
    }
}
HONE_FN void hone_word(int *to, const void *from) {
    hone_dev_aligned(from, 4);
    memcpy(to, from, 4);
}
HONE_FN void hone_words4(int *to, const void *from) {
    hone_dev_aligned(from, 16);
    memcpy(to, from, 16);
}
static unsigned short hone_to_f16(float x);
static unsigned short hone_to_bf16(float x);
// Number `i` of a word of numbers of 4 or 8 bits.
static __attribute__((unused)) float hone_dev_number(int word, int bits, int i) {
    int v = (int)((unsigned)word >> bits * i & ((1u << bits) - 1));
    return (float)(v >= 1 << (bits - 1) ? v - (1 << bits) : v);
}
#define HONE_DEV_WIDEN(bits, t)                                                           \
    HONE_FN void hone_widen_i##bits##_##t(int *to, const int *first, const int *second) { \
        for (int i = 0; i < 32 / bits; i++) {                                             \
            int pair = i / 2, from = i % 2 ? *second : *first;                            \
            int x = bits == 4 ? pair : 2 * pair, y = bits == 4 ? pair + 4 : x + 1;        \
            to[i] = (int)(hone_to_##t(hone_dev_number(from, bits, x)) |                   \
                          (unsigned)hone_to_##t(hone_dev_number(from, bits, y)) << 16);   \
        }                                                                                 \
    }
HONE_DEV_WIDEN(4, f16)
HONE_DEV_WIDEN(4, bf16)
HONE_DEV_WIDEN(8, f16)
HONE_DEV_WIDEN(8, bf16)
#undef HONE_DEV_WIDEN
HONE_FN void hone_deal(int *w) {
    unsigned short v[8];
    memcpy(v, w, sizeof v);
    for (int i = 0; i < 4; i++)
        w[i] = (int)(v[i] | (unsigned)v[i + 4] << 16);
}
HONE_FN int hone_to_tf32(int word) {
    unsigned w = (unsigned)word;
    return (int)((w & 0x7f800000u) == 0x7f800000u ? w : (w + 0x1000u) & ~0x1fffu);
}
HONE_FN void hone_round_tf32(int *word) {
    *word = hone_to_tf32(*word);
}
HONE_FN void hone_split_tf32(int *high, int *low, const int *word) {
    float v, top;
    memcpy(&v, word, 4);
    *high = (int)(((unsigned)*word + 0x1000u) & ~0x1fffu);
    memcpy(&top, high, 4);
    v -= top;
    memcpy(low, &v, 4);
}
HONE_FN void hone_part_tf32(int *high, int *low, const int *word) {
    unsigned w = (unsigned)*word, h = (w + 0x1000u) & ~0x1fffu;
    int is_finite = (w & 0x7f800000u) != 0x7f800000u;
    if ((h & 0x7f800000u) == 0x7f800000u)
        h = w & ~0x1fffu;
    if ((w & 0x7fffffffu) > 0x7f800000u)
        h = 0x7fffe000u;
    float v, top;
    memcpy(&v, &w, 4);
    memcpy(&top, &h, 4);
    v = is_finite ? v - top : 0;
    memcpy(high, &h, 4);
    memcpy(low, &v, 4);
}
HONE_FN void hone_join_tf32(float *to, const int *high, const int *low) {
    float v, top;
    memcpy(&v, low, 4);
    memcpy(&top, high, 4);
    *to = top + v;
}

static unsigned short hone_to_f16(float x);
static unsigned short hone_to_bf16(float x);
HONE_FN void hone_power(void *sums) {
    float v[2];
    memcpy(v, sums, sizeof v);
    for (int i = 0; i < 2; i++) {
        v[i] = exp2f(v[i]);
        v[i] = v[i] < 0x1p-126f ? 0 : v[i];
    }
    memcpy(sums, v, sizeof v);
}
HONE_FN void hone_pair(void *to, const float *v) {
    memcpy(to, v, 2 * sizeof *v);
}
#define HONE_DEV_PACK(t)                                                       \
    static __attribute__((unused)) void hone_pack_##t(int *word, void *sums) { \
        float v[2];                                                            \
        memcpy(v, sums, sizeof v);                                             \
        *word = (int)(hone_to_##t(v[0]) | (unsigned)hone_to_##t(v[1]) << 16);  \
        for (int i = 0; i < 2; i++)                                            \
            v[i] -= hone_dev_half_##t(*word, i);                               \
        memcpy(sums, v, sizeof v);                                             \
    }
HONE_DEV_PACK(f16)
HONE_DEV_PACK(bf16)
#undef HONE_DEV_PACK
