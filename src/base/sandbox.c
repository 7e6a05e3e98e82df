// Limits and capabilities by plain system calls, files by landlock.h, system calls by two
// libseccomp filters: one while the candidate is loaded, a stricter one while it runs. Threads are
// covered by TSYNC.
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/landlock.h"

// Of one runner or compiler in all its life; a call has a limit of its own, by the clock.
static const rlim_t cpu_max_s = 4 * 3600;

static void limit(int resource, rlim_t value) {
    struct rlimit l = {.rlim_cur = value, .rlim_max = value};
    setrlimit(resource, &l);
}

// Address space that loading may take beyond what is mapped already: an object with
// gigabytes of zeroes in it is refused by the loader.
static void limit_memory(int64_t reserved_bytes) {
#if !defined(__SANITIZE_ADDRESS__)  // its shadow takes terabytes of addresses
    const int64_t loading_bytes = (int64_t)1 << 30;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%ld", &pages) == 1)
        limit(RLIMIT_AS, (rlim_t)(pages * sysconf(_SC_PAGESIZE) + reserved_bytes + loading_bytes));
    if (f)
        fclose(f);
#else
    (void)reserved_bytes;
#endif
}

static void drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    syscall(SYS_capset, &header, none);
}

// Refuse every way to open, list or change files, but for reading beneath `dir` (may be NULL).
// Memory files are not on a file system.
static bool forbid_files(const char *dir) {
    int rules = landlock_rules((struct landlock_path[]){{dir, false}, {NULL, false}});
    bool ok = rules >= 0 && landlock_enter(rules);
    if (rules >= 0)
        close(rules);
    return ok;
}

int sandbox_enter_reading(int64_t reserved_bytes, const char *dir) {
    limit_memory(reserved_bytes);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, cpu_max_s);
    limit(RLIMIT_FSIZE, 0);
    drop_capabilities();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return forbid_files(dir) ? 2 : 0;
}

int sandbox_enter(int64_t reserved_bytes) {
    return sandbox_enter_reading(reserved_bytes, NULL);
}

struct allowed {
    const int *calls;  // ends with -1
    uint32_t otherwise;
};

static const int always[] = {
    SCMP_SYS(futex),
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sched_yield),
    SCMP_SYS(clock_gettime),
    // abort() is a crash like any other, not an attack.
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
#if defined(__SANITIZE_ADDRESS__)
    SCMP_SYS(sigaltstack),  // its _exit() looks at the stacks
#endif
    -1,
};

static const int loading[] = {
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(getcwd),
    SCMP_SYS(readlinkat),
    SCMP_SYS(readlink),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(seccomp),
    SCMP_SYS(set_robust_list),
    -1,
};

// Fail as if there were no memory: the caller gets NULL and must cope.
static const int out_of_memory[] = {
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    -1,
};

// Fail as if there were no such call: qsort() asks how much memory there is, and does without.
static const int unknown[] = {
    SCMP_SYS(sysinfo),
    -1,
};

static int add_rules(scmp_filter_ctx f, uint32_t action, const int *calls) {
    int why = 0;
    for (; *calls != -1 && !why; calls++)
        why = seccomp_rule_add(f, action, *calls, 0);
    return why;
}

// To itself, those below SIGKILL: abort() and its like. Who could kill or stop himself would look
// like somebody whom others have killed.
static int add_own_signals(scmp_filter_ctx f) {
    struct scmp_arg_cmp own[] = {
        {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid()},
        {.arg = 2, .op = SCMP_CMP_LT, .datum_a = SIGKILL},
    };
    return seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2, own);
}

static bool apply(scmp_filter_ctx f, int why, struct error *err) {
    if (!why)
        why = seccomp_load(f);
    seccomp_release(f);
    return !why || error_set(err, ERROR_UNSUPPORTED, "filter system calls: %s", strerror(-why));
}

static scmp_filter_ctx new_filter(struct error *err) {
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_TRAP);
    // No new privileges were to be had since sandbox_enter; asking again takes another call.
    if (f && seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) == 0 &&
        seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, 0) == 0)
        return f;
    if (f)
        seccomp_release(f);
    error_set(err, ERROR_UNSUPPORTED, "filter system calls: not supported here");
    return NULL;
}

bool sandbox_filter_loading(struct error *err) {
    scmp_filter_ctx f = new_filter(err);
    if (!f)
        return false;
    int why = add_rules(f, SCMP_ACT_ALLOW, always);
    if (!why)
        why = add_rules(f, SCMP_ACT_ALLOW, loading);
    if (!why)
        why = add_own_signals(f);
    // As the loader does it: for reading, nothing created.
    struct scmp_arg_cmp reads = {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = O_RDONLY | O_CLOEXEC};
    if (!why)
        why = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, &reads);
    return apply(f, why, err);
}

bool sandbox_filter_running(struct error *err) {
    scmp_filter_ctx f = new_filter(err);
    if (!f)
        return false;
    int why = add_rules(f, SCMP_ACT_ALLOW, always);
    if (!why)
        why = add_rules(f, SCMP_ACT_ERRNO(ENOMEM), out_of_memory);
    if (!why)
        why = add_rules(f, SCMP_ACT_ERRNO(ENOSYS), unknown);
    if (!why)
        why = add_own_signals(f);
    return apply(f, why, err);
}
