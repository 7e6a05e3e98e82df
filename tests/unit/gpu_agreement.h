// Inputs and expected outputs of a GPU (oracle/gpu_oracle.h) compared with those of the host
// (oracle/oracle.h): inputs bit for bit, outputs as far as float64 rounds alike on both.
#pragma once

#include "oracle/gpu_oracle.h"
#include "oracle/oracle.h"

struct gpu_agreement {
    int64_t n_inputs, n_inputs_differ;  // elements; bit for bit
    int64_t n, n_differ;                // of the outputs; differ in some bit
    int64_t n_wrong;       // exact on one side alone, or further apart than float64 explains
    double truth, spread;  // largest differences: in units of the spread, relative
    double honest_rms[2], honest_max[2];  // host, GPU
    double host_s, gpu_s;
};

// Draw and compute one set on both sides. `o` must be one whose problem oracle_plan_supports().
bool gpu_agreement(struct gpu_oracle *g, struct oracle *o, enum oracle_set set,
                   struct gpu_agreement *check, struct error *err);

bool gpu_agrees(const struct gpu_agreement *c);
