#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

Test(error, set_returns_false_and_keeps_kind_and_text) {
    struct error err = {0};
    cr_assert_not(error_set(&err, ERROR_IO, "disk %d full", 3));
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert_str_eq(err.text, "disk 3 full");
}

Test(error, wrap_puts_context_in_front) {
    struct error err = {0};
    error_set(&err, ERROR_IO, "schema 7 is newer than 1");
    cr_assert_not(error_wrap(&err, "open store %s", "runs.db"));
    cr_assert_not(error_wrap(&err, "optimize"));
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert_str_eq(err.text, "optimize: open store runs.db: schema 7 is newer than 1");
}

static bool ends_in_dots(const struct error *err) {
    return strcmp(err->text + strlen(err->text) - 3, "...") == 0;
}

Test(error, marks_a_text_that_was_cut) {
    char wide[2000];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    struct error err = {0};
    error_set(&err, ERROR_IO, "%s", wide);
    cr_assert_eq(strlen(err.text), sizeof err.text - 1);
    cr_assert(ends_in_dots(&err));
    error_wrap(&err, "context");
    cr_assert(ends_in_dots(&err));
    cr_assert_eq(strncmp(err.text, "context: xxx", 12), 0);
    error_wrap(&err, "%s", wide);
    cr_assert(ends_in_dots(&err));
}
