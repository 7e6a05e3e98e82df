// The table of driver symbols, filled by library.h; facts of a device by its attributes.
#include "gpu/cuda.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "gpu/library.h"

// Older drivers lack calls that the graph and cluster launches need.
enum { VERSION_LEAST = 12000 };

static const char *const sonames[] = {"libcuda.so.1", NULL};

static bool fill_table(struct cuda *cu, struct error *err) {
    const struct library_symbol symbols[] = {
        {"cuInit", NULL, (void **)&cu->init, false},
        {"cuDriverGetVersion", NULL, (void **)&cu->driver_version, false},
        {"cuDeviceGetCount", NULL, (void **)&cu->device_count, false},
        {"cuDeviceGet", NULL, (void **)&cu->device_get, false},
        {"cuDeviceGetName", NULL, (void **)&cu->device_name, false},
        {"cuDeviceGetUuid_v2", "cuDeviceGetUuid", (void **)&cu->device_uuid, false},
        {"cuDeviceTotalMem_v2", NULL, (void **)&cu->device_memory, false},
        {"cuDeviceGetAttribute", NULL, (void **)&cu->device_attribute, false},
        {"cuDevicePrimaryCtxRetain", NULL, (void **)&cu->context_retain, false},
        {"cuDevicePrimaryCtxRelease_v2", NULL, (void **)&cu->context_release, false},
        {"cuCtxSetCurrent", NULL, (void **)&cu->context_set, false},
        {"cuCtxSynchronize", NULL, (void **)&cu->context_synchronize, false},
        {"cuCtxSetLimit", NULL, (void **)&cu->context_limit, false},
        {"cuMemGetInfo_v2", NULL, (void **)&cu->memory_info, false},
        {"cuMemAlloc_v2", NULL, (void **)&cu->allocate, false},
        {"cuMemFree_v2", NULL, (void **)&cu->release, false},
        {"cuMemcpyHtoD_v2", NULL, (void **)&cu->copy_to, false},
        {"cuMemcpyDtoH_v2", NULL, (void **)&cu->copy_from, false},
        {"cuMemcpyDtoD_v2", NULL, (void **)&cu->copy, false},
        {"cuMemsetD32_v2", NULL, (void **)&cu->fill32, false},
        {"cuMemsetD8Async", NULL, (void **)&cu->fill8_async, false},
        {"cuMemsetD32Async", NULL, (void **)&cu->fill32_async, false},
        {"cuMemsetD2D32Async", NULL, (void **)&cu->fill32_2d_async, false},
        {"cuMemGetAllocationGranularity", NULL, (void **)&cu->memory_granularity, false},
        {"cuMemCreate", NULL, (void **)&cu->memory_create, false},
        {"cuMemRelease", NULL, (void **)&cu->memory_release, false},
        {"cuMemExportToShareableHandle", NULL, (void **)&cu->memory_export, false},
        {"cuMemImportFromShareableHandle", NULL, (void **)&cu->memory_import, false},
        {"cuMemAddressReserve", NULL, (void **)&cu->address_reserve, false},
        {"cuMemAddressFree", NULL, (void **)&cu->address_free, false},
        {"cuMemMap", NULL, (void **)&cu->memory_map, false},
        {"cuMemUnmap", NULL, (void **)&cu->memory_unmap, false},
        {"cuMemSetAccess", NULL, (void **)&cu->memory_access, false},
        {"cuModuleLoadData", NULL, (void **)&cu->module_load, false},
        {"cuModuleUnload", NULL, (void **)&cu->module_unload, false},
        {"cuModuleGetFunction", NULL, (void **)&cu->module_function, false},
        {"cuFuncGetAttribute", NULL, (void **)&cu->function_attribute, false},
        {"cuFuncSetAttribute", NULL, (void **)&cu->function_set, false},
        {"cuFuncGetParamInfo", NULL, (void **)&cu->function_parameter, true},
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL, (void **)&cu->occupancy, false},
        {"cuLaunchKernel", NULL, (void **)&cu->launch, false},
        {"cuLaunchKernelEx", NULL, (void **)&cu->launch_with, false},
        {"cuStreamBeginCapture_v2", NULL, (void **)&cu->capture_begin, false},
        {"cuStreamEndCapture", NULL, (void **)&cu->capture_end, false},
        {"cuGraphInstantiateWithFlags", NULL, (void **)&cu->graph_instantiate, false},
        {"cuGraphUpload", NULL, (void **)&cu->graph_upload, false},
        {"cuGraphLaunch", NULL, (void **)&cu->graph_launch, false},
        {"cuGraphDestroy", NULL, (void **)&cu->graph_destroy, false},
        {"cuGraphExecDestroy", NULL, (void **)&cu->graph_exec_destroy, false},
        {"cuStreamCreate", NULL, (void **)&cu->stream_create, false},
        {"cuStreamDestroy_v2", NULL, (void **)&cu->stream_destroy, false},
        {"cuStreamSynchronize", NULL, (void **)&cu->stream_synchronize, false},
        {"cuEventCreate", NULL, (void **)&cu->event_create, false},
        {"cuEventDestroy_v2", NULL, (void **)&cu->event_destroy, false},
        {"cuEventRecord", NULL, (void **)&cu->event_record, false},
        {"cuEventSynchronize", NULL, (void **)&cu->event_synchronize, false},
        {"cuEventElapsedTime_v2", "cuEventElapsedTime", (void **)&cu->event_elapsed, false},
        {"cuTensorMapEncodeTiled", NULL, (void **)&cu->tensormap_encode, false},
        {"cuGetErrorName", NULL, (void **)&cu->error_name, false},
        {"cuGetErrorString", NULL, (void **)&cu->error_text, false},
    };
    cu->handle = library_open(sonames, symbols, sizeof symbols / sizeof symbols[0], err);
    return cu->handle != NULL;
}

const char *cuda_error_name(const struct cuda *cu, cuda_result result) {
    const char *name = NULL;
    cu->error_name(result, &name);
    return name ? name : "?";
}

// Something that is needed is not there: a GPU, or a driver that takes what the compiler makes.
static bool is_absent(cuda_result result) {
    return result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_INVALID_IMAGE ||
           result == CUDA_ERROR_NO_BINARY || result == CUDA_ERROR_PTX_VERSION;
}

bool cuda_ok(const struct cuda *cu, cuda_result result, const char *what, struct error *err) {
    if (result == 0)
        return true;
    const char *text = NULL;
    cu->error_text(result, &text);
    enum error_kind kind = is_absent(result) ? ERROR_UNSUPPORTED : ERROR_IO;
    return error_set(err, kind, "%s: %s (%s, %d)", what, text ? text : "unknown error",
                     cuda_error_name(cu, result), result);
}

static bool start(struct cuda *cu, struct error *err) {
    int count = 0;
    if (!cuda_ok(cu, cu->driver_version(&cu->version), "ask the driver's version", err))
        return false;
    if (cu->version < VERSION_LEAST)
        return error_set(err, ERROR_UNSUPPORTED, "the driver speaks CUDA %d.%d, hone needs %d.%d",
                         cu->version / 1000, cu->version % 1000 / 10, VERSION_LEAST / 1000,
                         VERSION_LEAST % 1000 / 10);
    if (!cuda_ok(cu, cu->init(0), "start the CUDA driver", err) ||
        !cuda_ok(cu, cu->device_count(&count), "count the GPUs", err))
        return false;
    return count > 0 || error_set(err, ERROR_UNSUPPORTED, "the driver sees no GPU");
}

bool cuda_open(struct cuda *cu, struct error *err) {
    *cu = (struct cuda){0};
    if (!fill_table(cu, err))
        return error_wrap(err, "NVIDIA's driver");
    if (start(cu, err))
        return true;
    cuda_close(cu);
    return false;
}

int cuda_driver_version(void) {
    cuda_result (*ask)(int *version) = NULL;
    struct error ignored = {0};
    const struct library_symbol symbol = {"cuDriverGetVersion", NULL, (void **)&ask, false};
    int version = 0;
    void *handle = library_open(sonames, &symbol, 1, &ignored);
    if (handle && ask(&version) != 0)
        version = 0;
    library_close(handle);
    return version;
}

void cuda_close(struct cuda *cu) {
    library_close(cu->handle);
    *cu = (struct cuda){0};
}

// "GPU-" and the usual groups of hex digits, as nvidia-smi prints it.
static const char *print_uuid(struct arena *a, const unsigned char u[16]) {
    return arena_printf(
        a, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
        u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

// wgmma and the like exist only in the "a" variants from 9.0 on.
static const char *print_arch(struct arena *a, int major, int minor) {
    return arena_printf(a, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
}

struct attribute_row {
    int attribute;
    int64_t *slot;
};

static bool read_attributes(const struct cuda *cu, cuda_device device,
                            const struct attribute_row *rows, size_t n_rows, struct error *err) {
    for (size_t i = 0; i < n_rows; i++) {
        int value = 0;
        if (!cuda_ok(cu, cu->device_attribute(&value, rows[i].attribute, device),
                     "read a device attribute", err))
            return false;
        *rows[i].slot = value;
    }
    return true;
}

bool cuda_read_facts(struct arena *a, const struct cuda *cu, cuda_device device,
                     struct cuda_facts *f, struct error *err) {
    char name[128] = "";
    unsigned char uuid[16] = {0};
    size_t memory = 0;
    if (!cuda_ok(cu, cu->device_name(name, sizeof name, device), "read the GPU's name", err) ||
        !cuda_ok(cu, cu->device_uuid(uuid, device), "read the GPU's UUID", err) ||
        !cuda_ok(cu, cu->device_memory(&memory, device), "read the GPU's memory size", err))
        return false;

    int64_t major, minor, clusters, sms, registers, threads, blocks, clock_khz, memory_khz,
        bus_bits;
    const struct attribute_row rows[] = {
        {CUDA_MAJOR, &major},
        {CUDA_MINOR, &minor},
        {CUDA_SMS, &sms},
        {CUDA_CLUSTERS, &clusters},
        {CUDA_L2_BYTES, &f->l2_bytes},
        {CUDA_SHARED_PER_BLOCK_OPTIN, &f->shared_per_block},
        {CUDA_SHARED_PER_SM, &f->shared_per_sm},
        {CUDA_REGISTERS_PER_SM, &registers},
        {CUDA_THREADS_PER_SM, &threads},
        {CUDA_BLOCKS_PER_SM, &blocks},
        {CUDA_CLOCK_KHZ, &clock_khz},
        {CUDA_MEMORY_CLOCK_KHZ, &memory_khz},
        {CUDA_BUS_WIDTH_BITS, &bus_bits},
    };
    if (!read_attributes(cu, device, rows, sizeof rows / sizeof rows[0], err))
        return false;

    f->name = arena_strdup(a, name);
    f->uuid = print_uuid(a, uuid);
    f->arch = print_arch(a, (int)major, (int)minor);
    f->major = (int)major;
    f->minor = (int)minor;
    f->sms = (int)sms;
    f->has_clusters = clusters != 0;
    f->memory_bytes = (int64_t)memory;
    f->registers_per_sm = (int)registers;
    f->threads_per_sm = (int)threads;
    f->blocks_per_sm = (int)blocks;
    f->clock_hz = (double)clock_khz * 1e3;
    f->dram_bytes_per_s = (double)bus_bits / 8 * 2 * (double)memory_khz * 1e3;
    return true;
}
