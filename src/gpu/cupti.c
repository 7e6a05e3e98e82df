// Parameters of calls are structs whose first field says how much of them the caller knows: the
// offset behind the last field, without padding. Layouts as in CUPTI 13.0 (API 130001).
#include "gpu/cupti.h"

#include <stddef.h>

#include "base/error.h"
#include "gpu/library.h"

enum { PROFILER_RANGE = 0 };

struct initialize_params {
    size_t size;
    void *reserved;
    int profiler_type;
    const char *chip;
    const uint8_t *availability;
    void *host;  // out
};

struct deinitialize_params {
    size_t size;
    void *reserved;
    void *host;
};

struct properties_params {
    size_t size;
    void *reserved;
    void *host;
    const char *metric;
    const char *description, *hardware_unit, *dimension;  // out
    int type;                                             // out
};

#define SIZE_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

bool cupti_open(struct cupti *c, struct error *err) {
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", NULL};
    *c = (struct cupti){0};
    const struct library_symbol symbols[] = {
        {.name = "cuptiGetVersion", .slot = (void **)&c->get_version},
        {.name = "cuptiProfilerHostInitialize",
         .slot = (void **)&c->host_initialize,
         .is_optional = true},
        {.name = "cuptiProfilerHostDeinitialize",
         .slot = (void **)&c->host_deinitialize,
         .is_optional = true},
        {.name = "cuptiProfilerHostGetMetricProperties",
         .slot = (void **)&c->host_properties,
         .is_optional = true},
    };
    c->handle = library_open(names, symbols, sizeof symbols / sizeof symbols[0], err);
    if (!c->handle)
        return false;
    if (c->get_version(&c->version) == 0)
        return true;
    cupti_close(c);
    return error_set(err, ERROR_UNSUPPORTED, "libcupti does not say its version");
}

void cupti_close(struct cupti *c) {
    library_close(c->handle);
    *c = (struct cupti){0};
}

bool cupti_chip_open(const struct cupti *c, const char *name, struct cupti_chip *chip,
                     struct error *err) {
    struct initialize_params p = {.size = SIZE_TO(struct initialize_params, host),
                                  .profiler_type = PROFILER_RANGE,
                                  .chip = name};
    *chip = (struct cupti_chip){.cupti = c};
    if (!c->host_initialize || !c->host_deinitialize || !c->host_properties)
        return error_set(err, ERROR_UNSUPPORTED, "CUPTI %u knows no metrics by itself; 12.6 does",
                         c->version);
    int code = c->host_initialize(&p);
    if (code != 0 || !p.host)
        return error_set(err, ERROR_UNSUPPORTED, "CUPTI %u does not know the chip %s (code %d)",
                         c->version, name, code);
    chip->host = p.host;
    return true;
}

void cupti_chip_close(struct cupti_chip *chip) {
    struct deinitialize_params p = {.size = SIZE_TO(struct deinitialize_params, host),
                                    .host = chip->host};
    if (chip->host)
        chip->cupti->host_deinitialize(&p);
    *chip = (struct cupti_chip){0};
}

bool cupti_chip_has(const struct cupti_chip *chip, const char *counter) {
    struct properties_params p = {
        .size = SIZE_TO(struct properties_params, type), .host = chip->host, .metric = counter};
    return chip->cupti->host_properties(&p) == 0;
}
