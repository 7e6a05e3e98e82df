// One group of events for each thread, so that all of them are counted over the same time and one
// read gives them all. Counting another process needs the rights that tracing it needs.
#include "profile/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"

const struct perf_event perf_events[PERF_EVENTS_MAX] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, METRIC_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, METRIC_CPU_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, METRIC_CPU_CACHE_MISSES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, METRIC_CPU_BRANCH_MISSES},
};

bool perf_open(pid_t tid, const struct perf_event *events, int n_events, struct perf_thread *t) {
    *t = (struct perf_thread){.fds = {-1, -1, -1, -1}};
    for (int i = 0; i < n_events; i++) {
        struct perf_event_attr attr = {.size = sizeof attr,
                                       .type = events[i].type,
                                       .config = events[i].config,
                                       .exclude_kernel = 1,
                                       .exclude_hv = 1,
                                       .read_format = PERF_FORMAT_GROUP |
                                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                      PERF_FORMAT_TOTAL_TIME_RUNNING};
        int leader = t->n > 0 ? t->fds[0] : -1;
        int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && i == 0)
            return false;
        if (fd >= 0) {
            t->events[t->n] = i;
            t->fds[t->n++] = fd;
        }
    }
    return true;
}

bool perf_read(const struct perf_thread *t, double *values) {
    uint64_t data[3 + PERF_EVENTS_MAX] = {0};  // how many, enabled, running, values
    ssize_t len = (ssize_t)((3 + (size_t)t->n) * sizeof *data);
    if (t->n == 0 || read(t->fds[0], data, (size_t)len) != len || data[0] != (uint64_t)t->n ||
        data[2] == 0)
        return false;
    for (int i = 0; i < t->n; i++)
        values[t->events[i]] = (double)data[3 + i] * ((double)data[1] / (double)data[2]);
    return true;
}

void perf_close(struct perf_thread *t) {
    for (int i = 0; i < t->n; i++)
        close(t->fds[i]);
    t->n = 0;
}

const char *perf_error_text(struct arena *a, int error) {
    char text[16] = "unknown";
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (f && fgets(text, sizeof text, f))
        text[strcspn(text, "\n")] = '\0';
    if (f)
        fclose(f);
    if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP)
        return "the processor shows no counters here (a virtual machine without them)";
    if (error == EACCES || error == EPERM)
        return arena_printf(a,
                            "the kernel refuses: kernel.perf_event_paranoid is %s, at most 2 lets "
                            "everybody count his own processes; or a container's filter does",
                            text);
    if (error == ENOSYS)
        return "the kernel was built without perf events";
    return arena_printf(a, "perf_event_open: %s", strerror(error));
}
