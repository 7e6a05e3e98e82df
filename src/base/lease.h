// A lease on a device: of all hone processes of one user on one machine only one times on it at a
// moment; compiling and verifying go on meanwhile. It is a lock on a file, so the operating system
// gives it back when its holder ends, however that happens.
#pragma once

#include <stdbool.h>

struct arena;

struct lease {
    int fd;  // -1: the file cannot be made; then nobody is kept out
    bool is_held;
};

// The file for a device ("cpu", "cuda-0"), in $XDG_RUNTIME_DIR/hone, else in the user's cache; ""
// where no directory can be made.
const char *lease_path(struct arena *a, const char *device);

// `path` "": nobody is kept out.
void lease_open(struct lease *l, const char *path);

// Wait for it, at most `most_s` seconds; returns how long that took. Afterwards `is_held` says
// whether it was had.
double lease_take(struct lease *l, double most_s);
void lease_release(struct lease *l);

void lease_close(struct lease *l);
