// `hone _compile`: the process in which NVRTC works. It compiles something tiny first, so that
// NVRTC has loaded all its parts, and then gives up the file system: a source can name files,
// but nothing can be opened any more, except headers of CUDA's toolkit where there is one.
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/sandbox.h"
#include "build/compile_cuda.h"
#include "gpu/library.h"
#include "gpu/nvrtc.h"

enum { PARENT = 3, HEADERS_MAX = 64, OPTIONS_MAX = 64, LOG_MAX = 256 << 10 };

// NVRTC has no standard headers; this is all of them that our own need.
static const char stdint_text[] = "#pragma once\n"
                                  "typedef signed char int8_t;\n"
                                  "typedef unsigned char uint8_t;\n"
                                  "typedef short int16_t;\n"
                                  "typedef unsigned short uint16_t;\n"
                                  "typedef int int32_t;\n"
                                  "typedef unsigned int uint32_t;\n"
                                  "typedef long long int64_t;\n"
                                  "typedef unsigned long long uint64_t;\n"
                                  "typedef long long intptr_t;\n"
                                  "typedef unsigned long long uintptr_t;\n"
                                  "#define INT32_MAX 2147483647\n"
                                  "#define UINT32_MAX 4294967295u\n"
                                  "#define INT64_C(x) x##ll\n"
                                  "#define UINT64_C(x) x##ull\n";

static void add_headers(struct nvrtc_job *job, const char **names, const char **texts) {
    int n = 0;
    names[n] = "stdint.h";
    texts[n++] = stdint_text;
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        const char *end = strrchr(f->name, '.');
        if (!end || (strcmp(end, ".h") != 0 && strcmp(end, ".def") != 0))
            continue;
        assert(n < HEADERS_MAX);
        names[n] = f->name;
        texts[n++] = f->text;
    }
    job->header_names = names;
    job->header_texts = texts;
    job->n_headers = n;
}

static json_t *refuse(const struct error *err) {
    return json_pack("{s:s, s:b, s:i, s:s, s:o}", "schema", "hone.compiled/1", "compiled", 0,
                     "bytes", 0, "log", "", "error", json_optional_text(err->text));
}

static bool store(int fd, const struct nvrtc_result *r, struct error *err) {
    if (r->cubin_bytes > CUBIN_MAX)
        return error_set(err, ERROR_IO, "the cubin has %zu bytes, at most %d", r->cubin_bytes,
                         CUBIN_MAX);
    void *into = mmap(NULL, CUBIN_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (into == MAP_FAILED)
        return error_set(err, ERROR_IO, "cannot map the memory for the cubin");
    memcpy(into, r->cubin, r->cubin_bytes);
    munmap(into, CUBIN_MAX);
    return true;
}

static json_t *compile_job(struct arena *a, const struct nvrtc *n, const json_t *message, int fd) {
    struct error err = {0};
    struct json_reader reader = {.where = "compile"};
    const char *options[OPTIONS_MAX], *names[HEADERS_MAX], *texts[HEADERS_MAX];
    struct nvrtc_job job = {.name = "candidate.cu", .options = options};
    struct nvrtc_result r;
    json_read_schema(&reader, message, "hone.compile/1");
    job.source = json_read_string(&reader, a, message, "source");
    job.arch = json_read_string(&reader, a, message, "arch");
    const json_t *list = json_read_array(&reader, message, "options");
    for (size_t i = 0; i < json_array_size(list) && job.n_options < OPTIONS_MAX; i++)
        options[job.n_options++] = json_string_value(json_array_get(list, i));
    add_headers(&job, names, texts);
    if (!json_reader_done(&reader, &err) || !nvrtc_compile(a, n, &job, &r, &err) ||
        (r.compiled && !store(fd, &r, &err)))
        return refuse(&err);
    size_t len = strnlen(r.log, LOG_MAX);
    return json_pack("{s:s, s:b, s:I, s:o, s:n}", "schema", "hone.compiled/1", "compiled",
                     (int)r.compiled, "bytes", (json_int_t)r.cubin_bytes, "log",
                     json_optional_text(arena_strndup(a, r.log, len)), "error");
}

static bool answer(json_t *message, struct error *err) {
    bool ok = frame_write(PARENT, message, NULL, 0, err);
    json_decref(message);
    return ok;
}

// One job; false when there are no more.
static bool serve(const struct nvrtc *n, struct error *err) {
    struct arena a = {0};
    json_t *message = NULL;
    int fds[FRAME_MAX_FDS], n_fds = 0;
    bool ok = frame_read(PARENT, -1, &message, fds, &n_fds, err);
    if (ok && n_fds == 1)
        ok = answer(compile_job(&a, n, message, fds[0]), err);
    else if (ok)
        ok = error_set(err, ERROR_IO, "compile: %d descriptors", n_fds);
    for (int i = 0; i < n_fds; i++)
        close(fds[i]);
    json_decref(message);
    arena_reset(&a);
    return ok;
}

static bool warm_up(const struct nvrtc *n, struct error *err) {
    struct arena a = {0};
    struct nvrtc_result r;
    struct nvrtc_job job = {.source = "extern \"C\" __global__ void warm(float *x) { *x = 1; }",
                            .name = "warm.cu",
                            .arch = "sm_80"};
    bool ok = nvrtc_compile(&a, n, &job, &r, err);
    arena_reset(&a);
    return ok;
}

int compile_child_main(void) {
    struct arena a = {0};
    struct error err = {0};
    struct nvrtc n;
    char headers[1024];
    bool ok = nvrtc_open(&n, &err) && warm_up(&n, &err);
    if (ok)
        sandbox_enter_reading((int64_t)3 << 30,
                              library_find_headers(headers, sizeof headers) ? headers : NULL);
    const char *version = ok ? arena_printf(&a, "%d.%d", n.major, n.minor) : "";
    json_t *ready =
        json_pack("{s:s, s:s, s:i, s:o}", "schema", "hone.compiler/1", "version", version, "kind",
                  (int)err.kind, "error", ok ? json_null() : json_optional_text(err.text));
    bool told = answer(ready, &err);
    while (ok && told)
        told = serve(&n, &err);
    arena_reset(&a);
    return ok ? 0 : 4;
}
