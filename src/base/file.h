// Files: whole reads with a limit, atomic writes, and the places that hone uses.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

// Read a whole file of at most `max` bytes into the arena, NUL-terminated. `len` may be
// NULL. A path that is missing, unreadable or a directory is ERROR_USAGE, since somebody
// named it; a read that fails later is ERROR_IO.
char *file_read(struct arena *a, const char *path, size_t max, size_t *len, struct error *err);

// The same where others may have put something else in its place: only a plain file is read, and
// nothing (a FIFO that nobody writes to) can make us wait.
char *file_read_plain(struct arena *a, const char *path, size_t max, size_t *len,
                      struct error *err);

// Write so that a reader sees the old file or the new one, never a part: temporary file
// in the same directory, fsync, rename. A full disk leaves the old one. Removes what a killed
// process has left there (base/temporary.h).
bool file_write(const char *path, const char *bytes, size_t len, struct error *err);

// The same for what can be made again: if the machine fails, the file may be empty or not there.
bool file_keep(const char *path, const char *bytes, size_t len, struct error *err);

// Write a file that must not be there yet; whole and on the disk when this returns true, gone
// when it returns false.
bool file_create(const char *path, const char *bytes, size_t len, struct error *err);

// mkdir -p.
bool file_make_dirs(const char *path, struct error *err);

bool file_exists(const char *path);

// Bytes of a plain file that can be read; -1 of anything else.
int64_t file_size(const char *path);

// Absolute path of `name` (".hone/config") in the working directory or the nearest one
// above that has it; NULL when none has.
const char *file_find_upward(struct arena *a, const char *name);

// Remove a directory and what is in it; missing is fine. Follows no link.
bool file_remove_tree(const char *path, struct error *err);

// The directory `name` of the user's cache, `$XDG_CACHE_HOME/hone/name`, made if it is
// missing and rid of what the dead have left there (base/temporary.h); likewise the configuration
// file's path (not made; NULL when neither XDG_CONFIG_HOME nor HOME is set).
const char *file_cache_dir(struct arena *a, const char *name, struct error *err);
// The same for what is worth keeping only while it lasts: where the cache cannot be written, a
// private directory under $TMPDIR or /tmp takes its place.
const char *file_work_dir(struct arena *a, const char *name, struct error *err);
// A new and private directory there, for a moment: the caller removes it, or the next process that
// comes there one that was killed.
const char *file_scratch_dir(struct arena *a, struct error *err);
const char *file_config_path(struct arena *a);
// A file of the user's data, `$XDG_DATA_HOME/hone/name`; neither is made. NULL when neither
// XDG_DATA_HOME nor HOME is set.
const char *file_data_path(struct arena *a, const char *name);

// Absolute path of the running binary, for starting ourselves again.
const char *file_self(struct arena *a, struct error *err);

// First executable of that name along $PATH (or the path itself when it holds a '/');
// NULL when there is none.
const char *file_find_program(struct arena *a, const char *name);
