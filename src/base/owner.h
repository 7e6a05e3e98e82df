// Names for processes that outlive neither a reboot nor a container: files that a process leaves
// behind carry its name, so that another one can tell whether it is still there.
//
//     4f0c21ab-31337-8812345     machine and process namespace, process, when it started
//
// A name from another machine, another boot or another container says nothing here: such a
// process is neither known to live nor known to be dead.
#pragma once

#include <stdbool.h>

enum { OWNER_MAX = 48 };

// Our own name; letters, digits and '-' only.
void owner_self(char name[OWNER_MAX]);

// Is the process of that name certainly gone? False for whatever is no such name.
bool owner_is_dead(const char *name);
