// One level for the process, from HONE_LOG or --verbose.
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum log_level current = LOG_QUIET;

void log_init(void) {
    const char *wanted = getenv("HONE_LOG");
    if (!wanted)
        return;
    if (strcmp(wanted, "debug") == 0)
        current = LOG_DEBUG;
    else if (strcmp(wanted, "info") == 0)
        current = LOG_INFO;
}

void log_set_level(enum log_level level) {
    current = level;
}

enum log_level log_get_level(void) {
    return current;
}

// One call of fprintf per line, so that lines of several processes do not mix.
static void print(const char *fmt, va_list ap) {
    char line[1024];
    vsnprintf(line, sizeof line, fmt, ap);
    fprintf(stderr, "hone: %s\n", line);
}

void log_info(const char *fmt, ...) {
    if (current < LOG_INFO)
        return;
    va_list ap;
    va_start(ap, fmt);
    print(fmt, ap);
    va_end(ap);
}

void log_debug(const char *fmt, ...) {
    if (current < LOG_DEBUG)
        return;
    va_list ap;
    va_start(ap, fmt);
    print(fmt, ap);
    va_end(ap);
}
