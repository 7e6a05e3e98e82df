// The program gets a process group of its own, as a shell gives it, so that all of it can be ended;
// where standard input is a terminal it gets that too, and Ctrl-C with it.
#include "base/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { STATUS_NOT_RUN = 127, TICK_NS = 10000000 };
static const int64_t grace_ns = 3000000000;

static void set_variables(const char *const *variables) {
    for (const char *const *v = variables; v && *v; v++) {
        const char *equals = strchr(*v, '=');
        char name[128];
        size_t len = equals ? (size_t)(equals - *v) : 0;
        if (len == 0 || len >= sizeof name)
            continue;
        memcpy(name, *v, len);
        name[len] = '\0';
        setenv(name, equals + 1, 1);
    }
}

// The child; it comes back only when the program cannot be run.
static void become(const struct foreground_spec *spec, int report) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = spec->is_silent ? open("/dev/null", O_RDWR) : -1;
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (spec->is_out_error)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    set_variables(spec->variables);
    execvp(spec->argv[0], (char *const *)spec->argv);
    int number = errno;
    if (write(report, &number, sizeof number) != sizeof number)
        _exit(STATUS_NOT_RUN);
    _exit(STATUS_NOT_RUN);
}

// To hand the terminal over and back; without one nothing happens.
static void give_terminal(pid_t group) {
    if (!isatty(STDIN_FILENO))
        return;
    void (*before)(int) = signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, group);
    signal(SIGTTOU, before);
}

static void watch(pid_t pid, const struct foreground_spec *spec, struct foreground_result *r) {
    int64_t begin = clock_now_ns(), asked = 0;
    int status = 0;
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            break;
        int64_t now = clock_now_ns();
        bool is_late = spec->timeout_ns > 0 && now - begin > spec->timeout_ns;
        if (!asked && (is_late || interrupt_seen())) {
            r->timed_out = is_late;
            r->is_interrupted = !is_late;
            asked = now;
            kill(-pid, is_late ? SIGTERM : SIGINT);
        } else if (asked && now - asked > grace_ns) {
            kill(-pid, SIGKILL);
        }
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
    }
    if (asked)
        kill(-pid, SIGKILL);  // what it has started and left
    r->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r->is_interrupted |= r->signal == SIGINT;
}

bool foreground_run(const struct foreground_spec *spec, struct foreground_result *result,
                    struct error *err) {
    int report[2], number = 0;
    *result = (struct foreground_result){.exit_status = -1};
    if (pipe2(report, O_CLOEXEC) != 0)
        return error_set(err, ERROR_IO, "start %s: %s", spec->argv[0], strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(spec, report[1]);
    number = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        setpgid(pid, pid);
        give_terminal(pid);
        while (read(report[0], &number, sizeof number) < 0 && errno == EINTR)
            continue;
        watch(pid, spec, result);
        give_terminal(getpgrp());
    }
    close(report[0]);
    return number == 0 || error_set(err, pid < 0 ? ERROR_IO : ERROR_USAGE, "%s cannot be run: %s",
                                    spec->argv[0], strerror(number));
}
