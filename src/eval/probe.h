// What the sandbox is worth here: a candidate of our own (runtime/probe.c) tries each forbidden
// thing in a runner, and what was really refused is listed.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum { PROBE_MAX = 32 };

struct probe {
    int sandbox_level;                   // as the runner says (sandbox.h)
    const char *refused[PROBE_MAX + 1];  // "start a process"; NULL ends it
    const char *allowed[PROBE_MAX + 1];  // what was not refused
};

// Try everything, which takes a runner each. `cc`, `cache`: as of compile.h. False: it could not be
// tried (no compiler).
bool probe_run(struct arena *a, const char *cc, const char *cache, struct probe *p,
               struct error *err);

// The same, from a file in `cache` when this build has tried it since the machine was started; so
// it costs nothing from the second time on.
bool probe_known(struct arena *a, const char *cc, const char *cache, struct probe *p,
                 struct error *err);
