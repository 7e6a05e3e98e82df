// Over build/cache.h and store/store.h; nothing that anybody uses now is touched.
#include "ops/op_gc.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "build/cache.h"
#include "ops/op_runs.h"
#include "store/store.h"

static int64_t directory_bytes(const char *path) {
    int64_t total = 0;
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            total += st.st_size;
    }
    if (d)
        closedir(d);
    return total;
}

static bool shrink_store(struct arena *a, const char *named, struct gc_outcome *out,
                         struct error *err) {
    struct store *s;
    struct error absent = {0};
    if (!op_open_store(a, named, false, &s, &absent)) {
        if (!named && absent.kind == ERROR_USAGE)
            return true;  // there is none
        *err = absent;
        return false;
    }
    store_close(s);
    if (!op_open_store(a, named, true, &s, err))
        return false;
    out->store = arena_strdup(a, store_path(s));
    out->store_before = file_size(out->store);
    bool ok = store_shrink(s, err);
    store_close(s);
    out->store_after = file_size(out->store);
    return ok;
}

bool op_gc(struct arena *a, const struct gc_request *q, struct gc_outcome *out, struct error *err) {
    *out = (struct gc_outcome){0};
    out->cache = file_cache_dir(a, "objects", err);  // which removes strays too
    if (!out->cache)
        return false;
    out->cache_before = directory_bytes(out->cache);
    cache_trim(out->cache, q->keep_bytes);
    out->cache_after = directory_bytes(out->cache);
    return shrink_store(a, q->store, out, err);
}
