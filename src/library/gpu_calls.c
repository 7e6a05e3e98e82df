// Which library a call is for, and the trial of its algorithms.
#include "library/gpu_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/library.h"

// Long enough for a clock of some microseconds, short enough for thirty algorithms of anything.
static const double trial_s = 1e-3;
enum { ROUNDS = 2, TIMES_MAX = 20 };
enum { ERROR_OF_LIBRARY = 999 };  // CUDA_ERROR_UNKNOWN

struct gpu_calls {
    const struct cuda *cu;
    const struct plan *plan;
    struct opened {
        const struct gpu_library *library;
        struct gpu_call *call;
        int algorithm;
    } steps[PLAN_STEPS_MAX];
};

const struct gpu_library *gpu_library_of(const struct call *c) {
    return c->kind == CALL_GEMM ? &gpu_cublaslt : c->kind == CALL_CONV ? &gpu_cudnn : &gpu_cutlass;
}

void *gpu_library_open(const struct gpu_library *l, struct error *err) {
    struct error why = {0};
    void *handle = library_open(l->sonames, NULL, 0, &why);
    if (!handle)
        handle = library_open_packaged(l->sonames);
    if (!handle)
        error_set(err, ERROR_UNSUPPORTED,
                  "not installed: %s (%s: not in $CUDA_HOME, /usr/local/cuda, the loader's "
                  "directories or a PyTorch)",
                  l->name, l->sonames[0]);
    return handle;
}

void gpu_library_name(const struct gpu_library *l, void *handle, char *text, size_t room) {
    size_t (*version)(void) = NULL;
    void *symbol = library_symbol(handle, l->version_symbol);
    snprintf(text, room, "%s", l->name);
    if (!symbol)
        return;
    memcpy(&version, &symbol, sizeof version);
    size_t v = version(), major = v < 10000 ? 1000 : 10000;  // cuDNN 8.9.2 was 8902
    snprintf(text, room, "%s %zu.%zu.%zu", l->name, v / major, v % major / 100, v % 100);
}

static void args_of(const struct plan_step *s, const cuda_pointer *buffers, cuda_pointer *args) {
    for (int i = 0; i < CALL_BUFFERS_MAX; i++)
        args[i] = i < s->n_args ? buffers[s->args[i]] : 0;
}

bool gpu_calls_open(struct gpu_calls **out, const struct cuda *cu, const struct plan *p,
                    struct error *err) {
    struct gpu_calls *c = calloc(1, sizeof *c);
    *c = (struct gpu_calls){.cu = cu, .plan = p};
    *out = c;
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].kind != STEP_CALL)
            continue;
        const struct gpu_library *l = gpu_library_of(p->steps[i].call);
        void *handle = l->sonames ? gpu_library_open(l, err) : NULL;
        bool is_there = handle || !l->sonames;
        c->steps[i].library = l;
        c->steps[i].call = is_there ? l->open(handle, p, &p->steps[i], err) : NULL;
        if (!c->steps[i].call)
            return false;
    }
    return true;
}

// Seconds of one run by an algorithm, or infinity.
static double try_times(struct gpu_calls *c, int step, int algorithm, int n, cuda_stream stream,
                        const cuda_pointer *args, const cuda_event *marks) {
    struct opened *o = &c->steps[step];
    float ms = 0;
    bool ok = c->cu->event_record(marks[0], stream) == 0;
    for (int i = 0; i < n && ok; i++)
        ok = o->library->issue(o->call, algorithm, stream, args) == 0;
    ok = ok && c->cu->event_record(marks[1], stream) == 0 &&
         c->cu->event_synchronize(marks[1]) == 0 &&
         c->cu->event_elapsed(&ms, marks[0], marks[1]) == 0;
    return ok ? ms * 1e-3 / n : INFINITY;
}

static bool tune(struct gpu_calls *c, int step, cuda_stream stream, const cuda_pointer *args,
                 const cuda_event *marks, struct error *err) {
    struct opened *o = &c->steps[step];
    int n = o->library->propose(o->call, stream, args, err);
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++) {
            double once = try_times(c, step, i, 1, stream, args, marks);
            if (once > 4 * least)
                continue;
            double times = fmin(fmax(trial_s / fmax(once, 1e-9), 2), TIMES_MAX);
            double time = try_times(c, step, i, (int)times, stream, args, marks);
            if (time < least) {
                least = time;
                o->algorithm = i;
            }
        }
    return n == 0
               ? false
               : least < INFINITY || error_set(err, ERROR_UNSUPPORTED,
                                               "%s: no algorithm of %d runs", o->library->name, n);
}

// Memory for what a trial writes: outputs and scratch of a slot may be prepared for a call already,
// and a candidate that writes there before it cheats.
static bool take_own(struct gpu_calls *c, const struct plan_step *s, cuda_pointer *args,
                     cuda_pointer *own, struct error *err) {
    for (int i = CALL_OUT; i < s->n_args && i < CALL_LOADED; i++) {
        size_t bytes = (size_t)c->plan->buffers[s->args[i]].size_bytes;
        if (!cuda_ok(c->cu, c->cu->allocate(&own[i], bytes), "take memory", err))
            return false;
        args[i] = own[i];
    }
    return true;
}

bool gpu_calls_tune(struct gpu_calls *c, cuda_stream stream, const cuda_pointer *buffers,
                    struct error *err) {
    cuda_event marks[2] = {0};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++)
        ok = cuda_ok(c->cu, c->cu->event_create(&marks[i], 0), "make an event", err);
    for (int i = 0; i < c->plan->n_steps && ok; i++) {
        cuda_pointer args[CALL_BUFFERS_MAX], own[CALL_BUFFERS_MAX] = {0};
        if (!c->steps[i].call)
            continue;
        args_of(&c->plan->steps[i], buffers, args);
        ok =
            take_own(c, &c->plan->steps[i], args, own, err) && tune(c, i, stream, args, marks, err);
        for (int k = CALL_OUT; k < CALL_BUFFERS_MAX; k++)
            if (own[k])
                c->cu->release(own[k]);
    }
    for (int i = 0; i < 2; i++)
        if (marks[i])
            c->cu->event_destroy(marks[i]);
    return ok;
}

cuda_result gpu_calls_issue(struct gpu_calls *c, int step, cuda_stream stream,
                            const cuda_pointer *buffers) {
    struct opened *o = &c->steps[step];
    cuda_pointer args[CALL_BUFFERS_MAX];
    args_of(&c->plan->steps[step], buffers, args);
    return o->library->issue(o->call, o->algorithm, stream, args) == 0 ? 0 : ERROR_OF_LIBRARY;
}

void gpu_calls_close(struct gpu_calls *c) {
    for (int i = 0; c && i < PLAN_STEPS_MAX; i++)
        if (c->steps[i].call)
            c->steps[i].library->close(c->steps[i].call);
    free(c);
}
