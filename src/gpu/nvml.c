// The few calls of NVML that read; throttle reasons as bits and as text.
#include "gpu/nvml.h"

#include <math.h>

#include "base/error.h"
#include "gpu/library.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

static bool fail(const struct nvml *n, const char *what, int code, struct error *err) {
    const char *text = n->error_text ? n->error_text(code) : NULL;
    return error_set(err, ERROR_UNSUPPORTED, "%s: %s (code %d)", what, text ? text : "an error",
                     code);
}

bool nvml_open(struct nvml *n, struct error *err) {
    static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
    *n = (struct nvml){0};
    const struct library_symbol symbols[] = {
        {"nvmlInit_v2", NULL, (void **)&n->init, false},
        {"nvmlShutdown", NULL, (void **)&n->shutdown, false},
        {"nvmlSystemGetDriverVersion", NULL, (void **)&n->driver_version, false},
        {"nvmlDeviceGetHandleByUUID", NULL, (void **)&n->by_uuid, false},
        {"nvmlDeviceGetClockInfo", NULL, (void **)&n->clock, true},
        {"nvmlDeviceGetMaxClockInfo", NULL, (void **)&n->max_clock, true},
        {"nvmlDeviceGetPowerUsage", NULL, (void **)&n->power, true},
        {"nvmlDeviceGetTemperature", NULL, (void **)&n->temperature, true},
        {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
         (void **)&n->throttle, true},
        {"nvmlDeviceGetTotalEnergyConsumption", NULL, (void **)&n->energy, true},
        {"nvmlErrorString", NULL, (void **)&n->error_text, true},
    };
    n->handle = library_open(sonames, symbols, sizeof symbols / sizeof symbols[0], err);
    if (!n->handle)
        return false;
    int code = n->init();
    if (code == 0)
        return true;
    fail(n, "NVML does not start", code, err);
    library_close(n->handle);
    *n = (struct nvml){0};
    return false;
}

void nvml_close(struct nvml *n) {
    if (n->handle)
        n->shutdown();
    library_close(n->handle);
    *n = (struct nvml){0};
}

static double read_clock(int (*get)(nvml_device, unsigned, unsigned *), nvml_device device,
                         unsigned type) {
    unsigned mhz;
    return get && get(device, type, &mhz) == 0 ? mhz * 1e6 : NAN;
}

int64_t nvml_throttle_bits(const struct nvml *n, nvml_device device) {
    unsigned long long bits;
    return n->throttle && n->throttle(device, &bits) == 0 ? (int64_t)bits : -1;
}

bool nvml_throttle_check(const struct nvml *n, nvml_device device, struct error *err) {
    unsigned long long bits;
    if (!n->throttle)
        return error_set(err, ERROR_UNSUPPORTED, "this NVML does not tell why clocks are low");
    int code = n->throttle(device, &bits);
    return code == 0 || fail(n, "NVML does not tell why clocks are low", code, err);
}

double nvml_energy_j(const struct nvml *n, nvml_device device) {
    unsigned long long millijoules;
    return n->energy && n->energy(device, &millijoules) == 0 ? (double)millijoules / 1e3 : NAN;
}

bool nvml_energy_check(const struct nvml *n, nvml_device device, struct error *err) {
    unsigned long long millijoules;
    if (!n->energy)
        return error_set(err, ERROR_UNSUPPORTED, "this NVML has no energy counter");
    int code = n->energy(device, &millijoules);
    return code == 0 || fail(n, "NVML does not tell the card's energy", code, err);
}

const char *nvml_throttle_text(int64_t bits) {
    bool heat = bits & (0x20 | 0x40), brake = bits & 0x80, hardware = bits & 0x8;
    return heat && brake ? "heat and power brake"
           : heat        ? "heat"
           : brake       ? "power brake"
           : hardware    ? "the hardware"
                         : "nothing";
}

bool nvml_find(const struct nvml *n, const char *uuid, nvml_device *device, struct error *err) {
    int code = n->by_uuid(uuid, device);
    return code == 0 || fail(n, "NVML does not know the card", code, err);
}

bool nvml_read(const struct nvml *n, const char *uuid, struct nvml_state *state,
               struct error *err) {
    nvml_device device;
    if (!nvml_find(n, uuid, &device, err))
        return false;

    unsigned value;
    *state = (struct nvml_state){
        .sm_clock_hz = read_clock(n->clock, device, CLOCK_SM),
        .memory_clock_hz = read_clock(n->clock, device, CLOCK_MEMORY),
        .top_sm_clock_hz = read_clock(n->max_clock, device, CLOCK_SM),
        .top_memory_clock_hz = read_clock(n->max_clock, device, CLOCK_MEMORY),
        .power_w = n->power && n->power(device, &value) == 0 ? value / 1e3 : NAN,
    };
    bool hot = n->temperature && n->temperature(device, SENSOR_GPU, &value) == 0;
    state->temperature_c = hot ? value : NAN;
    state->energy_j = nvml_energy_j(n, device);
    state->throttle_bits = nvml_throttle_bits(n, device);
    return true;
}
