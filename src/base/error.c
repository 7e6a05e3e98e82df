// Formatting into a fixed text; context goes in front, and what does not fit is cut at the end.
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Format into the error's text. What does not fit ends in "...", so that nobody
// takes it for the whole message.
static void format(struct error *err, const char *fmt, va_list ap) {
    int wanted = vsnprintf(err->text, sizeof err->text, fmt, ap);
    if (wanted < 0 || (size_t)wanted >= sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
}

bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    err->kind = kind;
    format(err, fmt, ap);
    va_end(ap);
    return false;
}

bool error_wrap(struct error *err, const char *fmt, ...) {
    struct error inner = *err;
    va_list ap;
    va_start(ap, fmt);
    format(err, fmt, ap);
    va_end(ap);

    size_t at = strlen(err->text);
    int wanted = snprintf(err->text + at, sizeof err->text - at, ": %s", inner.text);
    if ((size_t)wanted >= sizeof err->text - at)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
    return false;
}
