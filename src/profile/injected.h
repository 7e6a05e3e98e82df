// What the library of inject/ saw in a program of somebody else's: a timeline, counters of chosen
// launches, samples. inject/inject.h has the form of the files.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/profile.h"

struct arena;
struct error;

// A kernel with one shape.
struct program_kernel {
    const char *name;   // as the code has it, mangled
    const char *words;  // as a person writes it
    int grid[3], block[3];
    int registers, static_shared, dynamic_shared, local;
    double *times_s;  // of its launches, in the order in which they began
    int n, room;
    double total_s;
    int n_in_graphs;  // of its launches; the profiler does not see those
};

// CUPTI's numbers for kinds of copies and of memory.
enum { COPY_TO_DEVICE = 1, COPY_TO_HOST = 2, COPY_WITHIN = 8, MEMORY_PAGEABLE = 1 };

// Copies of one kind, and where they went from and to.
struct program_copies {
    int kind, from, to;  // CUPTI's numbers
    int n;
    double bytes, total_s;
};

// What went wrong: in which part, which call, its code, in words.
struct program_fault {
    const char *where, *call, *text;
    int code;
};

enum { PROGRAM_STALLS = METRIC_STALL_WAIT - METRIC_STALL_BARRIER + 1 };

// Samples at an instruction, of all launches of the kernel.
struct program_spot {
    const char *kernel;  // mangled
    uint64_t crc, pc;
    int line;          // of the source; 0: the code does not say
    const char *file;  // NULL likewise
    double samples;
    double waiting;      // of them those that could not issue
    const char *reason;  // that most of these have
    double reason_samples;
    double reasons[PROGRAM_STALLS];  // from METRIC_STALL_BARRIER on
};

struct program_interval {
    double start_s, end_s;
};

struct program_data {
    const char *device, *chip;  // NULL: no context was made
    int sms, capability;
    struct program_kernel *kernels;
    int n_kernels, kernel_room;
    struct program_copies copies[16];
    int n_copies;
    double set_s;       // fills of memory
    double n_left_out;  // launches and copies that were not recorded
    long n_launches;
    double first_s, last_s, busy_s;  // of kernels, on the device's clock
    double longest_gap_s;            // between two of them
    struct program_interval *intervals;
    int n_intervals, interval_room;
    int n_processes;          // that used the driver
    int passes;               // of the counters
    struct metrics *counted;  // by launch asked for
    bool *is_counted;
    int n_counted;
    double n_samples, n_samples_lost;
    struct program_spot *spots;
    int n_spots, spot_room;
    struct program_fault faults[16];
    int n_faults;
    bool was_cut;  // some process did not come to its end
};

// Read what processes left in a directory. `ids` are the metrics that were asked for, in their
// order, for `n_launches` launches; counters of another unit are brought to ours.
struct program_asked {
    const enum metric_id *ids;
    int n_ids;
    int n_launches;
};
bool program_read(struct arena *a, const char *dir, const struct program_asked *asked,
                  struct program_data *out, struct error *err);

// Put times in order, find how long some kernel ran.
void program_finish(struct arena *a, struct program_data *d);

// Is the memory of the host not page-locked?
bool program_is_pageable(const struct program_copies *c);

// The kernel's metrics, as far as a timeline has them.
void program_metrics(const struct program_kernel *k, struct metrics *m);

// Of its launches outside graphs, the one whose time is nearest to the median; -1: none.
int program_typical(const struct program_kernel *k);

// The stalls that samples show, where counters did not: samples that wait, per sample that issues.
void program_stalls(const struct program_data *d, const char *kernel, struct metrics *m);

// "void k<float>(float*)" for a mangled name, by the C++ library where there is one.
const char *program_demangle(struct arena *a, const char *name);
