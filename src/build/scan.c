// A small lexer, no preprocessor: comments and continued lines are removed as a compiler does it,
// then includes are checked against an allow-list and the rest for words that no kernel needs. It
// gives early, clear messages; the sandbox and the checks of behaviour are what protects.
#include "build/scan.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

static const char *const c_headers[] = {
    "hone_math.h",   "hone_types.h", "hone_rng.h",  "assert.h", "complex.h", "errno.h",
    "fenv.h",        "float.h",      "inttypes.h",  "iso646.h", "limits.h",  "math.h",
    "stdalign.h",    "stdbool.h",    "stddef.h",    "stdint.h", "stdio.h",   "stdlib.h",
    "stdnoreturn.h", "string.h",     "stdatomic.h", "tgmath.h", NULL,
};
static const char *const cuda_headers[] = {"dev.h", "stdint.h", NULL};
// Of CUDA's toolkit: a name, or everything beneath a directory.
static const char *const toolkit_headers[] = {
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "mma.h",
    "cooperative_groups.h",
    "cuda/",
    "cub/",
    "cuda_pipeline.h",
    "cuda_awbarrier.h",
    "cooperative_groups/",
    "nv/",
    "thrust/",
    NULL,
};

// What may be included, as lists and in words.
struct allowance {
    const char *const *headers;
    const char *const *toolkit;  // NULL: nothing of it
    const char *words;
    bool *uses_toolkit;  // set when one of those is
};

// Behind a comment that begins at `s`, or `s` itself when there is none.
static const char *skip_comment(const char *s) {
    if (s[0] != '/' || (s[1] != '/' && s[1] != '*'))
        return s;
    if (s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? end + 2 : s + strlen(s);
    }
    return s + strcspn(s, "\n");
}

// Behind a string or character literal that begins at `s`.
static const char *skip_literal(const char *s) {
    char quote = *s++;
    while (*s && *s != quote && *s != '\n')
        s += s[0] == '\\' && s[1] ? 2 : 1;
    return *s == quote ? s + 1 : s;
}

// Continued lines joined, which a compiler does before all else. GCC takes a backslash and blanks
// before the end of a line for one, too.
static const char *joined(struct arena *a, const char *s) {
    struct str out = {0};
    while (*s) {
        const char *end = s + 1;
        if (*s == '\\')
            end += strspn(end, " \t\r\f\v");
        if (*s == '\\' && *end == '\n') {
            s = end + 1;
            continue;
        }
        str_append(&out, s, 1);
        s++;
    }
    return str_take(a, &out);
}

// R"x(...)x" runs over lines and ignores escapes: nothing here could tell where it ends, and a
// kernel needs none. Does the literal that begins at `quote` have such a prefix?
static bool is_raw_literal(const char *text, const char *quote) {
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R", NULL};
    const char *start = quote;
    while (start > text && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
        start--;
    for (const char *const *p = prefixes; *p; p++)
        if (*quote == '"' && span_is((struct span){start, (size_t)(quote - start)}, *p))
            return true;
    return false;
}

// The source as the compiler reads it: continued lines joined, comments as one space. What
// is in literals stays. NULL: a literal cannot be read.
static const char *without_comments(struct arena *a, const char *source) {
    struct str out = {0};
    const char *text = joined(a, source), *s = text;
    while (*s) {
        const char *end = skip_comment(s);
        if (end != s) {
            str_puts(&out, " ");
        } else {
            if (is_raw_literal(text, s)) {
                str_reset(&out);
                return NULL;
            }
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

static bool is_toolkit_header(const char *const *rows, const char *name, size_t len) {
    if (memmem(name, len, "..", 2))
        return false;
    for (; rows && *rows; rows++) {
        size_t n = strlen(*rows);
        bool is_dir = (*rows)[n - 1] == '/';
        if (len >= n && strncmp(*rows, name, n) == 0 && (is_dir || len == n))
            return true;
    }
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
    if (is_toolkit_header(allowed->toolkit, s, len)) {
        *allowed->uses_toolkit = true;
        return NULL;
    }
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
    if (isdigit((unsigned char)*s))
        return "# and a number (a line marker) is not allowed";
    static const char *const never[] = {"include_next", "import", "embed",    "line",
                                        "ident",        "sccs",   "unassert", NULL};
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
    // Its macros can put a word together from pieces.
    static const char *const never[] = {"incbin", ".include", ".macro", ".irp", ".altmacro", NULL};
    for (const char *const *n = never; *n; n++)
        if (strcasestr(words, *n))
            return "assembly reads a file or makes macros (.incbin, .include, .macro, .irp)";
    for (const char *c = strchr(words, '\\'); c; c = strchr(c + 2, '\\'))
        if (c[1] == 'x' || isdigit((unsigned char)c[1]))
            return "assembly is spelled with \\x or octal escapes";
    return NULL;
}

static const char *scan(struct arena *a, const struct allowance *allowed, const char *source) {
    const char *text = without_comments(a, source);
    if (!text)
        return "raw string literals are not allowed";
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
        c_headers, NULL, "hone_math.h, hone_types.h, hone_rng.h and the headers of standard C",
        NULL};
    return scan(a, &allowed, source);
}

// Variables in the toolkit's namespaces are taken for its own.
static const char *check_namespaces(struct arena *a, const char *source) {
    static const char *const spaces[] = {"cuda", "cub", "thrust", "nv", "cooperative_groups", NULL};
    const char *text = without_comments(a, source);
    for (const char *at = text; (at = strstr(at, "namespace"));) {
        const char *before = at;
        while (before > text && isspace((unsigned char)before[-1]))
            before--;
        bool is_using = before - text >= 5 && strncmp(before - 5, "using", 5) == 0;
        at += strlen("namespace");
        if (is_using)
            continue;
        at += strspn(at, " \t\r\n\f\v");
        size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        for (const char *const *s = spaces; *s; s++)
            if (span_is((struct span){at, len}, *s) && !isalnum((unsigned char)at[len]))
                return arena_printf(a, "namespace %s belongs to CUDA's toolkit", *s);
    }
    return NULL;
}

const char *scan_cuda_source(struct arena *a, const char *source, bool *uses_toolkit) {
    struct allowance allowed = {cuda_headers, toolkit_headers,
                                "dev.h, stdint.h and CUDA's device headers (cuda_fp16.h, mma.h, "
                                "cooperative_groups.h, cuda/..., cub/...)",
                                uses_toolkit};
    *uses_toolkit = false;
    const char *why = scan(a, &allowed, source);
    // Its tables are passed over in a cubin.
    if (!why && strstr(without_comments(a, source), "__cudart"))
        why = "names that begin with __cudart belong to CUDA's mathematical library";
    return why || !*uses_toolkit ? why : check_namespaces(a, source);
}

const char *scan_behind_toolkit(const char *source) {
    const char *behind = source;
    for (const char *line = source; *line;) {
        const char *s = skip_blanks(line);
        line += strcspn(line, "\n");
        line += *line == '\n';
        s = *s == '#' ? skip_blanks(s + 1) : "";
        if (strncmp(s, "include", 7) != 0)
            continue;
        s = skip_blanks(s + 7);
        if ((*s == '<' || *s == '"') &&
            is_toolkit_header(toolkit_headers, s + 1, strcspn(s + 1, ">\"\n")))
            behind = line;
    }
    return behind;
}
