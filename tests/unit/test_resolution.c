#include <criterion/criterion.h>
#include <math.h>

#include "base/arena.h"
#include "ops/op_resolution.h"

// What a busy machine resolves is no number with an exponent, and what was not measured is not
// said.
Test(resolution, is_said_in_plain_digits) {
    static const struct {
        double smallest[RESOLUTIONS];
        const char *words;
    } rows[] = {
        {{0.0123, NAN, NAN}, "1.2% in 1 s"},
        {{0.5, 0.0999, 0.001}, "50% in 1 s, 10% in 5 s, 0.1% in 20 s"},
        {{0.994, 0.996, 12.345}, "99% in 1 s, 100% in 5 s, 1234% in 20 s"},
        {{NAN, NAN, NAN}, ""},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct resolution r = {.present = true};
        for (int k = 0; k < RESOLUTIONS; k++)
            r.smallest[k] = rows[i].smallest[k];
        cr_expect_str_eq(op_resolution_words(&a, &r), rows[i].words);
    }
    arena_reset(&a);
}
