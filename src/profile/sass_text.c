// Lines like `        /*00d0*/              @P0 LDG.E R3, desc[UR4][R2.64] ;`, under a head that
// names the function: `.text.NAME:` or `Function : NAME`.
#include "profile/sass_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "profile/sass.h"

static bool is_name(const char *at, size_t len, const char *name) {
    return len == strlen(name) && memcmp(at, name, len) == 0;
}

// Does a line begin a function? *is_it: this one.
static bool begins(const char *line, size_t len, const char *name, bool *is_it) {
    static const char text[] = ".text.", function[] = "Function : ";
    const char *at = line;
    while (len > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        len--;
    }
    if (len > sizeof text && memcmp(at, text, sizeof text - 1) == 0 && at[len - 1] == ':')
        *is_it = is_name(at + sizeof text - 1, len - sizeof text, name);
    else if (len > sizeof function && memcmp(at, function, sizeof function - 1) == 0)
        *is_it = is_name(at + sizeof function - 1, len - (sizeof function - 1), name);
    else
        return false;
    return true;
}

static const char *instruction(struct arena *a, const char *at, const char *end) {
    const char *stop = memchr(at, ';', (size_t)(end - at));
    end = stop ? stop : end;
    while (at < end && *at == ' ')
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\r'))
        end--;
    return arena_strndup(a, at, (size_t)(end - at));
}

// `//## File "candidate.cu", line 12`, perhaps with `inlined at` behind it. *line stays where it is
// none.
static void take_source(const char *at, const char *end, int *line) {
    static const char head[] = "//## File ", words[] = "line ";
    const char *found = memmem(at, (size_t)(end - at), head, sizeof head - 1);
    found = found ? memmem(found, (size_t)(end - found), words, sizeof words - 1) : NULL;
    if (found)
        *line = (int)strtol(found + sizeof words - 1, NULL, 10);
}

const char **sass_text_of(struct arena *a, const char *listing, size_t len,
                          const struct sass_kernel *k, int *lines) {
    const char **texts = arena_array(a, const char *, k->n + 1);
    bool is_it = false;
    int source = 0;
    for (const char *line = listing, *end = listing + len; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        const char *open = memmem(line, (size_t)(stop - line), "/*", 2);
        const char *close = open ? memmem(open, (size_t)(stop - open), "*/", 2) : NULL;
        if (begins(line, (size_t)(stop - line), k->name, &is_it))
            source = 0;
        else if (is_it && close) {
            char *rest;
            unsigned long offset = strtoul(open + 2, &rest, 16);
            if (rest == close && offset % SASS_BYTES == 0 &&
                offset / SASS_BYTES < (unsigned long)k->n && !texts[offset / SASS_BYTES])
                texts[offset / SASS_BYTES] = instruction(a, close + 2, stop);
            if (lines && rest == close && offset / SASS_BYTES < (unsigned long)k->n)
                lines[offset / SASS_BYTES] = source;
        }
        take_source(line, stop, &source);
        line = stop + (stop < end);
    }
    return texts;
}
