// What a terminal shows while an optimisation goes on: a few lines that are drawn again with every
// event. Text only; cmd/live.h puts it on the terminal and takes it away.
#pragma once

#include <stdbool.h>

struct event;
struct str;

struct live_style {
    int columns;    // of the terminal; no line is longer than one less
    bool is_plain;  // no colours
};

// Lines, each ended by "\n": evaluations, best time with speed-up and reach, what is tried and why,
// time left. Nothing before the run has begun.
void report_live(struct str *out, const struct event *e, const struct live_style *style);
