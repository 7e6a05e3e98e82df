// The machine: which targets there are, and the one that a command shall use.
#pragma once

#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

// Resolve `--target` (NULL: the setting run.target, else the first GPU, else the CPU) with the
// settings for compiler and threads, and read its ceilings if they were measured. Every operation
// on a target begins here.
bool op_target(struct arena *a, const char *name, struct target *t, struct error *err);

// Is there what it takes to judge on it? On a CPU that is the compiler.
bool op_target_usable(struct arena *a, const struct target *t, struct error *err);

// Which compiler builds kernels for it here, as it calls itself; NULL: it could not be asked.
const char *op_compiler(struct arena *a, const struct target *t);
// The same, and on a GPU whether CUDA's device headers are there: for target.compiler.
const char *op_compiler_and_headers(struct arena *a, const struct target *t);

// A target to check and emit for, which need not be here: also `sm_80`, `sm_90a`, `sm_100a`.
bool op_code_target(struct arena *a, const char *name, struct target *t, struct error *err);

// Every target of this machine, the CPU first.
bool op_all_targets(struct arena *a, struct target **targets, int *n_targets, struct error *err);

// A GPU and those of this machine that are like it, `most` in all at most, itself first.
bool op_alike_targets(struct arena *a, const struct target *home, int most,
                      const struct target ***targets, int *n_targets, struct error *err);

// Facts and ceilings as hone.devices/1.
json_t *op_devices(const struct target *targets, int n_targets);
