// Parameters of calls are structs whose first field says how much of them the caller knows: the
// offset behind the last field, without padding. Layouts as in CUPTI 13.0 (API 130001).
#include "gpu/cupti.h"

#include <stddef.h>
#include <stdlib.h>

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

struct add_params {
    size_t size;
    void *reserved;
    void *host;
    const char **names;
    size_t n;
};

struct image_size_params {
    size_t size;
    void *reserved;
    void *host;
    size_t image_size;  // out
};

struct image_params {
    size_t size;
    void *reserved;
    void *host;
    size_t image_size;
    uint8_t *image;
};

struct passes_params {
    size_t size;
    void *reserved;
    size_t image_size;
    uint8_t *image;
    size_t passes;  // out
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
        {.name = "cuptiProfilerHostConfigAddMetrics",
         .slot = (void **)&c->host_add,
         .is_optional = true},
        {.name = "cuptiProfilerHostGetConfigImageSize",
         .slot = (void **)&c->host_image_size,
         .is_optional = true},
        {.name = "cuptiProfilerHostGetConfigImage",
         .slot = (void **)&c->host_image,
         .is_optional = true},
        {.name = "cuptiProfilerHostGetNumOfPasses",
         .slot = (void **)&c->host_passes,
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
    *chip = (struct cupti_chip){.cupti = c, .name = name};
    if (!c->host_initialize || !c->host_deinitialize || !c->host_properties || !c->host_add ||
        !c->host_image_size || !c->host_image || !c->host_passes)
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

// The image of a configuration: what a card is programmed with.
static bool make_image(const struct cupti *c, void *host, uint8_t **image, size_t *size) {
    struct image_size_params ask = {.size = SIZE_TO(struct image_size_params, image_size),
                                    .host = host};
    if (c->host_image_size(&ask) != 0)
        return false;
    *size = ask.image_size;
    *image = calloc(1, *size + 1);
    struct image_params fill = {.size = SIZE_TO(struct image_params, image),
                                .host = host,
                                .image_size = *size,
                                .image = *image};
    return *image && c->host_image(&fill) == 0;
}

bool cupti_passes(const struct cupti *c, const char *chip, const char *const *counters, int n,
                  int *passes, struct error *err) {
    struct cupti_chip own;  // what is added to one stays in it
    uint8_t *image = NULL;
    size_t size = 0;
    if (!cupti_chip_open(c, chip, &own, err))
        return false;
    struct add_params add = {.size = SIZE_TO(struct add_params, n),
                             .host = own.host,
                             .names = (const char **)counters,
                             .n = (size_t)n};
    int code = c->host_add(&add);
    bool ok = code == 0 && make_image(c, own.host, &image, &size);
    struct passes_params ask = {
        .size = SIZE_TO(struct passes_params, passes), .image_size = size, .image = image};
    ok = ok && c->host_passes(&ask) == 0;
    *passes = (int)ask.passes;
    free(image);
    cupti_chip_close(&own);
    return ok || error_set(err, ERROR_UNSUPPORTED,
                           "CUPTI %u refuses %d counters of the chip %s (code %d)", c->version, n,
                           chip, code);
}
