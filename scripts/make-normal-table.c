// Prints the table of runtime/hone_rng.h: quantiles of the normal distribution's upper
// tail in units of 2^-28. Entry i belongs to the tail weight w (of 2^31): i = w below 32,
// then 32 steps per octave. See hone_normal() for how it is read.
//     cc -o make-normal-table scripts/make-normal-table.c -lm && ./make-normal-table
#include <math.h>
#include <stdio.h>

enum { ENTRIES = 865 };

static long weight(int i) {
    return i < 64 ? i : (32L + i % 32) << (i / 32 - 1);
}

// The z above which the normal distribution has probability p < 1/2: bisection, which needs
// nothing but a good erfc.
static long double quantile(long double p) {
    long double low = 0, high = 8;
    for (int i = 0; i < 80; i++) {
        long double middle = (low + high) / 2;
        if (erfcl(middle / sqrtl(2)) / 2 > p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int main(void) {
    for (int i = 0; i < ENTRIES; i++) {
        long w = weight(i);
        long double z = w == 1L << 31 ? 0 : quantile((w + 0.5L) / 0x1p32L);
        printf("%s%ld,%s", i % 8 ? " " : "    ", lroundl(z * 0x1p28L),
               i % 8 == 7 || i == ENTRIES - 1 ? "\n" : "");
    }
    return 0;
}
