// The directory of compiled objects, named by the hash of what went into them.
#pragma once

// Remove the least recently used files beyond the limit. Failing to is no harm.
void cache_trim(const char *directory);
