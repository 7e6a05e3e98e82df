// A thread that does nothing but draw: a verdict or a table may take minutes without a word.
#include "cmd/ticker.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

// The bytes of `text` that fit in so many columns; never a part of a letter.
static int fitting(const char *text, int columns) {
    int at = 0;
    for (; text[at]; at++) {
        bool is_first = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (is_first && columns-- == 0)
            break;
    }
    return at;
}

void ticker_line(char *out, size_t size, const char *text, double elapsed_s, int columns) {
    char end[32];
    int len = snprintf(end, sizeof end, ", %.0f s", elapsed_s);
    int room = columns - 1 - len;  // a full line would wrap
    if (room < 1)
        snprintf(out, size, "%.*s\n", columns > 1 ? columns - 1 : 0, end + 2);
    else
        snprintf(out, size, "%.*s%s\n", fitting(text, room), text, end);
}

static void draw(struct ticker *p) {
    char line[sizeof p->text + 40];
    double elapsed_s = (double)(clock_now_ns() - p->start_ns) * 1e-9;
    if (!*p->text)
        return;
    ticker_line(line, sizeof line,
                interrupt_seen() ? "stopping: Ctrl-C again ends it at once" : p->text, elapsed_s,
                live_columns(&p->live));
    live_draw(&p->live, line);
    fflush(p->live.to);
}

static void *draw_every_second(void *ctx) {
    struct ticker *p = ctx;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        next.tv_sec++;
        int end = 0;
        while (!p->stop && end != ETIMEDOUT)
            end = pthread_cond_timedwait(&p->wake, &p->lock, &next);
        if (!p->stop)
            draw(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void ticker_start(struct ticker *p, bool is_quiet) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    *p = (struct ticker){.is_shown = !is_quiet && live_is_terminal(STDERR_FILENO),
                         .live = {.to = stderr},
                         .start_ns = clock_now_ns()};
    if (!p->is_shown)
        return;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    // Ctrl-C is for the thread that works.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->is_shown = pthread_create(&p->thread, NULL, draw_every_second, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ticker_say(struct ticker *p, const char *fmt, ...) {
    va_list args;
    if (!p->is_shown)
        return;
    pthread_mutex_lock(&p->lock);
    va_start(args, fmt);
    vsnprintf(p->text, sizeof p->text, fmt, args);
    va_end(args);
    p->text[strcspn(p->text, "\n")] = '\0';
    pthread_mutex_unlock(&p->lock);
}

void ticker_clear(struct ticker *p) {
    if (!p->is_shown)
        return;
    pthread_mutex_lock(&p->lock);
    live_clear(&p->live);
    fflush(p->live.to);
    pthread_mutex_unlock(&p->lock);
}

void ticker_stop(struct ticker *p) {
    if (!p->is_shown)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    live_clear(&p->live);
    fflush(p->live.to);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    p->is_shown = false;
}
