// Distances between the addresses of a warp's threads, read off real cubins of three architectures.
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/sass.h"
#include "profile/sass_stride.h"

static struct arena a;

static struct sass read_fixture(const char *name) {
    size_t len;
    struct sass s;
    struct error err = {0};
    const char *path = arena_printf(&a, "tests/fixtures/cubin/%s", name);
    const char *bytes = file_read(&a, path, 1 << 20, &len, &err);
    cr_assert(bytes && sass_read(&a, bytes, len, &s, &err), "%s", err.text);
    return s;
}

enum { UNKNOWN = SASS_STRIDE_UNKNOWN, LAUNCH = SASS_STRIDE_OF_LAUNCH };

// What tests/fixtures/cubin/strides.cu says of itself: every access of that kind in a kernel.
static const struct {
    const char *kernel;
    enum sass_kind kind;
    int32_t strides[2];  // one of them; of a gather the index and what it names
} rows[] = {
    {"side_by_side", SASS_GLOBAL_LOAD, {4, 4}},
    {"side_by_side", SASS_GLOBAL_STORE, {4, 4}},
    {"vectors", SASS_GLOBAL_LOAD, {16, 16}},
    {"vectors", SASS_GLOBAL_STORE, {16, 16}},
    {"rows", SASS_GLOBAL_LOAD, {2048, 2048}},
    {"rows", SASS_GLOBAL_STORE, {4, 4}},
    {"columns", SASS_GLOBAL_LOAD, {LAUNCH, LAUNCH}},
    {"columns", SASS_GLOBAL_STORE, {4, 4}},
    {"broadcast", SASS_GLOBAL_LOAD, {0, 0}},
    {"gather", SASS_GLOBAL_LOAD, {4, UNKNOWN}},
    {"gather", SASS_GLOBAL_STORE, {4, 4}},
    {"pairs", SASS_GLOBAL_LOAD, {8, 8}},
    {"tile_32", SASS_SHARED_STORE, {4, 4}},
    {"tile_32", SASS_SHARED_LOAD, {128, 128}},
    {"tile_33", SASS_SHARED_LOAD, {132, 132}},
    {"quarters", SASS_GLOBAL_LOAD, {UNKNOWN, UNKNOWN}},
    {"quarters", SASS_GLOBAL_STORE, {4, 4}},
};

static void expect_strides(const char *cubin) {
    struct sass s = read_fixture(cubin);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct sass_kernel *k = sass_find(&s, rows[r].kernel);
        int n = 0;
        cr_assert(k, "%s", rows[r].kernel);
        for (int i = 0; i < k->n; i++) {
            const struct sass_instruction *at = &k->code[i];
            if (at->kind != rows[r].kind)
                continue;
            cr_expect(at->stride == rows[r].strides[0] || at->stride == rows[r].strides[1],
                      "%s: %s at %04x in %s is %d apart", cubin, sass_name(at->code),
                      i * SASS_BYTES, k->name, at->stride);
            n++;
        }
        cr_expect(n > 0, "%s: no access in %s", cubin, k->name);
    }
}

Test(sass_stride, is_read_off_the_code_of_three_architectures) {
    expect_strides("strides_80.cubin");
    expect_strides("strides_90a.cubin");
    expect_strides("strides_100a.cubin");
}

static double metric(const struct sass *s, const char *kernel, enum metric_id id) {
    struct metrics m = {0};
    sass_metrics(sass_find(s, kernel), &m);
    return metrics_get(&m, id);
}

Test(sass_stride, says_what_of_a_sector_is_used) {
    struct sass s = read_fixture("strides_90a.cubin");
    cr_expect_eq(metric(&s, "side_by_side", METRIC_CODE_LOAD_USED), 1);
    cr_expect_eq(metric(&s, "vectors", METRIC_CODE_LOAD_USED), 1);
    cr_expect_eq(metric(&s, "broadcast", METRIC_CODE_LOAD_USED), 1);
    cr_expect_eq(metric(&s, "pairs", METRIC_CODE_LOAD_USED), 0.5);
    cr_expect_eq(metric(&s, "rows", METRIC_CODE_LOAD_USED), 0.125);
    cr_expect_lt(metric(&s, "columns", METRIC_CODE_LOAD_USED), 0.13);
    // Of its two loads one is known: that is not more than half.
    cr_expect(isnan(metric(&s, "gather", METRIC_CODE_LOAD_USED)));
    cr_expect_eq(metric(&s, "tile_33", METRIC_CODE_SHARED_PASSES), 1);
    // A store along rows and a load along columns.
    cr_expect_eq(metric(&s, "tile_32", METRIC_CODE_SHARED_PASSES), (1 + 32) / 2.);
    cr_expect(isnan(metric(&s, "rows", METRIC_CODE_SHARED_PASSES)));
}

Test(sass_stride, counts_sectors_and_passes) {
    static const struct {
        int64_t stride;
        int bytes, sectors;
        double passes;
    } cases[] = {
        {4, 4, 4, 1},     {-4, 4, 4, 1},    {8, 4, 8, 2},         {16, 4, 16, 4},  {32, 4, 32, 8},
        {128, 4, 32, 32}, {132, 4, 32, 1},  {0, 4, 1, 1},         {1, 1, 1, 1},    {2, 2, 2, 1},
        {64, 2, 32, 16},  {8, 8, 8, 1},     {16, 8, 16, 2},       {16, 16, 16, 1}, {32, 16, 32, 2},
        {512, 16, 32, 8}, {528, 16, 32, 1}, {1 << 20, 4, 32, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(sass_sectors(cases[i].stride, cases[i].bytes), cases[i].sectors,
                     "case %zu: %d sectors", i, sass_sectors(cases[i].stride, cases[i].bytes));
        cr_expect_eq(sass_bank_passes(cases[i].stride, cases[i].bytes), cases[i].passes,
                     "case %zu: %g passes", i, sass_bank_passes(cases[i].stride, cases[i].bytes));
    }
}

// Somebody else's bytes in place of the code: nothing is read or written beyond it.
Test(sass_stride, survives_any_code) {
    size_t len;
    struct error err = {0};
    const char *bytes =
        file_read(&a, "tests/fixtures/cubin/strides_90a.cubin", 1 << 20, &len, &err);
    cr_assert(bytes, "%s", err.text);
    for (unsigned seed = 1; seed <= 64; seed++) {
        struct arena scratch = {0};
        char *broken = arena_alloc(&scratch, len);
        struct sass s;
        unsigned state = seed;
        memcpy(broken, bytes, len);
        for (size_t i = 2048; i < len; i++) {
            state = state * 1664525u + 1013904223u;
            if (state >> 28 == 0)
                broken[i] = (char)(state >> 16);
        }
        if (sass_read(&scratch, broken, len, &s, &err))
            for (int k = 0; k < s.n_kernels; k++) {
                struct metrics m = {0};
                sass_metrics(&s.kernels[k], &m);
            }
        arena_reset(&scratch);
    }
}
