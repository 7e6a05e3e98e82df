// Settings, from four places, the nearest winning: `HONE_*` in the environment,
// the project's `.hone/config`, the user's `$XDG_CONFIG_HOME/hone/config`, the
// default. (A flag on the command line stands above all four; options.h applies
// it.) Files are INI, read by inih; keys are `section.name`, `cc` is `build.cc`.
#pragma once

#include <stdbool.h>

struct arena;
struct error;

struct config_value {
    const char *key;     // "build.cc"
    const char *value;   // never NULL
    const char *origin;  // "default", a file's path, or the variable's name
};

struct config {
    struct config_value *values;  // every known key, in the order of the table in config.c
    int n_values;
};

// Read all places. An unknown key or a malformed line is an error that names file and line.
bool config_load(struct arena *a, struct config *c, struct error *err);

// Value of a known key (an unknown one is a bug).
const char *config_get(const struct config *c, const char *key);
