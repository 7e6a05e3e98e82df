// Design: everything that can fail for want of memory or descriptors is prepared before
// fork(); the child makes system calls only, and tells what went wrong through a pipe
// that closes by itself when exec succeeds. Input for a child goes into a memory file
// rather than a pipe, so there is nothing to feed while we collect its output.
//
// A child is looked at with WNOWAIT first: as long as it is a zombie its process group
// cannot be reused, so killing the group before reaping hits nobody else.
//
// Should we be killed, our child dies by PR_SET_PDEATHSIG, but what it has started (a compiler's
// parts) would run on. So the group of a program that we run inherits the reading end of a pipe,
// the tether, whose other end we alone hold. Its owner is the group and its signal SIGKILL: when
// our end closes, however we ended, the kernel kills them all. Turned down: a process that watches,
// which would be one more fork of ours for each program, and itself something to kill.
#include "base/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/landlock.h"
#include "base/log.h"
#include "base/str.h"

enum {
    COMPANION_FD = 3,
    TETHER_FD = 64,  // or above: scripts use the low ones for themselves
    DEFAULT_OUTPUT = 64 * 1024,
    CHUNKS_MAX = 64,  // of 16 KiB: more than a pipe holds
    TICK_MS = 50,     // how long a lost wake-up (Ctrl-C just before poll) can go unnoticed
};

// Where a child that never became the program got stuck.
enum step { STEP_SETUP, STEP_CWD, STEP_LIMIT, STEP_FILES, STEP_EXEC };

struct failure {
    int step;
    int number;  // errno
};

// What the child needs, all prepared before fork. Descriptors are high, so that putting
// them in their places overwrites none of them.
struct launch {
    const struct process_spec *spec;
    char *const *environment;
    int std[3];     // become 0, 1, 2
    int companion;  // becomes COMPANION_FD; -1: none
    int tether;     // kept open by all of the group; -1: none
    int report;     // write end of the failure pipe
    pid_t parent;
};

static const char *const kept_variables[] = {
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "HONE_COMPILE_SECONDS",  // compile.h
    "LD_LIBRARY_PATH",
    // Where CUDA is, and which device the numbers mean.
    "CUDA_HOME",
    "CUDA_PATH",
    "CUTLASS_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
#if defined(__SANITIZE_ADDRESS__)
    // A sanitised build's children write their findings where the tests look for them.
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
    "LSAN_OPTIONS",
#endif
};
enum { N_KEPT = sizeof kept_variables / sizeof kept_variables[0] };

// `tmp_dir` is "TMPDIR=..." in place of ours, or NULL.
static void minimal_environment(char *into[N_KEPT + 2], char *tmp_dir) {
    int n = 0;
    if (tmp_dir)
        into[n++] = tmp_dir;
    for (char **e = environ; e && *e; e++)
        for (int i = 0; i < N_KEPT && n < N_KEPT; i++) {
            size_t len = strlen(kept_variables[i]);
            bool is_kept = strncmp(*e, kept_variables[i], len) == 0 && (*e)[len] == '=';
            if (is_kept && !(tmp_dir && strncmp(*e, "TMPDIR=", 7) == 0))
                into[n++] = *e;
        }
    into[n] = NULL;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

// Move a descriptor to a number that neither 0-3 nor a kept one occupies.
static bool lift(int *fd, int least) {
    if (*fd < 0)
        return false;
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, least);
    int why = errno;
    close(*fd);
    errno = why;
    *fd = high;
    return high >= 0;
}

// A limit that we are under ourselves and that is lower stays: raising it is not allowed.
static bool set_limit(int resource, int64_t value) {
    struct rlimit limit;
    if (value == 0)
        return true;
    if (getrlimit(resource, &limit) != 0)
        return false;
    if (limit.rlim_max > (rlim_t)value)
        limit.rlim_max = (rlim_t)value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

static void close_on_exec_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) == 0)
        return;
    // Kernels before 5.11.
    struct rlimit limit;
    int last = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur
                                                                               : 65536;
    for (int fd = (int)first; fd < last; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool place_descriptors(const struct launch *l) {
    for (int i = 0; i < 3; i++)
        if (dup2(l->std[i], i) < 0)
            return false;
    close_on_exec_from(3);
    if (l->companion >= 0 && dup2(l->companion, COMPANION_FD) < 0)
        return false;
    for (int i = 0; i < l->spec->n_keep_fds; i++)
        if (fcntl(l->spec->keep_fds[i], F_SETFD, 0) != 0)
            return false;
    return l->tether < 0 || fcntl(l->tether, F_SETFD, 0) == 0;
}

// From now on, when nobody holds the other end any more, the kernel kills our group.
static bool tie_group(int tether) {
    return fcntl(tether, F_SETOWN, -getpid()) == 0 && fcntl(tether, F_SETSIG, SIGKILL) == 0 &&
           fcntl(tether, F_SETFL, O_ASYNC) == 0;
}

static void default_signals(void) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &plain, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static enum step prepare_child(const struct launch *l) {
    const struct process_spec *s = l->spec;
    setpgid(0, 0);
    // The signal comes when the thread that forked ends: start companions from a thread
    // that lives as long as they shall.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || (l->tether >= 0 && !tie_group(l->tether)))
        return STEP_SETUP;
    if (getppid() != l->parent)
        _exit(127);  // the parent died before the line above
    default_signals();
    if (!place_descriptors(l))
        return STEP_SETUP;
    if (s->cwd && chdir(s->cwd) != 0)
        return STEP_CWD;
    struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (!set_limit(RLIMIT_CPU, s->limit_cpu_s) || !set_limit(RLIMIT_AS, s->limit_memory_bytes) ||
        !set_limit(RLIMIT_FSIZE, s->limit_file_bytes))
        return STEP_LIMIT;
    if (s->files > 0 && !landlock_enter(s->files))
        return STEP_FILES;
    return STEP_EXEC;
}

static _Noreturn void child(const struct launch *l) {
    struct failure f = {.step = prepare_child(l)};
    if (f.step == STEP_EXEC)
        execve(l->spec->argv[0], (char *const *)l->spec->argv, l->environment);
    f.number = errno;
    ssize_t ignored = write(l->report, &f, sizeof f);
    (void)ignored;
    _exit(127);
}

static bool set_failure(const struct process_spec *s, struct failure f, struct error *err) {
    const char *why = strerror(f.number);
    switch (f.step) {
    case STEP_CWD:
        return error_set(err, ERROR_IO, "run %s: change to %s: %s", s->argv[0], s->cwd, why);
    case STEP_LIMIT:
        return error_set(err, ERROR_IO, "run %s: set limits: %s", s->argv[0], why);
    case STEP_FILES:
        return error_set(err, ERROR_IO, "run %s: confine it: %s", s->argv[0], why);
    case STEP_EXEC:
        return error_set(err, ERROR_UNSUPPORTED, "run %s: %s", s->argv[0], why);
    default:
        return error_set(err, ERROR_IO, "start %s: %s", s->argv[0], why);
    }
}

static void reap(pid_t pid, struct process_result *result) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!result)
        return;
    result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Fork and exec; true once the program runs. Closes nothing but its own pipe.
static bool launch(struct launch *l, int least, pid_t *pid, struct error *err) {
    char *minimal[N_KEPT + 2], tmp_dir[PATH_MAX];
    snprintf(tmp_dir, sizeof tmp_dir, "TMPDIR=%s", l->spec->tmp_dir ? l->spec->tmp_dir : "");
    minimal_environment(minimal, l->spec->tmp_dir ? tmp_dir : NULL);
    l->environment = l->spec->keep_environment ? environ : minimal;
    l->parent = getpid();

    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return error_set(err, ERROR_IO, "start %s: %s", l->spec->argv[0], strerror(errno));
    l->report = pipe_fds[1];
    *pid = lift(&l->report, least) ? fork() : -1;
    if (*pid == 0)
        child(l);
    int why = errno;
    close_fd(&l->report);
    if (*pid < 0) {
        close(pipe_fds[0]);
        return error_set(err, ERROR_IO, "start %s: %s", l->spec->argv[0], strerror(why));
    }

    struct failure f;
    ssize_t n;
    do {
        n = read(pipe_fds[0], &f, sizeof f);
    } while (n < 0 && errno == EINTR);
    close(pipe_fds[0]);
    if (n != sizeof f)
        return true;
    reap(*pid, NULL);
    return set_failure(l->spec, f, err);
}

static int least_free(const struct process_spec *s) {
    int least = COMPANION_FD + 1;
    for (int i = 0; i < s->n_keep_fds; i++)
        if (s->keep_fds[i] >= least)
            least = s->keep_fds[i] + 1;
    return least;
}

static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    int r;
    do {
        r = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    } while (r != 0 && errno == EINTR);
    return r != 0 || info.si_pid == pid;
}

// A descriptor that becomes readable when the process ends; -1 on kernels without.
static int end_descriptor(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int open_input(const struct process_spec *s) {
    if (!s->input)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < s->input_len) {
        ssize_t n = write(fd, s->input + done, s->input_len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            close_fd(&fd);
        else
            done += (size_t)n;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

// Read what is there; at the end (or a mistake) close. Keeps reading past the cap, so
// that a talkative child does not block; but not for ever at a time, since one that writes as fast
// as we read must not keep us from the clock.
static void drain(int *fd, struct str *into) {
    char chunk[16 * 1024];
    for (int i = 0; i < CHUNKS_MAX && *fd >= 0; i++) {
        ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n > 0)
            str_append(into, chunk, (size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno == EAGAIN)
            return;
        else
            close_fd(fd);
    }
}

struct collector {
    struct process_pipes p;
    struct str text[2];
    bool ends_when_cut;
};

static bool is_over(const struct collector *c) {
    return c->ends_when_cut && c->text[0].cut;
}

// Wait for the child while collecting; false when Ctrl-C, the deadline or too much of it came
// first.
static bool collect(struct collector *c, int64_t deadline_ns, bool *timed_out) {
    bool ended;
    while (!(ended = has_ended(c->p.pid)) && !interrupt_seen() && !is_over(c)) {
        int64_t left_ns = deadline_ns ? deadline_ns - clock_now_ns() : INT64_MAX;
        if (left_ns <= 0) {
            *timed_out = true;
            break;
        }
        struct pollfd fds[] = {{.fd = c->p.out[0], .events = POLLIN},
                               {.fd = c->p.out[1], .events = POLLIN},
                               {.fd = c->p.end, .events = POLLIN}};
        int tick = c->p.end >= 0 ? TICK_MS : 1;
        int64_t left_ms = left_ns / 1000000 + 1;
        poll(fds, 3, left_ms < tick ? (int)left_ms : tick);
        drain(&c->p.out[0], &c->text[0]);
        drain(&c->p.out[1], &c->text[1]);
    }
    return ended;
}

// What a program says travels in JSON, and the cap may have cut a character in two.
static const char *take_text(struct arena *a, struct str *s) {
    if (s->len > 0)
        str_clean(s->ptr, s->len);
    return str_take(a, s);
}

// All that is between us and a program: its input, what it says, and what ties it to us. On failure
// errno says why, and what is open is the caller's to close.
static bool open_ends(struct launch *l, struct process_pipes *p) {
    int least = least_free(l->spec), pair[2];
    l->std[0] = open_input(l->spec);
    if (!lift(&l->std[0], least))
        return false;
    for (int i = 0; i < 2; i++) {
        if (pipe2(pair, O_CLOEXEC) != 0)
            return false;
        p->out[i] = pair[0];
        l->std[1 + i] = pair[1];
        if (!lift(&l->std[1 + i], least) || fcntl(p->out[i], F_SETFL, O_NONBLOCK) != 0)
            return false;
    }
    if (pipe2(pair, O_CLOEXEC) != 0)
        return false;
    l->tether = pair[0];
    p->tether = pair[1];
    struct rlimit most;
    bool has_few = getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur <= TETHER_FD;
    return lift(&l->tether, has_few ? least : TETHER_FD);
}

static void close_ends(struct process_pipes *p) {
    close_fd(&p->tether);
    close_fd(&p->end);
    for (int i = 0; i < 2; i++)
        close_fd(&p->out[i]);
    *p = (struct process_pipes){0};
}

bool process_open(struct process_pipes *p, const struct process_spec *spec, struct error *err) {
    assert(spec->argv && spec->argv[0]);
    *p = (struct process_pipes){.out = {-1, -1}, .end = -1, .tether = -1};
    struct launch l = {.spec = spec, .companion = -1, .tether = -1, .std = {-1, -1, -1}};
    bool ok = open_ends(&l, p) ||
              error_set(err, ERROR_IO, "start %s: %s", spec->argv[0], strerror(errno));
    ok = ok && launch(&l, least_free(spec), &p->pid, err);
    for (int i = 0; i < 3; i++)
        close_fd(&l.std[i]);
    close_fd(&l.tether);
    if (ok)
        p->end = end_descriptor(p->pid);
    else
        close_ends(p);
    return ok;
}

bool process_is_over(const struct process_pipes *p) {
    return p->pid == 0 || has_ended(p->pid);
}

void process_finish(struct process_pipes *p, struct process_result *result) {
    if (p->pid == 0)
        return;
    kill(-p->pid, SIGKILL);  // what it left behind, too
    reap(p->pid, result);
    close_ends(p);
}

bool process_run(struct arena *a, const struct process_spec *spec, struct process_result *result,
                 struct error *err) {
    *result = (struct process_result){.out = "", .err = ""};
    size_t max = spec->max_output ? spec->max_output : DEFAULT_OUTPUT;
    struct collector c = {.text = {{.max = max}, {.max = max}},
                          .ends_when_cut = spec->ends_when_cut};
    if (!process_open(&c.p, spec, err))
        return false;
    int64_t deadline_ns = spec->timeout_ns ? clock_now_ns() + spec->timeout_ns : 0;
    bool ok = collect(&c, deadline_ns, &result->timed_out) || result->timed_out || is_over(&c) ||
              error_set(err, ERROR_INTERRUPTED, "interrupted");
    kill(-c.p.pid, SIGKILL);  // so that the pipes come to an end
    reap(c.p.pid, result);
    for (int i = 0; i < 2; i++)
        drain(&c.p.out[i], &c.text[i]);
    close_ends(&c.p);
    result->was_cut = c.text[0].cut;
    result->out = take_text(a, &c.text[0]);
    result->err = take_text(a, &c.text[1]);
    return ok;
}

bool process_start(struct process *p, const struct process_spec *spec, struct error *err) {
    assert(spec->argv && spec->argv[0]);
    *p = (struct process){.socket = -1};
    int least = least_free(spec), pair[2] = {-1, -1};
    bool ok = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
    bool debug = log_get_level() == LOG_DEBUG;
    struct launch l = {
        .spec = spec,
        .companion = pair[1],
        .tether = -1,
        .std = {open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_WRONLY | O_CLOEXEC),
                debug ? dup(2) : open("/dev/null", O_WRONLY | O_CLOEXEC)},
    };
    // Ours is lifted too: even with stdin closed it must not become descriptor 0.
    ok = ok && lift(&pair[0], least) && lift(&l.companion, least);
    for (int i = 0; ok && i < 3; i++)
        ok = lift(&l.std[i], least);
    if (!ok)
        error_set(err, ERROR_IO, "start %s: %s", spec->argv[0], strerror(errno));
    ok = ok && launch(&l, least, &p->pid, err);
    for (int i = 0; i < 3; i++)
        close_fd(&l.std[i]);
    close_fd(&l.companion);
    if (!ok) {
        close_fd(&pair[0]);
        p->pid = 0;
        return false;
    }
    p->socket = pair[0];
    return true;
}

bool process_ended(struct process *p, struct process_result *result) {
    if (p->pid == 0)
        return true;
    if (!has_ended(p->pid))
        return false;
    kill(-p->pid, SIGKILL);
    reap(p->pid, result);
    p->pid = 0;
    return true;
}

void process_kill(struct process *p) {
    if (p->pid > 0) {
        kill(-p->pid, SIGKILL);
        reap(p->pid, NULL);
    }
    if (p->socket > 0)
        close(p->socket);
    *p = (struct process){.socket = -1};
}

void process_close(struct process *p, int64_t grace_ns) {
    if (p->socket > 0)
        close(p->socket);
    p->socket = -1;
    int64_t deadline_ns = clock_now_ns() + grace_ns;
    int end = p->pid > 0 ? end_descriptor(p->pid) : -1;
    while (p->pid > 0 && !has_ended(p->pid)) {
        int64_t left_ms = (deadline_ns - clock_now_ns()) / 1000000;
        if (left_ms <= 0)
            break;
        struct pollfd fd = {.fd = end, .events = POLLIN};
        int tick = end >= 0 ? TICK_MS : 1;
        poll(&fd, 1, left_ms < tick ? (int)left_ms : tick);
    }
    close_fd(&end);
    process_kill(p);
}
