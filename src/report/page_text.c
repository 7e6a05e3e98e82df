// Text for the page: escapes, code, differences.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "report/page.h"

enum { WORDS_MAX = 1200, LINES_MAX = 3000, CONTEXT = 3 };

static void put_char(struct str *out, char c) {
    switch (c) {
    case '<':
        str_puts(out, "&lt;");
        return;
    case '>':
        str_puts(out, "&gt;");
        return;
    case '&':
        str_puts(out, "&amp;");
        return;
    case '"':
        str_puts(out, "&quot;");
        return;
    case '\'':
        str_puts(out, "&#39;");
        return;
    }
    bool is_control = (unsigned char)c < ' ' && c != '\n' && c != '\t';
    str_append(out, is_control ? "?" : &c, 1);
}

static void put_span(struct str *out, const char *text, size_t len) {
    while (len > 0) {
        size_t good = str_valid_utf8(text, len);
        for (size_t i = 0; i < good; i++)
            put_char(out, text[i]);
        if (good < len) {
            str_puts(out, "?");
            good++;
        }
        text += good;
        len -= good;
    }
}

void page_text(struct str *out, const char *text) {
    put_span(out, text ? text : "", text ? strlen(text) : 0);
}

void page_seconds(struct str *out, double seconds) {
    struct arena a = {0};
    str_puts(out, isfinite(seconds) ? clock_duration(&a, seconds * 1e9) : "–");
    arena_reset(&a);
}

// ---- code

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_keyword(const char *word, size_t len) {
    static const char *const words[] = {"auto",
                                        "break",
                                        "case",
                                        "char",
                                        "const",
                                        "continue",
                                        "do",
                                        "double",
                                        "else",
                                        "enum",
                                        "extern",
                                        "float",
                                        "for",
                                        "goto",
                                        "if",
                                        "inline",
                                        "int",
                                        "long",
                                        "return",
                                        "short",
                                        "signed",
                                        "sizeof",
                                        "static",
                                        "struct",
                                        "switch",
                                        "typedef",
                                        "union",
                                        "unsigned",
                                        "void",
                                        "while",
                                        "restrict",
                                        "_Bool",
                                        "__global__",
                                        "__shared__",
                                        "__device__",
                                        "half",
                                        "int32_t",
                                        "int64_t",
                                        "size_t",
                                        "__restrict__",
                                        "__launch_bounds__"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == len && strncmp(words[i], word, len) == 0)
            return true;
    return false;
}

static void put_marked(struct str *out, const char *mark, const char *text, size_t len) {
    str_printf(out, "<%s>", mark);
    put_span(out, text, len);
    str_printf(out, "</%s>", mark);
}

// How far a comment goes that begins, or goes on, at `p`; 0: there is none.
static size_t comment_length(const char *p, size_t left, bool *in_comment) {
    size_t from = *in_comment ? 0 : 2;
    if (!*in_comment && (left < 2 || p[0] != '/' || (p[1] != '*' && p[1] != '/')))
        return 0;
    if (!*in_comment && p[1] == '/')
        return left;
    const char *close = memmem(p + from, left - from, "*/", 2);
    *in_comment = !close;
    return close ? (size_t)(close - p) + 2 : left;
}

static size_t string_length(const char *p, size_t left) {
    size_t n = 1;
    for (; n < left && p[n] != '"'; n++)
        n += p[n] == '\\' && n + 1 < left;
    return n < left ? n + 1 : left;
}

static size_t word_run(const char *p, size_t left) {
    size_t n = 0;
    while (n < left && is_word(p[n]))
        n++;
    return n;
}

static size_t other_run(const char *p, size_t left) {
    size_t n = 1;
    while (n < left && !is_word(p[n]) && p[n] != '/' && p[n] != '"')
        n++;
    return n;
}

// One line from `p` on, of `len` bytes; `in_comment` goes on from line to line.
static void code_line(struct str *out, const char *p, size_t len, bool *in_comment) {
    const char *end = p + len;
    size_t blank = strspn(p, " \t");
    if (!*in_comment && blank < len && p[blank] == '#') {
        put_marked(out, "u", p, len);
        return;
    }
    while (p < end) {
        size_t left = (size_t)(end - p), n = comment_length(p, left, in_comment);
        if (n > 0) {
            put_marked(out, "i", p, n);
        } else if ((n = word_run(p, left)) > 0 && is_keyword(p, n)) {
            put_marked(out, "b", p, n);
        } else {
            if (n == 0)
                n = *p == '"' ? string_length(p, left) : other_run(p, left);
            put_span(out, p, n);
        }
        p += n;
    }
}

// Lines with less of the time than this are as good as none.
static const double SHARE_SHOWN = 0.02;

void page_code(struct str *out, const char *source, const double *shares, int n_lines) {
    bool in_comment = false;
    double most = 0;
    for (int i = 0; shares && i < n_lines; i++)
        most = fmax(most, shares[i]);
    str_puts(out, shares ? "<pre class=\"code hot\">" : "<pre class=\"code\">");
    for (int i = 0; source && *source; i++) {
        size_t len = strcspn(source, "\n");
        if (shares && i < n_lines && shares[i] >= SHARE_SHOWN)
            str_printf(out, "<span data-share=\"%.0f%%\" style=\"--s:%.3f\">", 100 * shares[i],
                       shares[i] / most);
        else
            str_puts(out, "<span>");
        code_line(out, source, len, &in_comment);
        str_puts(out, "\n</span>");
        source += len + (source[len] == '\n');
    }
    str_puts(out, "</pre>");
}

// ---- differences

struct parts {
    struct span *at;
    int n;
};

// Words with the blanks behind them, or lines with their ends.
static struct parts split(const char *text, bool by_lines, int most) {
    struct parts p = {.at = calloc((size_t)most, sizeof *p.at)};
    if (!p.at)
        abort();
    while (*text && p.n < most) {
        size_t len = strcspn(text, by_lines ? "\n" : " \n");
        len += strspn(text + len, by_lines ? "\n" : " \n");
        p.at[p.n++] = (struct span){text, len};
        text += len;
    }
    if (*text)
        p.n = -1;
    return p;
}

static bool is_equal(struct span a, struct span b) {
    while (a.len > 0 && strchr(" \n", a.ptr[a.len - 1]))
        a.len--;
    while (b.len > 0 && strchr(" \n", b.ptr[b.len - 1]))
        b.len--;
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

// How long the longest common subsequence of the ends from (i, j) on is.
static uint16_t *common_ends(const struct parts *a, const struct parts *b) {
    size_t columns = (size_t)b->n + 1;
    uint16_t *table = calloc(((size_t)a->n + 1) * columns, sizeof *table);
    if (!table)
        abort();
    for (int i = a->n - 1; i >= 0; i--)
        for (int j = b->n - 1; j >= 0; j--) {
            uint16_t *at = &table[(size_t)i * columns + (size_t)j];
            uint16_t down = at[columns], right = at[1];
            *at = is_equal(a->at[i], b->at[j]) ? (uint16_t)(at[columns + 1] + 1)
                  : down > right               ? down
                                               : right;
        }
    return table;
}

// Stretches of lines that are the same are cut to what stands next to a difference.
static void put_same(struct str *out, const struct parts *p, int from, int to, bool is_cut) {
    bool is_long = is_cut && to - from > 2 * CONTEXT + 2;
    for (int i = from; i < to; i++) {
        int first = from == 0 ? from : from + CONTEXT, last = to == p->n ? to : to - CONTEXT;
        if (is_long && i == first)
            str_printf(out, "<em>… %d lines\n</em>", last - first);
        if (!is_long || i < first || i >= last)
            put_span(out, p->at[i].ptr, p->at[i].len);
    }
}

static void put_parts(struct str *out, const char *mark, const struct parts *p, int from, int to) {
    if (from == to)
        return;
    const char *first = p->at[from].ptr, *end = p->at[to - 1].ptr + p->at[to - 1].len;
    size_t len = (size_t)(end - first), bare = len;
    while (bare > 0 && strchr(" \n", first[bare - 1]))
        bare--;
    put_marked(out, mark, first, bare);
    put_span(out, first + bare, len - bare);
}

static void put_difference(struct str *out, const struct parts *a, const struct parts *b,
                           bool is_cut) {
    uint16_t *table = common_ends(a, b);
    size_t columns = (size_t)b->n + 1;
    int i = 0, j = 0;
    while (i < a->n || j < b->n) {
        int from = j, old_from = i;
        for (; i < a->n && j < b->n && is_equal(a->at[i], b->at[j]); i++)
            j++;
        put_same(out, b, from, j, is_cut);
        old_from = i;
        from = j;
        while ((i < a->n || j < b->n) && !(i < a->n && j < b->n && is_equal(a->at[i], b->at[j]))) {
            bool is_old = j == b->n || (i < a->n && table[(size_t)(i + 1) * columns + (size_t)j] >=
                                                        table[(size_t)i * columns + (size_t)j + 1]);
            i += is_old;
            j += !is_old;
        }
        put_parts(out, "del", a, old_from, i);
        put_parts(out, "ins", b, from, j);
    }
    free(table);
}

void page_diff(struct str *out, const char *before, const char *text, bool by_lines) {
    int most = by_lines ? LINES_MAX : WORDS_MAX;
    struct parts a = split(before ? before : "", by_lines, most), b = split(text, by_lines, most);
    str_puts(out, "<pre class=\"diff\">");
    if (before && a.n >= 0 && b.n >= 0)
        put_difference(out, &a, &b, by_lines);
    else
        page_text(out, text);
    str_puts(out, "</pre>");
    free(a.at);
    free(b.at);
}
