// A driver that is not there: the calls of gpu/cuda.h with scripted answers, for tests of what
// hone does when the driver fails. FAKE_CUDA names the fault; nothing is computed.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_fault(const char *name) {
    const char *fault = getenv("FAKE_CUDA");
    return fault && strcmp(fault, name) == 0;
}

// Calls that only need to exist.
#define UNUSED_CALL(name) \
    int name(void);       \
    int name(void) {      \
        return 999;       \
    }
UNUSED_CALL(cuDevicePrimaryCtxRetain)
UNUSED_CALL(cuDevicePrimaryCtxRelease_v2)
UNUSED_CALL(cuCtxSetCurrent)
UNUSED_CALL(cuCtxSynchronize)
UNUSED_CALL(cuMemGetInfo_v2)
UNUSED_CALL(cuMemAlloc_v2)
UNUSED_CALL(cuMemFree_v2)
UNUSED_CALL(cuMemcpyHtoD_v2)
UNUSED_CALL(cuMemcpyDtoH_v2)
UNUSED_CALL(cuMemsetD32_v2)
UNUSED_CALL(cuModuleLoadData)
UNUSED_CALL(cuModuleUnload)
UNUSED_CALL(cuModuleGetFunction)
UNUSED_CALL(cuFuncGetAttribute)
UNUSED_CALL(cuFuncSetAttribute)
UNUSED_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor)
UNUSED_CALL(cuLaunchKernel)
UNUSED_CALL(cuStreamCreate)
UNUSED_CALL(cuStreamDestroy_v2)
UNUSED_CALL(cuStreamSynchronize)
UNUSED_CALL(cuEventCreate)
UNUSED_CALL(cuEventDestroy_v2)
UNUSED_CALL(cuEventRecord)
UNUSED_CALL(cuEventSynchronize)
UNUSED_CALL(cuEventElapsedTime)

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int len, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuGetErrorName(int result, const char **name);
int cuGetErrorString(int result, const char **text);

int cuInit(unsigned flags) {
    (void)flags;
    return is_fault("init") ? 999 : is_fault("no-device") ? 100 : 0;
}

int cuDriverGetVersion(int *version) {
    *version = is_fault("old") ? 11040 : 13000;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = is_fault("none") ? 0 : 1;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int len, int device) {
    (void)device;
    snprintf(name, (size_t)len, "Fake 9000");
    return 0;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    (void)device;
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)i;
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)8 << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    if (is_fault("attribute"))
        return 1;
    static const int values[][2] = {{16, 100},    {75, 9},       {76, 0},       {38, 50 << 20},
                                    {97, 232448}, {81, 233472},  {82, 65536},   {39, 2048},
                                    {106, 32},    {13, 2000000}, {36, 3000000}, {37, 4096}};
    *value = 0;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i][0] == attribute)
            *value = values[i][1];
    return 0;
}

int cuGetErrorName(int result, const char **name) {
    *name = result == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OTHER";
    return 0;
}

int cuGetErrorString(int result, const char **text) {
    *text = result == 100 ? "no CUDA-capable device is detected" : NULL;
    return 0;
}
