// What CUPTI 13.0 expects and gives, declared here: its headers are not on most machines, and those
// of its host half are C++. Names are ours, layouts the library's; tests/tools/cupti_layout.c holds
// them against the vendor's headers where these are installed. Sizes that a call wants in its first
// field go to the end of the last field, without padding behind it: SIZE_TO.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SIZE_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

enum {
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RESOURCE = 3,
    CUPTI_CONTEXT_CREATED = 1,
    CUPTI_CONTEXT_ENDS = 2,
    CUPTI_MODULE_LOADED = 6,
    CUPTI_KIND_COPY = 1,
    CUPTI_KIND_SET = 2,
    CUPTI_KIND_KERNEL = 3,
    CUPTI_KIND_CONCURRENT = 10,
    CUPTI_RANGE_AUTO = 1,
    CUPTI_REPLAY_KERNEL = 2,
    CUPTI_REASON_BYTES = 128,
    CUPTI_SAMPLING_PERIOD = 1,
    CUPTI_SAMPLING_REASONS = 2,
    CUPTI_SAMPLING_MODE = 5,
    CUPTI_SAMPLING_CONTROL = 6,
    CUPTI_SAMPLING_BUFFER = 8,
    CUPTI_MODE_CONTINUOUS = 1,
};

// Numbers of the driver's calls that launch (CUpti_driver_api_trace_cbid).
enum {
    LAUNCH_KERNEL = 307,
    LAUNCH_KERNEL_PER_THREAD = 442,
    LAUNCH_COOPERATIVE = 477,
    LAUNCH_COOPERATIVE_PER_THREAD = 478,
    LAUNCH_GRAPH = 514,
    LAUNCH_GRAPH_PER_THREAD = 515,
    LAUNCH_EX = 652,
    LAUNCH_EX_PER_THREAD = 653,
};

// Numbers of those that take memory on the card.
#define CUPTI_ALLOCATIONS(X)                 \
    X(ALLOC, 243, cuMemAlloc_v2)             \
    X(ALLOC_PITCH, 244, cuMemAllocPitch_v2)  \
    X(ALLOC_MANAGED, 371, cuMemAllocManaged) \
    X(ALLOC_CREATE, 549, cuMemCreate)        \
    X(ALLOC_ASYNC, 598, cuMemAllocAsync)     \
    X(ALLOC_ASYNC_PER_THREAD, 599, cuMemAllocAsync_ptsz)
#define NUMBER(id, number, call) id = number,
enum { CUPTI_ALLOCATIONS(NUMBER) };
#undef NUMBER

typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);

struct cupti_call_data {
    int site;  // 0: enter, 1: exit
    const char *function;
    const void *params;
    void *result;
    const char *symbol;  // the kernel's name, mangled
    void *context;
};

struct cupti_resource_data {
    void *context;
    void *stream;
    void *descriptor;
};

struct cupti_module_data {
    uint32_t id;
    size_t cubin_size;
    const char *cubin;
};

// First parameters of the launching calls.
struct launch_params {
    void *function;
    unsigned grid[3], block[3], shared;
    void *stream;
};
struct launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
};
struct launch_ex_params {
    const struct launch_config *config;
};

// ---- records of activity: only what is read of them

struct cupti_record {
    int kind;
};

struct cupti_kernel_record {
    int kind;
    uint16_t cache, registers;
    uint32_t partition[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, shared_config;
    uint8_t padding[6];
    uint64_t graph_node;
};

struct cupti_copy_record {
    int kind;
    uint8_t copy_kind, from, to, flags;
    uint64_t bytes, start, end;
};

struct cupti_set_record {
    int kind;
    uint32_t value;
    uint64_t bytes, start, end;
};

// ---- counters

struct host_open_params {
    size_t size;
    void *reserved;
    int profiler_type;
    const char *chip;
    const uint8_t *availability;
    void *host;  // out
};
struct host_close_params {
    size_t size;
    void *reserved;
    void *host;
};
struct host_add_params {
    size_t size;
    void *reserved;
    void *host;
    const char **names;
    size_t n;
};
struct host_image_size_params {
    size_t size;
    void *reserved;
    void *host;
    size_t image_size;  // out
};
struct host_image_params {
    size_t size;
    void *reserved;
    void *host;
    size_t image_size;
    uint8_t *image;
};
struct host_passes_params {
    size_t size;
    void *reserved;
    size_t image_size;
    uint8_t *image;
    size_t passes;  // out
};
struct host_evaluate_params {
    size_t size;
    void *reserved;
    void *host;
    const uint8_t *data;
    size_t data_size;
    size_t range;
    const char **names;
    size_t n;
    double *values;
};

struct profiler_open_params {
    size_t size;
    void *reserved;
};
struct chip_name_params {
    size_t size;
    void *reserved;
    size_t device;
    const char *name;  // out
};
struct range_enable_params {
    size_t size;
    void *reserved;
    void *context;
    void *ranger;  // out
};
struct range_params {  // of Disable and Start
    size_t size;
    void *reserved;
    void *ranger;
};
struct range_stop_params {
    size_t size;
    void *reserved;
    void *ranger;
    size_t pass, level;  // out
    uint8_t is_done;     // out
};
struct range_decode_params {
    size_t size;
    void *reserved;
    void *ranger;
    size_t n_dropped;  // out
};
struct range_data_size_params {
    size_t size;
    void *reserved;
    void *ranger;
    const char **names;
    size_t n;
    size_t max_ranges;
    uint32_t max_nodes;
    size_t data_size;  // out
};
struct range_data_open_params {
    size_t size;
    void *reserved;
    void *ranger;
    size_t data_size;
    uint8_t *data;
};
struct range_data_info_params {
    size_t size;
    void *reserved;
    const uint8_t *data;
    size_t data_size;
    size_t n_ranges;  // out
};
struct range_config_params {
    size_t size;
    void *reserved;
    void *ranger;
    size_t image_size;
    const uint8_t *image;
    size_t data_size;
    uint8_t *data;
    int range, replay;
    size_t max_ranges;
    uint16_t n_levels, min_level;
    size_t pass;
    uint16_t level;
};

// ---- samples of the program counter

struct sample_reason {
    uint32_t reason, samples;
};
struct sample_pc {
    size_t size;
    uint64_t crc, pc;
    uint32_t function_index, pad;
    char *function;
    size_t n_reasons;
    struct sample_reason *reasons;
    uint32_t correlation;
};
struct sample_data {
    size_t size;
    size_t room;
    uint64_t n_samples, n_dropped;
    size_t n_pcs, n_left;
    uint64_t range;
    struct sample_pc *pcs;
    uint64_t n_foreign;  // of kernels that are not the program's
    uint8_t is_full;
};
struct sample_setting {
    int kind, status;
    union {
        uint64_t words[3];
        uint32_t number;
        struct {
            size_t n;
            uint32_t *reasons;
        } reasons;
        void *buffer;
    } value;
};
struct sample_settings_params {
    size_t size;
    void *reserved;
    void *context;
    size_t n;
    struct sample_setting *settings;
};
struct sample_get_params {
    size_t size;
    void *reserved;
    void *context;
    struct sample_data *data;
};
struct sample_params {  // of Enable and Disable
    size_t size;
    void *reserved;
    void *context;
};
struct sample_count_params {
    size_t size;
    void *reserved;
    void *context;
    size_t *n;
};
struct sample_reasons_params {
    size_t size;
    void *reserved;
    void *context;
    size_t n;
    uint32_t *index;
    char **names;
};
struct source_line_params {
    size_t size;
    const void *cubin;
    const char *function;
    size_t cubin_size;
    uint32_t line;  // out
    uint64_t pc;
    char *file, *dir;  // out, to be freed
};
struct cubin_crc_params {
    size_t size;
    size_t cubin_size;
    const void *cubin;
    uint64_t crc;  // out
};

// Every call by name: X(field, symbol, parameters).
#define CUPTI_CALLS(X)                                                                          \
    X(subscribe, cuptiSubscribe, (void **, cupti_callback, void *))                             \
    X(enable_callback, cuptiEnableCallback, (uint32_t, void *, int, uint32_t))                  \
    X(version, cuptiGetVersion, (uint32_t *))                                                   \
    X(text, cuptiGetResultString, (int, const char **))                                         \
    X(device, cuptiGetDeviceId, (void *, uint32_t *))                                           \
    X(chip, cuptiDeviceGetChipName, (struct chip_name_params *))                                \
    X(activity_callbacks, cuptiActivityRegisterCallbacks,                                       \
      (void (*)(uint8_t **, size_t *, size_t *),                                                \
       void (*)(void *, uint32_t, uint8_t *, size_t, size_t)))                                  \
    X(activity_enable, cuptiActivityEnable, (int))                                              \
    X(activity_next, cuptiActivityGetNextRecord, (uint8_t *, size_t, struct cupti_record **))   \
    X(activity_flush, cuptiActivityFlushAll, (uint32_t))                                        \
    X(activity_dropped, cuptiActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))        \
    X(profiler_open, cuptiProfilerInitialize, (struct profiler_open_params *))                  \
    X(host_open, cuptiProfilerHostInitialize, (struct host_open_params *))                      \
    X(host_close, cuptiProfilerHostDeinitialize, (struct host_close_params *))                  \
    X(host_add, cuptiProfilerHostConfigAddMetrics, (struct host_add_params *))                  \
    X(host_image_size, cuptiProfilerHostGetConfigImageSize, (struct host_image_size_params *))  \
    X(host_image, cuptiProfilerHostGetConfigImage, (struct host_image_params *))                \
    X(host_passes, cuptiProfilerHostGetNumOfPasses, (struct host_passes_params *))              \
    X(host_evaluate, cuptiProfilerHostEvaluateToGpuValues, (struct host_evaluate_params *))     \
    X(range_enable, cuptiRangeProfilerEnable, (struct range_enable_params *))                   \
    X(range_disable, cuptiRangeProfilerDisable, (struct range_params *))                        \
    X(range_config, cuptiRangeProfilerSetConfig, (struct range_config_params *))                \
    X(range_start, cuptiRangeProfilerStart, (struct range_params *))                            \
    X(range_stop, cuptiRangeProfilerStop, (struct range_stop_params *))                         \
    X(range_decode, cuptiRangeProfilerDecodeData, (struct range_decode_params *))               \
    X(range_data_size, cuptiRangeProfilerGetCounterDataSize, (struct range_data_size_params *)) \
    X(range_data_open, cuptiRangeProfilerCounterDataImageInitialize,                            \
      (struct range_data_open_params *))                                                        \
    X(range_data_info, cuptiRangeProfilerGetCounterDataInfo, (struct range_data_info_params *)) \
    X(sample_enable, cuptiPCSamplingEnable, (struct sample_params *))                           \
    X(sample_disable, cuptiPCSamplingDisable, (struct sample_params *))                         \
    X(sample_get, cuptiPCSamplingGetData, (struct sample_get_params *))                         \
    X(sample_set, cuptiPCSamplingSetConfigurationAttribute, (struct sample_settings_params *))  \
    X(sample_count, cuptiPCSamplingGetNumStallReasons, (struct sample_count_params *))          \
    X(sample_names, cuptiPCSamplingGetStallReasons, (struct sample_reasons_params *))           \
    X(cubin_crc, cuptiGetCubinCrc, (struct cubin_crc_params *))                                 \
    X(source_line, cuptiGetSassToSourceCorrelation, (struct source_line_params *))
