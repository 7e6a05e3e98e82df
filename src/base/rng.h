// Random numbers for decisions (search, bootstrap, shuffles): small, seeded,
// reproducible. Input data come from runtime/hone_rng.h, which CPU and GPU share;
// secrets come from rng_entropy().
//
// The usual generator is linear: some outputs, or a few bits of each of many, give its state and
// with it all others. Who judges code that sees some of what was drawn takes a *secret* stream:
// SipHash-2-4 of a domain and a count, keyed by the seed, so that nothing follows from what is
// seen, neither in the same domain nor in another.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state[4];  // xoshiro256**; of a secret stream the key, the domain and the count
    bool is_secret;
};

void rng_init(struct rng *r, uint64_t seed);
void rng_init_secret(struct rng *r, uint64_t seed, uint64_t domain);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);  // uniform in [0, n), unbiased; n > 0
double rng_unit(struct rng *r);                 // uniform in [0, 1)

uint64_t rng_entropy(void);  // from the operating system
