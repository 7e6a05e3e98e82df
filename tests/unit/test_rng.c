#include <criterion/criterion.h>

#include "base/rng.h"

// The generator as published (Blackman and Vigna): state 1, 2, 3, 4.
Test(rng, is_xoshiro256starstar) {
    struct rng r = {.state = {1, 2, 3, 4}};
    static const uint64_t want[] = {11520, 0, 1509978240, 1215971899390074240};
    for (int i = 0; i < 4; i++)
        cr_assert_eq(rng_next(&r), want[i]);
}

Test(rng, same_seed_same_numbers) {
    struct rng a, b, c;
    rng_init(&a, 7);
    rng_init(&b, 7);
    rng_init(&c, 8);
    int n_equal = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&a);
        cr_assert_eq(x, rng_next(&b));
        n_equal += x == rng_next(&c);
    }
    cr_assert_eq(n_equal, 0);
}

Test(rng, below_is_uniform) {
    struct rng r;
    rng_init(&r, 1);
    int count[6] = {0};
    for (int i = 0; i < 60000; i++)
        count[rng_below(&r, 6)]++;
    for (int i = 0; i < 6; i++)  // 5 standard deviations of 91
        cr_assert(count[i] > 9540 && count[i] < 10460, "%d", count[i]);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(rng_below(&r, 1), 0);
}

// Without redrawing, 2^64 / 3 * 2 makes some results twice as likely.
Test(rng, below_is_unbiased_for_huge_ranges) {
    struct rng r;
    rng_init(&r, 2);
    uint64_t n = UINT64_MAX / 3 * 2;
    int low = 0;
    for (int i = 0; i < 30000; i++) {
        uint64_t x = rng_below(&r, n);
        cr_assert_lt(x, n);
        low += x % 2 == 0;
    }
    cr_assert(low > 14550 && low < 15450, "%d", low);
}

Test(rng, unit_stays_below_one) {
    struct rng r;
    rng_init(&r, 3);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double x = rng_unit(&r);
        cr_assert(x >= 0 && x < 1);
        sum += x;
    }
    cr_assert(sum > 4850 && sum < 5150, "%g", sum);
}

Test(rng, entropy_differs) {
    cr_assert_neq(rng_entropy(), rng_entropy());
}

// SipHash-2-4 by the key 00 01 .. 0f of the message 00 01 .. 0f, as its reference vectors have it.
Test(rng, secret_stream_is_siphash) {
    uint64_t low = UINT64_C(0x0706050403020100), high = UINT64_C(0x0f0e0d0c0b0a0908);
    struct rng r = {.state = {low, high, low, high}, .is_secret = true};
    cr_assert_eq(rng_next(&r), UINT64_C(0x3f2acc7f57c29bdb));
    cr_assert_eq(r.state[3], high + 1);
}

// Of the words that a judge shows, what is drawn in another domain does not depend.
Test(rng, domains_of_a_secret_stream_are_apart) {
    struct rng shown, hidden, again;
    rng_init_secret(&shown, 7, 0);
    rng_init_secret(&hidden, 7, 1);
    rng_init_secret(&again, 7, 1);
    int n_equal = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&hidden);
        n_equal += rng_next(&shown) == x;
        cr_assert_eq(rng_next(&again), x);
        rng_next(&shown);
    }
    cr_assert_eq(n_equal, 0);
}

// One step of the linear generator maps a sum of states to the sum of their images, bit by bit: so
// 31 words of 15 bits give all of it away. A count that goes up by one leaves no such relation.
Test(rng, secret_stream_is_not_linear) {
    int n_linear = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        struct rng r[4];
        uint64_t sum = 0;
        for (uint64_t i = 0; i < 4; i++) {
            rng_init_secret(&r[i], seed ^ i << 32, 0);
            sum ^= rng_next(&r[i]);
        }
        n_linear += (sum & 0xff) == 0;
    }
    cr_assert_lt(n_linear, 6, "%d of 64 sums are 0, where one in 256 is by chance", n_linear);
}
