// xoshiro256** (Blackman and Vigna), seeded by splitmix64; SipHash-2-4 (Aumasson and Bernstein);
// entropy from getrandom().
#include "base/rng.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// splitmix64: spreads a seed over the state, so that seeds 1 and 2 have nothing in common.
static uint64_t splitmix(uint64_t *x) {
    uint64_t z = *x += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed) {
    r->is_secret = false;
    for (int i = 0; i < 4; i++)
        r->state[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static void sip_rounds(uint64_t v[4], int n) {
    for (int i = 0; i < n; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[2] = rotate_left(v[2], 32);
    }
}

// Of the 16 bytes of two words, little-endian.
static uint64_t sip_hash(const uint64_t key[2], const uint64_t message[2]) {
    const uint64_t words[] = {message[0], message[1], UINT64_C(16) << 56};
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    for (int i = 0; i < 3; i++) {
        v[3] ^= words[i];
        sip_rounds(v, 2);
        v[0] ^= words[i];
    }
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// The second half of the key is no secret: a seed has 64 bits.
void rng_init_secret(struct rng *r, uint64_t seed, uint64_t domain) {
    *r = (struct rng){{seed, UINT64_C(0x9e3779b97f4a7c15), domain, 0}, true};
}

uint64_t rng_next(struct rng *r) {
    uint64_t *s = r->state;
    if (r->is_secret) {
        uint64_t number = sip_hash(s, s + 2);
        s[3]++;
        return number;
    }
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

// Multiply and shift; the few products that would favour small results are drawn again
// (Lemire, 2019).
uint64_t rng_below(struct rng *r, uint64_t n) {
    assert(n > 0);
    unsigned __int128 product = (unsigned __int128)rng_next(r) * n;
    if ((uint64_t)product < n) {
        uint64_t least = -n % n;
        while ((uint64_t)product < least)
            product = (unsigned __int128)rng_next(r) * n;
    }
    return (uint64_t)(product >> 64);
}

double rng_unit(struct rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

uint64_t rng_entropy(void) {
    uint64_t value;
    if (getentropy(&value, sizeof value) != 0) {
        // A secret that is not secret would be worse than no answer.
        perror("hone: no random numbers from the operating system");
        abort();
    }
    return value;
}
