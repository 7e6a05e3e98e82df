// Collects mistakes with their place, and prints each with its source line and a caret.
#include "lang/mistake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "lang/lang.h"

// What is shown of a long line: this many bytes, the caret within.
enum { SHOWN_MAX = 100, SHOWN_BEFORE = 60 };

static void add(struct mistakes *m, struct spot spot, const char *hint, const char *fmt,
                va_list ap) {
    // After a mistake a line may be read again; it is not reported twice.
    if (m->count && spot.ptr && m->items[m->count - 1].spot.ptr == spot.ptr)
        return;
    if (m->count == MISTAKES_MAX) {
        m->stopped = true;
        return;
    }
    char text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    m->items[m->count++] =
        (struct mistake){.spot = spot, .text = arena_strdup(m->arena, text), .hint = hint};
}

struct spot mistake_spot(const struct mistakes *m, struct place at) {
    const char *p = m->source->text, *end = p ? p + m->source->len : NULL;
    for (int line = 1; p && line < at.line; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    if (p && end - p >= at.column - 1 && at.column > 0)
        return (struct spot){p + at.column - 1, at};
    return (struct spot){NULL, at};
}

void mistake_add(struct mistakes *m, struct spot spot, const char *hint, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(m, spot, hint, fmt, ap);
    va_end(ap);
}

noreturn void mistake_fail(struct mistakes *m, struct spot spot, const char *hint, const char *fmt,
                           ...) {
    va_list ap;
    va_start(ap, fmt);
    add(m, spot, hint, fmt, ap);
    va_end(ap);
    longjmp(*m->on_mistake, 1);
}

int utf8_length(const char *p, const char *end) {
    // Per first byte: length, and the bounds of the second, which leave out overlong forms,
    // surrogates and what lies beyond U+10FFFF.
    static const struct {
        unsigned char from, to, len, low, high;
    } rows[] = {
        {0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
        {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
        {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
    };
    const unsigned char *u = (const unsigned char *)p;
    size_t row = 0, n_rows = sizeof rows / sizeof *rows;
    while (row < n_rows && (u[0] < rows[row].from || u[0] > rows[row].to))
        row++;
    if (row == n_rows || end - p < rows[row].len)
        return 0;
    if (rows[row].len > 1 && (u[1] < rows[row].low || u[1] > rows[row].high))
        return 0;
    for (int i = 2; i < rows[row].len; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    return rows[row].len;
}

const char *mistake_headline(struct arena *a, const struct mistakes *m,
                             const struct mistake *item) {
    if (item->spot.at.line == 0)
        return arena_printf(a, "%s: %s", m->source->file, item->text);
    return arena_printf(a, "%s:%d:%d: %s", m->source->file, item->spot.at.line,
                        item->spot.at.column, item->text);
}

// The part of the spot's line that is shown.
static struct span shown_part(const struct mistakes *m, struct spot spot) {
    const char *text = m->source->text, *text_end = text + m->source->len;
    const char *start = spot.ptr, *end = spot.ptr;
    while (start > text && start[-1] != '\n' && spot.ptr - start < SHOWN_BEFORE)
        start--;
    while (start < spot.ptr && ((unsigned char)*start & 0xc0) == 0x80)
        start++;  // not from the middle of a character
    while (end < text_end && *end != '\n' && *end != '\r' && end - start < SHOWN_MAX)
        end++;
    return (struct span){start, (size_t)(end - start)};
}

// The source line with what a terminal should not see replaced, then a caret under the spot.
static void print_line(struct str *out, const struct mistakes *m, struct spot spot) {
    struct span part = shown_part(m, spot);
    const char *end = part.ptr + part.len;
    bool is_cut = part.ptr > m->source->text && part.ptr[-1] != '\n';
    int columns = is_cut ? 3 : 0;
    str_puts(out, is_cut ? "    ..." : "    ");
    for (const char *p = part.ptr; p < end;) {
        int len = utf8_length(p, end);
        bool is_plain = len > 1 || (len == 1 && *p >= ' ' && *p != 0x7f);
        str_append(out, is_plain ? p : *p == '\t' ? " " : "?", is_plain ? (size_t)len : 1);
        columns += p < spot.ptr;
        p += len ? len : 1;
    }
    str_printf(out, "\n    %*s^\n", columns, "");
}

static int compare_mistakes(const void *a, const void *b) {
    const struct mistake *l = a, *r = b;
    if (l->spot.at.line != r->spot.at.line)
        return l->spot.at.line < r->spot.at.line ? -1 : 1;
    return (l->spot.at.column > r->spot.at.column) - (l->spot.at.column < r->spot.at.column);
}

const char *mistakes_print(struct arena *a, struct mistakes *m) {
    qsort(m->items, (size_t)m->count, sizeof m->items[0], compare_mistakes);
    struct str out = {0};
    for (int i = 0; i < m->count; i++) {
        const struct mistake *item = &m->items[i];
        str_printf(&out, "%s\n", mistake_headline(a, m, item));
        if (item->spot.ptr && item->spot.at.line > 0)
            print_line(&out, m, item->spot);
        if (item->hint)
            str_printf(&out, "    did you mean '%s'?\n", item->hint);
    }
    if (m->stopped)
        str_printf(&out, "%s: more than %d mistakes; the rest is not shown\n", m->source->file,
                   MISTAKES_MAX);
    return str_take(a, &out);
}

const char *mistake_excerpt(struct arena *a, const char *text, size_t len, struct place at) {
    const char *line = text, *end = text + len;
    for (int i = 1; i < at.line && line < end; i++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    if (at.line < 1 || at.column < 1 || at.column > end - line)
        return "";
    struct lang_source source = {.text = text, .len = len};
    struct mistakes m = {.source = &source};
    struct str out = {0};
    print_line(&out, &m, (struct spot){line + at.column - 1, at});
    return str_take(a, &out);
}
