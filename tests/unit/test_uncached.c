#include <criterion/criterion.h>
#include <string.h>

#include "base/uncached.h"

enum { SIZE = 300, OFFSETS = 20 };

// Wherever both lie and whatever the size: all bytes and no others.
Test(uncached, copies_all_bytes_and_no_others) {
    _Alignas(64) char from[SIZE + OFFSETS], to[SIZE + 2 * OFFSETS];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + 1);
    for (size_t out = 0; out < OFFSETS; out++)
        for (size_t in = 0; in < OFFSETS; in += 3)
            for (size_t size = 0; size <= SIZE; size += size < 40 ? 1 : 37) {
                memset(to, 0x55, sizeof to);
                copy_past_caches(to + out, from + in, size);
                cr_assert_arr_eq(to + out, from + in, size);
                for (size_t i = 0; i < sizeof to; i++)
                    if (i < out || i >= out + size)
                        cr_assert_eq(to[i], 0x55, "offset %zu, size %zu, at %zu", out, size, i);
            }
}
