// The few calls of NVRTC, found under several sonames; one program per compile.
#include "gpu/nvrtc.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "gpu/cuda.h"
#include "gpu/library.h"

// Options: one for each of a problem's 32 dims, and those that every source gets.
enum { RESULT_COMPILATION = 6, OPTIONS_MAX = 64, VERSION_LEAST = 12 };

const char *const *nvrtc_sonames(int driver_version) {
    static const char *const newest_first[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    static const char *const oldest_first[] = {"libnvrtc.so.12", "libnvrtc.so.13", NULL};
    return driver_version > 0 && driver_version < 13000 ? oldest_first : newest_first;
}

bool nvrtc_open(struct nvrtc *n, struct error *err) {
    *n = (struct nvrtc){0};
    const struct library_symbol symbols[] = {
        {"nvrtcVersion", NULL, (void **)&n->version, false},
        {"nvrtcCreateProgram", NULL, (void **)&n->create, false},
        {"nvrtcCompileProgram", NULL, (void **)&n->compile, false},
        {"nvrtcDestroyProgram", NULL, (void **)&n->destroy, false},
        {"nvrtcGetProgramLogSize", NULL, (void **)&n->log_size, false},
        {"nvrtcGetProgramLog", NULL, (void **)&n->log, false},
        {"nvrtcGetCUBINSize", NULL, (void **)&n->cubin_size, false},
        {"nvrtcGetCUBIN", NULL, (void **)&n->cubin, false},
        {"nvrtcGetErrorString", NULL, (void **)&n->error_text, false},
    };
    n->handle = library_open(nvrtc_sonames(cuda_driver_version()), symbols,
                             sizeof symbols / sizeof symbols[0], err);
    if (!n->handle)
        return false;
    if (n->version(&n->major, &n->minor) == 0 && n->major >= VERSION_LEAST) {
        char builtins[64];
        snprintf(builtins, sizeof builtins, "libnvrtc-builtins.so.%d.%d", n->major, n->minor);
        library_load_next_to(n->handle, builtins);
        return true;
    }
    error_set(err, ERROR_UNSUPPORTED, "NVRTC %d.%d is too old: hone needs %d", n->major, n->minor,
              VERSION_LEAST);
    nvrtc_close(n);
    return false;
}

void nvrtc_close(struct nvrtc *n) {
    library_close(n->handle);
    *n = (struct nvrtc){0};
}

static bool check(const struct nvrtc *n, int result, const char *what, struct error *err) {
    return result == 0 || error_set(err, ERROR_IO, "NVRTC: %s: %s", what, n->error_text(result));
}

static bool read_log(struct arena *a, const struct nvrtc *n, nvrtc_program program,
                     struct nvrtc_result *result, struct error *err) {
    size_t size = 0;
    if (!check(n, n->log_size(program, &size), "ask for the log", err))
        return false;
    char *log = arena_alloc(a, size + 1);
    result->log = log;
    return size == 0 || check(n, n->log(program, log), "read the log", err);
}

static bool read_cubin(struct arena *a, const struct nvrtc *n, nvrtc_program program,
                       struct nvrtc_result *result, struct error *err) {
    if (!check(n, n->cubin_size(program, &result->cubin_bytes), "ask for the cubin", err))
        return false;
    char *bytes = arena_alloc(a, result->cubin_bytes);
    result->cubin = bytes;
    return check(n, n->cubin(program, bytes), "read the cubin", err);
}

static bool compile_program(struct arena *a, const struct nvrtc *n, nvrtc_program program,
                            const struct nvrtc_job *job, struct nvrtc_result *result,
                            struct error *err) {
    const char *options[OPTIONS_MAX] = {
        arena_printf(a, "--gpu-architecture=%s", job->arch), "--std=c++17",
        "--ptxas-options=-v",  // resource usage goes to the log
    };
    int n_options = 3;
    if (job->n_options > OPTIONS_MAX - n_options)
        return error_set(err, ERROR_USAGE, "NVRTC: %d options are too many", job->n_options);
    for (int i = 0; i < job->n_options; i++)
        options[n_options++] = job->options[i];
    int code = n->compile(program, n_options, options);
    if (code != 0 && code != RESULT_COMPILATION)
        return check(n, code, "compile", err);
    if (!read_log(a, n, program, result, err))
        return false;
    result->compiled = code == 0;
    return code != 0 || read_cubin(a, n, program, result, err);
}

bool nvrtc_compile(struct arena *a, const struct nvrtc *n, const struct nvrtc_job *job,
                   struct nvrtc_result *result, struct error *err) {
    *result = (struct nvrtc_result){.log = ""};
    nvrtc_program program = NULL;
    int code = n->create(&program, job->source, job->name, job->n_headers, job->header_texts,
                         job->header_names);
    if (!check(n, code, "take the source", err))
        return false;
    bool ok = compile_program(a, n, program, job, result, err);
    n->destroy(&program);
    return ok;
}
