// The directory of compiled objects, named by the hash of what went into them.
#pragma once

#include <stdint.h>

// Directories of compiles in progress: this, the owner's name (base/owner.h), "-XXXXXX".
#define CACHE_NEW ".new-"

enum { CACHE_MAX_BYTES = 512 << 20 };

// When the files are more than `max_bytes`, remove the least recently used until three quarters of
// that remain; also what compiles left behind whose process is gone. Failing to is no harm.
void cache_trim(const char *directory, int64_t max_bytes);
