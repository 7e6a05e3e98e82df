// Questions to `hone _gpu_runner` and its answers (gpu_runner.h has the messages), import of the
// memory that it shares, and what an error or a death means for the verdict.
#include "eval/gpu_handle.h"

#include <math.h>
#include <poll.h>
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
    int sent[FRAME_MAX_FDS];
    int n_sent;
    int64_t timeout_ns;
    void (*meanwhile)(void *ctx);  // called every millisecond until there is an answer; may be NULL
    void *ctx;
    int fds[FRAME_MAX_FDS];  // that came with the answer
    int n_fds;
};

static void wait_for_answer(const struct gpu_runner *r, const struct question *q) {
    struct pollfd p = {.fd = r->process.socket, .events = POLLIN};
    for (int64_t start_ns = clock_now_ns();
         poll(&p, 1, 1) == 0 && clock_now_ns() - start_ns < q->timeout_ns;)
        q->meanwhile(q->ctx);
}

// Wait for an answer, which the caller owns. NULL: `status` says what became of it.
static json_t *hear(struct gpu_runner *r, struct question *q, enum runner_status *status) {
    struct error err = {0};
    json_t *told = NULL;
    if (q->meanwhile)
        wait_for_answer(r, q);
    bool heard = frame_read(r->process.socket, q->timeout_ns, &told, q->fds, &q->n_fds, &err);
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

static json_t *ask(struct gpu_runner *r, struct question *q, enum runner_status *status) {
    struct error ignored = {0};
    // Where it cannot be asked any more, it may have said why.
    frame_write(r->process.socket, q->message, q->sent, q->n_sent, &ignored);
    json_decref(q->message);
    return hear(r, q, status);
}

// Open what the runner shares: buffers first .. of a plan, a descriptor per slot.
static bool import(struct gpu_bench *b, const struct plan *p, int first, const struct question *q,
                   struct cuda_mapping *memory, struct error *err) {
    for (int slot = 0; slot < q->n_fds; slot++) {
        struct gpu_layout l;
        gpu_layout_make(&l, p->buffers, first, p->n_buffers - first, slot, b->page_bytes);
        if (!cuda_mapping_import(&b->cu, b->device, (size_t)l.total_bytes, q->fds[slot],
                                 &memory[slot], err))
            return false;
    }
    return true;
}

static bool has_all(const struct gpu_runner *r, const struct question *q, struct error *err) {
    return q->n_fds == r->memory->n_slots ||
           error_set(err, ERROR_IO, "the runner shares %d of %d slots", q->n_fds,
                     r->memory->n_slots);
}

void gpu_memory_reset(struct gpu_memory *m, struct gpu_bench *b) {
    for (int i = 0; m->is_there && i < m->n_slots; i++) {
        cuda_mapping_reset(&b->cu, &m->slots[i]);
        close(m->fds[i]);
    }
    m->is_there = false;
}

// What goes around every call, by the judge's clock. The device has to change from the judge's
// context to the runner's, as it does then.
bool gpu_runner_measure_overhead(struct gpu_runner *r, struct error *err) {
    double samples[OVERHEAD_CALLS];
    for (int i = 0; i < OVERHEAD_CALLS; i++) {
        struct gpu_call c;
        struct judge_part ignored;
        struct gpu_scan scan = {.bench = r->bench};
        gpu_scan_add(&scan, &(struct gpu_region){.at = r->memory->slots[0].at,
                                                 .bits = 8 * GPU_GUARD,
                                                 .asks = JUDGE_SAME});
        if (!gpu_scan_end(&scan, &ignored, err))
            return false;
        gpu_runner_call(r, -1, open_timeout_ns, &c);
        if (c.status != RUNNER_OK)
            return error_set(err, ERROR_IO, "%s", r->what);
        samples[i] = c.host_s - c.event_s;
    }
    r->overhead_s = stats_median(samples, OVERHEAD_CALLS);
    return true;
}

bool gpu_runner_start(struct gpu_runner *r, int ordinal, struct error *err) {
    struct arena a = {0};
    const char *self = file_self(&a, err);
    const char *argv[] = {self, "_gpu_runner", NULL};
    *r = (struct gpu_runner){.process = {.socket = -1}};
    bool ok = self && process_start(&r->process, &(struct process_spec){.argv = argv}, err);
    arena_reset(&a);
    json_t *start = json_pack("{s:s, s:i}", "schema", "hone.gpu_start/1", "ordinal", ordinal);
    ok = ok && frame_write(r->process.socket, start, NULL, 0, err);
    json_decref(start);
    return ok || error_wrap(err, "start a runner");
}

static bool keep_memory(struct gpu_runner *r, const struct question *q, struct error *err) {
    struct gpu_memory *m = r->memory;
    bool ok = has_all(r, q, err) && import(r->bench, m->problem, 0, q, m->slots, err);
    memcpy(m->fds, q->fds, sizeof m->fds);
    m->is_there = true;
    return ok;
}

static bool open_memory(struct gpu_runner *r, const struct gpu_runner_spec *spec,
                        struct error *err) {
    enum runner_status status;
    struct gpu_memory *m = spec->memory;
    int cubin = memory_file_of(spec->cubin, spec->cubin_len);
    struct question q = {.message =
                             json_pack("{s:s, s:i, s:I, s:o}", "schema", "hone.gpu_open/1", "slots",
                                       m->n_slots, "flush_bytes", (json_int_t)spec->flush_bytes,
                                       "plan", plan_to_json(m->problem)),
                         .timeout_ns = open_timeout_ns};
    q.sent[q.n_sent++] = cubin;
    for (int i = 0; m->is_there && i < m->n_slots; i++)
        q.sent[q.n_sent++] = m->fds[i];
    json_t *told = ask(r, &q, &status);
    if (cubin >= 0)
        close(cubin);
    json_decref(told);
    if (!told)
        return error_set(err, ERROR_IO, "%s", r->what);
    return m->is_there || keep_memory(r, &q, err);
}

bool gpu_runner_open(struct gpu_runner *r, const struct gpu_runner_spec *spec, struct error *err) {
    if (r->process.pid == 0 && !gpu_runner_start(r, spec->ordinal, err))
        return false;
    r->bench = spec->bench;
    r->memory = spec->memory;
    r->is_open = open_memory(r, spec, err) && gpu_runner_measure_overhead(r, err);
    return r->is_open || error_wrap(err, "start a runner");
}

// The judge's own kernels may still be at work in it: unlike memory that is freed, memory that is
// unmapped is not waited for.
static void release_scratch(struct gpu_runner *r) {
    if (r->bench && r->scratch[0].is_mapped)
        r->bench->cu.context_synchronize();
    for (int i = 0; r->bench && i < r->memory->n_slots; i++)
        cuda_mapping_reset(&r->bench->cu, &r->scratch[i]);
}

void gpu_runner_close(struct gpu_runner *r) {
    process_kill(&r->process);
    release_scratch(r);
    *r = (struct gpu_runner){.process = {.socket = -1}};
}

// NAN: not told.
static double fact(const json_t *launch, const char *key) {
    const json_t *value = json_object_get(launch, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

void gpu_launch_metrics(const struct plan_step *s, const json_t *told, int64_t threads_per_sm,
                        struct metrics *m) {
    double threads = (double)(s->shape.block[0] * s->shape.block[1] * s->shape.block[2]);
    double per_sm = fact(told, "blocks_per_sm");
    metrics_set(m, METRIC_BLOCKS, (double)s->grid);
    metrics_set(m, METRIC_BLOCK_THREADS, threads);
    metrics_set(m, METRIC_REGISTERS, fact(told, "registers"));
    metrics_set(m, METRIC_LOCAL_BYTES, fact(told, "local"));
    metrics_set(m, METRIC_SHARED_BYTES,
                fact(told, "static_shared") + (double)s->shape.shared_bytes);
    metrics_set(m, METRIC_BLOCKS_PER_SM, per_sm);
    if (threads_per_sm > 0)
        metrics_set(m, METRIC_OCCUPANCY, per_sm * threads / (double)threads_per_sm);
}

static void read_launch(const struct gpu_load_spec *load, const struct plan_step *s,
                        const json_t *told, struct profile *p) {
    const char *fill = s->kind == STEP_FILL ? load->plan->buffers[s->fill_buffer].name : NULL;
    // Both names live as long as the plan.
    struct profile_launch *l = profile_add_launch(load->arena, p, fill ? fill : s->function);
    if (!fill)
        gpu_launch_metrics(s, told, load->threads_per_sm, &l->metrics);
}

// The largest launch speaks for the plan.
static void read_facts(const struct gpu_load_spec *load, const json_t *told, struct profile *p) {
    const json_t *launches = json_object_get(told, "launches");
    int64_t most = 0;
    size_t next = 0;
    p->n_launches = 0;  // it may be loaded a second time, elsewhere
    profile_reserve(load->arena, p, load->plan->n_steps);
    profile_set(p, METRIC_LAUNCHES, (double)json_array_size(launches));
    for (int i = 0; i < load->plan->n_steps; i++) {
        const struct plan_step *s = &load->plan->steps[i];
        const json_t *l = s->kind == STEP_LAUNCH ? json_array_get(launches, next++) : NULL;
        read_launch(load, s, l, p);
        if (s->kind != STEP_LAUNCH)
            continue;
        int64_t threads = s->shape.block[0] * s->shape.block[1] * s->shape.block[2];
        if (s->grid * threads <= most)
            continue;
        most = s->grid * threads;
        metrics_merge(&p->call, &p->launches[p->n_launches - 1].metrics);
    }
}

bool gpu_runner_load(struct gpu_runner *r, const struct gpu_load_spec *load, struct profile *p,
                     enum runner_status *status, struct error *err) {
    int cubin = memory_file_of(load->cubin, load->cubin_len);
    struct question q = {.message = json_pack("{s:s, s:o}", "schema", "hone.gpu_load/1", "plan",
                                              plan_to_json(load->plan)),
                         .sent = {cubin},
                         .n_sent = 1,
                         .timeout_ns = load_timeout_ns};
    json_t *told = ask(r, &q, status);
    if (cubin >= 0)
        close(cubin);
    if (!told)
        return true;
    read_facts(load, told, p);
    json_decref(told);
    int first = r->memory->problem->n_buffers;
    bool ok = load->plan->n_buffers == first ||
              (has_all(r, &q, err) && import(r->bench, load->plan, first, &q, r->scratch, err));
    for (int i = 0; i < q.n_fds; i++)
        close(q.fds[i]);
    return ok;
}

void gpu_runner_unload(struct gpu_runner *r) {
    enum runner_status status;
    struct question q = {.timeout_ns = load_timeout_ns};
    release_scratch(r);
    if (!gpu_runner_is_alive(r))
        return;
    q.message = json_pack("{s:s}", "schema", "hone.gpu_unload/1");
    json_decref(ask(r, &q, &status));
}

void gpu_runner_call(struct gpu_runner *r, int slot, int64_t timeout_ns, struct gpu_call *call) {
    struct question q = {.message =
                             json_pack("{s:s, s:i}", "schema", "hone.gpu_call/1", "slot", slot),
                         .timeout_ns = timeout_ns};
    *call = (struct gpu_call){.event_s = NAN};
    int64_t start_ns = clock_now_ns();
    json_t *told = ask(r, &q, &call->status);
    call->host_s = (double)(clock_now_ns() - start_ns) * 1e-9;
    if (told)
        call->event_s = json_number_value(json_object_get(told, "time_s"));
    json_decref(told);
}

bool gpu_runner_steps(struct gpu_runner *r, int slot, int64_t timeout_ns, double *steps_s, int n) {
    enum runner_status status;
    struct question q = {.message =
                             json_pack("{s:s, s:i}", "schema", "hone.gpu_steps/1", "slot", slot),
                         .timeout_ns = timeout_ns};
    json_t *told = ask(r, &q, &status);
    const json_t *steps = json_object_get(told, "steps_s");
    bool ok = told && json_array_size(steps) == (size_t)n;
    for (int i = 0; ok && i < n; i++)
        steps_s[i] = json_number_value(json_array_get(steps, (size_t)i));
    json_decref(told);
    return ok;
}

void gpu_runner_repeat(struct gpu_runner *r, const struct gpu_repeat *repeat) {
    struct error later = {0};  // waiting for the answer reports it
    json_t *message = json_pack("{s:s, s:i, s:I}", "schema", "hone.gpu_repeat/1", "slot",
                                repeat->slot, "calls", (json_int_t)repeat->n_calls);
    frame_write(r->process.socket, message, NULL, 0, &later);
    json_decref(message);
}

bool gpu_runner_await(struct gpu_runner *r, const struct gpu_repeat *repeat,
                      enum runner_status *status) {
    struct question q = {
        .timeout_ns = repeat->timeout_ns, .meanwhile = repeat->meanwhile, .ctx = repeat->ctx};
    json_t *told = hear(r, &q, status);
    json_decref(told);
    return told != NULL;
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
