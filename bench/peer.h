// What the peer benchmarks share: pairs of calls, ours and the peer's, interleaved ABBA in
// one process, and the median of the pairwise ratios.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PEER_PAIRS = 31 };

static double peer_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Before a timed call: wait, awake, until another library's threads have stopped spinning after
// the call before. A sleep would let the processor's clock or a virtual machine's host doze off.
static double peer_time(void (*call)(void), double pause_s) {
    double start = peer_now();
    while (peer_now() - start < pause_s)
        ;
    start = peer_now();
    call();
    return peer_now() - start;
}

static int peer_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double peer_median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, peer_compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// Prints: name, our median ms, the peer's, peer time / our time (above 1: we are faster).
static void peer_run(const char *name, void (*ours)(void), void (*peer)(void), double pause_s) {
    double a[PEER_PAIRS], b[PEER_PAIRS], ratio[PEER_PAIRS];
    ours();
    peer();
    for (int i = 0; i < PEER_PAIRS; i++) {
        if (i % 2 == 0)
            a[i] = peer_time(ours, pause_s);
        b[i] = peer_time(peer, pause_s);
        if (i % 2 == 1)
            a[i] = peer_time(ours, pause_s);
        ratio[i] = b[i] / a[i];
    }
    double ours_s = peer_median(a, PEER_PAIRS), peer_s = peer_median(b, PEER_PAIRS);
    printf("%s %.3f %.3f %.3f\n", name, ours_s * 1e3, peer_s * 1e3, peer_median(ratio, PEER_PAIRS));
}
