// Kernels with which the judge checks device memory: compare results with what is expected,
// take the digest of a buffer, and read a buffer so that caches hold nothing else. Built by NVRTC;
// plain C otherwise, without barriers or shared memory, so that tests run it on a CPU as well.
//
// Every warp leaves one `judge_part` of what it saw; judge_fold adds them up in a fixed order, so
// that the same data give the same sums.

#include "hone_judge.h"
#include "hone_storage.h"

// Mixes all bits of a word with its place; sums of these do not depend on their order.
JUDGE_FN u64 judge_mix(unsigned word, u64 index, u64 seed) {
    u64 x = (index + 1) * 0x9e3779b97f4a7c15ull + seed + word;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

struct judge_expected {
    const float *high, *low, *spread;
    double limit;  // for one element
};

JUDGE_FN void judge_result(struct judge_part *p, float value, double truth, double spread,
                           double limit, unsigned poison) {
    double error = judge_error(value, truth, spread);
    p->sum += error * error;
    p->max = error > p->max ? error : p->max;
    p->n_wrong += !(error <= limit);
    p->n_same += JUDGE_BITS(value) == poison;
}

// Four at a time; every buffer begins at a multiple of 16 bytes.
JUDGE_KERNEL judge_compare(const float *values, struct judge_expected e, u64 n, unsigned poison,
                           struct judge_part *parts) {
    struct judge_part p = {0, 0, 0, 0, 0, 0};
    const float4 *v4 = (const float4 *)values, *h4 = (const float4 *)e.high;
    const float4 *l4 = (const float4 *)e.low, *s4 = (const float4 *)e.spread;
    for (u64 i = first(); i < n / 4; i += stride()) {
        float4 v = v4[i], h = h4[i], l = l4[i], s = s4[i];
        judge_result(&p, v.x, (double)h.x + (double)l.x, s.x, e.limit, poison);
        judge_result(&p, v.y, (double)h.y + (double)l.y, s.y, e.limit, poison);
        judge_result(&p, v.z, (double)h.z + (double)l.z, s.z, e.limit, poison);
        judge_result(&p, v.w, (double)h.w + (double)l.w, s.w, e.limit, poison);
    }
    for (u64 i = n / 4 * 4 + first(); i < n; i += stride())
        judge_result(&p, values[i], (double)e.high[i] + (double)e.low[i], e.spread[i], e.limit,
                     poison);
    judge_leave(parts, p);
}

// Of any other type: as in oracle/oracle_typed.c. Only a wrong element counts as unwritten, since the
// poison may be a right one.
struct judge_typed {
    const double *truth, *unused, *unit;
    double limit;
};

JUDGE_KERNEL judge_compare_typed(const void *values, struct judge_typed e, u64 n, unsigned poison,
                                 int type, struct judge_part *parts) {
    struct judge_part p = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride()) {
        double value = stored_get(type, values, i);
        double error = stored_error(type, value, e.truth[i], e.unit[i]);
        if (type == STORED_BOOL && ((const unsigned char *)values)[i] > 1)
            error = JUDGE_INFINITY;
        int is_wrong = !(error <= e.limit);
        p.sum += error * error;
        p.max = error > p.max ? error : p.max;
        p.n_wrong += is_wrong;
        p.n_same += is_wrong && stored_holds_word(type, values, i, poison);
    }
    judge_leave(parts, p);
}

// Several pieces of memory that are checked together, each with the questions that are asked about
// it. Of the first and the last word of each only the bits in `head` and `tail` belong to it.
#define JUDGE_REGIONS 48
#define JUDGE_SAME 1
#define JUDGE_OTHER 2
#define JUDGE_DIGEST 4
struct judge_regions {
    const unsigned *at[JUDGE_REGIONS];
    u64 n[JUDGE_REGIONS], seed[JUDGE_REGIONS];
    unsigned head[JUDGE_REGIONS], tail[JUDGE_REGIONS], asks[JUDGE_REGIONS];
    int count;
    unsigned poison;
};

JUDGE_FN void judge_word(struct judge_part *p, const struct judge_regions *r, int k, unsigned word,
                         u64 index) {
    unsigned mask = (index == 0 ? r->head[k] : ~0u) & (index + 1 == r->n[k] ? r->tail[k] : ~0u);
    int is_same = ((word ^ r->poison) & mask) == 0;
    p->n_same += is_same && r->asks[k] & JUDGE_SAME;
    p->n_other += !is_same && r->asks[k] & JUDGE_OTHER;
    if (r->asks[k] & JUDGE_DIGEST)
        p->digest += judge_mix(word & mask, index, r->seed[k]);
}

// Four words of which none is the first or the last of the piece.
JUDGE_FN void judge_words(struct judge_part *p, const struct judge_regions *r, int k, uint4 w,
                          u64 index) {
    unsigned n_same = (w.x == r->poison) + (w.y == r->poison) + (w.z == r->poison) +
                      (w.w == r->poison);
    p->n_same += r->asks[k] & JUDGE_SAME ? n_same : 0;
    p->n_other += r->asks[k] & JUDGE_OTHER ? 4 - n_same : 0;
    if (r->asks[k] & JUDGE_DIGEST)
        p->digest += judge_mix(w.x, index, r->seed[k]) + judge_mix(w.y, index + 1, r->seed[k]) +
                     judge_mix(w.z, index + 2, r->seed[k]) + judge_mix(w.w, index + 3, r->seed[k]);
}

// Memory is as fast as much of it is asked for at a time: several reads before the first is looked
// at.
#define JUDGE_AHEAD 4
JUDGE_KERNEL judge_scan(struct judge_regions r, struct judge_part *parts) {
    struct judge_part p = {0, 0, 0, 0, 0, 0};
    for (int k = 0; k < r.count; k++) {
        const unsigned *words = r.at[k];
        const uint4 *quads = (const uint4 *)words;
        u64 n = r.n[k], n4 = (u64)words % 16 || n < 8 ? 0 : n / 4 - 1, i = 1 + first();
        for (; i + (JUDGE_AHEAD - 1) * stride() < n4; i += JUDGE_AHEAD * stride()) {
            uint4 w[JUDGE_AHEAD];
#pragma unroll
            for (int a = 0; a < JUDGE_AHEAD; a++)
                w[a] = quads[i + a * stride()];
#pragma unroll
            for (int a = 0; a < JUDGE_AHEAD; a++)
                judge_words(&p, &r, k, w[a], 4 * (i + a * stride()));
        }
        for (; i < n4; i += stride())
            judge_words(&p, &r, k, quads[i], 4 * i);
        for (u64 w = first(); n4 && w < 4; w += stride())
            judge_word(&p, &r, k, words[w], w);
        for (u64 w = 4 * n4 + first(); w < n; w += stride())
            judge_word(&p, &r, k, words[w], w);
    }
    judge_leave(parts, p);
}

// n parts into as many as there are warps.
JUDGE_KERNEL judge_fold(const struct judge_part *parts, u64 n, struct judge_part *out) {
    struct judge_part p = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride())
        judge_add(&p, parts[i]);
    judge_leave(out, p);
}

// What a call leaves in shared and local memory, which nobody sets, the next one would find: every
// word of it is overwritten in between. A block with all of its shared memory is alone on a
// multiprocessor; so many threads are all that run at a time, each with its own local memory.
#ifdef __CUDACC__
JUDGE_KERNEL judge_wipe_shared(unsigned n) {
    extern __shared__ volatile unsigned words[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        words[i] = 0;
}
#define JUDGE_WIPE_LOCAL(bytes)                                                           \
    extern "C" __global__ void __launch_bounds__(256, 8) judge_wipe_##bytes(unsigned n) { \
        volatile unsigned words[bytes / 4];                                               \
        for (unsigned i = 0; i < n; i++)                                                  \
            words[i % (bytes / 4)] = 0;                                                   \
    }
JUDGE_WIPE_LOCAL(256)
JUDGE_WIPE_LOCAL(2048)
#endif

JUDGE_KERNEL judge_flush(const float4 *buffer, u64 n, float *out) {
    float s = 0;
#pragma unroll 8
    for (u64 i = first(); i < n; i += stride()) {
        float4 v = buffer[i];
        s += v.x + v.y + v.z + v.w;
    }
    if (s == 1.2345e30f)  // never, but the compiler cannot know
        *out = s;
}
