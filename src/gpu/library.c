// Tries $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, then the loader's own path.
#include "gpu/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

static void *try_open(const char *dir, const char *below, const char *soname) {
    char path[1024];
    if (!dir || strstr(dir, "/stubs"))
        return NULL;
    int len = snprintf(path, sizeof path, "%s%s%s", dir, *dir ? below : "", soname);
    if (len < 0 || (size_t)len >= sizeof path)
        return NULL;
    // Never unloaded: NVRTC brings libstdc++, whose memory would then count as leaked.
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    log_debug("dlopen %s: %s", path, handle ? "ok" : dlerror());
    return handle;
}

static void *open_first(const char *const *sonames) {
    const char *dirs[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", ""};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
        for (const char *const *name = sonames; *name; name++) {
            // Toolkits have lib64, packages of single libraries lib.
            void *handle = try_open(dirs[i], "/lib64/", *name);
            if (!handle && dirs[i] && *dirs[i])
                handle = try_open(dirs[i], "/lib/", *name);
            if (handle)
                return handle;
        }
    return NULL;
}

static bool fill(void *handle, const struct library_symbol *s, const char *soname,
                 struct error *err) {
    *s->slot = dlsym(handle, s->name);
    if (!*s->slot && s->older_name)
        *s->slot = dlsym(handle, s->older_name);
    if (!*s->slot && !s->is_optional)
        return error_set(err, ERROR_UNSUPPORTED, "%s lacks %s: too old for hone", soname, s->name);
    return true;
}

void *library_open(const char *const *sonames, const struct library_symbol *symbols,
                   size_t n_symbols, struct error *err) {
    void *handle = open_first(sonames);
    if (!handle) {
        error_set(err, ERROR_UNSUPPORTED, "%s is not installed", sonames[0]);
        return NULL;
    }
    for (size_t i = 0; i < n_symbols; i++) {
        if (fill(handle, &symbols[i], sonames[0], err))
            continue;
        dlclose(handle);
        return NULL;
    }
    return handle;
}

bool library_find_headers(char *path, size_t size) {
    const char *home = getenv("CUDA_HOME");
    if (!home)
        home = getenv("CUDA_PATH");
    if (!home)
        home = "/usr/local/cuda";
    char probe[1200];
    int len = snprintf(path, size, "%s/include", home);
    if (len < 0 || (size_t)len >= size)
        return false;
    snprintf(probe, sizeof probe, "%s/cuda_fp16.h", path);
    return access(probe, R_OK) == 0;
}

void library_close(void *handle) {
    if (handle)
        dlclose(handle);
}

const char *library_path(void *handle) {
    struct link_map *map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : NULL;
}

void library_load_beside(void *handle, const char *soname) {
    char dir[1024];
    const char *path = library_path(handle), *slash = path ? strrchr(path, '/') : NULL;
    if (!slash || (size_t)(slash - path) >= sizeof dir)
        return;
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    try_open(dir, "/", soname);
}
