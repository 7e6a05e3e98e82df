// A CUDA runtime without a GPU, for one exported directory: device memory is ours, and kernels
// run on the fibres of runtime/dev_cpu.h, in the order that FAKE_SEED draws. kernels.h, which
// the test makes from the plan, lists the kernels. With FAKE_RECORD defined kernels are not run
// and every call of interest is printed instead. The call that FAKE_FAIL names fails. Memory begins
// FAKE_SHIFT bytes after a multiple of 256.
#include "dev.h"

#include "cuda.h"
#include "cuda_runtime_api.h"

#define KERNEL(name, n_args) void name(void);
#ifdef FAKE_RECORD
#include "kernels.h"
#undef KERNEL
#define KERNEL(name, n_args) \
    void name(void) {        \
    }
#include "kernels.h"
#else
#undef HONE_KERNEL
#define HONE_KERNEL(threads) void
#undef HONE_KERNEL_OF
#define HONE_KERNEL_OF(threads, blocks) void
#include "kernel.cu"
#if __has_include("kernel_any.cu")
#include "kernel_any.cu"
#endif
#include "draw.cu"
#endif
#undef KERNEL

enum { SHARED_PLAIN = 48 << 10, ARGUMENTS_MAX = 8 };

static struct kernel {
    const char *name;
    const void *function;
    int n_args;
    int shared_max;
} kernels[] = {
#define KERNEL(name, n_args) {#name, (const void *)name, n_args, SHARED_PLAIN},
#include "kernels.h"
};

static int fails(const char *call) {
    const char *named = getenv("FAKE_FAIL");
    return named && strcmp(named, call) == 0;
}
#define FAIL_IF_ASKED                \
    do {                             \
        if (fails(__func__))         \
            return cudaErrorUnknown; \
    } while (0)

static struct kernel *find(const void *function) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i].function == function)
            return &kernels[i];
    return NULL;
}

static void record(const char *format, ...) {
#ifdef FAKE_RECORD
    va_list ap;
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
#else
    (void)format;
#endif
}

static void prepare(void) {
    const char *seed = getenv("FAKE_SEED");
    if (!hone_dev.fibres)
        hone_dev_prepare(seed ? strtoull(seed, NULL, 10) : 1);
    hone_dev.begins_at_page = 1;  // so that memory is aligned as the runtime aligns it
}

cudaError_t cudaMalloc(void **p, size_t size) {
    FAIL_IF_ASKED;
    prepare();
    const char *shift = getenv("FAKE_SHIFT");
    *p = (char *)hone_dev_guarded((size + 511) / 256 * 256, 256) +
         (shift ? strtol(shift, NULL, 10) : 0);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p) {
    (void)p;
    FAIL_IF_ASKED;
    return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int value, size_t size) {
    FAIL_IF_ASKED;
    memset(p, value, size);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t size, cudaStream_t stream) {
    (void)stream;
    FAIL_IF_ASKED;
    record("fill %zu bytes with %d\n", size, value);
    memset(p, value, size);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
    (void)kind;
    FAIL_IF_ASKED;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
    FAIL_IF_ASKED;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorInvalidValue ? "invalid argument" : "something failed";
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
                                 int value) {
    struct kernel *k = find(function);
    FAIL_IF_ASKED;
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    record("%s: attribute %d is %d\n", k->name, attribute, value);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
        k->shared_max = value;
    return cudaSuccess;
}

#ifndef FAKE_RECORD
static struct kernel *running;

static void call(void *const *a) {
    typedef float *p;
    const void *f = running->function;
    switch (running->n_args) {
    case 1:
        ((void (*)(p))f)(a[0]);
        break;
    case 2:
        ((void (*)(p, p))f)(a[0], a[1]);
        break;
    case 3:
        ((void (*)(p, p, p))f)(a[0], a[1], a[2]);
        break;
    case 4:
        ((void (*)(p, p, p, p))f)(a[0], a[1], a[2], a[3]);
        break;
    case 5:
        ((void (*)(p, p, p, p, p))f)(a[0], a[1], a[2], a[3], a[4]);
        break;
    default:
        hone_dev_fault("has %d arguments; the fake runtime passes at most 5", running->n_args);
    }
}

static cudaError_t launch(const cudaLaunchConfig_t *c, struct kernel *k, void **arguments) {
    void *values[ARGUMENTS_MAX] = {0};
    long together = 1;  // blocks that can meet
    if (c->gridDim.y != 1 || c->gridDim.z != 1 || c->blockDim.y != 1 || c->blockDim.z != 1)
        return cudaErrorInvalidConfiguration;
    for (unsigned i = 0; i < c->numAttrs; i++)
        together = c->attrs[i].id == cudaLaunchAttributeClusterDimension
                       ? c->attrs[i].val.clusterDim.x
                       : c->gridDim.x;
    for (int i = 0; i < k->n_args; i++)
        values[i] = *(void **)arguments[i];
    running = k;
    hone_dev.any_alignment = strstr(k->name, "_any") != NULL;
    hone_dev_launch(&(struct hone_dev_launch){.name = k->name,
                                              .kernel = call,
                                              .arg = values,
                                              .grid = c->gridDim.x,
                                              .threads = (int)c->blockDim.x,
                                              .shared_bytes = (long)c->dynamicSmemBytes,
                                              .together = together});
    return cudaSuccess;
}
#else
static cudaError_t launch(const cudaLaunchConfig_t *c, struct kernel *k, void **arguments) {
    record("%s: grid %u %u %u, block %u %u %u, shared %zu", k->name, c->gridDim.x, c->gridDim.y,
           c->gridDim.z, c->blockDim.x, c->blockDim.y, c->blockDim.z, c->dynamicSmemBytes);
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
            record(", cluster %u %u %u", c->attrs[i].val.clusterDim.x, c->attrs[i].val.clusterDim.y,
                   c->attrs[i].val.clusterDim.z);
        else if (c->attrs[i].id == cudaLaunchAttributeCooperative)
            record(", cooperative %d", c->attrs[i].val.cooperative);
        else
            record(", programmatic %d", c->attrs[i].val.programmaticStreamSerializationAllowed);
    record(", %d arguments\n", k->n_args);
    for (int i = 0; i < k->n_args; i++)
        if (!arguments[i])
            return cudaErrorInvalidValue;
    return cudaSuccess;
}
#endif

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                void **arguments) {
    struct kernel *k = find(function);
    FAIL_IF_ASKED;
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    if (config->dynamicSmemBytes > (size_t)k->shared_max)
        return cudaErrorInvalidValue;
    return launch(config, k, arguments);
}

static CUresult encode(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *at,
                       const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                       const cuuint32_t *steps, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill outside) {
    if (fails("cuTensorMapEncodeTiled") || !at)
        return 1;
    record("map: type %d, interleave %d, swizzle %d, promotion %d, outside %d;", type, interleave,
           swizzle, promotion, outside);
    for (unsigned i = 0; i < rank; i++)
        record(" %llu by %u step %u", dims[i], box[i], steps[i]);
    for (unsigned i = 0; i + 1 < rank; i++)
        record(" stride %llu", strides[i]);
    record("\n");
    memset(map, 1, sizeof *map);
    return 0;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found) {
    (void)version;
    (void)flags;
    FAIL_IF_ASKED;
    *found = fails("found") || strcmp(symbol, "cuTensorMapEncodeTiled") != 0
                 ? cudaDriverEntryPointSymbolNotFound
                 : cudaDriverEntryPointSuccess;
    *function = (void *)encode;
    return cudaSuccess;
}
