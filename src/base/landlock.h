// What a process may still do with files: read beneath some paths, write beneath others, nothing
// else. The kernel holds to it, for the process and all that it starts, for ever (Landlock, Linux
// 5.13). What is open already stays open.
#pragma once

#include <stdbool.h>

struct landlock_path {
    const char
        *path;  // a file, or a directory and all beneath it; one that is not there is left out
    bool can_write;
};

// Prepare the rules; `paths` ends with a NULL path. A descriptor to close, or -1: not supported
// here.
int landlock_rules(const struct landlock_path *paths);

// From now on these rules hold for us. System calls only, so a child may call it before exec.
bool landlock_enter(int rules);
