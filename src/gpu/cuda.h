// The CUDA driver: a table of the calls that hone makes, and an error type in words.
//
// Types and numbers are declared in cuda_types.h, from the driver's documented interface, so that
// no CUDA header is needed. The table is one struct of function pointers; a call is
// `cu->launch(...)` checked by cuda_ok(). Clocks, power and modes of a device are never
// changed: no such call is in the table.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/cuda_types.h"

struct arena;
struct error;

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
    cuda_result (*context_limit)(int limit, size_t value);
    cuda_result (*memory_info)(size_t *free_bytes, size_t *total_bytes);
    cuda_result (*allocate)(cuda_pointer *pointer, size_t bytes);
    cuda_result (*release)(cuda_pointer pointer);
    cuda_result (*copy_to)(cuda_pointer to, const void *from, size_t bytes);
    cuda_result (*copy_from)(void *to, cuda_pointer from, size_t bytes);
    cuda_result (*copy)(cuda_pointer to, cuda_pointer from, size_t bytes);
    cuda_result (*fill32)(cuda_pointer to, unsigned value, size_t count);
    cuda_result (*fill8_async)(cuda_pointer to, unsigned char value, size_t count,
                               cuda_stream stream);
    cuda_result (*fill32_async)(cuda_pointer to, unsigned value, size_t count, cuda_stream stream);
    cuda_result (*fill32_2d_async)(cuda_pointer to, size_t pitch, unsigned value, size_t width,
                                   size_t height, cuda_stream stream);
    cuda_result (*memory_granularity)(size_t *bytes, const struct cuda_memory_properties *p,
                                      int option);
    cuda_result (*memory_create)(cuda_memory *memory, size_t bytes,
                                 const struct cuda_memory_properties *p, unsigned long long flags);
    cuda_result (*memory_release)(cuda_memory memory);
    cuda_result (*memory_export)(void *handle, cuda_memory memory, int type,
                                 unsigned long long flags);
    cuda_result (*memory_import)(cuda_memory *memory, void *handle, int type);
    cuda_result (*address_reserve)(cuda_pointer *pointer, size_t bytes, size_t alignment,
                                   cuda_pointer wanted, unsigned long long flags);
    cuda_result (*address_free)(cuda_pointer pointer, size_t bytes);
    cuda_result (*memory_map)(cuda_pointer pointer, size_t bytes, size_t offset, cuda_memory memory,
                              unsigned long long flags);
    cuda_result (*memory_unmap)(cuda_pointer pointer, size_t bytes);
    cuda_result (*memory_access)(cuda_pointer pointer, size_t bytes,
                                 const struct cuda_memory_access *access, size_t count);
    cuda_result (*module_load)(cuda_module *module, const void *image);
    cuda_result (*module_unload)(cuda_module module);
    cuda_result (*module_function)(cuda_function *function, cuda_module module, const char *name);
    cuda_result (*function_attribute)(int *value, int attribute, cuda_function function);
    cuda_result (*function_set)(cuda_function function, int attribute, int value);
    cuda_result (*function_parameter)(cuda_function function, size_t index, size_t *offset,
                                      size_t *bytes);  // may be NULL: driver before 12.4
    cuda_result (*occupancy)(int *blocks, cuda_function function, int block, size_t shared);
    cuda_result (*launch)(cuda_function function, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          cuda_stream stream, void **arguments, void **extra);
    cuda_result (*launch_with)(const struct cuda_launch_config *config, cuda_function function,
                               void **arguments, void **extra);
    cuda_result (*capture_begin)(cuda_stream stream, int mode);
    cuda_result (*capture_end)(cuda_stream stream, cuda_graph *graph);
    cuda_result (*graph_instantiate)(cuda_graph_exec *exec, cuda_graph graph,
                                     unsigned long long flags);
    cuda_result (*graph_upload)(cuda_graph_exec exec, cuda_stream stream);
    cuda_result (*graph_launch)(cuda_graph_exec exec, cuda_stream stream);
    cuda_result (*graph_destroy)(cuda_graph graph);
    cuda_result (*graph_exec_destroy)(cuda_graph_exec exec);
    cuda_result (*stream_create)(cuda_stream *stream, unsigned flags);
    cuda_result (*stream_destroy)(cuda_stream stream);
    cuda_result (*stream_synchronize)(cuda_stream stream);
    cuda_result (*event_create)(cuda_event *event, unsigned flags);
    cuda_result (*event_destroy)(cuda_event event);
    cuda_result (*event_record)(cuda_event event, cuda_stream stream);
    cuda_result (*event_synchronize)(cuda_event event);
    cuda_result (*event_elapsed)(float *ms, cuda_event start, cuda_event end);
    cuda_result (*tensormap_encode)(struct cuda_tensormap *map, int type, unsigned rank,
                                    void *address, const uint64_t *dims, const uint64_t *strides,
                                    const unsigned *box, const unsigned *element_strides,
                                    int interleave, int swizzle, int promotion, int outside);
    cuda_result (*error_name)(cuda_result result, const char **name);
    cuda_result (*error_text)(cuda_result result, const char **text);
    // clang-format on
};

// Open the driver and initialise it. No driver, no device, or one too old for what hone emits:
// ERROR_UNSUPPORTED with the reason.
bool cuda_open(struct cuda *cu, struct error *err);
void cuda_close(struct cuda *cu);

// The version of the installed driver (13000 for CUDA 13.0) without starting it; 0: none.
int cuda_driver_version(void);

// True for success; else `err` says what was attempted and the driver's own words.
bool cuda_ok(const struct cuda *cu, cuda_result result, const char *what, struct error *err);

// The driver's name of an error: "CUDA_ERROR_ILLEGAL_ADDRESS".
const char *cuda_error_name(const struct cuda *cu, cuda_result result);

// Facts of one device, read off it.
struct cuda_facts {
    const char *name;  // "NVIDIA H200"
    const char *uuid;  // "GPU-xxxxxxxx-xxxx-..."
    const char *arch;  // what to compile for: "sm_90a"
    int major, minor;
    int sms;
    int64_t memory_bytes, l2_bytes;
    int64_t shared_per_block, shared_per_sm;
    bool has_clusters;  // and tensor maps
    int registers_per_sm, threads_per_sm, blocks_per_sm;
    double clock_hz;          // top SM clock
    double dram_bytes_per_s;  // bus width x memory clock x 2
};

bool cuda_read_facts(struct arena *a, const struct cuda *cu, cuda_device device,
                     struct cuda_facts *facts, struct error *err);
