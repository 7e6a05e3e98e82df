// NVML: what the driver says about the card's state. Read only; nothing is ever set.
// Every value may be absent (no permission, no library): then it is NAN or -1.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

typedef struct nvml_device_tag *nvml_device;

struct nvml {
    void *handle;
    // clang-format off
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *text, unsigned len);
    int (*by_uuid)(const char *uuid, nvml_device *device);
    int (*clock)(nvml_device device, unsigned type, unsigned *mhz);
    int (*max_clock)(nvml_device device, unsigned type, unsigned *mhz);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*temperature)(nvml_device device, unsigned sensor, unsigned *celsius);
    int (*throttle)(nvml_device device, unsigned long long *reasons);
    int (*energy)(nvml_device device, unsigned long long *millijoules);
    const char *(*error_text)(int code);
    // clang-format on
};

bool nvml_open(struct nvml *n, struct error *err);
void nvml_close(struct nvml *n);

// The card's state at one moment.
struct nvml_state {
    double sm_clock_hz, memory_clock_hz;  // now
    double top_sm_clock_hz, top_memory_clock_hz;
    double power_w, temperature_c;
    double energy_j;        // since the driver was loaded; steps every 100 ms
    int64_t throttle_bits;  // NVML's reasons; -1 absent
};

// Why the clocks are lower than they could be. A slowdown (heat, power brake, the hardware's own)
// spoils a measurement; the software's power cap is how large cards work under load.
enum { NVML_POWER_CAP = 0x4, NVML_SLOWDOWN = 0x8 | 0x20 | 0x40 | 0x80 };

bool nvml_find(const struct nvml *n, const char *uuid, nvml_device *device, struct error *err);

// The reasons alone, which is quick; -1 absent.
int64_t nvml_throttle_bits(const struct nvml *n, nvml_device device);
// Can they be asked for?
bool nvml_throttle_check(const struct nvml *n, nvml_device device, struct error *err);
// The energy counter, in joules since the driver was loaded; NAN: not read. Can it be?
double nvml_energy_j(const struct nvml *n, nvml_device device);
bool nvml_energy_check(const struct nvml *n, nvml_device device, struct error *err);
// The slowdowns among them: "heat", "heat and power brake".
const char *nvml_throttle_text(int64_t bits);

// False when the card cannot be found at all; what cannot be read is absent.
bool nvml_read(const struct nvml *n, const char *uuid, struct nvml_state *state, struct error *err);
