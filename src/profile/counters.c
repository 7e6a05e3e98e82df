// The sets, and the choice between names.
#include "profile/counters.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "gpu/cupti.h"

// Patching the code of a kernel (smsp__sass_*) is left out of all but the last: it breaks programs
// that capture graphs.
const struct counter_set counter_sets[] = {
    {.name = "basic",
     .answers = "time, occupancy, issue, traffic: one pass, for every candidate worth a look",
     .metrics = {METRIC_TIME, METRIC_SM_CYCLES, METRIC_ACHIEVED_OCCUPANCY, METRIC_ISSUE_BUSY,
                 METRIC_INSTRUCTIONS, METRIC_DRAM_READ_BYTES, METRIC_DRAM_WRITE_BYTES},
     .n = 7},
    {.name = "class",
     .answers = "which part limits",
     .metrics = {METRIC_TIME, METRIC_DRAM_BUSY, METRIC_L2_BUSY, METRIC_L1_BUSY, METRIC_ISSUE_BUSY,
                 METRIC_PIPE_FMA_BUSY, METRIC_PIPE_ALU_BUSY, METRIC_PIPE_FP64_BUSY,
                 METRIC_PIPE_TENSOR_BUSY, METRIC_PIPE_XU_BUSY, METRIC_PIPE_LSU_BUSY},
     .n = 11},
    {.name = "memory",
     .answers = "sectors and requests, hits, bank conflicts, atomics",
     .metrics = {METRIC_TIME, METRIC_L1_HIT, METRIC_L2_HIT, METRIC_LOAD_SECTORS,
                 METRIC_LOAD_REQUESTS, METRIC_STORE_SECTORS, METRIC_STORE_REQUESTS,
                 METRIC_SHARED_LOAD_CONFLICTS, METRIC_SHARED_STORE_CONFLICTS,
                 METRIC_SHARED_WAVEFRONTS, METRIC_ATOMIC_REQUESTS, METRIC_REDUCTION_REQUESTS},
     .n = 12},
    {.name = "stalls",
     .answers = "what warps wait for, and divergence",
     .metrics = {METRIC_TIME, METRIC_ISSUE_BUSY, METRIC_ELIGIBLE_WARPS, METRIC_WARP_LATENCY,
                 METRIC_THREADS_PER_INSTRUCTION, METRIC_THREADS_ON, METRIC_STALL_BARRIER,
                 METRIC_STALL_BRANCH, METRIC_STALL_GMMA, METRIC_STALL_IMC, METRIC_STALL_LG_THROTTLE,
                 METRIC_STALL_LONG, METRIC_STALL_MATH, METRIC_STALL_MIO_THROTTLE,
                 METRIC_STALL_NO_INSTRUCTION, METRIC_STALL_NOT_SELECTED, METRIC_STALL_SELECTED,
                 METRIC_STALL_SHORT, METRIC_STALL_WAIT},
     .n = 19},
    {.name = "code",
     .answers = "use of sectors and local memory, by patched code",
     .metrics = {METRIC_LOAD_SECTOR_BYTES, METRIC_STORE_SECTOR_BYTES, METRIC_LOCAL_LOADS,
                 METRIC_LOCAL_STORES},
     .n = 4,
     .patches_code = true},
    {.name = "all",
     .answers = "everything that tools ask for: `hone profile`, for a few launches",
     .metrics = {METRIC_TIME,
                 METRIC_SM_CYCLES,
                 METRIC_SM_HZ,
                 METRIC_DRAM_BUSY,
                 METRIC_L2_BUSY,
                 METRIC_L1_BUSY,
                 METRIC_ISSUE_BUSY,
                 METRIC_PIPE_FMA_BUSY,
                 METRIC_PIPE_ALU_BUSY,
                 METRIC_PIPE_FP64_BUSY,
                 METRIC_PIPE_TENSOR_BUSY,
                 METRIC_PIPE_XU_BUSY,
                 METRIC_PIPE_LSU_BUSY,
                 METRIC_DRAM_READ_BYTES,
                 METRIC_DRAM_WRITE_BYTES,
                 METRIC_L1_HIT,
                 METRIC_L2_HIT,
                 METRIC_LOAD_SECTORS,
                 METRIC_LOAD_REQUESTS,
                 METRIC_STORE_SECTORS,
                 METRIC_STORE_REQUESTS,
                 METRIC_SHARED_LOAD_CONFLICTS,
                 METRIC_SHARED_STORE_CONFLICTS,
                 METRIC_SHARED_WAVEFRONTS,
                 METRIC_LOCAL_LOADS,
                 METRIC_LOCAL_STORES,
                 METRIC_ATOMIC_REQUESTS,
                 METRIC_REDUCTION_REQUESTS,
                 METRIC_HOST_SECTORS,
                 METRIC_L2_READ_SECTORS,
                 METRIC_L2_WRITE_SECTORS,
                 METRIC_SHARED_ATOMICS,
                 METRIC_SM_ACTIVE_MEAN,
                 METRIC_SM_ACTIVE_MIN,
                 METRIC_SM_ACTIVE_MAX,
                 METRIC_INSTRUCTIONS,
                 METRIC_ACHIEVED_OCCUPANCY,
                 METRIC_ELIGIBLE_WARPS,
                 METRIC_THREADS_PER_INSTRUCTION,
                 METRIC_THREADS_ON,
                 METRIC_WARP_LATENCY,
                 METRIC_STALL_BARRIER,
                 METRIC_STALL_BRANCH,
                 METRIC_STALL_DISPATCH,
                 METRIC_STALL_DRAIN,
                 METRIC_STALL_GMMA,
                 METRIC_STALL_IMC,
                 METRIC_STALL_LG_THROTTLE,
                 METRIC_STALL_LONG,
                 METRIC_STALL_MATH,
                 METRIC_STALL_MEMBAR,
                 METRIC_STALL_MIO_THROTTLE,
                 METRIC_STALL_MISC,
                 METRIC_STALL_NO_INSTRUCTION,
                 METRIC_STALL_NOT_SELECTED,
                 METRIC_STALL_SELECTED,
                 METRIC_STALL_SHORT,
                 METRIC_STALL_SLEEPING,
                 METRIC_STALL_TEX_THROTTLE,
                 METRIC_STALL_WAIT},
     .n = 60},
};
const int n_counter_sets = sizeof counter_sets / sizeof counter_sets[0];

const struct counter_set *counter_set_find(const char *name) {
    for (int i = 0; i < n_counter_sets; i++)
        if (strcmp(counter_sets[i].name, name) == 0)
            return &counter_sets[i];
    return NULL;
}

// The name of a metric that the chip has and that takes fewest passes by itself; NULL: none.
static const char *choose(struct arena *a, const struct cupti_chip *chip, enum metric_id id,
                          bool patches_code) {
    const char *best = NULL;
    int least = 0;
    for (const char *at = metric_table[id].counter; at && *at;) {
        size_t len = strcspn(at, "|");
        const char *name = arena_strndup(a, at, len);
        int passes;
        struct error ignored = {0};
        at += len + (at[len] == '|');
        if (!strstr(name, "__") || (!patches_code && strstr(name, "__sass_")) ||
            !cupti_chip_has(chip, name) ||
            !cupti_passes(chip->cupti, chip->name, &name, 1, &passes, &ignored) ||
            (best && passes >= least))
            continue;
        best = name;
        least = passes;
    }
    return best;
}

bool counter_plan(struct arena *a, const struct cupti *c, const char *name,
                  const struct counter_set *set, struct counter_plan *out, struct error *err) {
    struct cupti_chip chip;
    *out = (struct counter_plan){0};
    if (!cupti_chip_open(c, name, &chip, err))
        return false;
    for (int i = 0; i < set->n; i++) {
        const char *counter = choose(a, &chip, set->metrics[i], set->patches_code);
        if (!counter) {
            out->n_absent++;
            continue;
        }
        out->metrics[out->n] = set->metrics[i];
        out->counters[out->n++] = counter;
    }
    cupti_chip_close(&chip);
    if (out->n == 0)
        return error_set(err, ERROR_UNSUPPORTED, "the chip %s has none of the counters of '%s'",
                         name, set->name);
    return cupti_passes(c, name, out->counters, out->n, &out->passes, err);
}
