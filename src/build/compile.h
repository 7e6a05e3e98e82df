// From a candidate's source to a shared object, by the configured compiler, in a child
// with limits. Objects are kept by the hash of everything that went into them; the least
// recently used go when there are too many.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/verdict.h"

struct arena;
struct error;

struct compile_spec {
    const char *source;
    const char *cc;                // program name or path
    const char *machine;           // what -march=native means here: part of the key
    const char *cache;             // directory of the objects
    const char *const *dim_names;  // become macros
    const int64_t *dim_sizes;
    int n_dims;
    bool skip_scans;  // for tests: what the scans refuse must be caught by behaviour too
};

enum compile_outcome {
    COMPILE_OK,
    COMPILE_ILLEGAL,  // a scan refused it; `message` says why
    COMPILE_FAILED,   // the compiler did; `message` holds its first errors
    COMPILE_KILLED,   // somebody ended the compiler, not we: nothing is known of the source
    COMPILE_LIMITS,   // a part of the compiler was killed, and so the next time
};

struct compile_result {
    enum compile_outcome outcome;
    const char *object;   // path, COMPILE_OK only
    const char *message;  // NULL when COMPILE_OK
    double seconds;       // 0 when it was in the cache
};

// The verdict on a source that cannot be run.
enum verdict_kind compile_verdict(enum compile_outcome outcome);

// Was the compiler ended by somebody else? It may break down by itself (SIGSEGV), and our limits
// end it as well (SIGXCPU, SIGXFSZ).
bool compile_is_foreign_end(int signal);

// What sources are compiled with besides sizes, NULL-terminated.
extern const char *const compile_flags[];

// False when there is no verdict on the source: no compiler (ERROR_UNSUPPORTED), a full
// disk, Ctrl-C.
bool compile(struct arena *a, const struct compile_spec *spec, struct compile_result *result,
             struct error *err);

// Seconds that one compile may take: 60, or for tests what HONE_COMPILE_SECONDS says.
int compile_seconds(void);
