// A CUPTI that is not there, for tests of what hone does with one: it says of every launch that the
// fake driver tells it of (fake_cupti_*) that it took so and so long, has counters by rule and
// samples by rule. Faults (is_fault) are those that the real one has: counters refused or taken,
// another subscriber, a driver that is newer than it. Layouts are those of inject/cupti_types.h,
// which a test of its own holds against the vendor's headers.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../inject/cupti_types.h"
#include "../fault.h"

enum { RECORDS_MAX = 1 << 17, NAMES = 3 };

static cupti_callback callback;
static int is_driver_enabled, is_tracing, is_counting, is_sampling, is_range_ready;
static struct cupti_kernel_record records[RECORDS_MAX];
static int n_records;
static uint64_t now_ns = 1000000;
static void (*buffer_wanted)(uint8_t **, size_t *, size_t *);
static void (*buffer_done)(void *, uint32_t, uint8_t *, size_t, size_t);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char sampled[256];  // the kernel launched last

// ---- what the fake driver tells

void fake_cupti_context(void *context) {
    struct cupti_resource_data d = {.context = context};
    if (callback)
        callback(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_CREATED, &d);
}

void fake_cupti_module(const char *cubin, size_t size) {
    struct cupti_module_data m = {1, size, cubin};
    struct cupti_resource_data d = {.descriptor = &m};
    if (callback)
        callback(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_MODULE_LOADED, &d);
}

int cuptiActivityFlushAll(uint32_t flag);

// Where nobody has asked for them in time, records are handed out before there is no room.
static void trace(const char *name, const unsigned *grid, const unsigned *block, int is_graph) {
    if (n_records == RECORDS_MAX)
        cuptiActivityFlushAll(0);
    pthread_mutex_lock(&lock);
    now_ns += 1000;
    if (is_tracing && n_records < RECORDS_MAX) {
        struct cupti_kernel_record *r = &records[n_records++];
        *r = (struct cupti_kernel_record){.kind = CUPTI_KIND_CONCURRENT,
                                          .registers = 32,
                                          .start = now_ns,
                                          .end = now_ns + 100000,
                                          .name = name,
                                          .graph_node = (uint64_t)is_graph};
        for (int i = 0; i < 3; i++)
            r->grid[i] = (int)grid[i], r->block[i] = (int)block[i];
    }
    now_ns += 100000;
    pthread_mutex_unlock(&lock);
}

// A launch through call number `id`, with its parameters; `site` 0 before it, 1 behind it.
void fake_cupti_launch(uint32_t id, const char *name, const void *params, void *context, int site) {
    struct cupti_call_data d = {.site = site, .params = params, .symbol = name, .context = context};
    const struct launch_params *p = params;
    const struct launch_config *c = ((const struct launch_ex_params *)params)->config;
    const unsigned *grid = id == LAUNCH_EX ? c->grid : p->grid;
    const unsigned *block = id == LAUNCH_EX ? c->block : p->block;
    if (callback && is_driver_enabled)
        callback(NULL, CUPTI_DOMAIN_DRIVER, id, &d);
    if (site == 0)
        return;
    snprintf(sampled, sizeof sampled, "%s", name);
    trace(name, grid, block, id == LAUNCH_GRAPH);
}

// Any other call of the driver.
void fake_cupti_call(uint32_t id, void *context, int site) {
    struct cupti_call_data d = {.site = site, .context = context};
    if (callback && is_driver_enabled)
        callback(NULL, CUPTI_DOMAIN_DRIVER, id, &d);
}

// ---- general

int cuptiGetVersion(uint32_t *version) {
    *version = is_fault("old") ? 120300 : 130001;
    return 0;
}
int cuptiGetResultString(int code, const char **text) {
    *text = code == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return 0;
}
int cuptiSubscribe(void **subscriber, cupti_callback f, void *user) {
    if (is_fault("subscribed") || is_fault("old"))
        return is_fault("old") ? 14 : 39;
    callback = f;
    return 0;
}
int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id) {
    is_driver_enabled |= domain == CUPTI_DOMAIN_DRIVER;
    return 0;
}
int cuptiGetDeviceId(void *context, uint32_t *device) {
    *device = 0;
    return 0;
}
int cuptiDeviceGetChipName(struct chip_name_params *p) {
    p->name = is_fault("no-chip") ? NULL : "GH100";
    return is_fault("no-chip");
}

// ---- activity

int cuptiActivityRegisterCallbacks(void (*wanted)(uint8_t **, size_t *, size_t *),
                                   void (*done)(void *, uint32_t, uint8_t *, size_t, size_t)) {
    buffer_wanted = wanted;
    buffer_done = done;
    return 0;
}
int cuptiActivityEnable(int kind) {
    is_tracing = !is_fault("no-activity");
    return is_tracing ? 0 : 27;
}
int cuptiActivityFlushAll(uint32_t flag) {
    pthread_mutex_lock(&lock);
    int n = n_records;
    struct cupti_kernel_record *all = malloc((size_t)(n + 1) * sizeof *all);
    memcpy(all, records, (size_t)n * sizeof *all);
    n_records = 0;
    pthread_mutex_unlock(&lock);
    for (int done = 0; done < n;) {
        uint8_t *buffer;
        size_t size, max;
        buffer_wanted(&buffer, &size, &max);
        int fits = (int)(size / sizeof *all), now = n - done < fits ? n - done : fits;
        memcpy(buffer, all + done, (size_t)now * sizeof *all);
        buffer_done(NULL, 0, buffer, size, (size_t)now * sizeof *all);
        done += now;
    }
    free(all);
    return 0;
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record) {
    uint8_t *next = *record ? (uint8_t *)*record + sizeof *records : buffer;
    if (next >= buffer + valid)
        return 12;
    *record = (struct cupti_record *)next;
    return 0;
}
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    *dropped = 0;
    return 0;
}

// ---- counters

int cuptiProfilerInitialize(struct profiler_open_params *p) {
    return 0;
}
int cuptiProfilerHostInitialize(struct host_open_params *p) {
    p->host = (void *)1;
    return p->chip ? 0 : 1;
}
int cuptiProfilerHostDeinitialize(struct host_close_params *p) {
    return 0;
}
int cuptiProfilerHostGetMetricProperties(void *p) {
    return 0;
}
int cuptiProfilerHostConfigAddMetrics(struct host_add_params *p) {
    return p->n == 0;
}
int cuptiProfilerHostGetConfigImageSize(struct host_image_size_params *p) {
    p->image_size = 64;
    return 0;
}
int cuptiProfilerHostGetConfigImage(struct host_image_params *p) {
    return 0;
}
int cuptiProfilerHostGetNumOfPasses(struct host_passes_params *p) {
    p->passes = 3;
    return 0;
}

// A kernel that keeps memory busy: shares are 10%, that of memory 91%, stalls 1, others 1000.
static double value_of(const char *name) {
    if (strstr(name, "dram_throughput") || strstr(name, "dram__throughput"))
        return 91;
    if (strstr(name, "conflicts") || strstr(name, "atom") || strstr(name, "_red.") ||
        strstr(name, "local") || strstr(name, "sysmem"))
        return 0;
    if (strstr(name, "_stalled_"))
        return strstr(name, "long_scoreboard") ? 30 : 1;
    if (strstr(name, "per_inst_executed.ratio"))
        return 32;
    return strstr(name, "pct") ? 10 : 1000;
}
int cuptiProfilerHostEvaluateToGpuValues(struct host_evaluate_params *p) {
    for (size_t i = 0; i < p->n; i++)
        p->values[i] = strstr(p->names[i], "gmma") ? 0.0 / 0.0 : value_of(p->names[i]);
    return 0;
}

int cuptiRangeProfilerEnable(struct range_enable_params *p) {
    p->ranger = (void *)1;
    return is_fault("refused") ? 35 : 0;
}
int cuptiRangeProfilerDisable(struct range_params *p) {
    return 0;
}
int cuptiRangeProfilerSetConfig(struct range_config_params *p) {
    return p->range != CUPTI_RANGE_AUTO || p->replay != CUPTI_REPLAY_KERNEL;
}
int cuptiRangeProfilerStart(struct range_params *p) {
    is_counting = 1;
    return is_fault("counters-busy") ? 26 : 0;
}
int cuptiRangeProfilerStop(struct range_stop_params *p) {
    is_range_ready = is_counting;
    is_counting = 0;
    return 0;
}
int cuptiRangeProfilerDecodeData(struct range_decode_params *p) {
    return is_fault("no-data") ? 999 : 0;
}
int cuptiRangeProfilerGetCounterDataSize(struct range_data_size_params *p) {
    p->data_size = 128;
    return 0;
}
int cuptiRangeProfilerCounterDataImageInitialize(struct range_data_open_params *p) {
    return 0;
}
int cuptiRangeProfilerGetCounterDataInfo(struct range_data_info_params *p) {
    p->n_ranges = (size_t)is_range_ready;
    return 0;
}

// ---- samples: of each kernel one row, at its fourth instruction

static const char *const reasons[NAMES] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected"};

int cuptiPCSamplingEnable(struct sample_params *p) {
    is_sampling = 1;
    return is_fault("refused") ? 35 : 0;
}
int cuptiPCSamplingDisable(struct sample_params *p) {
    return 0;
}
int cuptiPCSamplingSetConfigurationAttribute(struct sample_settings_params *p) {
    return p->n < 4;
}
int cuptiPCSamplingGetNumStallReasons(struct sample_count_params *p) {
    *p->n = NAMES;
    return 0;
}
int cuptiPCSamplingGetStallReasons(struct sample_reasons_params *p) {
    for (int i = 0; i < NAMES; i++) {
        p->index[i] = (uint32_t)i + 7;
        snprintf(p->names[i], CUPTI_REASON_BYTES, "%s", reasons[i]);
    }
    return 0;
}
int cuptiPCSamplingGetData(struct sample_get_params *p) {
    struct sample_data *d = p->data;
    d->n_pcs = d->n_left = 0;
    if (!sampled[0] || !is_sampling)
        return 0;
    static char name[256];
    memcpy(name, sampled, sizeof name);
    sampled[0] = '\0';
    d->n_samples = 100;
    d->n_pcs = 1;
    d->pcs[0].crc = 0x1234;
    d->pcs[0].pc = 0xf0;
    d->pcs[0].function = name;
    d->pcs[0].n_reasons = NAMES;
    for (uint32_t i = 0; i < NAMES; i++)
        d->pcs[0].reasons[i] = (struct sample_reason){i + 7, i == 2 ? 10 : 90};
    return 0;
}
int cuptiGetCubinCrc(struct cubin_crc_params *p) {
    p->crc = 0x1234;
    return 0;
}
int cuptiGetSassToSourceCorrelation(struct source_line_params *p) {
    p->line = 42;
    p->file = strdup("some source.cu");
    p->dir = strdup("/src");
    return 0;
}
