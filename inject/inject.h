// The library that CUDA's driver loads into a program that `hone profile` runs
// (CUDA_INJECTION64_PATH). It does one thing a run, since CUPTI does: records of activity (a
// timeline), hardware counters of chosen launches, or samples of the program counter.
//
// HONE_INJECT_DIR names a directory. `ask` in it says what is wanted, a line each:
//
//     mode trace|counters|samples
//     cupti PATH                  where the library is, if the program has not loaded it
//     counter NAME                counters: the vendor's names, in this order
//     launch N GX GY GZ BX BY BZ NAME
//                                 counters: the launch number N (from 0) of that kernel and shape
//     code NAME                   keep the cubin that has this kernel; samples: of this kernel
//     period P                    samples: every 2^P cycles
//     memory B                    counters: the program has B bytes on the card, no more
//
// A process of ours that stays (play/play.c) writes a new `ask` for each candidate and calls
// hone_inject_again(), then, when the launches have run, hone_inject_flush(): the profiler is
// opened once, which is what takes most of the time. Counters and mode stay those of the first.
//
// With counters comes what the program held of the card's memory at that launch: no kernel touches
// more of it. What was seen goes to `out.PID`, a line each (profile/injected.c reads it), and
// cubins to CRC.cubin. Nothing that goes wrong here may hurt the program: it is written down, and
// the program runs on.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cupti_types.h"

enum { LAUNCHES_MAX = 256, COUNTERS_MAX = 128, CODES_MAX = 256, CONTEXTS_MAX = 16 };

enum inject_mode { MODE_NONE, MODE_TRACE, MODE_COUNTERS, MODE_SAMPLES };

struct wanted_launch {
    char *name;
    unsigned grid[3], block[3];
    long index;  // among those of the same name and shape
    long seen;
    bool is_taken;
};

struct inject_state {
    enum inject_mode mode;
    char dir[1024];
    char cupti_path[1024];
    const char *counters[COUNTERS_MAX];
    int n_counters;
    bool has_counters;  // they were given before, and stay
    struct wanted_launch launches[LAUNCHES_MAX];
    int n_launches;
    char *codes[CODES_MAX];
    int n_codes;
    int period;
    size_t memory;  // 0: not known
    FILE *out;
    pid_t pid;  // a child of fork() has the same memory and must stay silent
    bool is_ready, is_finished;
};
extern struct inject_state state;

// CUPTI's calls, NULL until cupti_load().
struct cupti_calls {
#define FIELD(field, symbol, parameters) int(*field) parameters;
    CUPTI_CALLS(FIELD)
#undef FIELD
};
extern struct cupti_calls cupti;
extern const char *failed_call;  // name of the last call that failed

// Call by its field's name; the code, 0 for success.
#define CUPTI(field, ...) cupti_check(cupti.field(__VA_ARGS__), #field)
int cupti_check(int code, const char *call);
// False: `why` says so. `path` is tried after what the program has loaded itself.
bool cupti_load(const char *path, char *why, size_t size);

// The driver's library in this process; NULL: none.
void *driver_library(void);

void out_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
// "error WHERE CALL CODE TEXT".
void out_error(const char *where, int code);

// trace.c: records of activity.
void trace_start(void);
void trace_finish(void);

// ranges.c: counters. Called around each launch, with a lock held.
void ranges_before(void *context, const char *name, const unsigned *grid, const unsigned *block);
void ranges_after(void *context);
void ranges_finish(void *context);  // NULL: all

// memory.c: what the program holds of the card's memory. Told before each allocation, and whenever
// something of ours may have taken some.
void memory_before_allocation(void);
void memory_ours_begins(void);
void memory_ours_ends(void);
bool memory_held(size_t *bytes);  // false: not known

// samples.c: program counters. A context is sampled from its beginning on.
void samples_open(void *context);
void samples_finish(void *context);  // NULL: all
// modules.c: keep the cubins of kernels that are asked for.
void modules_add(const struct cupti_module_data *m);
bool modules_find(uint64_t crc, const void **cubin, size_t *size);
bool is_wanted_code(const char *name);
