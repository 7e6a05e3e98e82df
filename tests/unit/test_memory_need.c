#include "eval/memory_need.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "ir/interpret.h"
#include "parsed.h"
#include "scratch.h"

Test(memory_need, reads_what_is_free) {
    cr_expect_eq(memory_parse("MemTotal: 10 kB\nMemAvailable:    1234 kB\n", "MemAvailable:"),
                 1234);
    cr_expect_eq(memory_parse("max\n", ""), -1);
    cr_expect_eq(memory_parse("4096\n", ""), 4096);
    cr_expect_eq(memory_parse("MemTotal: 10 kB\n", "MemAvailable:"), -1);
    int64_t now = memory_available();
    cr_expect(now == -1 || now > 0);
}

Test(memory_need, says_how_much_is_needed_and_how_much_there_is) {
    struct arena a = {0};
    struct error err = {0};
    const struct problem *p = parsed(&a, "problem big\ndim N = 1000000000\nin x : f32[N] ~ normal\n"
                                         "out y : f32[N]\ny = x * 2\n");
    struct memory_need n = memory_need_of(p, 16000000000, 1);
    cr_expect_eq(n.expected, 144000000000);
    cr_expect_eq(n.work, 20000000000 + 4000000000);
    cr_expect(memory_need_fits(p, &n, -1, "of memory", &err));
    cr_expect(memory_need_fits(p, &n, 184000000000, "of memory", &err));
    cr_expect_not(memory_need_fits(p, &n, 183000000000, "of memory", &err));
    cr_expect(strstr(err.text,
                     "takes about 184.0 GB of memory (16.0 for inputs and outputs, 144.0 for "
                     "what is expected of them, 24.0 to compute that), and 183.0 GB are free"),
              "%s", err.text);
    arena_reset(&a);
}

static void put(struct arena *a, const char *root, const char *path, const char *text) {
    struct error err = {0};
    const char *file = arena_printf(a, "%s/%s", root, path);
    char *dir = arena_strdup(a, file);
    *strrchr(dir, '/') = '\0';
    cr_assert(file_make_dirs(dir, &err) && file_write(file, text, strlen(text), &err));
}

// Of both versions, the tighter one; of a container's own root where its name is not there.
Test(memory_need, control_groups_limit_it) {
    struct arena a = {0};
    const char *root = scratch_make(&a);
    put(&a, root, "one/memory.max", "1000\n");
    put(&a, root, "one/memory.current", "300\n");
    put(&a, root, "free/memory.max", "max\n");
    put(&a, root, "free/memory.current", "300\n");
    put(&a, root, "memory/old/memory.limit_in_bytes", "500\n");
    put(&a, root, "memory/old/memory.usage_in_bytes", "100\n");
    put(&a, root, "memory/memory.limit_in_bytes", "90\n");
    put(&a, root, "memory/memory.usage_in_bytes", "100\n");
    cr_expect_eq(memory_group_left("0::/one\n", root), 700);
    cr_expect_eq(memory_group_left("0::/free\n", root), -1);
    cr_expect_eq(memory_group_left("0::/none\n", root), -1);
    cr_expect_eq(memory_group_left("4:cpu:/x\n3:memory:/old\n0::/one\n", root), 400);
    cr_expect_eq(memory_group_left("3:memory:/docker/abc\n", root), 0);
    scratch_remove(root);
    arena_reset(&a);
}

// What an input is computed from counts, and so does the time that a set takes.
Test(memory_need, counts_hidden_draws_and_hours) {
    struct arena a = {0};
    struct error err = {0};
    const struct problem *p =
        parsed(&a, "problem p\ndim M = 1048576, N = 1048576\n"
                   "in p : f32[M] = sum(u, axis=1) where u : f32[M, N] ~ normal\n"
                   "out y : f32[M]\ny = p * 2\n");
    struct memory_need n = memory_need_of(p, 0, 1);
    cr_expect_gt(n.work, (int64_t)4 << 40);
    cr_expect_not(memory_need_fits(p, &n, -1, "of memory", &err));
    cr_expect(strstr(err.text, "computing what is expected takes about 0.3 hours for each set"),
              "%s", err.text);
    n.seconds = 599;
    cr_expect_not(memory_need_fits(p, &n, (int64_t)1 << 40, "of memory", &err));
    cr_expect(memory_need_fits(p, &n, (int64_t)16 << 40, "of memory", &err));
    arena_reset(&a);
}

// Arrays go when nobody reads them any more; threads have a part each.
Test(memory_need, of_interpreting_is_the_widest_cut) {
    struct arena a = {0};
    const struct problem *p =
        parsed(&a, "problem p\ndim M = 1000, N = 1000\nin x : f32[M, N] ~ normal\nout y : f32[M]\n"
                   "a = cumsum(x, axis=1)\nb = cumsum(a, axis=1)\nc = cumsum(b, axis=1)\n"
                   "y = sum(c, axis=1)\n");
    cr_expect_eq(interpret_whole_bytes(p), 2 * 20000000);
    int64_t shared = interpret_bytes(p, 2);
    cr_expect(shared < 10000000, "%lld", (long long)shared);
    p = parsed(&a,
               "problem p\ndim M = 1000, N = 1000\nin x : f64[M, N] ~ normal\nout y : f64[M, N]\n"
               "y = x * 2\n");
    cr_expect_eq(interpret_whole_bytes(p), 2 * 24000000);
    arena_reset(&a);
}
