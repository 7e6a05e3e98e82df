// One line at the bottom of a terminal while a command works: what is being done, and for how long.
// It is on standard error, drawn again every second from the second one on, and taken away at the
// end. Nothing is written where that is no terminal, or with --quiet. There are no colours in it.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/live.h"

// The row of --quiet in the table of a command that shows progress; `struct_name` has the field
// `quiet`.
#define QUIET_ROW(struct_name)                                                               \
    {                                                                                        \
        .name = "quiet", .type = OPTION_FLAG, .summary = "show no progress on the terminal", \
        .offset = offsetof(struct_name, quiet)                                               \
    }

struct ticker {
    bool is_shown;
    struct live live;
    char text[160];
    int64_t start_ns;
    bool stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

void ticker_start(struct ticker *p, bool is_quiet);
// What is done from now on.
void ticker_say(struct ticker *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Take it away before something else is printed; the next second draws it again.
void ticker_clear(struct ticker *p);
void ticker_stop(struct ticker *p);

// The line as it is drawn, with its end, in so many columns.
void ticker_line(char *out, size_t size, const char *text, double elapsed_s, int columns);
