// Calls of cuBLASLt, cuDNN and kernels of CUTLASS's in a runner on a GPU: opened with the plan,
// tried out once, then issued into the stream that is captured, like launches.
//
// No header of theirs is needed: what is called is declared in gpu_cublaslt.c and gpu_cudnn.c, from
// their documented interfaces. A library proposes several algorithms for a call; each is timed on
// the plan's own buffers and the fastest is taken. They work in memory of the plan (scratch), so
// nothing of theirs outlives a call that the judge does not overwrite.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gpu/cuda.h"
#include "record/plan.h"

struct error;

// One call as its library prepared it.
struct gpu_call;

// A library: a row with what is done in every case.
struct gpu_library {
    const char *name;            // "cuBLASLt"
    const char *const *sonames;  // newest first, NULL-terminated; NULL: a call brings its object
    const char *version_symbol;  // a function without arguments that returns a size_t: 130002
    // Called once for each call of a plan. The library is opened by then, where it has a name.
    struct gpu_call *(*open)(void *handle, const struct plan *p, const struct plan_step *s,
                             struct error *err);
    // How many algorithms there are, found out with the buffers at hand; 0: none, and why.
    int (*propose)(struct gpu_call *c, cuda_stream stream, const cuda_pointer *args,
                   struct error *err);
    // Issue it by one of them. 0: done, else the library's own number.
    int (*issue)(struct gpu_call *c, int algorithm, cuda_stream stream, const cuda_pointer *args);
    void (*close)(struct gpu_call *c);
};
extern const struct gpu_library gpu_cublaslt, gpu_cudnn, gpu_cutlass;

const struct gpu_library *gpu_library_of(const struct call *c);

// Opens it, for the process's life. ERROR_UNSUPPORTED: "not installed: ...".
void *gpu_library_open(const struct gpu_library *l, struct error *err);
// "cuBLASLt 13.0.2".
void gpu_library_name(const struct gpu_library *l, void *handle, char *text, size_t room);

// All calls of a plan.
struct gpu_calls;
bool gpu_calls_open(struct gpu_calls **out, const struct cuda *cu, const struct plan *p,
                    struct error *err);
// Choose algorithms, by timing them on these buffers (by number in the plan). Nothing is written
// there: results of the trials go elsewhere.
bool gpu_calls_tune(struct gpu_calls *c, cuda_stream stream, const cuda_pointer *buffers,
                    struct error *err);
cuda_result gpu_calls_issue(struct gpu_calls *c, int step, cuda_stream stream,
                            const cuda_pointer *buffers);
void gpu_calls_close(struct gpu_calls *c);
