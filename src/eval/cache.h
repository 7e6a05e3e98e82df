// The directory of compiled objects, named by the hash of what went into them.
#pragma once

#include <stdint.h>

enum { CACHE_MAX_BYTES = 512 << 20 };

// When the files are more than `max_bytes`, remove the least recently used until three quarters of
// that remain. Failing to is no harm.
void cache_trim(const char *directory, int64_t max_bytes);

// Compiles happen in directories of the cache that are called .new-OWNER-XXXXXX (base/owner.h).
// Remove those of processes that were killed.
void cache_tidy(const char *directory);
