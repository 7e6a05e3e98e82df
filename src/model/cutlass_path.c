#include "model/cutlass_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Collectives for sm_90a came with 3.0.
enum { MAJOR_LEAST = 3, LINE_MAX_BYTES = 256 };

// "#define CUTLASS_MAJOR 4" of cutlass/version.h.
static bool read_version(const char *path, int version[3]) {
    static const char *const names[] = {"CUTLASS_MAJOR", "CUTLASS_MINOR", "CUTLASS_PATCH"};
    char line[LINE_MAX_BYTES], word[LINE_MAX_BYTES];
    int found = 0, value;
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        for (int i = 0; i < 3; i++)
            if (sscanf(line, " # define %255s %d", word, &value) == 2 && value >= 0 &&
                value < 1000 && strcmp(word, names[i]) == 0) {
                version[i] = value;
                found |= 1 << i;
            }
    if (f)
        fclose(f);
    return found == 7;
}

static bool is_program(char *out, size_t room, const char *dir, size_t len, const char *below) {
    int n = snprintf(out, room, "%.*s%s/nvcc", (int)len, dir, below);
    return len > 0 && n > 0 && (size_t)n < room && access(out, X_OK) == 0;
}

static bool find_nvcc(char *out, size_t room) {
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH")}, *path = getenv("PATH");
    for (int i = 0; i < 2; i++)
        if (homes[i] && is_program(out, room, homes[i], strlen(homes[i]), "/bin"))
            return true;
    while (path && *path) {
        size_t len = strcspn(path, ":");
        if (is_program(out, room, path, len, ""))
            return true;
        path += len + (path[len] == ':');
    }
    return is_program(out, room, "/usr/local/cuda", strlen("/usr/local/cuda"), "/bin");
}

bool cutlass_path_find(struct cutlass_path *c) {
    const char *named = getenv("CUTLASS_PATH");
    char header[1100];
    int version[3] = {0};
    *c = (struct cutlass_path){0};
    if (!named || !*named) {
        snprintf(c->why, sizeof c->why, "CUTLASS_PATH is not set");
        return false;
    }
    int n = snprintf(c->include, sizeof c->include, "%s/include", named);
    snprintf(header, sizeof header, "%s/cutlass/version.h", c->include);
    if (n < 0 || (size_t)n >= sizeof c->include || !read_version(header, version))
        snprintf(c->why, sizeof c->why,
                 "CUTLASS_PATH is %.900s, which has no include/cutlass/version.h of CUTLASS",
                 named);
    else if (version[0] < MAJOR_LEAST)
        snprintf(c->why, sizeof c->why, "CUTLASS %d.%d in %.900s is too old: hone needs 3",
                 version[0], version[1], named);
    else if (!find_nvcc(c->nvcc, sizeof c->nvcc))
        snprintf(c->why, sizeof c->why,
                 "no nvcc in $CUDA_HOME, along PATH or in /usr/local/cuda, which compiles CUTLASS");
    else
        snprintf(c->version, sizeof c->version, "%d.%d.%d", version[0], version[1], version[2]);
    return !c->why[0];
}
