// Kernels of CUTLASS's as calls: a shared object that nvcc made for this very call has one way to
// compute it, so there is nothing to choose.
#include <dlfcn.h>
#include <stdlib.h>

#include "base/error.h"
#include "gpu/library.h"
#include "ir/cutlass.h"
#include "library/gpu_calls.h"

struct gpu_call {
    void *handle;
    int64_t (*work_bytes)(const int64_t *numbers);
    int (*issue)(const int64_t *numbers, void *const *args, void *stream);
    int64_t numbers[CUTLASS_SIZES];
};

static void close_call(struct gpu_call *c) {
    if (c->handle)
        dlclose(c->handle);
    free(c);
}

static bool open_object(struct gpu_call *c, const struct plan *p, const struct plan_step *s,
                        struct error *err) {
    const struct library_symbol symbols[] = {
        {"hone_cutlass_work_bytes", NULL, (void **)&c->work_bytes, false},
        {"hone_cutlass_issue", NULL, (void **)&c->issue, false},
    };
    if (!s->object)
        return error_set(err, ERROR_UNSUPPORTED, "a call of CUTLASS was not compiled");
    // Never unloaded: its copy of the CUDA runtime has registered its kernels for the process.
    c->handle = dlopen(s->object, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!c->handle)
        return error_set(err, ERROR_UNSUPPORTED, "the object of a call of CUTLASS: %.300s",
                         dlerror());
    if (!library_fill(c->handle, symbols, 2, "the object of a call of CUTLASS", err))
        return false;
    cutlass_sizes(s->call, c->numbers);
    int64_t needed = c->work_bytes(c->numbers), has = p->buffers[s->args[CALL_WORK]].size_bytes;
    return needed <= has || error_set(err, ERROR_UNSUPPORTED,
                                      "CUTLASS wants %lld bytes to work in, and the plan has %lld",
                                      (long long)needed, (long long)has);
}

static struct gpu_call *open_call(void *library, const struct plan *p, const struct plan_step *s,
                                  struct error *err) {
    struct gpu_call *c = calloc(1, sizeof *c);
    (void)library;
    if (open_object(c, p, s, err))
        return c;
    close_call(c);
    return NULL;
}

static int propose(struct gpu_call *c, cuda_stream stream, const cuda_pointer *args,
                   struct error *err) {
    (void)c, (void)stream, (void)args, (void)err;
    return 1;
}

static int issue(struct gpu_call *c, int algorithm, cuda_stream stream, const cuda_pointer *args) {
    void *pointers[CALL_BUFFERS_MAX];
    (void)algorithm;
    for (int i = 0; i < CALL_BUFFERS_MAX; i++)
        pointers[i] = (void *)(uintptr_t)args[i];
    return c->issue(c->numbers, pointers, stream);
}

const struct gpu_library gpu_cutlass = {
    .name = "CUTLASS", .open = open_call, .propose = propose, .issue = issue, .close = close_call};
