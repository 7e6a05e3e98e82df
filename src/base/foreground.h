// A program of the user's, run in the foreground: with our standard input and output, our
// environment and a few variables more, until it ends by itself, by Ctrl-C or by a time limit.
// base/process.h is for programs of ours, which get neither.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

struct foreground_spec {
    const char *const *argv;       // NULL-terminated; argv[0] is looked for along PATH
    const char *const *variables;  // "NAME=VALUE", NULL-terminated; they replace what is there
    bool is_silent;                // /dev/null for all three
    bool is_out_error;             // its standard output goes to standard error
    int64_t timeout_ns;            // 0: none. Then SIGTERM, and after a grace SIGKILL
};

struct foreground_result {
    int exit_status;  // of exit(), or -1 when a signal ended it
    int signal;       // 0 when it exited
    bool timed_out;
    bool is_interrupted;  // Ctrl-C
};

// False only when it could not be started.
bool foreground_run(const struct foreground_spec *spec, struct foreground_result *result,
                    struct error *err);
