#include <criterion/criterion.h>
#include <stdatomic.h>

#include "base/parallel.h"

enum { COUNT = 1003 };

struct seen {
    _Atomic int times[COUNT];
    int64_t grain;
    _Atomic int n_crooked;
};

static void see(void *ctx, int64_t begin, int64_t end) {
    struct seen *s = ctx;
    s->n_crooked += begin % s->grain != 0 || end <= begin;
    for (int64_t i = begin; i < end; i++)
        s->times[i]++;
}

Test(parallel, covers_every_index_once) {
    static const struct {
        int n_threads;
        int64_t n, grain;
    } cases[] = {{1, COUNT, 10}, {4, COUNT, 10}, {300, COUNT, 1}, {3, COUNT, 5000}, {2, 1, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct seen s = {.grain = cases[c].grain};
        parallel_for(cases[c].n_threads, cases[c].n, cases[c].grain, see, &s);
        cr_assert_eq(s.n_crooked, 0);
        for (int64_t i = 0; i < COUNT; i++)
            cr_assert_eq(s.times[i], i < cases[c].n, "case %zu, index %ld", c, (long)i);
    }
}

Test(parallel, an_empty_range_calls_nothing) {
    struct seen s = {.grain = 1};
    parallel_for(4, 0, 1, see, &s);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(s.times[i], 0);
}
