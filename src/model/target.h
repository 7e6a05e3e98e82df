// A target: the facts of a device and the ceilings measured on it.
//
// Facts are read off the machine; ceilings are measured by eval/calibrate and
// cached; this layer only reads them. A ceiling that was not measured is NAN.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/ceilings.h"

struct arena;
struct block_set;
struct error;

// What does arithmetic: multiply-adds (two operations each) in f32 and f64, matrix units by the
// type of their operands (f16 stands for bf16 too), functions such as exp.
enum pipe { PIPE_F32, PIPE_F64, PIPE_TF32, PIPE_F16, PIPE_F8, PIPE_I8, PIPE_FUNCTION, PIPE_COUNT };
const char *pipe_name(enum pipe p);  // "tf32"
const char *pipe_text(enum pipe p);  // "TF32 matrix units"

struct target {
    const char *name;    // "cpu", "cuda:0"
    const char *device;  // "AMD EPYC, 2 threads", "NVIDIA H200"
    const char *id;      // what the cached ceilings belong to: hash of the facts
    bool is_gpu;
    const char *isa;       // "x86-64 with AVX-512", "sm_90a": what code is compiled for
    const char *compiler;  // that builds kernels, as it calls itself; NULL: not asked yet
    // CPU: the runner's pool, the widest vector register, the compiler.
    int n_threads;
    int vector_bytes;
    const char *cc;
    // GPU: multiprocessors and what one of them and a block of threads have.
    int ordinal;  // as the driver counts
    int sms;
    int64_t shared_per_block, shared_per_sm;
    int registers_per_sm, threads_per_sm, blocks_per_sm;
    int64_t memory_bytes;
    const char *driver;  // "580.159.03, CUDA 13.0"
    char cutlass[24];    // version of CUTLASS where there is one (model/cutlass_path.h), else ""
    // Both. On a GPU l1 is the shared memory of a multiprocessor and l2 the last level.
    int64_t l1_bytes, l2_bytes, llc_bytes;
    double top_clock_hz;  // top boost; a cautious upper bound where the machine hides it
    bool top_clock_known;
    // What the hardware could do at its top clock, for the limit.
    double peak_bytes_per_s;
    double peak_per_s[PIPE_COUNT];  // 0: no such pipe, or nobody says
    const char *source;             // of published figures, for a card that is not here; else NULL
    struct ceilings ceilings;
    // Only these blocks are legal: a table stands for the device (family/block_set.h). NULL: all.
    struct block_set *blocks;
};

// Facts of this machine's CPU. `n_threads` 0: one per CPU that we may run on.
bool target_read_cpu(struct arena *a, int n_threads, const char *cc, struct target *t,
                     struct error *err);

// Facts that every GPU of an architecture (`sm_80`, `sm_90a`, `sm_100a`) shares, and otherwise
// those of the first one: enough to check, lower and emit without the card. False: unknown.
bool target_of_arch(const char *arch, struct target *t);

// A card by name (`h200`), as its vendor describes it: enough for a limit, not for a reach.
// False: not in the table.
bool target_of_card(const char *name, struct target *t);
// The same by what its driver calls it: "NVIDIA H200".
bool target_of_device(const char *device, struct target *t);
extern const char *const card_names[];  // NULL-terminated

// Peaks of an architecture at a number of multiprocessors and a clock.
void target_set_peaks(struct target *t, int major, int minor);

// What lies on the chip: data of this size need not be read from memory twice.
double target_on_chip_bytes(const struct target *t);

// What a kernel block calls the target: `cpu`, or a GPU's architecture.
const char *target_kernel_name(const struct target *t);

bool target_has_clusters(const struct target *t);

// Is there CUTLASS for it on this machine? Sets `cutlass`.
void target_find_cutlass(struct target *t);

// What a block of threads may use, in words: "227 KiB shared memory per block, ...".
const char *target_limits(struct arena *a, const struct target *t);

// Every name that `--target` takes, NULL-terminated; `cuda:N` names the N-th GPU.
extern const char *const target_names[];

// Facts and ceilings in one JSON form, as `hone devices` prints them and a spool carries them. The
// compiler stays behind: it is nobody else's business.
json_t *target_to_json(const struct target *t);
bool target_from_json(struct arena *a, const json_t *json, struct target *t, struct error *err);
// Its peak_per_s as an object by pipe, without those that it has not.
json_t *target_peaks_to_json(const struct target *t);
struct json_reader;
void target_peaks_from_json(struct json_reader *r, const json_t *json, struct target *t);

// Measured rates per pipe, NAN where there is none.
void ceilings_rates(const struct ceilings *c, double rates[PIPE_COUNT]);

// Ceilings as stored in the cache, one JSON form, of which the version before is read too: it
// stands in records of the past. A file of another device or version in the cache is absent, not an
// error.
json_t *ceilings_to_json(const struct target *t);
bool ceilings_from_json(struct arena *a, const json_t *json, struct target *t, struct error *err);
// Read them from the cache directory if they are there.
void target_load_ceilings(struct arena *a, struct target *t);
bool target_save_ceilings(struct arena *a, const struct target *t, struct error *err);
