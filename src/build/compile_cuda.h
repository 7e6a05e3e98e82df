// From CUDA source to a cubin, by NVRTC, in a child that is kept warm: our own binary as
// `hone _compile`, without secrets, without a file system once it is ready, with limits on
// memory and time. Cubins are kept with the objects of the CPU by the hash of everything that
// went into them.
//
// Messages, frames over descriptor 3 of the child:
//   <- hone.compiler/1 {"version": "13.0", "error": null}: it is ready, or why it cannot work
//   -> hone.compile/1  {"source", "arch": "sm_90a", "options": [...]} and a memory file
//   <- hone.compiled/1 {"compiled": true, "bytes": 4096, "log": "...", "error": null}
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process.h"
#include "build/compile.h"

struct metrics;

enum { CUBIN_MAX = 64 << 20 };

// What sources are compiled with besides architecture and sizes, NULL-terminated; nvcc takes the
// same.
extern const char *const cuda_compile_flags[];

// What a candidate's source is called in messages and in tables of lines.
#define CUDA_SOURCE_NAME "candidate.cu"

struct cuda_compiler {
    struct process process;
    int n_jobs;           // since it was started
    const char *version;  // of NVRTC, in `arena`; NULL before it was heard of
    struct arena *arena;  // outlives the compiler
};

struct cuda_source {
    const char *text;
    const char *arch;              // "sm_90a"
    const char *cache;             // directory
    const char *const *dim_names;  // become macros
    const int64_t *dim_sizes;
    int n_dims;
    bool has_lines;  // with a table of source lines, for listings and samples; the code is the same
    bool is_ours;    // may include what the binary carries, and is not scanned
    bool skip_scans;  // as in struct compile_spec
    // Set by another thread: the compiler is stopped, and the error is ERROR_INTERRUPTED. NULL:
    // never.
    const atomic_bool *is_unwanted;
    // Called once while the compiler works, if it has to; may be NULL.
    void (*meanwhile)(void *ctx);
    void *ctx;
};

struct cubin {
    enum compile_outcome outcome;
    const char *bytes;  // COMPILE_OK only
    size_t len;
    const char *message;  // NULL when COMPILE_OK
    const char *rule;     // COMPILE_ILLEGAL by what is in the cubin: "global-state"
    const char *log;      // resources, as the assembler reports them
    double seconds;       // 0 when it was in the cache
};

// Start the child, without waiting until it is ready.
bool cuda_compiler_start(struct cuda_compiler *c, struct arena *a, struct error *err);
void cuda_compiler_stop(struct cuda_compiler *c);

// False when there is no verdict on the source: no NVRTC (ERROR_UNSUPPORTED), a full disk, Ctrl-C.
bool cuda_compile(struct arena *a, struct cuda_compiler *c, const struct cuda_source *s,
                  struct cubin *result, struct error *err);

// Resources of the kernels in a log: registers, spilled bytes, stack, static shared memory. Of one
// of them, or (NULL) the largest of each.
void cuda_read_resources(const char *log, const char *kernel, struct metrics *m);

// Body of the hidden command `hone _compile`, the child; descriptor 3 is the socket to its parent.
// Returns the exit status.
int compile_child_main(void);
