// Many sources compiled side by side, ahead of their use. What comes of one is in the cache
// (compile.h, compile_cuda.h) when it is asked for; here is told only that it is there, whether it
// is any good, and a hash of its machine code. The threads, each with a compiler of its own, live
// as long as this does.
//     open -> (begin -> next ... -> end)* -> close
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "build/compile.h"

enum { AHEAD_THREADS_MAX = 32 };

struct ahead_settings {
    int n_threads;
    const char *cache;             // directory
    const char *cc, *machine;      // as in struct compile_spec; not for a GPU
    const char *arch;              // GPU: "sm_90a"; NULL: a CPU
    const char *const *dim_names;  // these must outlive it
    const int64_t *dim_sizes;
    int n_dims;
    bool skip_scans;
};

struct ahead_result {
    int number;  // of the source, from 0
    enum compile_outcome outcome;
    const char *message;  // of what did not compile; until the next begin
    uint64_t code;        // hash of the object or cubin
    double seconds;       // 0 when it was in the cache
    struct error err;     // kind set: there is no verdict on it
};

struct compile_ahead;

struct compile_ahead *compile_ahead_open(const struct ahead_settings *s);
void compile_ahead_close(struct compile_ahead *c);  // NULL: nothing happens

// Start on these; they must stay where they are until the end.
void compile_ahead_begin(struct compile_ahead *c, const char *const *sources, int n);

// The next that is done, in the order of their ends; waits for it so many seconds at most. False:
// none is left, or none was done by then.
bool compile_ahead_next(struct compile_ahead *c, double most_s, struct ahead_result *result);

// Begin with no other; what was begun is still told.
void compile_ahead_cut(struct compile_ahead *c);

// What was not begun is left; so is, by a GPU's compiler, what was: one source may take a minute. A
// CPU's, which takes seconds, is waited for.
void compile_ahead_end(struct compile_ahead *c);
