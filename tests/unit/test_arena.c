#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

Test(arena, gives_zeroed_aligned_memory) {
    struct arena a = {0};
    for (int i = 0; i < 100; i++) {
        unsigned char *p = arena_alloc(&a, 37);
        cr_assert_eq((uintptr_t)p % 16, 0);
        for (int j = 0; j < 37; j++)
            cr_assert_eq(p[j], 0);
        memset(p, 0xff, 37);
    }
    arena_reset(&a);
}

Test(arena, serves_more_than_a_block) {
    struct arena a = {0};
    char *small = arena_alloc(&a, 1);
    char *big = arena_alloc(&a, 1 << 20);
    *small = 'x';
    memset(big, 'y', 1 << 20);
    cr_assert_eq(*small, 'x');
    arena_reset(&a);
    cr_assert_null(a.head);
}

Test(arena, is_usable_after_reset) {
    struct arena a = {0};
    arena_strdup(&a, "one");
    arena_reset(&a);
    cr_assert_str_eq(arena_strdup(&a, "two"), "two");
    arena_reset(&a);
}

Test(arena, copies_and_formats) {
    struct arena a = {0};
    cr_assert_str_eq(arena_strndup(&a, "kernel", 3), "ker");
    cr_assert_str_eq(arena_printf(&a, "%s %d", "tile", 128), "tile 128");
    int numbers[] = {1, 2, 3};
    int *copy = arena_copy(&a, numbers, sizeof numbers);
    cr_assert_arr_eq(copy, numbers, sizeof numbers);
    cr_assert_not_null(arena_copy(&a, NULL, 0));
    arena_reset(&a);
}
