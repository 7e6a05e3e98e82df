// All runs of a store as pages in a directory.
#pragma once

#include <stdbool.h>

struct arena;
struct error;

// index.html, and run-N.html for each run; the directory is made. *n is how many runs there are.
bool op_pages(struct arena *a, const char *store, const char *dir, int *n, struct error *err);
