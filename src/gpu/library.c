// Tries $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, then the loader's own path.
#include "gpu/library.h"

#include <dlfcn.h>
#include <glob.h>
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

bool library_fill(void *handle, const struct library_symbol *symbols, size_t n_symbols,
                  const char *name, struct error *err) {
    for (size_t i = 0; i < n_symbols; i++)
        if (!fill(handle, &symbols[i], name, err))
            return false;
    return true;
}

void *library_symbol(void *handle, const char *name) {
    return dlsym(handle, name);
}

// Below a directory that has lib/python3.x.
static void *open_below(const char *prefix, int prefix_len, const char *const *sonames) {
    static const char *const kinds[] = {"site-packages", "dist-packages"};
    void *handle = NULL;
    for (int i = 0; i < 4 && !handle; i++)
        for (const char *const *name = sonames; *name && !handle; name++) {
            char pattern[1024];
            glob_t found = {0};
            snprintf(pattern, sizeof pattern, "%.*s/lib/python3%s/%s/nvidia/*/lib/%s", prefix_len,
                     prefix, i < 2 ? "*" : "", kinds[i % 2], *name);
            if (glob(pattern, 0, NULL, &found) == 0)
                for (size_t k = 0; k < found.gl_pathc && !handle; k++)
                    handle = try_open("", "", found.gl_pathv[k]);
            globfree(&found);
        }
    return handle;
}

void *library_open_packaged(const char *const *sonames) {
    char local[1024];
    const char *home = getenv("HOME"), *path = getenv("PATH");
    snprintf(local, sizeof local, "%s/.local", home ? home : "");
    void *handle = open_below(local, (int)strlen(local), sonames);
    for (; path && *path && !handle;
         path += strcspn(path, ":") + (path[strcspn(path, ":")] == ':')) {
        int len = (int)strcspn(path, ":");
        while (len > 0 && path[len - 1] == '/')
            len--;
        if (len > 4 && strncmp(path + len - 4, "/bin", 4) == 0)
            handle = open_below(path, len - 4, sonames);
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

void library_load_next_to(void *handle, const char *soname) {
    char dir[1024];
    const char *path = library_path(handle), *slash = path ? strrchr(path, '/') : NULL;
    if (!slash || (size_t)(slash - path) >= sizeof dir)
        return;
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    try_open(dir, "/", soname);
}
