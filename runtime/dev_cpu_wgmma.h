// Part of dev_cpu.h: what dev_wgmma.h has on a GPU, products of a warpgroup. They go on by
// themselves: dev_cpu_bulk.h has their state and says when they are computed.
#pragma once

// All four warps come together, then each does its part.
static __attribute__((unused)) void hone_dev_meet_group(hone_dev_together together, int line) {
    hone_dev.now->together = together;
    hone_dev.now->is_group = 1;
    hone_dev_stop(HONE_DEV_AT_SHUFFLE, line);
}

// Element (i, k) of an operand: i along the rows of A or columns of B.
static float hone_dev_factor(const char *at, int across, int type, int i, int k) {
    if (type == 3) {
        int word;
        memcpy(&word, hone_dev_swizzled(at + i * 128 + k * 4), 4);
        return hone_dev_from_tf32(word);
    }
    if (type >= 4) {
        unsigned char byte = (unsigned char)*hone_dev_swizzled(at + i * 128 + k);
        return type == 4 ? hone_from_f8e4m3(byte) : hone_from_f8e5m2(byte);
    }
    const char *p = across ? at + i / 64 * 8192 + k * 128 + i % 64 * 2 : at + i * 128 + k * 2;
    unsigned short half;
    memcpy(&half, hone_dev_swizzled(p), 2);
    return type ? hone_from_f16(half) : hone_from_bf16(half);
}

static struct hone_dev_held *hone_dev_hold(struct hone_dev_held *held, float *at, int count) {
    struct hone_dev_held *unused = NULL;
    for (int i = 0; i < 4; i++) {
        if (held[i].at == at)
            return &held[i];
        if (!held[i].at)
            unused = &held[i];
    }
    if (!unused)
        hone_dev_fault("has products under way to more than four arrays of sums");
    unused->at = at;
    unused->count = count;
    memcpy(unused->value, at, sizeof(float) * (size_t)count);
    hone_dev_poison(at, sizeof(float) * (size_t)count);
    return unused;
}

// Whole numbers of 8 bits, 32 deep; the sums' bits stand for themselves.
static void hone_dev_compute_i8(struct hone_dev_warp *w, int warp,
                                const struct hone_dev_product *p) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        struct hone_dev_held *h = hone_dev_hold(w->held[lane], p->sums[lane], p->columns / 2);
        for (int i = 0; i < p->columns / 2; i++) {
            int row = warp % 4 * 16 + lane / 4 + i / 2 % 2 * 8;
            int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            unsigned sum = 0;
            if (p->adds)
                memcpy(&sum, &h->value[i], 4);
            for (int k = 0; k < 32; k++)
                sum += (unsigned)(*(const signed char *)hone_dev_swizzled(p->a + row * 128 + k) *
                                  *(const signed char *)hone_dev_swizzled(p->b + column * 128 + k));
            memcpy(&h->value[i], &sum, 4);
        }
    }
}

// Element (i, k) of the warp's rows of A.
static float hone_dev_left(const struct hone_dev_product *p, int warp, int i, int k) {
    if (!p->words[0])
        return hone_dev_factor(p->a, p->across_a, p->type, warp % 4 * 16 + i, k);
    int word = p->words[i % 8 * 4 + k % 8 / 2][i / 8 + k / 8 * 2];
    unsigned short half = (unsigned short)((unsigned)word >> k % 2 * 16);
    return p->type ? hone_from_f16(half) : hone_from_bf16(half);
}

static void hone_dev_compute(struct hone_dev_warp *w, int warp, const struct hone_dev_product *p) {
    float a[16][32], b[256][32];
    if (p->type == 2) {
        hone_dev_compute_i8(w, warp, p);
        return;
    }
    int depth = p->type == 3 ? 8 : p->type > 3 ? 32 : 16;
    for (int k = 0; k < depth; k++) {
        for (int i = 0; i < 16; i++)
            a[i][k] = hone_dev_left(p, warp, i, k);
        for (int j = 0; j < p->columns; j++)
            b[j][k] = hone_dev_factor(p->b, p->across_b, p->type, j, k);
    }
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        struct hone_dev_held *h = hone_dev_hold(w->held[lane], p->sums[lane], p->columns / 2);
        for (int i = 0; i < p->columns / 2; i++) {
            const float *x = a[lane / 4 + i / 2 % 2 * 8], *y = b[i / 4 * 8 + lane % 4 * 2 + i % 2];
            double sum = p->adds ? (double)h->value[i] : 0;
            for (int k = 0; k < depth; k++)
                sum += (double)x[k] * (double)y[k];
            h->value[i] = (float)sum;
        }
    }
}

static struct hone_dev_warp *hone_dev_warp_of(const struct hone_dev_fibre *f) {
    if (!hone_dev_async.warps)
        hone_dev_async.warps = calloc(HONE_DEV_WARPS_MAX, sizeof *hone_dev_async.warps);
    return &hone_dev_async.warps[(f - hone_dev.fibres) / HONE_DEV_WARP];
}

// The warp has come: what its first thread says holds for all but the sums.
static void hone_dev_start_product(struct hone_dev_fibre *f) {
    struct hone_dev_warp *w = hone_dev_warp_of(f);
    struct hone_dev_product p = *f->product;
    hone_dev.now = f;
    if (!w->is_fenced)
        hone_dev_fault("multiplies without a fence before");
    if (w->n_products == HONE_DEV_PRODUCTS_MAX)
        hone_dev_fault("has more than %d products under way", HONE_DEV_PRODUCTS_MAX);
    p.group = w->group;
    for (int lane = 0; lane < HONE_DEV_WARP; lane++) {
        p.sums[lane] = f[lane].product->sums[0];
        p.words[lane] = f[lane].product->words[0];
        hone_dev_hold(w->held[lane], p.sums[lane], p.columns / 2);
        if (f[lane].product->a != p.a || f[lane].product->b != p.b)
            hone_dev_fault("multiplies other operands than its neighbours");
    }
    if (hone_dev.copies_at_once)
        hone_dev_compute(w, f->thread / HONE_DEV_WARP, &p);
    else
        w->products[w->n_products++] = p;
}

static __attribute__((unused)) void hone_dev_wgmma(struct hone_dev_product p, void *sums,
                                                   int line) {
    if (p.a)
        hone_dev_aligned(p.a, 16);
    hone_dev_aligned(p.b, 16);
    p.sums[0] = sums;
    hone_dev.now->product = &p;
    hone_dev_meet_group(hone_dev_start_product, line);
}
#define HONE_DEV_WGMMA(c, a, b, ta, tb, adds, columns, type)    \
    hone_dev_wgmma((struct hone_dev_product){(const char *)(a), \
                                             (const char *)(b), \
                                             ta,                \
                                             tb,                \
                                             (adds) != 0,       \
                                             columns,           \
                                             type,              \
                                             0,                 \
                                             {0},               \
                                             {0}},              \
                   c, __LINE__)
#define hone_wgmma_f16_64(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 64, 1)
#define hone_wgmma_f16_128(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 128, 1)
#define hone_wgmma_f16_192(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 192, 1)
#define hone_wgmma_f16_256(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 256, 1)
#define hone_wgmma_bf16_64(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 64, 0)
#define hone_wgmma_bf16_128(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 128, 0)
#define hone_wgmma_bf16_192(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 192, 0)
#define hone_wgmma_bf16_256(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 256, 0)
#define hone_wgmma_i8_64(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 64, 2)
#define hone_wgmma_i8_128(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 128, 2)
#define hone_wgmma_i8_192(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 192, 2)
#define hone_wgmma_i8_256(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 256, 2)
#define hone_wgmma_tf32_64(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 64, 3)
#define hone_wgmma_tf32_128(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 128, 3)
#define hone_wgmma_tf32_192(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 192, 3)
#define hone_wgmma_tf32_256(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 256, 3)
#define hone_wgmma_e4m3_64(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 64, 4)
#define hone_wgmma_e4m3_128(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 128, 4)
#define hone_wgmma_e4m3_192(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 192, 4)
#define hone_wgmma_e4m3_256(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 256, 4)
#define hone_wgmma_e5m2_64(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 64, 5)
#define hone_wgmma_e5m2_128(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 128, 5)
#define hone_wgmma_e5m2_192(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 192, 5)
#define hone_wgmma_e5m2_256(c, a, b, ta, tb, adds) HONE_DEV_WGMMA(c, a, b, ta, tb, adds, 256, 5)
#define HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, columns, type)                        \
    hone_dev_wgmma(                                                                   \
        (struct hone_dev_product){                                                    \
            NULL, (const char *)(b), 0, tb, (adds) != 0, columns, type, 0, {0}, {w}}, \
        c, __LINE__)
#define hone_wgmma_words_f16_64(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 64, 1)
#define hone_wgmma_words_f16_128(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 128, 1)
#define hone_wgmma_words_f16_192(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 192, 1)
#define hone_wgmma_words_f16_256(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 256, 1)
#define hone_wgmma_words_bf16_64(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 64, 0)
#define hone_wgmma_words_bf16_128(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 128, 0)
#define hone_wgmma_words_bf16_192(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 192, 0)
#define hone_wgmma_words_bf16_256(c, w, b, tb, adds) HONE_DEV_WGMMA_WORDS(c, w, b, tb, adds, 256, 0)

static __attribute__((unused)) void hone_dev_fence(struct hone_dev_fibre *f) {
    hone_dev_warp_of(f)->is_fenced = 1;
}
static __attribute__((unused)) void hone_dev_commit(struct hone_dev_fibre *f) {
    hone_dev_warp_of(f)->group++;
}

// Sums that no product is under way to any more are the threads' own again.
static void hone_dev_give_back(struct hone_dev_warp *w) {
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        for (int i = 0; i < 4; i++) {
            struct hone_dev_held *h = &w->held[lane][i];
            int is_needed = !h->at;
            for (int j = 0; j < w->n_products; j++)
                is_needed |= w->products[j].sums[lane] == h->at;
            if (is_needed)
                continue;
            memcpy(h->at, h->value, sizeof(float) * (size_t)h->count);
            h->at = NULL;
        }
}

// Products of groups older than the newest `source` are computed now; those not committed never
// are.
static __attribute__((unused)) void hone_dev_wait_products(struct hone_dev_fibre *f) {
    struct hone_dev_warp *w = hone_dev_warp_of(f);
    int kept = 0;
    for (int i = 0; i < w->n_products; i++) {
        struct hone_dev_product p = w->products[i];
        if (p.group < w->group - f->source)
            hone_dev_compute(w, f->thread / HONE_DEV_WARP, &p);
        else
            w->products[kept++] = p;
    }
    w->n_products = kept;
    w->is_fenced = 0;
    hone_dev_give_back(w);
}
#define hone_wgmma_fence() hone_dev_meet_group(hone_dev_fence, __LINE__)
#define hone_wgmma_commit() hone_dev_meet_group(hone_dev_commit, __LINE__)
#define hone_wgmma_wait(groups) \
    (hone_dev.now->source = (groups), hone_dev_meet_group(hone_dev_wait_products, __LINE__))

static __attribute__((unused)) void hone_dev_nothing(struct hone_dev_fibre *f) {
    (void)f;
}
static __attribute__((unused)) void hone_dev_set_registers(int n, int line) {
    if (n < 24 || n > 256 || n % 8 != 0)
        hone_dev_fault("asks for %d registers", n);
    hone_dev_meet_group(hone_dev_nothing, line);
}

// Turns: a phase of a barrier of 128 arrivals each. Who takes the one of number n waits for the end
// of phase n.
static __attribute__((unused)) void hone_dev_take(int i, int line) {
    struct hone_dev_mbarrier *b = &hone_dev_async.turns[i];
    struct hone_dev_fibre *f = hone_dev.now;
    hone_dev_meet_group(hone_dev_nothing, line);
    f->waits_for = b;
    f->parity = hone_dev_async.takers[i]++ / 128 % 2;
    if (!hone_dev_has_ended(b, f->parity))
        hone_dev_stop(HONE_DEV_AT_MBARRIER, line);
}
static __attribute__((unused)) void hone_dev_give(int i, int line) {
    struct hone_dev_mbarrier *b = &hone_dev_async.turns[i];
    hone_dev_meet_group(hone_dev_nothing, line);
    if (b->phase * 128 > hone_dev_async.takers[i])
        hone_dev_fault("gives turn %d again before it was taken", i);
    b->pending--;
    hone_dev_mbarrier_end_phase(b);
}
#define hone_turn_take(i) hone_dev_take(i, __LINE__)
#define hone_turn_give(i) hone_dev_give(i, __LINE__)

#define hone_registers_less(n) hone_dev_set_registers(n, __LINE__)
#define hone_registers_more(n) hone_dev_set_registers(n, __LINE__)

#define hone_warp_sync() hone_dev_meet(hone_dev_nothing, __LINE__)
