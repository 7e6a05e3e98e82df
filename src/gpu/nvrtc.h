// NVRTC: CUDA C++ to a cubin, without a GPU, a driver or nvcc.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;

typedef struct nvrtc_program_tag *nvrtc_program;

struct nvrtc {
    void *handle;
    int major, minor;
    // clang-format off
    int (*version)(int *major, int *minor);
    int (*create)(nvrtc_program *program, const char *source, const char *name, int n_headers,
                  const char *const *headers, const char *const *include_names);
    int (*compile)(nvrtc_program program, int n_options, const char *const *options);
    int (*destroy)(nvrtc_program *program);
    int (*log_size)(nvrtc_program program, size_t *size);
    int (*log)(nvrtc_program program, char *text);
    int (*cubin_size)(nvrtc_program program, size_t *size);
    int (*cubin)(nvrtc_program program, char *bytes);
    const char *(*error_text)(int result);
    // clang-format on
};

bool nvrtc_open(struct nvrtc *n, struct error *err);

// Names of the library in the order in which they are tried, NULL-terminated. What a newer NVRTC
// makes an older driver may not load: with a driver for CUDA 12 (12040 for 12.4; 0: there is
// none) its own comes first.
const char *const *nvrtc_sonames(int driver_version);
void nvrtc_close(struct nvrtc *n);

struct nvrtc_job {
    const char *source;
    const char *name;                 // as it stands in messages: "kernel.cu"
    const char *arch;                 // "sm_90a"
    const char *const *header_names;  // headers handed over from memory
    const char *const *header_texts;
    int n_headers;
    const char *const *options;  // beyond the architecture
    int n_options;
};

struct nvrtc_result {
    bool compiled;      // false: `log` has the mistakes
    const char *cubin;  // in the arena
    size_t cubin_bytes;
    const char *log;  // never NULL; with resource usage when it compiled
};

// Compile. False only when NVRTC itself failed; a source with mistakes is data.
bool nvrtc_compile(struct arena *a, const struct nvrtc *n, const struct nvrtc_job *job,
                   struct nvrtc_result *result, struct error *err);
