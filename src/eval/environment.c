// Reads /proc/stat (time stolen by a hypervisor) and /sys (throttling, clock, huge pages), each
// where it is there.
#include "eval/environment.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/profile.h"

void environment_open(struct environment *e) {
    *e = (struct environment){
        .stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC),
        .throttle_fd = open("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count",
                            O_RDONLY | O_CLOEXEC)};
}

void environment_close(struct environment *e) {
    if (e->stat_fd >= 0)
        close(e->stat_fd);
    if (e->throttle_fd >= 0)
        close(e->throttle_fd);
    e->stat_fd = e->throttle_fd = -1;
}

int64_t environment_parse_steal(const char *text) {
    long long user, nice, system, idle, waiting, irq, soft, steal;
    int n = sscanf(text, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system,
                   &idle, &waiting, &irq, &soft, &steal);
    return n == 8 ? steal : -1;
}

static const char *read_text(int fd, char *into, size_t room) {
    ssize_t n = fd < 0 ? -1 : pread(fd, into, room - 1, 0);
    into[n > 0 ? n : 0] = '\0';
    return into;
}

int64_t environment_steal(const struct environment *e) {
    char text[256];
    return environment_parse_steal(read_text(e->stat_fd, text, sizeof text));
}

int64_t environment_throttles(const struct environment *e) {
    char text[32];
    read_text(e->throttle_fd, text, sizeof text);
    return *text ? strtoll(text, NULL, 10) : -1;
}

static double read_number(const char *path) {
    double value;
    FILE *f = fopen(path, "re");
    bool ok = f && fscanf(f, "%lf", &value) == 1;
    if (f)
        fclose(f);
    return ok ? value : NAN;
}

const char *environment_page_text(struct arena *a, long bytes, const char *shmem_enabled) {
    static const char *const huge[] = {"[always]", "[within_size]", "[force]"};
    bool is_huge = false;
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++)
        is_huge |= strstr(shmem_enabled, huge[i]) != NULL;
    return arena_printf(a, "%ld KiB%s", bytes / 1024, is_huge ? ", huge where they fit" : "");
}

const char *environment_pages(struct arena *a) {
    char text[128];
    int fd = open("/sys/kernel/mm/transparent_hugepage/shmem_enabled", O_RDONLY | O_CLOEXEC);
    const char *words =
        environment_page_text(a, sysconf(_SC_PAGESIZE), read_text(fd, text, sizeof text));
    if (fd >= 0)
        close(fd);
    return words;
}

void environment_describe(struct profile *p) {
    double load = read_number("/proc/loadavg");
    double khz = read_number("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    if (isfinite(load))
        profile_set(p, METRIC_MACHINE_LOAD, load);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors > 0)
        profile_set(p, METRIC_PROCESSORS, (double)processors);
    if (isfinite(khz))
        profile_set(p, METRIC_CLOCK_MHZ, khz / 1000);
}
