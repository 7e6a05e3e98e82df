// A directory for one test, and paths in it.
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

// A new empty directory; remove it with scratch_remove().
static inline const char *scratch_make(struct arena *a) {
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(a, "%s/hone-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(dir));
    return dir;
}

static inline void scratch_remove(const char *dir) {
    struct error err = {0};
    cr_assert(file_remove_tree(dir, &err), "%s", err.text);
}
