#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

Test(str, grows) {
    struct str s = {0};
    for (int i = 0; i < 1000; i++)
        str_printf(&s, "%03d ", i);
    cr_assert_eq(s.len, 4000);
    cr_assert_eq(strncmp(str_text(&s), "000 001 ", 8), 0);
    str_reset(&s);
    cr_assert_str_eq(str_text(&s), "");
}

Test(str, prints_what_is_longer_than_its_small_buffer) {
    struct str s = {0};
    str_printf(&s, "%0500d", 7);
    cr_assert_eq(s.len, 500);
    cr_assert_eq(s.ptr[499], '7');
    str_reset(&s);
}

Test(str, cuts_at_its_maximum_and_says_so) {
    struct str s = {.max = 5};
    str_puts(&s, "abc");
    cr_assert_not(s.cut);
    str_puts(&s, "def");
    cr_assert(s.cut);
    cr_assert_str_eq(str_text(&s), "abcde");
    str_puts(&s, "g");
    cr_assert_str_eq(str_text(&s), "abcde");
    str_reset(&s);
}

Test(str, take_moves_the_text_into_the_arena) {
    struct arena a = {0};
    struct str s = {0};
    str_puts(&s, "text");
    cr_assert_str_eq(str_take(&a, &s), "text");
    cr_assert_eq(s.len, 0);
    cr_assert_str_eq(str_take(&a, &s), "");
    arena_reset(&a);
}

Test(str, nearest_forgives_a_third) {
    const char *names[] = {"stages", "tile", "vec", NULL};
    cr_assert_str_eq(str_nearest("stage", names), "stages");
    cr_assert_str_eq(str_nearest("vex", names), "vec");
    cr_assert_null(str_nearest("cluster", names));
    struct arena a = {0};
    cr_expect_str_eq(str_percent(&a, 0.4321), "43%");
    cr_expect_str_eq(str_percent(&a, 0.0021), "0.2%");
    cr_expect_str_eq(str_percent(&a, 0.0097), "1%");
    cr_expect_str_eq(str_percent(&a, 0), "0%");
    arena_reset(&a);
    cr_assert_null(str_nearest("", names));
}

Test(str, nearest_does_not_guess_single_letters) {
    const char *names[] = {"N", "M", "x", "f32", NULL};
    cr_assert_null(str_nearest("Q", names));
    cr_assert_str_eq(str_nearest("n", names), "N");
    cr_assert_str_eq(str_nearest("f23", names), "f32");
}

Test(str, distance_counts_edits) {
    cr_assert_eq(str_distance("kitten", "sitting"), 3);
    cr_assert_eq(str_distance("", "abc"), 3);
    cr_assert_eq(str_distance("same", "same"), 0);
    cr_assert_eq(str_distance("smae", "same"), 1);
    cr_assert_eq(str_distance("abcdef", "badcfe"), 3);
}

Test(str, span_compares_whole_text) {
    struct span s = {"gemm tile", 4};
    cr_assert(span_is(s, "gemm"));
    cr_assert_not(span_is(s, "gem"));
    cr_assert_not(span_is(s, "gemm tile"));
}

Test(str, integers_stand_alone) {
    long long n;
    cr_assert(str_to_int64("-12", &n) && n == -12);
    const char *bad[] = {"", " 1", "+1", "1 ", "1x", "0x10", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_not(str_to_int64(bad[i], &n), "accepts '%s'", bad[i]);
}

Test(str, doubles_stand_alone) {
    double x;
    cr_assert(str_to_double("1.5e3", &x) && x == 1500);
    const char *bad[] = {"", " 1", "1 ", "1x", "1e999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_not(str_to_double(bad[i], &x), "accepts '%s'", bad[i]);
}

Test(str, clean_keeps_utf8_and_nothing_else) {
    static const struct {
        const char *dirty, *clean;
    } rows[] = {
        {"plain", "plain"},
        {"\xc2\xb5s \xe2\x80\x98x\xe2\x80\x99 \xf0\x9f\x98\x80",
         "\xc2\xb5s \xe2\x80\x98x\xe2\x80\x99 \xf0\x9f\x98\x80"},
        {"a\xffz", "a?z"},
        {"\x80", "?"},
        {"\xc0\x80", "??"},            // overlong
        {"\xe0\x80\x80", "???"},       // overlong
        {"\xed\xa0\x80", "???"},       // surrogate
        {"\xf4\x90\x80\x80", "????"},  // above U+10FFFF
        {"\xf5\x80\x80\x80", "????"},
        {"cut \xe2\x80", "cut ??"},  // the end is missing
        {"\xe2(\x80", "?(?"},
        {"\xe2\x80x", "??x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", rows[i].dirty);
        // Where the first of it was.
        size_t at = 0;
        while (text[at] && text[at] == rows[i].clean[at])
            at++;
        cr_assert_eq(str_valid_utf8(text, strlen(text)), at);
        str_clean(text, strlen(text));
        cr_assert_str_eq(text, rows[i].clean);
    }
    char nul[] = {'a', 0, 'b', 0};
    cr_assert_eq(str_valid_utf8(nul, 3), 3);
    str_clean(nul, 3);
    cr_assert_str_eq(nul, "a?b");
}

Test(str, ends_with_what_it_ends_with) {
    cr_expect(str_ends_with("a.hone", ".hone") && str_ends_with(".c", ".c"));
    cr_expect(!str_ends_with("c", ".c") && !str_ends_with("a.cu", ".c"));
}

Test(str, a_word_for_a_shell_is_quoted_where_it_has_to_be) {
    struct str s = {0};
    str_put_quoted(&s, "dir/runs-1.db");
    str_puts(&s, " ");
    str_put_quoted(&s, "");
    str_puts(&s, " ");
    str_put_quoted(&s, "a 'b $c");
    cr_expect_str_eq(str_text(&s), "dir/runs-1.db '' 'a '\\''b $c'");
    str_reset(&s);
}
