// The table, and how each is found.
#include "profile/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "gpu/cupti.h"
#include "gpu/library.h"
#include "profile/perf.h"

const char *source_find_program(struct arena *a, const char *name) {
    const char *found = file_find_program(a, name);
    const char *dirs[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; !found && i < sizeof dirs / sizeof dirs[0]; i++) {
        const char *path = dirs[i] ? arena_printf(a, "%s/bin/%s", dirs[i], name) : NULL;
        if (path && access(path, X_OK) == 0)
            found = path;
    }
    return found;
}

static const char *find_cubin(struct arena *a, const char **why) {
    (void)a, (void)why;
    return "read by hone itself, sm_75 to sm_120: instruction mix, widths, loops, loads in flight";
}

static const char *find_nvdisasm(struct arena *a, const char **why) {
    const char *path = source_find_program(a, "nvdisasm");
    *why = "no nvdisasm along PATH or in the toolkit";
    return path;
}

static const char *find_ncu(struct arena *a, const char **why) {
    const char *path = source_find_program(a, "ncu");
    *why = "no ncu along PATH or in the toolkit";
    return path;
}

// The driver's setting, where it can be read: who may count.
static bool is_for_administrators(void) {
    char text[64];
    bool is_restricted = false;
    FILE *f = geteuid() == 0 ? NULL : fopen("/proc/driver/nvidia/params", "re");
    while (f && fgets(text, sizeof text, f))
        is_restricted |= strncmp(text, "RmProfilingAdminOnly: 1", 23) == 0;
    if (f)
        fclose(f);
    return is_restricted;
}

static const char *find_cupti(struct arena *a, const char **why) {
    struct cupti c;
    struct error err = {0};
    if (!cupti_open(&c, &err)) {
        *why = arena_strdup(a, err.text);
        return NULL;
    }
    const char *path = library_path(c.handle);
    const char *text = arena_printf(
        a, "API %u: %s%s", c.version, path ? path : "libcupti",
        is_for_administrators() ? "; the driver gives counters and samples to administrators only "
                                  "(NVreg_RestrictProfilingToAdminUsers=0 changes that)"
                                : "");
    cupti_close(&c);
    return text;
}

// Of this very process: what the runners of candidates, which are ours, are counted by.
static const char *find_perf(struct arena *a, const char **why) {
    struct perf_thread t;
    if (!perf_open(0, perf_events, PERF_EVENTS_MAX, &t)) {
        *why = perf_error_text(a, errno);
        return NULL;
    }
    const char *text = "";
    for (int i = 0; i < t.n; i++)
        text = arena_printf(a, "%s%s%s", text, i > 0 ? ", " : "",
                            metric_table[perf_events[t.events[i]].id].name);
    perf_close(&t);
    return text;
}

static const char *find_mca(struct arena *a, const char **why) {
    *why = "no llvm-mca along PATH";
    return file_find_program(a, "llvm-mca");
}

const struct source sources[] = {
    {.name = "perf",
     .gives = "counters of the processor",
     .without = "profiles on a CPU have no cycles, instructions and misses of caches",
     .is_cpu = true,
     .find = find_perf},
    {.name = "llvm-mca",
     .gives = "cycles of hot loops",
     .without = "chains of instructions in a CPU's loops are told by sums alone: install llvm",
     .is_cpu = true,
     .silent = "llvm-mca has no model of this processor's instructions, or no loop without calls",
     .metric = METRIC_HOT_CYCLES,
     .find = find_mca},
    {.name = "cubin", .gives = "machine code", .without = NULL, .find = find_cubin},
    {.name = "nvdisasm",
     .gives = "listings with operands",
     .without = "machine code is listed without operands: install CUDA's nvdisasm, or the Python "
                "package nvidia-cuda-nvdisasm",
     .find = find_nvdisasm},
    {.name = "ncu",
     .gives = "reading .ncu-rep files",
     .without = ".ncu-rep files are not read; CSV that ncu printed elsewhere is",
     .find = find_ncu},
    {.name = "cupti",
     .gives = "hone profile: timeline, hardware counters, samples of any program",
     .without = "programs cannot be profiled here; CSV from ncu is read",
     .find = find_cupti},
};
const int n_sources = sizeof sources / sizeof sources[0];
