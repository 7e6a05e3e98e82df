// Keys: read from the environment or from a file that only its owner can read, kept in
// memory, and taken out of every text on its way to the store, a log, a message or a report.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

enum { SECRET_MAX = 4096, SECRETS_MAX = 8 };

// A key, and everything else that must not be seen: keys of other providers that stand in
// the environment, too, since a command started by us may print them.
struct secrets {
    char key[SECRET_MAX];  // the one to send; "" when there is none
    const char *origin;    // "ANTHROPIC_API_KEY", or the file's path; NULL without a key
    const char *hidden[SECRETS_MAX];
    int n_hidden;
};

// Take the key from `variable` (NULL: from none) or, when `file` is not empty, from that file.
// No key is no error here. A file that others may read, or that holds anything but one line of
// printable characters, is ERROR_USAGE.
bool secrets_read(struct secrets *s, const char *variable, const char *file, struct error *err);

// Overwrite every hidden text within `text` by asterisks, in place.
void secrets_strip(const struct secrets *s, char *text);

// Forget them.
void secrets_wipe(struct secrets *s);
