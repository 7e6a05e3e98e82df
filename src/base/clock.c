// clock_gettime and its texts; the signal handler only sets a flag, which loops that may run long
// ask for.
#include "base/clock.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

int64_t clock_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

const char *clock_timestamp(struct arena *a) {
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    return arena_printf(a, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                        tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

const char *clock_duration(struct arena *a, double ns) {
    static const struct {
        double ns;
        double below;  // in this unit; three digits must not round up into a fourth
        const char *name;
    } units[] = {
        {1, 999.5, "ns"},
        {1e3, 999.5, "µs"},
        {1e6, 999.5, "ms"},
        {1e9, 99.95, "s"},
    };
    if (!isfinite(ns))
        return "unknown";
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (fabs(ns) < units[i].below * units[i].ns)
            return arena_printf(a, "%.3g %s", ns / units[i].ns, units[i].name);
    double minutes = ns / 60e9;
    return arena_printf(a, fabs(minutes) < 999.5 ? "%.3g min" : "%.0f min", minutes);
}

static volatile sig_atomic_t seen;
static volatile int64_t first_ns;

bool interrupt_is_second(int64_t before_ns, int64_t now_ns) {
    return now_ns - before_ns > 300000000;
}

static void on_signal(int signal) {
    static const char ended[] = "\nhone: ended at once; hone runs lists what is kept\n";
    if (!seen)
        first_ns = clock_now_ns();
    // Our children are in groups of their own and die with us (process.h).
    if (seen && signal == SIGINT && interrupt_is_second(first_ns, clock_now_ns())) {
        if (isatty(STDERR_FILENO) && write(STDERR_FILENO, ended, sizeof ended - 1) < 0)
            _exit(130);
        _exit(130);
    }
    seen = 1;
}

void interrupt_init(void) {
    // Without SA_RESTART: a blocking call must come back so that the flag is looked at.
    struct sigaction flag = {.sa_handler = on_signal};
    sigemptyset(&flag.sa_mask);
    sigaction(SIGINT, &flag, NULL);
    sigaction(SIGTERM, &flag, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

bool interrupt_seen(void) {
    return seen;
}
