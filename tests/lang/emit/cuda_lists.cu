// postings, by hone VERSION.
// kernel for postings on sm_90a
// stage scores : scatter as lists  block 128  ranges 2  items 2  add ordered
#include "dev.h"

#ifndef B
#define B 3
#endif
#ifndef Q
#define Q 5
#endif
#ifndef LISTS
#define LISTS 40
#endif
#ifndef P
#define P 2000
#endif
#ifndef DOCS
#define DOCS 1000
#endif

HONE_ASSERT(B == 3, "lowered for B = 3");
HONE_ASSERT(Q == 5, "lowered for Q = 5");
HONE_ASSERT(LISTS == 40, "lowered for LISTS = 40");
HONE_ASSERT(P == 2000, "lowered for P = 2000");
HONE_ASSERT(DOCS == 1000, "lowered for DOCS = 1000");

#pragma hone launch scores_lists grid(6) block(128) args(lists, factors, docs, weights, begins, scores)

HONE_KERNEL(128) scores_lists(const int *__restrict__ lists, const float *__restrict__ factors, const int *__restrict__ docs, const unsigned short *__restrict__ weights, const int *__restrict__ begins, float *__restrict__ scores) {
    HONE_SHARED(scores_sums, 500);
    int row[2];
    int takes[2];
    float value[2];
    const int block = hone_block();
    const int thread = hone_thread();
    int query = block / 2;
    int begin = block % 2 * 500;
    int first = begin + thread / 32 * 125;
    for (int i = thread; i < 500; i += 128) {
        scores_sums[i] = 0.0f;
    }
    hone_barrier();
    for (int q = 0; q < 5; q++) {
        int lists_v = lists[query * 5 + q];
        int list = hone_to_int((long long)lists_v, 0, 39);
        int begins_v = begins[list];
        int first_2 = hone_to_int((long long)begins_v, 0, 2000);
        int begins_2 = begins[list + 1];
        int last = hone_to_int((long long)begins_2, 0, 2000);
        float factors_v = factors[query * 5 + q];
        for (int at = first_2; at < last; at += 64) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int p = at + item * 32 + thread % 32;
                row[item] = -1;
                if (p < last) {
                    int docs_v = docs[p];
                    row[item] = docs_v;
                }
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                takes[item] = ((((int)first <= row[item]) & (row[item] < (int)(first + 125))) ? 1 : 0);
                value[item] = 0.0f;
                if (0 < hone_to_int(takes[item], 0, 1)) {
                    int p = at + item * 32 + thread % 32;
                    float weights_v = hone_from_f16(weights[p]);
                    value[item] = factors_v * weights_v;
                }
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int at_2 = hone_to_int(hone_sub_i32(row[item], (int)begin), 0, 499);
                int takes_v = hone_to_int(takes[item], 0, 1);
                hone_warp_add(&scores_sums[at_2], &value[item], takes_v);
            }
        }
    }
    hone_barrier();
    for (int i = thread; i < 500; i += 128) {
        int doc = begin + i;
        float scores_v = scores_sums[i];
        scores[query * DOCS + doc] = scores_v;
    }
}
