// Files and directories in the making. Whoever is killed meanwhile leaves them behind, so their
// names say whose they are (base/owner.h):
//
//     .new-4f0c21ab-31337-8812345-x7k2mq
//
// and whoever comes next to the same directory removes those of the dead. What has another name is
// never touched.
#pragma once

#include "base/owner.h"

enum { STRAY_MAX = OWNER_MAX + 16 };

// A name for something of ours in the making, with a part by chance.
void stray_name(char name[STRAY_MAX]);

// Remove what the dead have left in a directory, and what processes of other machines, of which
// nobody here knows, left an hour ago. Failing to is no harm, and nothing is waited for.
void stray_tidy(const char *directory);

// The same in the directory that a file is in.
void stray_tidy_beside(const char *path);
