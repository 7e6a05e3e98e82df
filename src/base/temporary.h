// Temporary files and directories. A process that is killed leaves them behind, so their names say
// which process made them (base/owner.h):
//
//     .new-4f0c21ab-31337-8812345-x7k2mq
//
// and the next process that uses the same directory removes those of dead processes. Files with
// other names are never touched.
#pragma once

#include "base/owner.h"

enum { TEMPORARY_MAX = OWNER_MAX + 16 };

// A name for something of ours in the making, with a part by chance.
void temporary_name(char name[TEMPORARY_MAX]);

// Remove what the dead have left in a directory, and what processes of other machines, of which
// nobody here knows, left an hour ago. Failing to is no harm, and nothing is waited for.
void temporary_remove_dead(const char *directory);

// The same in the directory that a file is in.
void temporary_remove_dead_next_to(const char *path);
