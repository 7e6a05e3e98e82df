// The headers that emitted CUDA needs, as the binary carries them: dev.h with its parts, for a GPU
// and for a CPU, and hone_types.h.
#pragma once

#include <assert.h>
#include <string.h>

#include "base/embedded.h"

enum { DEV_HEADERS_MAX = 16 };

struct dev_headers {
    const char *names[DEV_HEADERS_MAX], *texts[DEV_HEADERS_MAX];
    int n;
};

static inline struct dev_headers dev_headers(void) {
    struct dev_headers h = {.n = 0};
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        size_t len = strlen(f->name);
        if (strcmp(f->name, "hone_types.h") != 0 &&
            !(strncmp(f->name, "dev", 3) == 0 && len > 2 && strcmp(f->name + len - 2, ".h") == 0))
            continue;
        assert(h.n < DEV_HEADERS_MAX);
        h.names[h.n] = f->name;
        h.texts[h.n++] = f->text;
    }
    return h;
}
