// Types and numbers of the CUDA driver's interface, as far as hone uses them, from its
// documentation: names are ours, layouts and values the driver's.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result;        // CUresult; 0 is success
typedef int cuda_device;        // CUdevice
typedef uint64_t cuda_pointer;  // CUdeviceptr
typedef struct cuda_context_tag *cuda_context;
typedef struct cuda_module_tag *cuda_module;
typedef struct cuda_function_tag *cuda_function;
typedef struct cuda_stream_tag *cuda_stream;
typedef struct cuda_event_tag *cuda_event;
typedef struct cuda_graph_tag *cuda_graph;
typedef struct cuda_graph_exec_tag *cuda_graph_exec;
typedef unsigned long long cuda_memory;  // CUmemGenericAllocationHandle

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
    CUDA_SHARES_MEMORY = 103,  // by file descriptors
    CUDA_BLOCKS_PER_SM = 106,
    CUDA_CLUSTERS = 120,
};

// Function attributes (CUfunction_attribute).
enum cuda_function_attribute {
    CUDA_FUNCTION_STATIC_SHARED = 1,
    CUDA_FUNCTION_LOCAL_BYTES = 3,
    CUDA_FUNCTION_REGISTERS = 4,
    CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CUDA_FUNCTION_ANY_CLUSTER = 14,  // also sizes that not every device has
};

// What a context may use (CUlimit).
enum cuda_limit { CUDA_LIMIT_PRINTF = 1, CUDA_LIMIT_HEAP = 2, CUDA_LIMIT_PERSISTING_L2 = 6 };

enum {
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NO_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY = 209,
    CUDA_ERROR_PTX_VERSION = 222,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_COOPERATIVE_TOO_LARGE = 720,
    CUDA_ERROR_INVALID_CLUSTER = 912,
};

// CUlaunchAttribute
struct cuda_launch_attribute {
    int id;
    int pad;
    union {
        char pad[64];
        int cooperative, programmatic;
        struct {
            unsigned x, y, z;
        } cluster;
    } value;
};

enum {
    CUDA_ATTRIBUTE_COOPERATIVE = 2,
    CUDA_ATTRIBUTE_CLUSTER = 4,
    CUDA_ATTRIBUTE_PROGRAMMATIC = 6,  // "programmatic stream serialization"
};
// The first driver that takes such launches into a graph.
enum { CUDA_GRAPHS_PROGRAMMATIC = 12030 };

// CUlaunchConfig
struct cuda_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    cuda_stream stream;
    struct cuda_launch_attribute *attributes;
    unsigned n_attributes;
};

// CUmemAllocationProp, CUmemAccessDesc
struct cuda_memory_properties {
    int type, handle_types;
    int location_type, location;
    void *unused;
    unsigned char flags[8];
};

struct cuda_memory_access {
    int location_type, location;
    int flags;
};

// CUtensorMap: opaque, passed to kernels by value.
struct cuda_tensormap {
    _Alignas(64) uint64_t words[16];
};
