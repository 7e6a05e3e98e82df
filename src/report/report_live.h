// What a terminal shows while an optimisation goes on: a few lines that are drawn again with every
// event. Text only; cmd/live.h puts it on the terminal and takes it away.
#pragma once

#include <stdbool.h>

struct event;
struct str;

struct live_style {
    int columns;    // of the terminal; no line is longer than one less
    bool is_plain;  // no colours
    bool is_stopping;
};

// Lines, each ended by "\n": evaluations, best time with speed-up and reach, what is tried and why,
// time left. Nothing before the run has begun.
void report_live(struct str *out, const struct event *e, const struct live_style *style);
// The same in parts: all but the time; the time; and lines again for a terminal that is narrower.
void report_live_body(struct str *out, const struct event *e, const struct live_style *style);
void report_live_time(struct str *out, double elapsed_s, double most_s,
                      const struct live_style *style);
void report_live_cut(struct str *out, const char *lines, const struct live_style *style);
