// docs/language.md is what a newcomer and a model are given: it names everything there is.
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "family/family.h"
#include "family/laws.h"
#include "ir/types.h"
#include "lang/kernel.h"
#include "lang/lang.h"

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// Does the page have the word as a whole, inside `code`?
static bool page_names(const char *word) {
    const char *page = embedded_text("language.md");
    size_t len = strlen(word);
    for (const char *p = strstr(page, word); p; p = strstr(p + 1, word)) {
        int ticks = 0;
        for (const char *q = p; q > page && q[-1] != '\n'; q--)
            ticks += q[-1] == '`';
        if ((p == page || !in_word(p[-1])) && !in_word(p[len]) && ticks % 2)
            return true;
    }
    return false;
}

// `conv1d(...)`, `2d`, `3d` names three.
static bool is_named(const char *word) {
    char first[64];
    size_t len = strlen(word);
    if (page_names(word))
        return true;
    if (len < 3 || (strcmp(word + len - 2, "2d") != 0 && strcmp(word + len - 2, "3d") != 0))
        return false;
    snprintf(first, sizeof first, "%.*s1d", (int)len - 2, word);
    return page_names(first) && page_names(word + len - 2);
}

Test(language_page, names_every_function) {
    int n = 0;
    for (const char *const *name = lang_function_names(); *name; name++, n++)
        cr_expect(is_named(*name), "no word about %s", *name);
    cr_assert_gt(n, 150);
}

Test(language_page, names_every_distribution_type_and_word) {
    for (const char *const *name = lang_distribution_names(); *name; name++)
        cr_expect(is_named(*name), "no word about %s", *name);
    for (int t = 0; t < DTYPE_COUNT; t++)
        cr_expect(is_named(dtype_name(t)), "no word about %s", dtype_name(t));
    for (const char *const *name = combine_names; *name; name++)
        cr_expect(is_named(*name), "no word about %s", *name);
    for (const struct law *law = laws; law->name; law++)
        cr_expect(is_named(law->name), "no word about %s", law->name);
    for (const struct family *f = families; f->name; f++)
        cr_expect(is_named(f->name), "no word about %s", f->name);
}
