// docs/language.md is what a newcomer and a model are given: it names everything there is.
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
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
    cr_expect(!text_names(page, "laws"));
    arena_reset(&a);
}

// The declaration of an input on the page, with its line's end, or NULL.
static const char *declaration(struct arena *a, const char *page, const char *word, size_t len) {
    const char *line = strstr(page, arena_printf(a, "\nin %.*s : ", (int)len, word));
    return line ? arena_strndup(a, line + 1, strcspn(line + 1, "\n") + 1) : NULL;
}

// A problem of one example, `softmax(x, 0) -> f32[4, 6]`: the inputs that it names, and itself.
static const char *example_problem(struct arena *a, const char *page, const char *line,
                                   const char *arrow) {
    struct str text = {0};
    str_puts(&text, "problem p\n");
    bool quoted = false;
    for (const char *c = strchr(line, '('); c < arrow; c++) {
        quoted ^= *c == '"';
        size_t len = 0;
        while (in_word(c[len]))
            len++;
        if (len == 0 || quoted || in_word(c[-1]))
            continue;
        const char *in = declaration(a, page, c, len);
        if (in && !strstr(str_text(&text), in))
            str_puts(&text, in);
    }
    size_t type_len = strcspn(arrow + 4, "\n");
    str_printf(&text, "out result : %.*s\nresult = %.*s\n", (int)type_len, arrow + 4,
               (int)(arrow - line), line);
    return str_take(a, &text);
}

Test(language_page, has_an_example_of_every_function_that_is_right) {
    struct arena a = {0};
    const char *page = strstr(embedded_text("language.md"), "## Every function in a line");
    cr_assert(page);
    const char *end = strstr(page, "\n## Recurrence");
    int n = 0;
    for (const char *line = page; line < end; line += strcspn(line, "\n") + 1) {
        const char *arrow = strstr(line, " -> ");
        if (!arrow || arrow > line + strcspn(line, "\n"))
            continue;
        const char *text = example_problem(&a, page, line, arrow);
        struct lang_source source = {.file = "example", .text = text, .len = strlen(text)};
        struct lang_file file;
        const char *diagnostics;
        struct error err = {0};
        cr_expect(lang_parse(&a, &source, &file, &diagnostics, &err), "%s\n%s", text, diagnostics);
        n++;
    }
    cr_assert_gt(n, 150);
    for (const char *const *name = lang_function_names(); *name; name++) {
        const char *call = strstr(page, arena_printf(&a, "\n%s(", *name));
        cr_expect(call && call < end, "no example of %s", *name);
    }
    arena_reset(&a);
}
