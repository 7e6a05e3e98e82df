// A problem from text, for tests; a mistake in it fails the test.
#pragma once

#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "lang/lang.h"

static inline struct lang_file parsed_file(struct arena *a, const char *text) {
    struct lang_source source = {.file = "test.hone", .text = text, .len = strlen(text)};
    struct lang_file file;
    const char *diagnostics;
    struct error err = {0};
    bool ok = lang_parse(a, &source, &file, &diagnostics, &err);
    cr_assert(ok, "%s", diagnostics);
    return file;
}

static inline struct problem *parsed(struct arena *a, const char *text) {
    struct lang_file file = parsed_file(a, text);
    cr_assert_eq(file.n_problems, 1);
    return file.problems[0];
}
