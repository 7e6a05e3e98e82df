// xoshiro256**, seeded by splitmix64; entropy from getrandom().
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
    for (int i = 0; i < 4; i++)
        r->state[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r) {
    uint64_t *s = r->state;
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
