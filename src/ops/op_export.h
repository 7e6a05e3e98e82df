// The operation behind `hone export`: a directory that builds and checks itself without
// hone, and the proof of what is claimed about it.
#pragma once

#include <stdbool.h>

struct arena;
struct error;

struct export_request {
    const char *store, *run;  // NULL: settings or upward; the newest
    const char *dir;          // where to; made if it is missing
    bool force;               // write into a directory that holds something else
};

struct export_outcome {
    long long run;
    int node;
    bool is_confirmed;      // on fresh data; else it was judged once
    const char *symbol;     // the host function's name
    const char *prototype;  // its declaration
};

bool op_export(struct arena *a, const struct export_request *q, struct export_outcome *out,
               struct error *err);
