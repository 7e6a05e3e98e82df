// The model of a run's times: what counts as near, and what it makes of the times.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "lang/kernel.h"
#include "lang/lang.h"
#include "search/surrogate.h"

static struct arena a;

static void tear_down(void) {
    arena_reset(&a);
}

TestSuite(surrogate, .fini = tear_down);

// A block of one stage with these knobs.
static struct features block(const char *knobs) {
    const char *text = arena_printf(&a, "kernel for s on cpu\nstage y : rowwise  %s\n", knobs);
    struct lang_source source = {.file = "test", .text = text, .len = strlen(text)};
    struct lang_file file = {0};
    const char *diagnostics;
    struct error err = {0};
    cr_assert(lang_parse(&a, &source, &file, &diagnostics, &err), "%s", err.text);
    return features_of(&a, file.kernels[0]);
}

Test(surrogate, numbers_are_apart_by_doublings_and_words_by_one) {
    struct features x = block("vec 8  rows 4  store stream"),
                    y = block("vec 16  rows 4  store stream");
    struct features z = block("vec 8  rows 16  store cached"), w = block("vec 8  rows 4");
    cr_assert_float_eq(features_distance(&x, &x), 0, 1e-12);
    cr_assert_float_eq(features_distance(&x, &y), 1, 1e-12);
    cr_assert_float_eq(features_distance(&x, &z), 2 + 1, 1e-12);
    cr_assert_float_eq(features_distance(&z, &x), features_distance(&x, &z), 1e-12);
    cr_assert_float_eq(features_distance(&x, &w), 0.5, 1e-12);
}

// Larger vectors were faster, whatever the rows: there it goes on.
Test(surrogate, goes_on_where_it_got_faster) {
    struct sample s[] = {{block("vec 4  rows 4"), 0, log(4), 0},
                         {block("vec 8  rows 4"), 0, log(2), 0},
                         {block("vec 4  rows 8"), 0, log(4), 0}};
    struct features up = block("vec 16  rows 4"), down = block("vec 2  rows 4");
    struct features rows = block("vec 4  rows 16");
    const struct surrogate *m = surrogate_new(&a, s, 3);
    double best = surrogate_gain(m, &up, 0, 0);
    cr_assert_gt(best, surrogate_gain(m, &down, 0, 0));
    cr_assert_gt(best, surrogate_gain(m, &rows, 0, 0));
    cr_assert_gt(surrogate_gain(m, &down, 0, 1), surrogate_gain(m, &down, 0, 0), "a bonus counts");
    // What was measured is known.
    cr_assert_lt(surrogate_gain(m, &s[0].features, 0, 0), 0.01);
}

// The closed form is believed by as much as it was right.
Test(surrogate, believes_a_prior_that_was_right) {
    static const char *const blocks[] = {"vec 1  rows 1",  "vec 64  rows 2", "vec 2  rows 64",
                                         "vec 16  rows 8", "vec 4  rows 4",  "vec 32  rows 32"};
    struct sample right[6], wrong[6];
    for (int i = 0; i < 6; i++) {
        double prior = i % 2 ? 1 : -1;
        right[i] = (struct sample){block(blocks[i]), prior, -prior, 0};
        wrong[i] = (struct sample){block(blocks[i]), prior, prior, 0};
    }
    struct features f = block("vec 8  rows 1");
    const struct surrogate *r = surrogate_new(&a, right, 6), *w = surrogate_new(&a, wrong, 6);
    double by_right = surrogate_gain(r, &f, 2, 0) - surrogate_gain(r, &f, -2, 0);
    double by_wrong = surrogate_gain(w, &f, 2, 0) - surrogate_gain(w, &f, -2, 0);
    cr_assert_gt(by_right, 0.5);
    cr_assert_lt(by_wrong, 0.2);
}

// Two that are the same block, timed twice, must not break it.
Test(surrogate, takes_the_same_block_twice) {
    struct sample s[SURROGATE_MOST];
    for (int i = 0; i < SURROGATE_MOST; i++)
        s[i] = (struct sample){block("vec 4  rows 4"), 0, 0.01 * (i % 3), i % 4};
    struct features f = block("vec 8  rows 4");
    cr_assert(isfinite(surrogate_gain(surrogate_new(&a, s, SURROGATE_MOST), &f, 0, 0)));
}

// On a sibling, a hundred times as long, vectors of 32 were twice as fast as those of 2. How long
// it took there says nothing here, how its blocks compare does.
Test(surrogate, learns_from_siblings_how_blocks_compare) {
    struct sample s[] = {{block("vec 8  rows 4"), 0, log(1), 0},
                         {block("vec 32  rows 4"), 0, log(100), 1},
                         {block("vec 8  rows 4"), 0, log(150), 1},
                         {block("vec 2  rows 4"), 0, log(200), 1}};
    struct features up = block("vec 32  rows 4"), down = block("vec 2  rows 4");
    const struct surrogate *alone = surrogate_new(&a, s, 1), *m = surrogate_new(&a, s, 4);
    cr_assert_float_eq(surrogate_gain(alone, &up, 0, 0), surrogate_gain(alone, &down, 0, 0), 1e-9);
    double gain = surrogate_gain(m, &up, 0, 0);
    cr_assert_gt(gain, 2 * surrogate_gain(m, &down, 0, 0));
    for (int i = 1; i < 4; i++)
        s[i].log_s += 5;
    cr_assert_float_eq(surrogate_gain(surrogate_new(&a, s, 4), &up, 0, 0), gain, 0.02);
}
