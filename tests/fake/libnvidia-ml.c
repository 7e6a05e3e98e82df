// NVML as it is not: tells why clocks are low, or does not, by the name of a fault (fault.h). Its
// energy counter is there with "energy" alone.
#include <time.h>

#include "fault.h"

enum { NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6 };

int nvmlInit_v2(void) {
    return is_fault("nvml-init") ? NO_PERMISSION : 0;
}
int nvmlShutdown(void) {
    return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned len) {
    snprintf(text, len, is_fault("other-driver") ? "999.2" : "999.1");
    return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = (void *)1;
    return is_fault("nvml-card") ? NOT_FOUND : 0;
}

// "some": every fifth reading.
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) {
    static int n_readings;
    n_readings++;
    if (is_fault("nvml-denied"))
        return NO_PERMISSION;
    *reasons = is_fault("power-cap")                          ? 0x4
               : is_fault("heat")                             ? 0x20 | 0x4
               : is_fault("brake")                            ? 0x80
               : is_fault("some-heat") && n_readings % 5 == 4 ? 0x40
                                                              : 0;
    return 0;
}

// 300 W in steps of 50 ms, or nothing.
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long n_steps =
        20 * (unsigned long long)now.tv_sec + (unsigned long long)now.tv_nsec / 50000000;
    *millijoules = is_fault("energy") ? 15000 * n_steps : 1000;
    return is_fault("energy") || is_fault("energy-stuck") ? 0 : NOT_SUPPORTED;
}
const char *nvmlErrorString(int code) {
    return code == NO_PERMISSION   ? "no permission"
           : code == NOT_SUPPORTED ? "not supported"
                                   : "not found";
}
