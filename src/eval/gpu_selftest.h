// The judge of the judge: inputs and truth of a GPU beside those of the host.
#pragma once

#include "eval/gpu_oracle.h"
#include "eval/oracle.h"

struct gpu_selftest {
    int64_t n_inputs, n_inputs_differ;  // elements; bit for bit
    int64_t n, n_differ;                // of the outputs; differ in some bit
    int64_t n_wrong;       // exact on one side alone, or further apart than float64 explains
    double truth, spread;  // largest differences: in units of the spread, relative
    double honest_rms[2], honest_max[2];  // host, GPU
    double host_s, gpu_s;
};

// Draw and compute one set on both sides. `o` must be one whose problem oracle_plan_takes().
bool gpu_selftest(struct gpu_oracle *g, struct oracle *o, enum oracle_set set,
                  struct gpu_selftest *check, struct error *err);

bool gpu_selftest_is_ok(const struct gpu_selftest *c);
