// Tries what a candidate may not do, a function for each: what comes of it says what the sandbox is
// worth here. y[0] becomes 1 when it was done, else minus the number of the error. Arguments are
// such that nothing happens where it is allowed. eval/probe.c has the table.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 0x3ffffff };  // no process has this number

static float answer(long result) {
    return result >= 0 ? 1 : (float)-errno;
}

#define TRY(name, ...)                                \
    void name(long block, const float *x, float *y);  \
    void name(long block, const float *x, float *y) { \
        (void)block, (void)x;                         \
        y[0] = answer(syscall(__VA_ARGS__));          \
    }

TRY(probe_process, SYS_clone3, 0, 0)
TRY(probe_exec, SYS_execve, "", 0, 0)
TRY(probe_socket, SYS_socket, 2, 1, 0)
TRY(probe_ptrace, SYS_ptrace, 1, NOBODY, 0, 0)
TRY(probe_memory_of_others, SYS_process_vm_readv, NOBODY, 0, 0, 0, 0, 0)
TRY(probe_signal, SYS_kill, NOBODY, 0)
TRY(probe_open, SYS_openat, AT_FDCWD, "/", O_RDONLY | O_CLOEXEC)
TRY(probe_remove, SYS_unlinkat, AT_FDCWD, "", 0)
TRY(probe_write, SYS_write, -1, 0, 0)
TRY(probe_close, SYS_close, -1)
TRY(probe_map, SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
TRY(probe_handler, SYS_rt_sigaction, 11, 0, 0, 8)
TRY(probe_filter, SYS_prctl, 21, 0, 0, 0, 0)
TRY(probe_namespace, SYS_unshare, 0)
TRY(probe_counters, SYS_perf_event_open, 0, 0, -1, -1, 0)

// While it is loaded, when the loader's own calls are still let through.
static float while_loading;
__attribute__((constructor)) static void load(void) {
    while_loading = answer(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_CLOEXEC));
}

void probe_open_loading(long block, const float *x, float *y);
void probe_open_loading(long block, const float *x, float *y) {
    (void)block, (void)x;
    y[0] = while_loading;
}

void probe_input(long block, const float *x, float *y);
void probe_input(long block, const float *x, float *y) {
    (void)block;
    *(volatile float *)x = 1;
    y[0] = 1;
}

void probe_beyond(long block, const float *x, float *y);
void probe_beyond(long block, const float *x, float *y) {
    (void)block, (void)x;
    ((volatile float *)y)[4096] = 1;
    y[0] = 1;
}
