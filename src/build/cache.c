// Above a size the files that were used longest ago are removed, down to three quarters of it, so
// that not every compile has to look; a hit touches its file.
#include "build/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/owner.h"

struct cached {
    char name[80];
    int64_t size;
    struct timespec used;
};

static int by_age(const void *a, const void *b) {
    const struct cached *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

void cache_trim(const char *cache, int64_t max_bytes) {
    DIR *d = opendir(cache);
    struct cached *list = NULL;
    int n = 0;
    int64_t total = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof list->name ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if ((n & (n - 1)) == 0)
            list = realloc(list, sizeof *list * (n ? 2 * (size_t)n : 1));
        if (!list)
            abort();
        list[n] = (struct cached){.size = st.st_size, .used = st.st_mtim};
        memcpy(list[n++].name, e->d_name, strlen(e->d_name) + 1);
        total += st.st_size;
    }
    if (total > max_bytes)
        qsort(list, (size_t)n, sizeof *list, by_age);
    // More than needed, so that not every compile has to look.
    int64_t enough = total > max_bytes ? max_bytes / 4 * 3 : max_bytes;
    for (int i = 0; i < n && total > enough; i++) {
        unlinkat(dirfd(d), list[i].name, 0);
        total -= list[i].size;
    }
    free(list);
    if (d)
        closedir(d);
}
