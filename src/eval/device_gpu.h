// What the parts of the GPU's judge share: device_gpu.c (opening, subjects, calls), gpu_data.c
// (data, comparing) and gpu_checks.c (what calls left in memory).
#pragma once

#include "build/compile_cuda.h"
#include "eval/gpu_clocks.h"
#include "eval/gpu_handle.h"
#include "eval/judge.h"
#include "oracle/gpu_oracle.h"

enum { RUNNERS = 2, EXCESS_MAX = 256 };

// The data of one set in the judge's own device memory.
struct gpu_set {
    bool has_inputs, has_expected;
    cuda_pointer inputs[INPUTS_MAX];
    uint64_t digests[INPUTS_MAX];
    struct judge_expected expected[OUTPUTS_MAX];
};

struct judge_gpu {
    struct gpu_bench bench;
    struct cuda_facts facts;
    struct cuda_compiler compiler;
    struct cubin ours, truth;  // of judge.cu and oracle.cu
    struct gpu_oracle oracle;
    bool has_kernels;     // of the oracle
    bool has_oracle;      // it takes this problem; else the host computes the truth
    struct plan problem;  // its buffers alone
    struct gpu_memory memory;
    struct gpu_runner runners[RUNNERS];
    struct gpu_set sets[SET_COUNT];
    int64_t reserve_bytes;  // that sets leave to runners, besides the slots
    void *values;           // an output on its way into evidence
    cuda_pointer spots;     // of gpu_spot.c
    int64_t spots_bytes;
    // Of inputs that were drawn for one call: from what, and the digest of all of them.
    uint64_t new_seeds[SLOTS_MAX], new_digests[SLOTS_MAX];
    struct judge_part left;  // what a look after the last call found (gpu_checks.c), in this slot
    int left_slot;
    struct gpu_clocks clocks;
};

struct gpu_subject {
    struct gpu_runner *runner;
    struct cubin cubin;
    struct profile profile;
    double excess_s[EXCESS_MAX];  // of calls, by the judge's clock
    double event_s[EXCESS_MAX];
    int n_excess;
};

// Note that a call of the judge's own context failed.
void gpu_fail(struct judge *j, const struct error *err);
bool gpu_check(struct judge *j, cuda_result code, const char *what);

void gpu_forget_sets(struct judge *j);
// What the card has left; and to have so much of it, by forgetting sets. False: all are gone, and
// it is still less.
int64_t gpu_free_bytes(struct judge *j);
bool gpu_make_room(struct judge *j, int64_t bytes);
void gpu_forget_spots(struct judge *j);

// At least so many bytes of memory for looks at some elements, kept from one to the next; 0:
// j->broken says why not.
cuda_pointer gpu_take_spots(struct judge *j, int64_t bytes);

// Are the declared data and what is expected of them on the device? Brings them there if not.
bool gpu_declared_is_ready(struct judge *j);
// An input and an output in a slot, in the judge's addresses.
cuda_pointer gpu_input_at(const struct judge *j, int slot, int input);
cuda_pointer gpu_output_at(const struct judge *j, const struct subject *s, int slot, int output);

// What is expected of an output, `count` elements of `type`, into memory of the host.
void gpu_fetch_expected(struct judge *j, const struct judge_expected *e, struct oracle_output *o);

// The digest of all of an input that lies at `at`.
uint64_t gpu_input_digest(struct judge *j, int input, cuda_pointer at);

// Change one element of an input that lies at `at`, or take that back.
bool gpu_put_element(struct judge *j, int input, cuda_pointer at, const struct patch *p,
                     bool is_back);

// An input of a set, into memory of its size. False: the kernels cannot, and the host has to; or
// j->broken is set.
bool gpu_make_input(struct judge *j, enum oracle_set set, int i, cuda_pointer to);
// The same of the declared distribution by another seed.
bool gpu_make_new_input(struct judge *j, uint64_t seed, int i, cuda_pointer to);

// As in struct judge_device.
void gpu_load(struct judge *j, int slot, enum oracle_set set);
void gpu_compute_expected(struct judge *j, unsigned sets);
void gpu_try_null(struct judge *j, enum oracle_set set, struct null_kernels *t);
void gpu_renew(struct judge *j, int slot, uint64_t seed);
void gpu_poison(struct judge *j, struct subject *s, int slot);
// One input of a slot, as it was drawn for the last call.
void gpu_redraw(struct judge *j, int slot, int input);
bool gpu_is_untouched(struct judge *j, struct subject *s, int slot);
int gpu_find_overrun(struct judge *j, struct subject *s, int slot, uint32_t word);
int gpu_find_changed_input(struct judge *j, struct subject *s, int slot);
uint64_t gpu_digest(struct judge *j, struct subject *s, int slot);
bool gpu_compare(struct judge *j, struct subject *s, int slot, int output, uint32_t word,
                 struct comparison *c);
int64_t gpu_count_unwritten(struct judge *j, struct subject *s, int slot, uint32_t word);
void gpu_spot_check(struct judge *j, struct arena *a, struct subject *s, int slot,
                    const struct spot_call *call, struct spot_result *r);
void gpu_measure_energy(struct judge *j, struct arena *a, struct subject *s,
                        struct subject *baseline, double seconds, struct measurement *m);
const void *gpu_values(struct judge *j, struct subject *s, int slot, int output);
