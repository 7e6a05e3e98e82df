// docs/language.md is what a newcomer and a model are given: it names everything there is.
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "family/family.h"
#include "family/laws.h"
#include "ir/types.h"
#include "lang/kernel.h"
#include "lang/lang.h"

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// Does a page have the word as a whole, inside `code`?
static bool text_names(const char *page, const char *word) {
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

static bool page_names(const char *word) {
    return text_names(embedded_text("language.md"), word);
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

Test(language_page, names_every_distribution_and_type) {
    for (const char *const *name = lang_distribution_names(); *name; name++)
        cr_expect(is_named(*name), "no word about %s", *name);
    for (int t = 0; t < DTYPE_COUNT; t++)
        cr_expect(is_named(dtype_name(t)), "no word about %s", dtype_name(t));
}

// `attention` is one, and a family too.
static bool is_function(const char *word) {
    for (const char *const *name = lang_function_names(); *name; name++)
        if (strcmp(*name, word) == 0)
            return true;
    return false;
}

Test(language_page, names_what_has_an_emitter_and_nothing_else) {
    for (const struct family *f = families; f->name; f++) {
        if (!is_function(f->name))
            cr_expect_eq(is_named(f->name), f->find != NULL, "%s", f->name);
        for (int i = 0; f->emitters[i]; i++)
            cr_expect(is_named(f->emitters[i]->name), "no word about %s", f->emitters[i]->name);
    }
    // No emitter takes these yet.
    for (const char *const *name = combine_names; *name; name++)
        cr_expect(!is_named(*name), "%s", *name);
    for (const struct law *law = laws; law->name; law++)
        cr_expect(!is_named(law->name), "%s", law->name);
    cr_expect(!is_named("layout") && !is_named("combine") && !is_named("laws"));
}

// The page of families has every family, emitter and knob.
Test(language_page, families_have_a_page_with_all_knobs) {
    struct arena a = {0};
    struct error err;
    const char *page = file_read(&a, "docs/families.md", 1 << 20, NULL, &err);
    cr_assert(page, "%s", err.text);
    for (const struct family *f = families; f->name; f++)
        for (int i = 0; f->emitters[i]; i++) {
            cr_expect(text_names(page, f->name) && text_names(page, f->emitters[i]->name));
            for (const struct knob *k = f->emitters[i]->knobs; k->name; k++)
                cr_expect(text_names(page, k->name), "%s: no word about %s", f->name, k->name);
        }
    cr_expect(!text_names(page, "laws") && !text_names(page, "library"));
    arena_reset(&a);
}
