#include "cmd/live_view.h"

#include <math.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "record/event.h"
#include "record/run.h"

enum { EVERY_S = 1 };

// requires: the lock.
static void draw(struct live_view *v, int64_t now_ns) {
    struct str text = {0};
    v->style.columns = live_columns(&v->live);
    v->style.is_stopping = interrupt_seen();
    report_live_cut(&text, str_text(&v->body), &v->style);
    report_live_time(&text, v->elapsed_s + (double)(now_ns - v->at_ns) * 1e-9, v->most_s,
                     &v->style);
    live_draw(&v->live, str_text(&text));
    fflush(v->live.to);
    str_reset(&text);
}

void live_view_tick(struct live_view *v, int64_t now_ns) {
    pthread_mutex_lock(&v->lock);
    if (v->is_shown)
        draw(v, now_ns);
    pthread_mutex_unlock(&v->lock);
}

static void *tick(void *ctx) {
    struct live_view *v = ctx;
    for (;;) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += EVERY_S;
        pthread_mutex_lock(&v->lock);
        int why = v->stop ? 0 : pthread_cond_timedwait(&v->wake, &v->lock, &t);
        bool stop = v->stop;
        pthread_mutex_unlock(&v->lock);
        if (stop)
            return NULL;
        if (why != 0)
            live_view_tick(v, clock_now_ns());
    }
}

void live_view_start(struct live_view *v) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&v->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    // Ctrl-C is for the thread that waits for answers.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    v->is_started = pthread_create(&v->thread, NULL, tick, v) == 0;  // else it does not tick
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void live_view_show(struct live_view *v, const struct event *e, const char *stays) {
    pthread_mutex_lock(&v->lock);
    if (*stays) {
        live_clear(&v->live);
        fputs(stays, v->live.to);
    }
    if (e->kind != EVENT_NOTE) {
        // As wide as may be: it is cut when it is drawn.
        struct live_style wide = {.columns = 1000, .is_plain = v->style.is_plain};
        str_reset(&v->body);
        report_live_body(&v->body, e, &wide);
        v->is_shown = v->body.len > 0;
        v->elapsed_s = e->elapsed_s;
        v->most_s = e->run ? e->run->max_seconds : NAN;
        v->at_ns = clock_now_ns();
    }
    if (v->is_shown)
        draw(v, clock_now_ns());
    fflush(v->live.to);
    pthread_mutex_unlock(&v->lock);
}

void live_view_clear(struct live_view *v) {
    pthread_mutex_lock(&v->lock);
    v->is_shown = false;
    live_clear(&v->live);
    pthread_mutex_unlock(&v->lock);
}

void live_view_stop(struct live_view *v) {
    pthread_mutex_lock(&v->lock);
    v->stop = true;
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->lock);
    if (v->is_started)
        pthread_join(v->thread, NULL);
    pthread_cond_destroy(&v->wake);
    pthread_mutex_destroy(&v->lock);
    str_reset(&v->body);
}
