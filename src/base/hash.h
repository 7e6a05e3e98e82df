// Two hashes: SHA-256 for identity (cache keys, frozen candidates), and a fast
// 64-bit one for comparing large buffers with what they held before. The fast one
// is seeded, so that a candidate cannot aim at a collision.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena;

struct sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    unsigned char block[64];
};

enum { SHA256_HEX = 65 };

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *bytes, size_t len);
void sha256_add_text(struct sha256 *h,
                     const char *text);  // with its length, so that fields do not run together
void sha256_hex(struct sha256 *h, char out[SHA256_HEX]);

// SHA-256 of one text as hex in the arena.
const char *hash_text(struct arena *a, const char *text);

// At least 4 GB/s on one core.
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);
