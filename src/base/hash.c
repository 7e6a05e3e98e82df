// SHA-256 written out (a dependency would cost more than these 60 lines), and a fast hash in four
// independent lanes.
#include "base/hash.h"

#include <string.h>

#include "base/arena.h"

// SHA-256 as in FIPS 180-4. Constants: section 4.2.2; rounds: section 6.2.2.
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, int k) {
    return (x >> k) | (x << (32 - k));
}

static uint32_t load_big_endian(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void absorb(struct sha256 *h, const unsigned char *block) {
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = load_big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ (w[t - 15] >> 3);
        uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }

    uint32_t *s = h->state;
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], i = s[7];
    for (int t = 0; t < 64; t++) {
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t t1 = i + s1 + ((e & f) ^ (~e & g)) + K[t] + w[t];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        i = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
    s[5] += f;
    s[6] += g;
    s[7] += i;
}

void sha256_init(struct sha256 *h) {
    *h = (struct sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                  0x1f83d9ab, 0x5be0cd19},
    };
}

void sha256_add(struct sha256 *h, const void *bytes, size_t len) {
    const unsigned char *p = bytes;
    while (len > 0) {
        size_t at = h->n_bytes % sizeof h->block;
        size_t n = sizeof h->block - at < len ? sizeof h->block - at : len;
        memcpy(h->block + at, p, n);
        h->n_bytes += n;
        p += n;
        len -= n;
        if (at + n == sizeof h->block)
            absorb(h, h->block);
    }
}

void sha256_add_text(struct sha256 *h, const char *text) {
    size_t len = strlen(text);
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)len >> (8 * i));
    sha256_add(h, prefix, sizeof prefix);
    sha256_add(h, text, len);
}

void sha256_hex(struct sha256 *h, char out[SHA256_HEX]) {
    static const unsigned char padding[64] = {0x80};
    static const char digits[] = "0123456789abcdef";
    uint64_t n_bits = h->n_bytes * 8;
    size_t at = h->n_bytes % 64;
    sha256_add(h, padding, (at < 56 ? 56 : 120) - at);
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    sha256_add(h, length, sizeof length);

    for (int i = 0; i < 64; i++)
        out[i] = digits[h->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[64] = '\0';
}

const char *hash_text(struct arena *a, const char *text) {
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, text, strlen(text));
    char *hex = arena_alloc(a, SHA256_HEX);
    sha256_hex(&h, hex);
    return hex;
}

// The fast hash: four lanes, each folding 16 bytes into itself by one 64x64 -> 128 bit
// multiplication per step. The lanes are independent, so the multiplier's latency is
// hidden; keys come from the seed, so nobody who lacks it can aim at a zero factor.
enum { LANES = 4, STRIPE = 16 * LANES };

static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

struct lanes {
    uint64_t key[LANES], value[LANES];
};

static void mix_stripe(struct lanes *l, const unsigned char *p) {
    for (int i = 0; i < LANES; i++) {
        uint64_t word[2];
        memcpy(word, p + 16 * i, sizeof word);
        l->value[i] = fold(word[0] ^ l->key[i], word[1] ^ l->value[i]);
    }
}

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed) {
    struct lanes l;
    uint64_t x = seed ^ 0x243f6a8885a308d3;  // pi's first digits: no structure of ours
    for (int i = 0; i < LANES; i++) {
        l.key[i] = x = fold(x + 0x9e3779b97f4a7c15, 0xd1342543de82ef95);
        l.value[i] = x = fold(x + 0x9e3779b97f4a7c15, 0xd1342543de82ef95);
    }

    const unsigned char *p = bytes;
    size_t left = len;
    for (; left >= STRIPE; left -= STRIPE, p += STRIPE)
        mix_stripe(&l, p);
    unsigned char last[STRIPE] = {0};
    if (left > 0)
        memcpy(last, p, left);
    mix_stripe(&l, last);

    uint64_t result = fold(len ^ l.key[0], seed ^ l.key[1]);
    for (int i = 0; i < LANES; i++)
        result = fold(result ^ l.value[i], l.key[i] ^ 0x9e3779b97f4a7c15);
    return result;
}
