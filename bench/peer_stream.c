// Memory bandwidth as the STREAM benchmark states it: the triad a = b + s c over arrays of doubles
// of several times the cache, the best of some repeats, once with ordinary stores and once with
// stores that go round the caches. Prints both in GB/s. Built with OpenMP by bench/language.sh.
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"

enum { COUNT = 16 << 20, REPEATS = 12, LANES = 4 };

typedef double vec __attribute__((vector_size(8 * LANES)));

static inline void stream(vec *to, vec v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, to);
#elif defined(__AVX__)
    __builtin_ia32_movntpd256((double *)to, v);
#else
    *to = v;
#endif
}

static void triad(vec *a, const vec *b, const vec *c, int streams) {
    if (streams) {
#pragma omp parallel for
        for (long i = 0; i < COUNT / LANES; i++)
            stream(&a[i], b[i] + 3 * c[i]);
    } else {
#pragma omp parallel for
        for (long i = 0; i < COUNT / LANES; i++)
            a[i] = b[i] + 3 * c[i];
    }
}

static double best_gb_per_s(vec *const x[3], int streams) {
    double best = 0;
    for (int i = 0; i < REPEATS; i++) {
        double start = peer_now();
        triad(x[0], x[1], x[2], streams);
        double rate = 3. * 8 * COUNT / (peer_now() - start) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

int main(void) {
    vec *x[3];
    for (int k = 0; k < 3; k++) {
        x[k] = aligned_alloc(64, sizeof(double) * COUNT);
        // Touched first by the thread that uses it.
#pragma omp parallel for
        for (long i = 0; i < COUNT / LANES; i++)
            x[k][i] = (vec){0} + k + 1;
    }
    printf("%.2f %.2f\n", best_gb_per_s(x, 0), best_gb_per_s(x, 1));
    return 0;
}
