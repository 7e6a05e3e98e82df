// The CUDA driver: a table of the calls that hone makes, and an error type in words.
//
// Types and numbers are declared here, from the driver's documented interface, so that no
// CUDA header is needed. The table is one struct of function pointers; a call is
// `cu->launch(...)` checked by cuda_ok(). Clocks, power and modes of a device are never
// changed: no such call is in the table.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

typedef int cuda_result;        // CUresult; 0 is success
typedef int cuda_device;        // CUdevice
typedef uint64_t cuda_pointer;  // CUdeviceptr
typedef struct cuda_context_tag *cuda_context;
typedef struct cuda_module_tag *cuda_module;
typedef struct cuda_function_tag *cuda_function;
typedef struct cuda_stream_tag *cuda_stream;
typedef struct cuda_event_tag *cuda_event;

// Device attributes that are asked for (CUdevice_attribute).
enum cuda_attribute {
    CUDA_SHARED_PER_BLOCK = 8,
    CUDA_REGISTERS_PER_BLOCK = 12,
    CUDA_CLOCK_KHZ = 13,
    CUDA_SMS = 16,
    CUDA_MEMORY_CLOCK_KHZ = 36,
    CUDA_BUS_WIDTH_BITS = 37,
    CUDA_L2_BYTES = 38,
    CUDA_THREADS_PER_SM = 39,
    CUDA_MAJOR = 75,
    CUDA_MINOR = 76,
    CUDA_SHARED_PER_SM = 81,
    CUDA_REGISTERS_PER_SM = 82,
    CUDA_SHARED_PER_BLOCK_OPTIN = 97,
    CUDA_BLOCKS_PER_SM = 106,
};

// Function attributes (CUfunction_attribute).
enum cuda_function_attribute {
    CUDA_FUNCTION_STATIC_SHARED = 1,
    CUDA_FUNCTION_LOCAL_BYTES = 3,
    CUDA_FUNCTION_REGISTERS = 4,
    CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
};

enum { CUDA_ERROR_NO_MEMORY = 2, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_ILLEGAL_ADDRESS = 700 };

struct cuda {
    void *handle;
    int version;  // of the driver's interface: 13000 is 13.0
    // clang-format off
    cuda_result (*init)(unsigned flags);
    cuda_result (*driver_version)(int *version);
    cuda_result (*device_count)(int *count);
    cuda_result (*device_get)(cuda_device *device, int ordinal);
    cuda_result (*device_name)(char *name, int len, cuda_device device);
    cuda_result (*device_uuid)(unsigned char uuid[16], cuda_device device);
    cuda_result (*device_memory)(size_t *bytes, cuda_device device);
    cuda_result (*device_attribute)(int *value, int attribute, cuda_device device);
    cuda_result (*context_retain)(cuda_context *context, cuda_device device);
    cuda_result (*context_release)(cuda_device device);
    cuda_result (*context_set)(cuda_context context);
    cuda_result (*context_synchronize)(void);
    cuda_result (*memory_info)(size_t *free_bytes, size_t *total_bytes);
    cuda_result (*allocate)(cuda_pointer *pointer, size_t bytes);
    cuda_result (*release)(cuda_pointer pointer);
    cuda_result (*copy_to)(cuda_pointer to, const void *from, size_t bytes);
    cuda_result (*copy_from)(void *to, cuda_pointer from, size_t bytes);
    cuda_result (*fill32)(cuda_pointer to, unsigned value, size_t count);
    cuda_result (*module_load)(cuda_module *module, const void *image);
    cuda_result (*module_unload)(cuda_module module);
    cuda_result (*module_function)(cuda_function *function, cuda_module module, const char *name);
    cuda_result (*function_attribute)(int *value, int attribute, cuda_function function);
    cuda_result (*function_set)(cuda_function function, int attribute, int value);
    cuda_result (*occupancy)(int *blocks, cuda_function function, int block, size_t shared);
    cuda_result (*launch)(cuda_function function, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          cuda_stream stream, void **arguments, void **extra);
    cuda_result (*stream_create)(cuda_stream *stream, unsigned flags);
    cuda_result (*stream_destroy)(cuda_stream stream);
    cuda_result (*stream_synchronize)(cuda_stream stream);
    cuda_result (*event_create)(cuda_event *event, unsigned flags);
    cuda_result (*event_destroy)(cuda_event event);
    cuda_result (*event_record)(cuda_event event, cuda_stream stream);
    cuda_result (*event_synchronize)(cuda_event event);
    cuda_result (*event_elapsed)(float *ms, cuda_event start, cuda_event end);
    cuda_result (*error_name)(cuda_result result, const char **name);
    cuda_result (*error_text)(cuda_result result, const char **text);
    // clang-format on
};

// Open the driver and initialise it. No driver, no device, or one too old for what hone emits:
// ERROR_UNSUPPORTED with the reason.
bool cuda_open(struct cuda *cu, struct error *err);
void cuda_close(struct cuda *cu);

// True for success; else `err` says what was attempted and the driver's own words.
bool cuda_ok(const struct cuda *cu, cuda_result result, const char *what, struct error *err);

// Facts of one device, read off it.
struct cuda_facts {
    const char *name;  // "NVIDIA H200"
    const char *uuid;  // "GPU-xxxxxxxx-xxxx-..."
    const char *arch;  // what to compile for: "sm_90a"
    int major, minor;
    int sms;
    int64_t memory_bytes, l2_bytes;
    int64_t shared_per_block, shared_per_sm;
    int registers_per_sm, threads_per_sm, blocks_per_sm;
    double clock_hz;          // top SM clock
    double dram_bytes_per_s;  // bus width x memory clock x 2
};

bool cuda_read_facts(struct arena *a, const struct cuda *cu, cuda_device device,
                     struct cuda_facts *facts, struct error *err);
