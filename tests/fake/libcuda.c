// A driver that is not there: the calls of gpu/cuda.h over ordinary memory, for tests of what hone
// does when the driver or a kernel fails. A fault has a name (is_fault). Kernels are known by
// name: the judge's own are compiled here as C, and a few candidates (fake_kernels.h) stand for
// everything that kernels do. Nothing here is timed, and nothing about a GPU is learned from it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t pointer;

#include "fault.h"
#include "inject.h"

// Calls that only need to exist.
#define UNUSED_CALL(name) \
    int name(void);       \
    int name(void) {      \
        return 999;       \
    }
UNUSED_CALL(cuStreamDestroy_v2)
UNUSED_CALL(cuEventDestroy_v2)

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
    load_injection();
    return is_fault("init") ? 999 : is_fault("no-device") ? 100 : 0;
}

int cuDriverGetVersion(int *version) {
    *version = is_fault("old") ? 11040 : 13000;
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = is_fault("none") ? 0 : is_fault("two") || is_fault("second-dies") ? 2 : 1;
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
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i + device);
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
    static const int values[][2] = {{16, 100},    {75, 9},       {76, 0},       {38, 2 << 20},
                                    {97, 232448}, {81, 233472},  {82, 65536},   {39, 2048},
                                    {106, 32},    {13, 2000000}, {36, 3000000}, {37, 4096},
                                    {103, 1},     {120, 1}};
    *value = 0;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i][0] == attribute)
            *value = values[i][1];
    return 0;
}

int cuGetErrorName(int result, const char **name) {
    *name = result == 100   ? "CUDA_ERROR_NO_DEVICE"
            : result == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                            : "CUDA_ERROR_OTHER";
    return 0;
}

int cuGetErrorString(int result, const char **text) {
    *text = result == 100 ? "no CUDA-capable device is detected" : NULL;
    return 0;
}

static int error;  // sticky, as after an illegal address
// Kernels and fills are done when they are asked for, but nobody may count on that: memory that is
// taken away before anything waited for them is an illegal address.
static bool is_busy;

// ---- memory: device pointers are addresses of this process

// The judge of the second device, not its runners.
static bool is_second_judge(int device) {
    char command[256] = "";
    FILE *f = device == 1 ? fopen("/proc/self/cmdline", "r") : NULL;
    size_t n = f ? fread(command, 1, sizeof command - 1, f) : 0;
    if (f)
        fclose(f);
    return n > 8 && strcmp(command + n - 8, "_worker") == 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = (void *)1;
    if (is_fault("second-dies") && is_second_judge(device))
        raise(SIGKILL);
    tell_context();
    return is_fault("context") ? 999 : 0;
}
// What was made in a context goes with it.
enum { MADE_MAX = 4096 };
static void *made[MADE_MAX];
static void *make(void *p) {
    for (int i = 0; p && i < MADE_MAX; i++)
        if (!made[i]) {
            made[i] = p;
            break;
        }
    return p;
}
static void unmake(void *p) {
    for (int i = 0; i < MADE_MAX; i++)
        if (made[i] == p)
            made[i] = NULL;
    free(p);
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    for (int i = 0; i < MADE_MAX; i++)
        if (made[i])
            unmake(made[i]);
    return 0;
}
int cuCtxSetCurrent(void *context) {
    return 0;
}
int cuCtxSetLimit(int limit, size_t value) {
    return 0;
}

// Of arrays of 4000 bytes, such as what is expected of a problem with 1000 results, one fault has a
// card that more than ten of them fill.
static int n_arrays(int more) {
    static int n;
    return n += more;
}

static size_t n_taken;  // bytes by a program that says so (`cuda-program`)

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    if (error)
        return error;
    *free_bytes = is_fault("crowded") && n_arrays(0) > 10 ? 1 << 20 : ((size_t)4 << 30) - n_taken;
    *total = (size_t)6 << 30;
    return 0;
}

int cuMemAlloc_v2(pointer *p, size_t bytes) {
    static int n_calls;
    n_calls++;
    tell_call(243, 0);
    n_taken += bytes == 3 << 20 ? bytes : 0;
    tell_call(243, 1);
    if (is_fault("full") || (is_fault("nearly-full") && bytes == 4000 && n_calls % 5 == 0))
        return 2;
    *p = (pointer)make(aligned_alloc(256, (bytes + 255) / 256 * 256));
    if (*p && bytes == 4000)
        n_arrays(1);
    return *p ? 0 : 2;
}
int cuMemFree_v2(pointer p) {
    is_busy = false;
    n_arrays(malloc_usable_size((void *)p) - 4000 < 256 ? -1 : 0);
    unmake((void *)p);
    return 0;
}

int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int option) {
    *bytes = 2 << 20;
    return 0;
}

// A handle is the descriptor of a memory file, and one more so that it is not 0. Of pieces larger
// than a page, such as scratch has here, one fault lets nineteen be had.
int cuMemCreate(unsigned long long *handle, size_t bytes, const void *p, unsigned long long flags) {
    static int n_large;
    int fd = memfd_create("device", MFD_CLOEXEC);
    n_large += bytes > 2 << 20;
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || is_fault("no-memory") ||
        (is_fault("no-scratch") && bytes > 2 << 20 && n_large == 20))
        return 2;
    *handle = (unsigned long long)fd + 1;
    return 0;
}
int cuMemRelease(unsigned long long handle) {
    return close((int)handle - 1);
}
int cuMemExportToShareableHandle(int *fd, unsigned long long handle, int type,
                                 unsigned long long flags) {
    *fd = dup((int)handle - 1);
    return 0;
}
int cuMemImportFromShareableHandle(unsigned long long *handle, void *fd, int type) {
    *handle = (unsigned long long)dup((int)(intptr_t)fd) + 1;
    return is_fault("import") ? 1 : 0;
}
int cuMemAddressReserve(pointer *p, size_t bytes, size_t alignment, pointer wanted,
                        unsigned long long flags) {
    *p = (pointer)mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return 0;
}
int cuMemAddressFree(pointer p, size_t bytes) {
    return munmap((void *)p, bytes);
}
// What is mapped.
enum { PIECES_MAX = 256 };
static struct {
    char *at;  // NULL: free
    size_t bytes;
} pieces[PIECES_MAX];
static void set_piece(const void *was, void *at, size_t bytes) {
    int i = 0;
    while (i < PIECES_MAX - 1 && pieces[i].at != was)
        i++;
    pieces[i].at = at;
    pieces[i].bytes = bytes;
}
int cuMemMap(pointer p, size_t bytes, size_t offset, unsigned long long handle,
             unsigned long long flags) {
    set_piece(NULL, (void *)p, bytes);
    return mmap((void *)p, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, (int)handle - 1,
                0) == MAP_FAILED;
}
int cuMemUnmap(pointer p, size_t bytes) {
    if (is_busy)
        error = 700;
    set_piece((void *)p, NULL, 0);
    return mmap((void *)p, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           MAP_FAILED;
}
int cuMemSetAccess(pointer p, size_t bytes, const void *access, size_t count) {
    return 0;
}

int cuMemcpyHtoD_v2(pointer to, const void *from, size_t bytes) {
    memcpy((void *)to, from, bytes);
    return 0;
}
int cuMemcpyDtoH_v2(void *to, pointer from, size_t bytes) {
    is_busy = false;
    memcpy(to, (void *)from, bytes);
    return is_fault("lost") ? 999 : 0;
}
int cuMemcpyDtoD_v2(pointer to, pointer from, size_t bytes) {
    memcpy((void *)to, (void *)from, bytes);
    return 0;
}
int cuMemsetD32_v2(pointer to, unsigned value, size_t count) {
    is_busy = true;
    for (size_t i = 0; i < count; i++)
        ((unsigned *)to)[i] = value;
    return 0;
}

// ---- kernels

#include "fake_kernels.h"

int cuModuleLoadData(void **module, const void *image) {
    *module = (void *)1;
    if (memcmp(image, "\177ELF", 4) == 0)
        tell_module(image);
    return is_fault("image") ? 209 : memcmp(image, "\177ELF", 4) == 0 ? 0 : 200;
}
int cuModuleUnload(void *module) {
    return error;
}
int cuModuleGetFunction(const struct kernel **f, void *module, const char *name) {
    if (is_fault("no-oracle") && strncmp(name, "oracle_", 7) == 0)
        return 500;
    for (*f = kernels; (*f)->name; ++*f)
        if (strcmp((*f)->name, name) == 0)
            return 0;
    return 500;
}
int cuFuncGetAttribute(int *value, int attribute, const struct kernel *f) {
    *value = 32;
    return 0;
}
// Dynamic shared memory that a launch may have: without asking, 48 KiB less what the kernel
// declares itself (the 32 bytes of above); with it, what was asked for last.
enum { STATIC_SHARED = 32 };
static int shared_asked[sizeof kernels / sizeof kernels[0]];
int cuFuncSetAttribute(const struct kernel *f, int attribute, int value) {
    if (attribute != 8)
        return 0;
    if (value + STATIC_SHARED > 232448)
        return 1;
    shared_asked[f - kernels] = value;
    return 0;
}
static int has_shared(const struct kernel *f, unsigned bytes) {
    int asked = shared_asked[f - kernels];
    return (int)bytes <= (asked ? asked : (48 << 10) - STATIC_SHARED);
}
// A tensor map knows where its buffer is, and that comes first: kernels here read from there.
struct map {
    pointer at;
    uint64_t rest[15];
};
int cuTensorMapEncodeTiled(struct map *map, int type, unsigned rank, void *at, const uint64_t *dims,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps,
                           int interleave, int swizzle, int promotion, int outside) {
    *map = (struct map){.at = (pointer)at};
    return is_fault("tensormap") ? 1 : 0;
}
int cuFuncGetParamInfo(const struct kernel *f, size_t i, size_t *offset, size_t *bytes) {
    *bytes = i < (size_t)f->n_maps ? sizeof(struct map) : 8;
    *offset = 8 * i + (sizeof(struct map) - 8) * (i < (size_t)f->n_maps ? i : (size_t)f->n_maps);
    return i < (size_t)f->n_parameters ? 0 : 1;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const struct kernel *f, int block,
                                                size_t shared) {
    *n = 2;
    return 0;
}

// A stream or a graph is a list of launches; outside of a capture they run at once.
struct node {
    const struct kernel *kernel;            // NULL: fill
    void (*run)(const pointer *arguments);  // of a library (tests/fake/libraries); else NULL
    pointer arguments[8];
    unsigned value;
    size_t count;
    int width;     // of a fill: bytes of the value, 1 or 4
    size_t pitch;  // and how far these are apart
};
struct list {
    struct node nodes[64];
    int n, is_captured;
};
static struct list stream;

static void execute(const struct node *n) {
    void *arguments[8];
    for (int i = 0; i < 8; i++)
        arguments[i] = (void *)&n->arguments[i];
    if (error)
        return;
    if (n->run)
        n->run(n->arguments);
    for (size_t i = 0; !n->kernel && i < n->count; i++)
        memcpy((char *)n->arguments[0] + i * n->pitch, &n->value, (size_t)n->width);
    if (n->kernel)
        n->kernel->run(arguments);
}

static int add(const struct node *n) {
    if (stream.is_captured)
        stream.nodes[stream.n++] = *n;
    else
        execute(n);
    return error;
}

int fake_record(void (*run)(const pointer *), const pointer *arguments) {
    struct node n = {.run = run};
    memcpy(n.arguments, arguments, sizeof n.arguments);
    return add(&n);
}

static void run_threads(const struct kernel *f, unsigned blocks, unsigned block, void **arguments) {
    n_threads = (u64)blocks * block;
    modelled_ms = 0;
    for (thread = 0; thread < n_threads && modelled_ms == 0; thread++)
        f->run(arguments);
}

int cuLaunchKernel(const struct kernel *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void *s, void **arguments,
                   void **extra) {
    struct {
        const void *f;
        unsigned grid[3], block[3], shared;
        void *stream;
    } params = {f, {gx, gy, gz}, {bx, by, bz}, shared, s};
    tell_launch(307, f->name, &params, 0);
    is_busy = true;
    if (!error)
        run_threads(f, gx, bx, arguments);
    tell_launch(307, f->name, &params, 1);
    return error;
}
int cuLaunchKernelEx(const void *config, const struct kernel *f, void **arguments, void **extra) {
    struct node n = {.kernel = f};
    if (!stream.is_captured) {
        tell_launch(652, f->name, &config, 0);
        tell_launch(652, f->name, &config, 1);
    }
    if (!has_shared(f, ((const unsigned *)config)[6]))
        return 1;
    for (int i = 0; i < f->n_parameters; i++)
        n.arguments[i] = *(pointer *)arguments[i];
    return is_fault("resources") ? 701 : add(&n);
}
int cuMemsetD32Async(pointer to, unsigned value, size_t count, void *s) {
    return add(
        &(struct node){.arguments = {to}, .value = value, .count = count, .width = 4, .pitch = 4});
}
int cuMemsetD8Async(pointer to, unsigned char value, size_t count, void *s) {
    return add(
        &(struct node){.arguments = {to}, .value = value, .count = count, .width = 1, .pitch = 1});
}
int cuMemsetD2D32Async(pointer to, size_t pitch, unsigned value, size_t width, size_t height,
                       void *s) {
    return width != 1 ? 1
                      : add(&(struct node){.arguments = {to},
                                           .value = value,
                                           .count = height,
                                           .width = 4,
                                           .pitch = pitch});
}

int cuStreamCreate(void **s, unsigned flags) {
    *s = &stream;
    return 0;
}
int cuStreamSynchronize(void *s) {
    is_busy = false;
    return error;
}
int cuCtxSynchronize(void) {
    is_busy = false;
    return error;
}
int cuStreamBeginCapture_v2(void *s, int mode) {
    stream = (struct list){.is_captured = 1};
    return 0;
}
int cuStreamEndCapture(void *s, struct list **graph) {
    *graph = malloc(sizeof stream);
    **graph = stream;
    stream.is_captured = 0;
    return 0;
}
int cuGraphInstantiateWithFlags(struct list **exec, struct list *graph, unsigned long long flags) {
    *exec = malloc(sizeof stream);
    **exec = *graph;
    return 0;
}
int cuGraphUpload(struct list *exec, void *s) {
    return 0;
}
int cuGraphLaunch(struct list *exec, void *s) {
    for (int i = 0; i < exec->n; i++)
        execute(&exec->nodes[i]);
    return 0;
}
int cuGraphDestroy(struct list *graph) {
    free(graph);
    return 0;
}
int cuGraphExecDestroy(struct list *exec) {
    free(exec);
    return 0;
}

int cuEventCreate(struct timespec **e, unsigned flags) {
    static int n_made;  // a runner's own two come first
    if (is_fault("marks") && ++n_made > 2)
        return 2;
    *e = make(calloc(1, sizeof **e));
    return 0;
}
int cuEventRecord(struct timespec *e, void *s) {
    clock_gettime(CLOCK_MONOTONIC, e);
    return 0;
}
int cuEventSynchronize(struct timespec *e) {
    is_busy = false;
    return error;
}
int cuEventElapsedTime(float *ms, struct timespec *from, struct timespec *to) {
    *ms = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 +
                  (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
    if (modelled_ms > 0)
        *ms = (float)modelled_ms;
    modelled_ms = 0;
    if (is_fault("events-lie"))
        *ms /= 1000;
    return error;
}
