// The directory of compiled objects, named by the hash of what went into them.
#pragma once

// Remove the least recently used files beyond the limit. Failing to is no harm.
void cache_trim(const char *directory);

// Compiles happen in directories of the cache that are called .new-OWNER-XXXXXX (base/owner.h).
// Remove those of processes that were killed.
void cache_tidy(const char *directory);
