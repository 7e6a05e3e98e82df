// A vendor library opened at run time: one table of symbols, filled in one loop.
// hone builds without any CUDA header and starts where none of this is installed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

// One row of a library's table. `slot` is where the address goes. A symbol may have a
// second, older name; one that is optional stays NULL where the library lacks it.
struct library_symbol {
    const char *name, *older_name;
    void **slot;
    bool is_optional;
};

// Open the first of the sonames (NULL-terminated) that exists, looking in lib64 and lib of
// $CUDA_HOME, $CUDA_PATH and /usr/local/cuda and then where the loader looks, and fill the table.
// A missing library is ERROR_UNSUPPORTED; a missing symbol names it and the library.
// Returns the handle, or NULL. Link-time stubs (a directory called `stubs`) are never taken.
void *library_open(const char *const *sonames, const struct library_symbol *symbols,
                   size_t n_symbols, struct error *err);
void library_close(void *handle);

// The first of them that lies in a Python package of NVIDIA's, as PyTorch installs them: in the
// user's, the system's and those next to what $PATH names. NULL: none.
void *library_open_packaged(const char *const *sonames);

// The same for a library that is open already; `name` is for the message.
bool library_fill(void *handle, const struct library_symbol *symbols, size_t n_symbols,
                  const char *name, struct error *err);
void *library_symbol(void *handle, const char *name);  // NULL: it has none

// The file that a handle was opened from, as the loader found it; NULL where it does not say. It
// lives as long as the handle.
const char *library_path(void *handle);

// Load what the library opens by name itself from the directory that it is in: it may look only
// where the loader does. Nothing happens when that is not there.
void library_load_next_to(void *handle, const char *soname);

// The headers of the toolkit that $CUDA_HOME names, or $CUDA_PATH, else of the one in
// /usr/local/cuda. False: there are none.
bool library_find_headers(char *path, size_t size);
