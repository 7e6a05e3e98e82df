// Whether a card holds its clocks down while candidates are timed, as NVML reports. Without NVML,
// or without the permission to ask, nothing is watched, and the measurement says so.
//
// The rule: the reasons are read after a call, at most every 20 ms since asking takes a while, and
// hold until the next reading. Pairs under a slowdown (heat, power brake, the hardware's own) are
// left out; the software's power cap is how such cards work under load, and is only noted.
#pragma once

#include "gpu/nvml.h"

struct arena;

struct gpu_clocks {
    struct nvml nvml;
    nvml_device device;
    bool is_watched;
    char why_not[200];
    int64_t bits;  // of the last reading, -1: none
    int64_t read_ns;
};

void gpu_clocks_open(struct gpu_clocks *c, const char *uuid);
void gpu_clocks_close(struct gpu_clocks *c);

// NVML's reasons now, or a moment ago; -1: not known.
int64_t gpu_clocks_bits(struct gpu_clocks *c);

// How many of the timed pairs were taken under what.
struct clock_counts {
    int n_pairs, n_slowed, n_capped;
    int64_t slowed_bits;  // all reasons seen
};

// What a measurement says about the clocks.
const char *gpu_clocks_text(struct arena *a, const struct gpu_clocks *c,
                            const struct clock_counts *n);
