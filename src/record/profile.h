// A profile: named metrics of one candidate's run, each present or absent. hone.profile/1.
// Metrics known so far (a source that cannot give one leaves it out):
//   time_s                median time of a call
//   thread_busy           mean share of the call that the pool's threads spent in blocks, 0..1
//   blocks, threads       blocks of the largest launch; threads in the pool
//   hot_scalar, hot_vector  floating point instructions in innermost loops: one lane / packed
// On a GPU, of the launch with the most threads:
//   blocks                         of that launch; launches: kernels in a call
//   registers, local_bytes, shared_bytes, threads_per_block   as the driver tells them
//   blocks_per_sm, occupancy       blocks that a multiprocessor holds; share of its threads, 0..1
//   restart_s                      from the loss of a runner before this job to its first call
//   spill_bytes, stack_bytes, static_shared_bytes   the largest of all kernels, by the assembler
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum { METRICS_MAX = 32 };

struct metric {
    const char *name;
    double value;
};

struct profile {
    struct metric metrics[METRICS_MAX];
    int n_metrics;
};

void profile_set(struct profile *p, const char *name, double value);
double profile_get(const struct profile *p, const char *name);  // NAN when absent

json_t *profile_to_json(const struct profile *p);
bool profile_from_json(struct arena *a, const json_t *json, struct profile *p, struct error *err);
