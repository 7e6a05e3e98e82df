// The live view of `hone optimize`: what an event says, drawn again every second with the time as
// it is by then, since a verdict may take long. One thread more, which does nothing but that; all
// that is written to the terminal goes through here while it lives.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/str.h"
#include "cmd/live.h"
#include "report/report_live.h"

struct event;

struct live_view {
    struct live live;
    struct live_style style;
    struct str body;   // the lines that do not change by themselves
    bool is_shown;     // there is something to be drawn again
    double elapsed_s;  // of the run, by the last event
    double most_s;     // that the run may take
    int64_t at_ns;     // when that was
    bool is_started, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

void live_view_start(struct live_view *v);
// `stays` scrolls by above the view; "": nothing does.
void live_view_show(struct live_view *v, const struct event *e, const char *stays);
// Take it away until the next event.
void live_view_clear(struct live_view *v);
void live_view_stop(struct live_view *v);

// What the thread does every second: draw it as it is at `now_ns`, as wide as the terminal is now.
void live_view_tick(struct live_view *v, int64_t now_ns);
