// Reports on a narrow terminal.
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "cmd/narrow.h"

static void expect(const char *text, int columns, const char *want) {
    struct str out = {0};
    narrow_text(&out, text, columns);
    cr_expect_str_eq(str_text(&out), want, "%s", str_text(&out));
    str_reset(&out);
}

Test(narrow, lines_that_fit_stay_as_they_are) {
    expect("a  b   c\n\n    d\n", 40, "a  b   c\n\n    d\n");
    expect("", 40, "");
    expect("no end", 40, "no end\n");
}

Test(narrow, a_line_goes_on_below_its_text) {
    expect("stopped   the time was used up after five evaluations\n", 40,
           "stopped   the time was used up after\n"
           "          five evaluations\n");
    expect("reach 18.6 ms: compute-bound, and nothing else\n", 40,
           "reach 18.6 ms: compute-bound, and\n"
           "  nothing else\n");
    expect("        - a far indented line, which is long\n", 24,
           "        - a far indented\n"
           "        line, which is\n"
           "        long\n");
}

// Also where the first word ends before the place where the next line begins.
Test(narrow, words_stay_apart) {
    expect("          4 raced against 1.0, on to the judge: 1.3 (about 1.59x), 1.4 (about\n"
           "            1.62x)\n",
           40,
           "          4 raced against 1.0, on to the\n"
           "            judge: 1.3 (about 1.59x),\n"
           "            1.4 (about 1.62x)\n");
}

// Where 40 columns leave no room for the place of a text.
Test(narrow, what_is_far_to_the_right_comes_nearer) {
    expect("0                    ok           97.2 ms           the default kernel of it\n", 30,
           "0  ok  97.2 ms  the default\n"
           "          kernel of it\n");
    expect("                               not timed: the race was over before its turn\n", 30,
           "     not timed: the race was\n"
           "          over before its turn\n");
}

Test(narrow, a_word_with_a_colon_is_a_label) {
    expect("bound: memory-bound; speed of light not known, reach 10.2 ms, limit 148 µs\n"
           "       (algebra could rearrange what is not a product, and outputs could still\n"
           "       lie in the last-level cache)\n",
           40,
           "bound: memory-bound; speed of light not\n"
           "       known, reach 10.2 ms, limit 148\n"
           "       µs (algebra could rearrange what\n"
           "       is not a product, and outputs\n"
           "       could still lie in the last-level\n"
           "       cache)\n");
}

// Wrapped for 80 columns, and so that 81 would not have done.
Test(narrow, what_was_wrapped_is_joined) {
    expect("note      1.1 looks faster than the champion (1.15x over the default kernel), but\n"
           "          that was not resolved\n"
           "stopped   by hand\n",
           40,
           "note      1.1 looks faster than the\n"
           "          champion (1.15x over the\n"
           "          default kernel), but that was\n"
           "          not resolved\n"
           "stopped   by hand\n");
    // Two paragraphs, the first of which ended where it did.
    expect("champion  1.0: 4.41 ms, 10.11x over plain (99% interval)\n"
           "          48% of reach\n",
           40,
           "champion  1.0: 4.41 ms, 10.11x over\n"
           "          plain (99% interval)\n"
           "          48% of reach\n");
}

Test(narrow, rows_of_a_table_are_not_joined_and_lose_their_gaps) {
    expect("   1  done         softmax                 16    4.41 ms  10.11x over plain    48%\n"
           "   2  done         gemm                     9    4.41 ms  -                      -\n",
           40,
           "   1  done softmax 16 4.41 ms 10.11x\n"
           "      over plain 48%\n"
           "   2  done gemm 9 4.41 ms - -\n");
}

Test(narrow, letters_count_and_not_bytes) {
    expect("größe ächzend übermäßig\n", 23, "größe ächzend übermäßig\n");
    expect("größe ächzend übermäßig\n", 22, "größe ächzend\n  übermäßig\n");
    expect("\xf0\x9f\x94\xa5 a_name_that_is_longer_than_the_line\n", 20,
           "\xf0\x9f\x94\xa5\n  a_name_that_is_longer_than_the_line\n");
}

// Lines that were not made for 80 columns, and code.
Test(narrow, a_wide_terminal_folds_what_is_longer_still) {
    expect("  --objective NAME  what makes a champion: time (the default); on a GPU energy or edp "
           "(least energy times time)\n",
           80,
           "  --objective NAME  what makes a champion: time (the default); on a GPU energy\n"
           "                    or edp (least energy times time)\n");
    const char *stage = "          stage y : rowwise  vec 16  rows 64  unroll 4  keep local  ahead "
                        "1  overlap rows\n";
    expect(stage, 80, stage);
    expect("  stage y : rowwise  vec 16  rows 64\n", 30,
           "  stage y : rowwise  vec 16\n"
           "          rows 64\n");
}
