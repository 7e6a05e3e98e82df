// CUPTI, the vendor's library of counters, opened at run time. What is here needs no card: the half
// that knows which metrics a chip has. Reading them on a device is not done yet.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

struct cupti {
    void *handle;
    uint32_t version;  // 130001 for 13.0
    int (*get_version)(uint32_t *version);
    // NULL where it is too old to have them (before 12.6).
    int (*host_initialize)(void *params);
    int (*host_deinitialize)(void *params);
    int (*host_properties)(void *params);
    int (*host_add)(void *params);
    int (*host_image_size)(void *params);
    int (*host_image)(void *params);
    int (*host_passes)(void *params);
};

// ERROR_UNSUPPORTED where there is none.
bool cupti_open(struct cupti *c, struct error *err);
void cupti_close(struct cupti *c);

// A chip as CUPTI names it ("GH100" is that of H100 and H200), without a card or a driver.
struct cupti_chip {
    const struct cupti *cupti;
    const char *name;
    void *host;
};
bool cupti_chip_open(const struct cupti *c, const char *name, struct cupti_chip *chip,
                     struct error *err);
void cupti_chip_close(struct cupti_chip *chip);
// Has the chip this counter, e.g. "dram__bytes_read.sum"? Of a list one that it has not would
// refuse all, so names are asked for one by one.
bool cupti_chip_has(const struct cupti_chip *chip, const char *counter);

// How often a kernel must run so that all of these are counted. One name that the chip has not
// refuses all.
bool cupti_passes(const struct cupti *c, const char *chip, const char *const *counters, int n,
                  int *passes, struct error *err);
