// What else the machine does while we time: time that a hypervisor took from it, slow-downs of hot
// processors, load, clock. Absent is not zero: what a machine does not report is NAN, or -1.
#pragma once

#include <stdint.h>

struct arena;
struct profile;

struct environment {
    int stat_fd;      // /proc/stat
    int throttle_fd;  // of the first processor
};

void environment_open(struct environment *e);
void environment_close(struct environment *e);

// Ticks of 10 ms that a hypervisor took so far, of all processors; -1: not told.
int64_t environment_steal(const struct environment *e);
// How often the first processor slowed down because it was hot; -1: not told.
int64_t environment_throttles(const struct environment *e);

// Into the profile: load (1 minute), and the clock in MHz where it is told.
void environment_describe(struct profile *p);

// Pages that buffers shared between processes lie in, as this machine makes them: "4 KiB", or
// "4 KiB, huge where they fit".
const char *environment_pages(struct arena *a);
// The same from a size and a text like that of transparent_hugepage/shmem_enabled.
const char *environment_page_text(struct arena *a, long bytes, const char *shmem_enabled);

// The steal of a text like /proc/stat's, or -1.
int64_t environment_parse_steal(const char *text);
