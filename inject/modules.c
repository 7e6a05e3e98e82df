// Cubins of the kernels that are asked for, as the driver loads them: others are not kept, since a
// framework brings hundreds of megabytes.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"

enum { MODULES_MAX = 256 };

static struct {
    uint64_t crc;
    void *cubin;
    size_t size;
} modules[MODULES_MAX];
static int n_modules;

bool is_wanted_code(const char *name) {
    for (int i = 0; i < state.n_codes; i++)
        if (strcmp(state.codes[i], name) == 0)
            return true;
    return false;
}

// A kernel's name stands in the table of names of its cubin.
static bool has_wanted(const struct cupti_module_data *m) {
    for (int i = 0; i < state.n_codes; i++)
        if (memmem(m->cubin, m->cubin_size, state.codes[i], strlen(state.codes[i]) + 1))
            return true;
    return false;
}

bool modules_find(uint64_t crc, const void **cubin, size_t *size) {
    for (int i = 0; i < n_modules; i++)
        if (modules[i].crc == crc) {
            *cubin = modules[i].cubin;
            *size = modules[i].size;
            return true;
        }
    return false;
}

void modules_add(const struct cupti_module_data *m) {
    struct cubin_crc_params p = {.size = SIZE_TO(struct cubin_crc_params, crc)};
    const void *known;
    char path[1100];
    size_t size;
    if (!m || !m->cubin || n_modules == MODULES_MAX || !has_wanted(m))
        return;
    p.cubin = m->cubin;
    p.cubin_size = m->cubin_size;
    if (cupti.cubin_crc(&p) != 0 || modules_find(p.crc, &known, &size))
        return;
    modules[n_modules].crc = p.crc;
    modules[n_modules].size = m->cubin_size;
    modules[n_modules].cubin = malloc(m->cubin_size);
    if (!modules[n_modules].cubin)
        return;
    memcpy(modules[n_modules++].cubin, m->cubin, m->cubin_size);
    snprintf(path, sizeof path, "%s/%016" PRIx64 ".cubin", state.dir, p.crc);
    FILE *f = fopen(path, "wbe");
    bool ok = f && fwrite(m->cubin, 1, m->cubin_size, f) == m->cubin_size;
    if (f)
        fclose(f);
    if (ok)
        out_line("module %016" PRIx64, p.crc);
}
