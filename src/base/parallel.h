// A loop over several threads, for our own number crunching (never for candidates).
#pragma once

#include <stdint.h>

// Called with pieces [begin, end) of the range, from several threads at once.
typedef void (*parallel_fn)(void *ctx, int64_t begin, int64_t end);

// Cover [0, n) in pieces of `grain` (the last may be shorter) that begin at multiples of it, on up
// to `n_threads` threads, the calling one among them. A thread that cannot be started only makes
// it slower.
void parallel_for(int n_threads, int64_t n, int64_t grain, parallel_fn fn, void *ctx);
