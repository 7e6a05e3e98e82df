// How it starts (the driver calls InitializeInjection within cuInit), what CUPTI calls back, and
// how it ends: by exit(), _exit() or a signal, each with what was seen so far.
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"

#define EXPORT __attribute__((visibility("default")))
int InitializeInjection(void);
bool hone_inject_again(void);
void hone_inject_flush(void);

struct inject_state state;
struct cupti_calls cupti;
const char *failed_call = "?";

// Recursive: a call of ours can call back on the same thread.
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread bool is_inside;
// Held from the entry of a launch to its exit, so that launches of other threads stay out.
static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool is_launching;
static int wake[2];
static volatile sig_atomic_t is_flushed;

int cupti_check(int code, const char *call) {
    if (code)
        failed_call = call;
    return code;
}

// ---- CUPTI

// A second copy next to the program's own would fight over the same hooks of the driver.
static void *open_cupti(const char *path) {
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
    for (int i = 0; i < 2; i++) {
        void *lib = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
        if (lib)
            return lib;
    }
    return *path ? dlopen(path, RTLD_NOW) : dlopen(names[0], RTLD_NOW);
}

bool cupti_load(const char *path, char *why, size_t size) {
    void *lib = open_cupti(path);
    if (!lib) {
        snprintf(why, size, "%s", dlerror());
        return false;
    }
#define FILL(field, symbol, parameters)                          \
    *(void **)&cupti.field = dlsym(lib, #symbol);                \
    if (!cupti.field) {                                          \
        snprintf(why, size, "CUPTI lacks %s: too old", #symbol); \
        return false;                                            \
    }
    CUPTI_CALLS(FILL)
#undef FILL
    return true;
}

// ---- the driver

static int find_driver(struct dl_phdr_info *info, size_t size, void *found) {
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (strcmp(slash ? slash + 1 : info->dlpi_name, "libcuda.so.1") != 0)
        return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    return 1;
}

// The one that has loaded us, by its path: its name alone may mean another.
void *driver_library(void) {
    static void *driver;
    if (!driver)
        dl_iterate_phdr(find_driver, &driver);
    return driver;
}

// ---- what CUPTI calls back

static bool is_kernel_launch(uint32_t id) {
    return id == LAUNCH_KERNEL || id == LAUNCH_KERNEL_PER_THREAD || id == LAUNCH_EX ||
           id == LAUNCH_EX_PER_THREAD || id == LAUNCH_COOPERATIVE ||
           id == LAUNCH_COOPERATIVE_PER_THREAD;
}

// A launch that is only recorded into a graph must be left alone: to start the profiler there
// would break the recording.
static bool is_captured(void *stream) {
    void *driver = driver_library();
    int (*ask)(void *, int *) = driver ? dlsym(driver, "cuStreamIsCapturing") : NULL;
    int status = 0;
    return ask && (ask(stream, &status) != 0 || status != 0);
}

static void before_launch(uint32_t id, const struct cupti_call_data *d) {
    const struct launch_params *plain = d->params;
    struct launch_config config;
    if (id == LAUNCH_EX || id == LAUNCH_EX_PER_THREAD) {
        config = *((const struct launch_ex_params *)d->params)->config;
    } else {
        memcpy(config.grid, plain->grid, sizeof config.grid);
        memcpy(config.block, plain->block, sizeof config.block);
        config.stream = plain->stream;
    }
    if (d->symbol && !is_captured(config.stream))
        ranges_before(d->context, d->symbol, config.grid, config.block);
}

static const uint32_t allocations[] = {
#define NUMBER(id, number, call) id,
    CUPTI_ALLOCATIONS(NUMBER)
#undef NUMBER
};
enum { N_ALLOCATIONS = sizeof allocations / sizeof allocations[0] };

static bool is_allocation(uint32_t id) {
    for (int i = 0; i < N_ALLOCATIONS; i++)
        if (allocations[i] == id)
            return true;
    return false;
}

static void on_launch(uint32_t id, const struct cupti_call_data *d) {
    if (is_allocation(id) && d->site == 0)
        memory_before_allocation();
    if (!is_kernel_launch(id))
        return;  // of a graph: the profiler has no ranges there, and has crashed programs
    if (d->site == 0)
        before_launch(id, d);
    else
        ranges_after(d->context);
}

// Facts of the device that a context is on, by the driver that is loaded already.
static void write_device(void *context) {
    void *driver = driver_library();
    int (*name_of)(char *, int, int) = driver ? dlsym(driver, "cuDeviceGetName") : NULL;
    int (*attribute)(int *, int, int) = driver ? dlsym(driver, "cuDeviceGetAttribute") : NULL;
    char name[256] = "?";
    int sms = 0, major = 0, minor = 0;
    uint32_t device = 0;
    if (cupti.device(context, &device) != 0)
        return;
    struct chip_name_params chip = {.size = SIZE_TO(struct chip_name_params, name),
                                    .device = device};
    if (cupti.chip(&chip) != 0 || !chip.name)
        chip.name = "?";
    if (name_of)
        name_of(name, sizeof name, (int)device);
    if (attribute) {
        attribute(&sms, 16, (int)device);
        attribute(&major, 75, (int)device);
        attribute(&minor, 76, (int)device);
    }
    out_line("device %u %d %d %d %s %s", device, sms, major, minor, chip.name, name);
    fflush(state.out);
}

static void on_resource(uint32_t id, const struct cupti_resource_data *d) {
    if (id == CUPTI_CONTEXT_CREATED) {
        write_device(d->context);
        if (state.mode == MODE_SAMPLES)
            samples_open(d->context);
    } else if (id == CUPTI_CONTEXT_ENDS) {
        if (state.mode == MODE_COUNTERS)
            ranges_finish(d->context);
        if (state.mode == MODE_SAMPLES)
            samples_finish(d->context);
    } else if (id == CUPTI_MODULE_LOADED && state.n_codes > 0) {
        modules_add(d->descriptor);
    }
}

static void callback(void *user, int domain, uint32_t id, const void *data) {
    (void)user;
    if (is_inside || state.is_finished || getpid() != state.pid)
        return;
    bool is_launch = domain == CUPTI_DOMAIN_DRIVER;
    bool is_enter = is_launch && ((const struct cupti_call_data *)data)->site == 0;
    if (is_enter && !is_launching) {
        pthread_mutex_lock(&launch_lock);
        is_launching = true;
    }
    pthread_mutex_lock(&lock);
    is_inside = true;
    if (is_launch)
        on_launch(id, data);
    else if (domain == CUPTI_DOMAIN_RESOURCE)
        on_resource(id, data);
    is_inside = false;
    pthread_mutex_unlock(&lock);
    if (is_launch && !is_enter && is_launching) {
        is_launching = false;
        pthread_mutex_unlock(&launch_lock);
    }
}

static int subscribe(void) {
    static const uint32_t launches[] = {LAUNCH_KERNEL,      LAUNCH_KERNEL_PER_THREAD,
                                        LAUNCH_EX,          LAUNCH_EX_PER_THREAD,
                                        LAUNCH_COOPERATIVE, LAUNCH_COOPERATIVE_PER_THREAD};
    static const uint32_t resources[] = {CUPTI_CONTEXT_CREATED, CUPTI_CONTEXT_ENDS,
                                         CUPTI_MODULE_LOADED};
    void *subscriber = NULL;
    int code = CUPTI(subscribe, &subscriber, callback, NULL);
    for (size_t i = 0; !code && i < sizeof resources / sizeof resources[0]; i++)
        code = CUPTI(enable_callback, 1, subscriber, CUPTI_DOMAIN_RESOURCE, resources[i]);
    for (size_t i = 0; !code && state.mode == MODE_COUNTERS && i < 6; i++)
        code = CUPTI(enable_callback, 1, subscriber, CUPTI_DOMAIN_DRIVER, launches[i]);
    for (int i = 0; !code && state.mode == MODE_COUNTERS && i < N_ALLOCATIONS; i++)
        code = CUPTI(enable_callback, 1, subscriber, CUPTI_DOMAIN_DRIVER, allocations[i]);
    return code;
}

// ---- the end

static void finish(const char *why) {
    if (!state.is_ready || state.is_finished || getpid() != state.pid)
        return;
    pthread_mutex_lock(&lock);
    if (!state.is_finished) {
        is_inside = true;
        if (state.mode == MODE_COUNTERS)
            ranges_finish(NULL);
        if (state.mode == MODE_SAMPLES)
            samples_finish(NULL);
        if (state.mode == MODE_TRACE)
            trace_finish();
        state.is_finished = true;
        out_line("end %s", why);
        fflush(state.out);
        is_inside = false;
    }
    pthread_mutex_unlock(&lock);
}

static void at_exit(void) {
    finish("exit");
}

// Handing out records is not safe in a handler, so that one wakes this thread and waits for it.
static void *watch(void *unused) {
    char number;
    (void)unused;
    while (read(wake[0], &number, 1) < 0 && errno == EINTR)
        continue;
    finish("signal");
    is_flushed = 1;
    return NULL;
}

static void on_signal(int number) {
    char byte = (char)number;
    bool is_told = getpid() == state.pid && write(wake[1], &byte, 1) == 1;
    for (int i = 0; is_told && i < 200 && !is_flushed; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(void) {
    static const int numbers[] = {SIGTERM, SIGINT,  SIGHUP, SIGSEGV,
                                  SIGBUS,  SIGABRT, SIGFPE, SIGILL};
    pthread_t thread;
    if (pipe2(wake, O_CLOEXEC) != 0 || pthread_create(&thread, NULL, watch, NULL) != 0)
        return;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old, own = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &own, NULL);  // else the program has its own
    }
}

// Takes effect through LD_PRELOAD: programs that leave without exit().
EXPORT void _exit(int status) {
    finish("_exit");
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

// ---- the beginning

static bool begin(void) {
    char why[512] = "";
    uint32_t version = 0;
    if (!cupti_load(state.cupti_path, why, sizeof why)) {
        out_line("error load libcupti 0 %s", why);
        return false;
    }
    cupti.version(&version);
    out_line("begin %u", version);
    int code = subscribe();
    if (code)
        out_error("subscribe", code);
    return code == 0;
}

// Whatever it returns, the driver goes on.
EXPORT int InitializeInjection(void) {
    if (state.is_ready || !ask_read())
        return 1;
    if (begin()) {
        if (state.mode == MODE_TRACE)
            trace_start();
        atexit(at_exit);
        catch_signals();
        state.is_ready = true;
    }
    fflush(state.out);
    return 1;
}

EXPORT bool hone_inject_again(void) {
    pthread_mutex_lock(&lock);
    bool ok = state.is_ready && !state.is_finished && ask_again();
    pthread_mutex_unlock(&lock);
    return ok;
}

EXPORT void hone_inject_flush(void) {
    pthread_mutex_lock(&lock);
    if (state.out)
        fflush(state.out);
    pthread_mutex_unlock(&lock);
}
