// One error type for every expected failure.
//
// A function that can fail takes `struct error *err` last and returns false (or
// NULL). It fills `err` only when it fails. Callers add context on the way up,
// so the text reads outermost first:
//
//     optimize: open store .hone/runs.db: schema 7 is newer than 1
//
// A candidate that does not compile, crashes or is wrong is NOT an error: it is
// a verdict, i.e. data. Bugs abort through assert(); out of memory aborts in
// the allocator. Nothing here allocates, so an error never leaks.
#pragma once

#include <stdbool.h>

// The kind decides the exit status; main.c holds that table.
enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,        // the command line asked for nonsense, or named what is not there
    ERROR_PARSE,        // input text has mistakes: the answer is negative
    ERROR_IO,           // a file, process or database failed under us
    ERROR_TIMEOUT,      // a deadline passed
    ERROR_UNSUPPORTED,  // something needed is absent on this machine
    ERROR_INTERRUPTED,  // Ctrl-C
};

struct error {
    enum error_kind kind;
    char text[1024];  // "" when kind is ERROR_NONE; ends in "..." when cut
    int status;       // exit status of a program that was run, which is ours then; 0: by the kind
};

// Record a failure. Always returns false, so `return error_set(...)` reads well.
bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Put "context: " in front of an error already set. Always returns false.
bool error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
