// The growing buffer, edit distance for "did you mean", numbers that must be read to their last
// character, and UTF-8 that a terminal can be shown.
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

static void reserve(struct str *s, size_t extra) {
    if (s->cap - s->len > extra)
        return;
    size_t cap = s->cap ? s->cap : 128;
    while (cap - s->len <= extra)
        cap *= 2;
    s->ptr = realloc(s->ptr, cap);
    if (!s->ptr) {
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    s->cap = cap;
}

void str_append(struct str *s, const char *bytes, size_t len) {
    if (s->max && len > s->max - s->len) {
        len = s->max - s->len;
        s->cut = true;
    }
    reserve(s, len + 1);
    if (len > 0)
        memcpy(s->ptr + s->len, bytes, len);
    s->len += len;
    s->ptr[s->len] = '\0';
}

void str_puts(struct str *s, const char *text) {
    str_append(s, text, strlen(text));
}

void str_printf(struct str *s, const char *fmt, ...) {
    char small[256];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if ((size_t)len < sizeof small) {
        str_append(s, small, (size_t)len);
        return;
    }

    char *big = malloc((size_t)len + 1);
    if (!big) {
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    va_start(ap, fmt);
    vsnprintf(big, (size_t)len + 1, fmt, ap);
    va_end(ap);
    str_append(s, big, (size_t)len);
    free(big);
}

const char *str_text(const struct str *s) {
    return s->ptr ? s->ptr : "";
}

char *str_take(struct arena *a, struct str *s) {
    char *text = arena_strndup(a, str_text(s), s->len);
    str_reset(s);
    return text;
}

void str_reset(struct str *s) {
    free(s->ptr);
    *s = (struct str){.max = s->max};
}

bool span_is(struct span s, const char *text) {
    return strlen(text) == s.len && memcmp(s.ptr, text, s.len) == 0;
}

enum { WORD_MAX = 32 };

static int min3(int a, int b, int c) {
    int m = a < b ? a : b;
    return m < c ? m : c;
}

int str_distance(const char *a, const char *b) {
    int n = (int)strnlen(a, WORD_MAX), m = (int)strnlen(b, WORD_MAX);
    int rows[3][WORD_MAX + 1];  // of a's beginnings with i, i - 1 and i - 2 letters
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3], *before = rows[(i + 2) % 3], *first = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            row[j] = min3(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap && first[j - 2] + 1 < row[j])
                row[j] = first[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

const char *str_nearest(const char *word, const char *const *names) {
    const char *best = NULL;
    // A third of the word may be wrong, and at least one letter: "vex" is "vec".
    int len = (int)strnlen(word, WORD_MAX), limit = len / 3;
    int best_distance = (limit > 1 ? limit : 1) + 1;
    for (; *names; names++) {
        int d = str_distance(word, *names);
        // Words of one letter each are no more alike than any others, but "X" may be "x".
        bool has_nothing_common = len == 1 && !(*names)[1] && strcasecmp(word, *names) != 0;
        if (d < best_distance && !has_nothing_common) {
            best_distance = d;
            best = *names;
        }
    }
    return best;
}

bool str_to_int64(const char *text, long long *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *text && !*end && errno == 0 && *text != ' ' && *text != '+';
}

bool str_to_double(const char *text, double *out) {
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return *text && !*end && errno == 0 && *text != ' ';
}

// Length of the UTF-8 sequence at `p` (RFC 3629: no surrogates, nothing overlong, nothing
// above U+10FFFF), or 0 when there is none.
static size_t utf8_length(const unsigned char *p, size_t left) {
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n < 2 || n > left || p[0] > 0xf4)
        return n == 1 ? 1 : 0;
    unsigned least = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < least || p[1] > most)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

void str_put_quoted(struct str *s, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
    if (*word && !word[strspn(word, plain)]) {
        str_puts(s, word);
        return;
    }
    str_puts(s, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            str_puts(s, "'\\''");
        else
            str_append(s, c, 1);
    str_puts(s, "'");
}

const char *str_percent(struct arena *a, double fraction) {
    double percent = 100 * fraction;
    return arena_printf(a, percent > 0 && percent < 0.95 ? "%.1g%%" : "%.0f%%", percent);
}

bool str_ends_with(const char *text, const char *end) {
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

size_t str_valid_utf8(const char *bytes, size_t len) {
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length((const unsigned char *)bytes + i, len - i);
        if (n == 0)
            return i;
        i += n;
    }
    return len;
}

void str_clean(char *bytes, size_t len) {
    for (size_t i = 0; i < len;) {
        size_t n = bytes[i] ? utf8_length((unsigned char *)bytes + i, len - i) : 0;
        if (n == 0)
            bytes[i] = '?';
        i += n ? n : 1;
    }
}
