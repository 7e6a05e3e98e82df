// The operation behind `hone gc`: compiled kernels that were not used for long, and room in the
// store that removed runs have left.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

struct gc_request {
    const char *store;   // NULL: settings or upward; where there is none, only the cache
    int64_t keep_bytes;  // of compiled kernels
};

struct gc_outcome {
    const char *cache, *store;                                     // store NULL: none
    int64_t cache_before, cache_after, store_before, store_after;  // bytes
};

bool op_gc(struct arena *a, const struct gc_request *q, struct gc_outcome *out, struct error *err);
