// NVML as it is not: tells why clocks are low, or does not, by the name of a fault (fault.h).
#include "fault.h"

enum { NO_PERMISSION = 4, NOT_FOUND = 6 };

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
const char *nvmlErrorString(int code) {
    return code == NO_PERMISSION ? "no permission" : "not found";
}
