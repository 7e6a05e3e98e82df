// The directory of compiled objects, named by the hash of what went into them.
#pragma once

#include <stdint.h>

enum { CACHE_MAX_BYTES = 512 << 20 };

// When the files are more than `max_bytes`, remove the least recently used until three quarters of
// that remain. Failing to is no harm.
void cache_trim(const char *directory, int64_t max_bytes);
