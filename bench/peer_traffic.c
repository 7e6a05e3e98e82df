// A kernel that only moves bytes: reads IN and writes OUT of them, all threads, wide loads and
// streaming stores, from arrays that no cache holds. What a kernel of the same traffic can hope
// for, measured in the same run. Prints the median time of a call in milliseconds. Built with
// OpenMP by bench/cpu_set.sh.
//
//   peer_traffic IN OUT
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { LANE_BYTES = 64, PIECE = 1 << 15, CALLS = 25, SPAN = 512 << 20, SLOTS_MAX = 64 };

typedef long long lanes __attribute__((vector_size(LANE_BYTES)));

static inline void stream(lanes *to, lanes v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, to);
#elif defined(__AVX512F__)
    __builtin_ia32_movntdq512((void *)to, v);
#else
    *to = v;
#endif
}

// One piece of each array, in proportion, at a time: `n` pieces in all.
static lanes move(const char *in, char *out, int64_t n_in, int64_t n_out, int64_t n) {
    lanes total = {0};
#pragma omp parallel
    {
        lanes sum = {0};
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++) {
            const lanes *from = (const lanes *)in + n_in * i / n,
                        *end = (const lanes *)in + n_in * (i + 1) / n;
            lanes *to = (lanes *)out + n_out * i / n, *last = (lanes *)out + n_out * (i + 1) / n;
            for (; from + 4 <= end; from += 4) {
                lanes a = from[0] ^ from[1], b = from[2] ^ from[3];
                sum ^= a ^ b;
                for (int k = 0; k < 4 && to < last; k++)
                    stream(to++, from[k]);
            }
            for (; from < end; from++)
                sum ^= *from;
            for (; to < last; to++)
                stream(to, sum);
        }
#pragma omp critical
        total ^= sum;
    }
    return total;
}

static char *touched(int64_t bytes) {
    char *p = aligned_alloc(4096, (size_t)(bytes + 4095) / 4096 * 4096);
    if (!p)
        exit(1);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < bytes; i += 4096)
        memset(p + i, (int)(i >> 12), bytes - i < 4096 ? (size_t)(bytes - i) : 4096);
    return p;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int64_t in = atoll(argv[1]) / LANE_BYTES, out = atoll(argv[2]) / LANE_BYTES;
    int64_t all = (in + out) * LANE_BYTES, slots = SPAN / (all + 1) + 2;
    if (slots > SLOTS_MAX)
        slots = SLOTS_MAX;
    int64_t n = (all + PIECE - 1) / PIECE + 1;
    char *from[SLOTS_MAX], *to[SLOTS_MAX];
    double times[CALLS];
    long long seen = 0;
    for (int64_t s = 0; s < slots; s++) {
        from[s] = touched(in * LANE_BYTES + LANE_BYTES);
        to[s] = touched(out * LANE_BYTES + LANE_BYTES);
    }
    for (int i = -2; i < CALLS; i++) {
        int64_t s = (i + 2) % slots;
        double start = peer_now();
        seen ^= move(from[s], to[s], in, out, n)[0];
        if (i >= 0)
            times[i] = peer_now() - start;
    }
    printf("%.4f\n", peer_median(times, CALLS) * 1e3);
    return seen == 42;
}
