// A name with its owner (owner.h) for every file in the making, and the sweep that removes those of
// dead owners.
#include "base/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"

static const char prefix[] = ".new-", letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
enum { CHANCE = 6, STALE_S = 3600 };

void temporary_name(char name[TEMPORARY_MAX]) {
    char owner[OWNER_MAX], chance[CHANCE + 1] = "";
    uint64_t bits = rng_entropy();
    for (int i = 0; i < CHANCE; i++, bits /= sizeof letters - 1)
        chance[i] = letters[bits % (sizeof letters - 1)];
    owner_self(owner);
    snprintf(name, TEMPORARY_MAX, "%s%s-%s", prefix, owner, chance);
}

// The owner in such a name; false: it is none.
static bool read_name(const char *name, char owner[OWNER_MAX]) {
    size_t before = strlen(prefix), len = strlen(name);
    if (strncmp(name, prefix, before) != 0 || len <= before + 1 + CHANCE ||
        len - before - 1 - CHANCE >= OWNER_MAX)
        return false;
    size_t n = len - before - 1 - CHANCE;
    snprintf(owner, OWNER_MAX, "%.*s", (int)n, name + before);
    // Machine, process, start: all that it may consist of.
    const char *chance = name + before + n;
    return *chance == '-' && strspn(owner, "0123456789abcdef") == 8 &&
           strspn(owner + 8, "-0123456789") == n - 8 && strspn(chance + 1, letters) == CHANCE;
}

static bool is_temporary(int directory, const char *name) {
    char owner[OWNER_MAX];
    struct stat st;
    if (!read_name(name, owner))
        return false;
    // Never what somebody else put there under such a name, perhaps to have more removed.
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid != geteuid())
        return false;
    return owner_is_dead(owner) || time(NULL) - st.st_mtime > STALE_S;
}

void temporary_remove_dead(const char *directory) {
    char path[PATH_MAX];
    DIR *d = opendir(directory);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct error ignored = {0};
        if (!is_temporary(dirfd(d), e->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
        file_remove_tree(path, &ignored);
    }
    if (d)
        closedir(d);
}

void temporary_remove_dead_next_to(const char *path) {
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int len = slash ? (int)(slash - path) : 0;
    snprintf(directory, sizeof directory, "%.*s", len > 0 ? len : 1, slash ? path : ".");
    temporary_remove_dead(directory);
}
