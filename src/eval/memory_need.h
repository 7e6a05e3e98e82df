// How much memory judging a problem takes, and how long, found out before any of it is taken: who
// asks for more than the machine has is told so, instead of being killed half way or waiting for
// days.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct problem;

struct memory_need {
    int64_t data;      // inputs and outputs, in as many copies as there are slots
    int64_t expected;  // what is expected of outputs, of the sets that a ranking takes
    int64_t work;      // computing that: the widest cut of the graph, and of inputs' own graphs
    double seconds;    // to compute one set, about
};

// What the host needs; `data_bytes` is the caller's. Nothing is `expected` where a card computes
// it.
struct memory_need memory_need_of(const struct problem *p, int64_t data_bytes, int n_threads);

// Bytes that this machine, and the control group that we are in, can still give; -1: not told.
int64_t memory_available(void);
// What control groups leave, of a text like /proc/self/cgroup: files of version 2 lie under `root`,
// those of version 1 in its directory `memory`. -1: no limit, or not told.
int64_t memory_group_left(const char *groups, const char *root);
// The first number behind `word` of a text such as /proc/meminfo, or -1.
int64_t memory_parse(const char *text, const char *word);

// Does it fit into `have` bytes (-1: unknown)? If not, the message says how much is needed and
// how much there is. `where`: "of memory", "on the card".
bool memory_need_fits(const struct problem *p, const struct memory_need *n, int64_t have,
                      const char *where, struct error *err);
