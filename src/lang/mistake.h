// Mistakes in a source text: collected while reading, printed once, in order of place.
//
// Inside lang/ a rule that cannot go on calls mistake_fail, which records the mistake
// and jumps back to the statement loop of its phase. The arena makes that safe; no jump
// leaves lang/.
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>

#include "ir/graph.h"

struct arena;
struct lang_source;

enum { MISTAKES_MAX = 20 };

// A place in the source and the byte there.
struct spot {
    const char *ptr;
    struct place at;
};

struct mistake {
    struct spot spot;
    const char *text;
    const char *hint;  // "softmax" for "did you mean 'softmax'?", or NULL
};

struct mistakes {
    struct arena *arena;
    const struct lang_source *source;
    struct mistake items[MISTAKES_MAX];
    int count;
    bool stopped;  // there were more than MISTAKES_MAX
    jmp_buf *on_mistake;
};

// The spot at a place of the source; without a text, the place alone.
struct spot mistake_spot(const struct mistakes *m, struct place at);

void mistake_add(struct mistakes *m, struct spot spot, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
noreturn void mistake_fail(struct mistakes *m, struct spot spot, const char *hint, const char *fmt,
                           ...) __attribute__((format(printf, 4, 5)));

// "f.hone:3:7: expected ')'"
const char *mistake_headline(struct arena *a, const struct mistakes *m, const struct mistake *item);

// All mistakes in order of place, each with its line and a caret.
const char *mistakes_print(struct arena *a, struct mistakes *m);

// The line of a place (column in bytes) with a caret under it, as in a report, for mistakes that
// are found after reading. "" where the text has no such place.
const char *mistake_excerpt(struct arena *a, const char *text, size_t len, struct place at);

// Length of the UTF-8 sequence at `p`, 0 when it is none.
int utf8_length(const char *p, const char *end);
