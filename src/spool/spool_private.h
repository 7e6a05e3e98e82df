// What the two files of the spool share: the open spool, names and listings.
#pragma once

#include <time.h>

#include "spool/spool.h"

struct spool {
    char dir[3072];
    char owner[OWNER_MAX];
    int n_written;  // files in tmp/, for their names
    int inotify;    // -1: not watching (yet)
    // Jobs as they were last listed, the oldest first; `next` was not tried yet.
    struct spool_list *jobs;
    int next;
};

// The regular files of a directory of the spool.
struct spool_entry {
    char name[SPOOL_NAME_MAX];
    struct timespec mtime;  // only when listed by age
};

struct spool_list {
    int n, room;
    struct spool_entry entries[];
};

// ID.KIND.MACHINE.TRY in its parts, and for a claim its OWNER.
struct spool_name {
    char id[SPOOL_NAME_MAX], kind[SPOOL_NAME_MAX], machine[SPOOL_NAME_MAX], owner[OWNER_MAX];
    int tries;
    bool is_ours;  // false: only `id` (all before the first dot) and `owner` mean something
};

// Path of a file in the spool, into `path` of PATH_MAX bytes.
enum { SPOOL_PATH = 4096 };
const char *spool_path(const struct spool *s, char path[SPOOL_PATH], const char *sub,
                       const char *name);

// By name, or the oldest first. The caller frees it. NULL: the directory is not there.
struct spool_list *spool_list(const struct spool *s, const char *sub, bool by_age,
                              struct error *err);
void spool_parse(const char *name, bool is_claim, struct spool_name *n);
bool spool_is_of(const char *name, const char *id);

// Write into tmp/ and say where.
bool spool_write(struct spool *s, const char *text, char path[SPOOL_PATH], struct error *err);

// Rename, which over NFS may have been done although it says that it was not.
bool spool_move(const char *from, const char *to);
// Rename what was written into tmp/, or remove it.
bool spool_place(const struct spool *s, const char *temporary, const char *path, struct error *err);

// Remove the files of a job in that directory.
void spool_remove(const struct spool *s, const char *sub, const char *id);
