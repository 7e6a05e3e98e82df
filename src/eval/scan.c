#include "eval/scan.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

static const char *const c_headers[] = {
    "hone_math.h", "hone_rng.h",  "assert.h", "complex.h", "errno.h",  "fenv.h",
    "float.h",     "inttypes.h",  "iso646.h", "limits.h",  "math.h",   "stdalign.h",
    "stdbool.h",   "stddef.h",    "stdint.h", "stdio.h",   "stdlib.h", "stdnoreturn.h",
    "string.h",    "stdatomic.h", "tgmath.h", NULL,
};
static const char *const cuda_headers[] = {"dev.h", "stdint.h", NULL};

// What may be included, as a list and in words.
struct allowance {
    const char *const *headers;
    const char *words;
};

// Behind a comment that begins at `s`, or `s` itself when there is none.
static const char *skip_comment(const char *s) {
    if (s[0] != '/' || (s[1] != '/' && s[1] != '*'))
        return s;
    if (s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? end + 2 : s + strlen(s);
    }
    while (*s && (*s != '\n' || s[-1] == '\\'))
        s++;
    return s;
}

// Behind a string or character literal that begins at `s`.
static const char *skip_literal(const char *s) {
    char quote = *s++;
    while (*s && *s != quote && *s != '\n')
        s += s[0] == '\\' && s[1] ? 2 : 1;
    return *s == quote ? s + 1 : s;
}

// The source as the compiler reads it: continued lines joined, comments as one space. What
// is in literals stays.
static const char *without_comments(struct arena *a, const char *s) {
    struct str out = {0};
    while (*s) {
        const char *end = skip_comment(s);
        if (end != s) {
            str_puts(&out, " ");
        } else if (s[0] == '\\' && s[1] == '\n') {
            end = s + 2;
        } else {
            end = *s == '"' || *s == '\'' ? skip_literal(s) : s + 1;
            str_append(&out, s, (size_t)(end - s));
        }
        s = end;
    }
    return str_take(a, &out);
}

static const char *skip_blanks(const char *s) {
    while (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\f' || *s == '\v')
        s++;
    return s;
}

static bool is_known_header(const char *const *headers, const char *name, size_t len) {
    for (const char *const *h = headers; *h; h++)
        if (strlen(*h) == len && strncmp(*h, name, len) == 0)
            return true;
    return false;
}

static const char *check_include(struct arena *a, const struct allowance *allowed, const char *s) {
    s = skip_blanks(s);
    char end = *s == '<' ? '>' : *s == '"' ? '"' : 0;
    if (!end)
        return "an #include names its header directly, not through a macro";
    size_t len = strcspn(++s, "\n");
    const char *close = memchr(s, end, len);
    len = close ? (size_t)(close - s) : len;
    if (is_known_header(allowed->headers, s, len))
        return NULL;
    return arena_printf(a, "#include of '%.*s'; allowed are %s", len > 80 ? 80 : (int)len, s,
                        allowed->words);
}

// One line that starts a directive, behind its '#'.
static const char *check_directive(struct arena *a, const struct allowance *allowed,
                                   const char *s) {
    s = skip_blanks(s);
    size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz_");
    struct span word = {s, len};
    if (span_is(word, "include"))
        return check_include(a, allowed, s + len);
    static const char *const never[] = {"include_next", "import", "embed", "line", NULL};
    for (const char *const *n = never; *n; n++)
        if (span_is(word, *n))
            return arena_printf(a, "#%s is not allowed", *n);
    return NULL;
}

static bool has_word(const char *text, const char *word) {
    size_t len = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool ends = !(isalnum((unsigned char)at[len]) || at[len] == '_');
        if (starts && ends)
            return true;
    }
    return false;
}

// All string literals, one behind the other, as adjacent ones join.
static const char *literals(struct arena *a, const char *s) {
    struct str out = {0};
    bool inside = false;
    for (; *s; s++) {
        if (*s == '"')
            inside = !inside;
        else if (inside && *s == '\\' && s[1])
            str_append(&out, s++, 2);
        else if (inside)
            str_append(&out, s, 1);
    }
    return str_take(a, &out);
}

// The assembler can read files too; its words may be spread over literals, or spelled
// with escapes.
static const char *check_assembly(struct arena *a, const char *text) {
    if (!has_word(text, "asm") && !has_word(text, "__asm__") && !has_word(text, "__asm"))
        return NULL;
    const char *words = literals(a, text);
    if (strstr(words, "incbin") || strstr(words, ".include"))
        return "assembly reads a file (.incbin or .include)";
    for (const char *c = strchr(words, '\\'); c; c = strchr(c + 2, '\\'))
        if (c[1] == 'x' || isdigit((unsigned char)c[1]))
            return "assembly is spelled with \\x or octal escapes";
    return NULL;
}

static const char *scan(struct arena *a, const struct allowance *allowed, const char *source) {
    const char *text = without_comments(a, source);
    if (has_word(text, "__has_include") || has_word(text, "__has_embed"))
        return "__has_include is not allowed";
    for (const char *line = text; *line;) {
        const char *s = skip_blanks(line);
        const char *why = NULL;
        if (*s == '#')
            why = check_directive(a, allowed, s + 1);
        else if (s[0] == '%' && s[1] == ':')
            why = check_directive(a, allowed, s + 2);
        if (why)
            return why;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return check_assembly(a, text);
}

const char *scan_source(struct arena *a, const char *source) {
    static const struct allowance allowed = {
        c_headers, "hone_math.h, hone_rng.h and the headers of standard C"};
    return scan(a, &allowed, source);
}

const char *scan_cuda_source(struct arena *a, const char *source) {
    static const struct allowance allowed = {cuda_headers, "dev.h and stdint.h"};
    return scan(a, &allowed, source);
}
