// Random numbers for decisions (search, bootstrap, shuffles): small, seeded,
// reproducible. Input data come from runtime/rng.h, which CPU and GPU share;
// secrets come from rng_entropy().
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state[4];  // xoshiro256**
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);  // uniform in [0, n), unbiased; n > 0
double rng_unit(struct rng *r);                 // uniform in [0, 1)

uint64_t rng_entropy(void);  // from the operating system
