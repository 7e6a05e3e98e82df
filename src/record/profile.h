// A profile: named metrics of one candidate's run, each present or absent, and its launches one by
// one. hone.profile/1.
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

enum { METRICS_MAX = 32, LAUNCHES_MAX = 40 };

struct metric {
    const char *name;
    double value;
};

// A step of a candidate's plan as it ran. What is not known is NAN.
struct profile_launch {
    const char *name;  // of its function; "fill NAME", "clear NAME" for those steps
    // CPU: its share of the median call, by the runner's clock. GPU: by events between launches,
    // which cost a little themselves, so that all together are more than a call.
    double time_s;
    double blocks;
    // On a GPU, as the driver tells them:
    double threads;  // of a block
    double registers, local_bytes, shared_bytes;
    double occupancy;  // 0..1
};

struct profile {
    struct metric metrics[METRICS_MAX];
    int n_metrics;
    struct profile_launch launches[LAUNCHES_MAX];  // in their order; further ones are left out
    int n_launches;
};

void profile_set(struct profile *p, const char *name, double value);
double profile_get(const struct profile *p, const char *name);  // NAN when absent

// The next launch, nothing known of it but its name; NULL: there is no more room.
struct profile_launch *profile_add_launch(struct profile *p, const char *name);

// "sums 105 µs (48%), scale 114 µs (52%)"; "" where there is but one, or nobody timed them.
const char *profile_launch_text(struct arena *a, const struct profile *p);

json_t *profile_to_json(const struct profile *p);
bool profile_from_json(struct arena *a, const json_t *json, struct profile *p, struct error *err);
