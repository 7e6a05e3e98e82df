#include "eval/gpu_handle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/json.h"
#include "eval/gpu_runner.h"
#include "eval/stats.h"
#include "record/profile.h"

enum { OVERHEAD_CALLS = 9 };
static const int64_t open_timeout_ns = 30000000000, load_timeout_ns = 20000000000;

static int memory_file_of(const char *bytes, size_t len) {
    int fd = memfd_create("cubin", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < len;) {
        ssize_t n = write(fd, bytes + done, len - done);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

bool gpu_runner_is_alive(struct gpu_runner *r) {
    struct process_result end;
    return r->process.pid > 0 && !process_ended(&r->process, &end);
}

static void copy_text(char *into, size_t size, const char *text) {
    snprintf(into, size, "%s", text ? text : "");
}

struct question {
    json_t *message;  // goes with the question
    int fd;           // -1: none
    int64_t timeout_ns;
    int fds[FRAME_MAX_FDS];  // that came with the answer
    int n_fds;
};

// Ask, and wait for the answer, which the caller owns. NULL: `status` says what became of it.
static json_t *ask(struct gpu_runner *r, struct question *q, enum runner_status *status) {
    struct error err = {0};
    json_t *told = NULL;
    bool sent = frame_write(r->process.socket, q->message, &q->fd, q->fd >= 0, &err);
    json_decref(q->message);
    bool heard =
        sent && frame_read(r->process.socket, q->timeout_ns, &told, q->fds, &q->n_fds, &err);
    const char *schema = json_string_value(json_object_get(told, "schema"));
    if (heard && schema && strcmp(schema, "hone.gpu_failed/1") != 0) {
        *status = RUNNER_OK;
        return told;
    }
    bool late = err.kind == ERROR_TIMEOUT || err.kind == ERROR_INTERRUPTED;
    r->code = (int)json_integer_value(json_object_get(told, "code"));
    copy_text(r->name, sizeof r->name, json_string_value(json_object_get(told, "name")));
    copy_text(r->what, sizeof r->what,
              heard ? json_string_value(json_object_get(told, "what")) : err.text);
    *status = heard ? RUNNER_REFUSED : late ? RUNNER_TIMEOUT : RUNNER_ENDED;
    json_decref(told);
    // It is not used after an error, whatever it may be.
    process_kill(&r->process);
    return NULL;
}

// Open what the runner shares: buffers first .. of a plan, a descriptor per slot.
static bool import(struct gpu_runner *r, const struct plan *p, int first, const struct question *q,
                   struct error *err) {
    struct cuda_mapping *memory = first ? r->scratch : r->memory;
    for (int slot = 0; slot < r->n_slots; slot++) {
        struct gpu_layout l;
        gpu_layout_make(&l, p->buffers, first, p->n_buffers - first, slot, r->bench->page_bytes);
        if (!cuda_mapping_import(&r->bench->cu, r->bench->device, (size_t)l.total_bytes,
                                 q->fds[slot], &memory[slot], err))
            return false;
    }
    return true;
}

static bool receive_memory(struct gpu_runner *r, const struct plan *p, int first,
                           const struct question *q, struct error *err) {
    bool ok = q->n_fds == r->n_slots ? import(r, p, first, q, err)
                                     : error_set(err, ERROR_IO, "the runner shares %d of %d slots",
                                                 q->n_fds, r->n_slots);
    for (int i = 0; i < q->n_fds; i++)
        close(q->fds[i]);
    return ok;
}

// What goes around every call, by the judge's clock: measured before any candidate is there.
static bool measure_overhead(struct gpu_runner *r) {
    double samples[OVERHEAD_CALLS];
    for (int i = 0; i < OVERHEAD_CALLS; i++) {
        struct gpu_call c;
        gpu_runner_call(r, -1, open_timeout_ns, &c);
        if (c.status != RUNNER_OK)
            return false;
        samples[i] = c.host_s - c.event_s;
    }
    r->overhead_s = stats_median(samples, OVERHEAD_CALLS);
    return true;
}

static bool start_process(struct gpu_runner *r, struct error *err) {
    struct arena a = {0};
    const char *self = file_self(&a, err);
    const char *argv[] = {self, "_gpu_runner", NULL};
    bool ok = self && process_start(&r->process, &(struct process_spec){.argv = argv}, err);
    arena_reset(&a);
    return ok;
}

bool gpu_runner_open(struct gpu_runner *r, const struct gpu_runner_spec *spec, struct error *err) {
    enum runner_status status = RUNNER_ENDED;
    *r = (struct gpu_runner){.process = {.socket = -1},
                             .bench = spec->bench,
                             .n_slots = spec->n_slots,
                             .problem = spec->problem};
    for (int i = 0; i < SLOTS_MAX; i++)
        r->slot_set[i] = -1;
    if (!start_process(r, err))
        return error_wrap(err, "start a runner");
    struct question q = {
        .message = json_pack("{s:s, s:i, s:i, s:I, s:o}", "schema", "hone.gpu_open/1", "ordinal",
                             spec->ordinal, "slots", spec->n_slots, "flush_bytes",
                             (json_int_t)spec->flush_bytes, "plan", plan_to_json(spec->problem)),
        .fd = memory_file_of(spec->cubin, spec->cubin_len),
        .timeout_ns = open_timeout_ns};
    json_t *told = ask(r, &q, &status);
    if (q.fd >= 0)
        close(q.fd);
    json_decref(told);
    if (told && !receive_memory(r, r->problem, 0, &q, err))
        return error_wrap(err, "start a runner");
    if (told && measure_overhead(r))
        return true;
    return error_set(err, ERROR_IO, "start a runner: %s", r->what);
}

void gpu_runner_close(struct gpu_runner *r) {
    process_kill(&r->process);
    for (int i = 0; i < r->n_slots; i++) {
        cuda_mapping_reset(&r->bench->cu, &r->memory[i]);
        cuda_mapping_reset(&r->bench->cu, &r->scratch[i]);
    }
    *r = (struct gpu_runner){.process = {.socket = -1}};
}

static double fact(const json_t *launch, const char *key) {
    return json_number_value(json_object_get(launch, key));
}

// The largest launch speaks for the plan.
static void read_facts(const struct gpu_load *load, const json_t *told, struct profile *p) {
    const json_t *launches = json_object_get(told, "launches");
    int64_t most = 0;
    size_t next = 0;
    for (int i = 0; i < load->plan->n_steps; i++) {
        const struct plan_step *s = &load->plan->steps[i];
        if (s->kind != STEP_LAUNCH)
            continue;
        const json_t *l = json_array_get(launches, next++);
        int64_t threads = s->shape.block[0] * s->shape.block[1] * s->shape.block[2];
        if (s->grid * threads <= most)
            continue;
        most = s->grid * threads;
        double per_sm = fact(l, "blocks_per_sm");
        profile_set(p, "registers", fact(l, "registers"));
        profile_set(p, "local_bytes", fact(l, "local"));
        profile_set(p, "shared_bytes", fact(l, "static_shared") + (double)s->shape.shared_bytes);
        profile_set(p, "threads_per_block", (double)threads);
        profile_set(p, "blocks_per_sm", per_sm);
        if (load->threads_per_sm > 0)
            profile_set(p, "occupancy", per_sm * (double)threads / (double)load->threads_per_sm);
    }
}

bool gpu_runner_load(struct gpu_runner *r, const struct gpu_load *load, struct profile *p,
                     enum runner_status *status, struct error *err) {
    struct question q = {.message = json_pack("{s:s, s:o}", "schema", "hone.gpu_load/1", "plan",
                                              plan_to_json(load->plan)),
                         .fd = memory_file_of(load->cubin, load->cubin_len),
                         .timeout_ns = load_timeout_ns};
    json_t *told = ask(r, &q, status);
    if (q.fd >= 0)
        close(q.fd);
    if (!told)
        return true;
    read_facts(load, told, p);
    json_decref(told);
    int first = r->problem->n_buffers;
    return load->plan->n_buffers == first || receive_memory(r, load->plan, first, &q, err);
}

void gpu_runner_unload(struct gpu_runner *r) {
    enum runner_status status;
    struct question q = {.fd = -1, .timeout_ns = load_timeout_ns};
    for (int i = 0; i < r->n_slots; i++)
        cuda_mapping_reset(&r->bench->cu, &r->scratch[i]);
    if (!gpu_runner_is_alive(r))
        return;
    q.message = json_pack("{s:s}", "schema", "hone.gpu_unload/1");
    json_decref(ask(r, &q, &status));
}

void gpu_runner_call(struct gpu_runner *r, int slot, int64_t timeout_ns, struct gpu_call *call) {
    struct question q = {.message =
                             json_pack("{s:s, s:i}", "schema", "hone.gpu_call/1", "slot", slot),
                         .fd = -1,
                         .timeout_ns = timeout_ns};
    *call = (struct gpu_call){.event_s = NAN};
    int64_t start_ns = clock_now_ns();
    json_t *told = ask(r, &q, &call->status);
    call->host_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    if (told)
        call->event_s = json_number_value(json_object_get(told, "time_s"));
    json_decref(told);
}

cuda_pointer gpu_runner_buffer(const struct gpu_runner *r, const struct plan *plan, int buffer,
                               int slot) {
    struct gpu_layout l;
    int n = r->problem->n_buffers;
    bool is_scratch = buffer >= n;
    gpu_layout_make(&l, plan->buffers, is_scratch ? n : 0, is_scratch ? plan->n_buffers - n : n,
                    slot, r->bench->page_bytes);
    const struct cuda_mapping *m = is_scratch ? &r->scratch[slot] : &r->memory[slot];
    return m->at + (cuda_pointer)l.offset[buffer];
}

// A plan that this device cannot launch, as opposed to kernels that go wrong.
static bool is_illegal_launch(int code) {
    return code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_NOT_FOUND ||
           code == CUDA_ERROR_COOPERATIVE_TOO_LARGE || code == CUDA_ERROR_INVALID_CLUSTER;
}

static void explain_refusal(struct arena *a, const struct gpu_runner *r, struct verdict *v) {
    v->evidence = arena_strdup(a, r->what);
    if (r->code == CUDA_ERROR_NO_MEMORY || r->code == CUDA_ERROR_OUT_OF_RESOURCES)
        v->kind = VERDICT_LIMITS;
    else if (is_illegal_launch(r->code))
        v->kind = VERDICT_ILLEGAL;
    else
        v->kind = r->code ? VERDICT_CRASH : VERDICT_INFRA;
}

void gpu_runner_explain(struct arena *a, const struct gpu_runner *r, enum runner_status status,
                        struct verdict *v) {
    switch (status) {
    case RUNNER_OK:
        return;
    case RUNNER_REFUSED:
        explain_refusal(a, r, v);
        return;
    case RUNNER_TIMEOUT:
        v->kind = VERDICT_TIMEOUT;
        v->evidence = "did not end in time";
        return;
    default:
        // Our own code runs there; only device code that reached into it can have ended it.
        v->kind = VERDICT_CRASH;
        v->evidence = arena_printf(a, "the runner ended in the middle of a call (%s)", r->what);
        return;
    }
}
