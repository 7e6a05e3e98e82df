// `hone _gpu_runner`: the process whose context a candidate's kernels run in. It stays warm from
// candidate to candidate and ends at the first error: no context is used after one.
#include "eval/gpu_runner.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/json.h"
#include "build/compile_cuda.h"
#include "eval/eval_job.h"
#include "eval/gpu_layout.h"
#include "gpu/mapping.h"

enum { JUDGE = 3, FLUSH_BLOCKS_PER_SM = 4, FLUSH_THREADS = 512 };

// What overwrites shared and local memory between calls; of local memory the first of these sizes
// that a candidate's kernels do not exceed.
enum { WIPE_SIZES = 2, WIPE_SHARED_THREADS = 1024, WIPE_THREADS = 256, WIPE_BLOCKS_PER_SM = 8 };
static const struct {
    const char *name;
    int bytes;
} wipes[WIPE_SIZES] = {{"judge_wipe_256", 256}, {"judge_wipe_2048", 2048}};

struct wipe {
    cuda_function shared, local[WIPE_SIZES];
    int shared_bytes;  // all that a block can have
    int local_bytes;   // what the candidate's kernels use; 0: none
};

struct gpu_state {
    struct arena arena, candidate;  // what lives for ever; what lives with the candidate
    struct cuda cu;
    cuda_device device;
    cuda_stream stream;
    cuda_event start, end;
    cuda_event marks[PLAN_STEPS_MAX + 1];  // between steps; the first n_marks are made
    int n_marks;
    cuda_function flush;
    struct wipe wiping;
    cuda_pointer flush_buffer;
    int64_t flush_bytes;
    int sms;
    int64_t page_bytes;
    int n_slots;
    struct plan problem;  // its buffers alone
    struct cuda_mapping memory[GPU_SLOTS_MAX], scratch[GPU_SLOTS_MAX];
    cuda_module module;  // the candidate's; NULL: none
    struct plan plan;
    struct gpu_program program;
    cuda_graph_exec graphs[GPU_SLOTS_MAX];
    cuda_result code;  // of the first call that failed
};

static bool check(struct gpu_state *g, cuda_result code, const char *what, struct error *err) {
    if (code != 0)
        g->code = code;
    return cuda_ok(&g->cu, code, what, err);
}

static bool open_device(struct gpu_state *g, int ordinal, struct error *err) {
    struct cuda *cu = &g->cu;
    cuda_context context;
    size_t page = 0;
    if (!cuda_open(cu, err) ||
        !check(g, cu->device_get(&g->device, ordinal), "open the GPU", err) ||
        !check(g, cu->context_retain(&context, g->device), "make a context", err) ||
        !check(g, cu->context_set(context), "use the context", err) ||
        !check(g, cu->device_attribute(&g->sms, CUDA_SMS, g->device), "ask the GPU", err) ||
        !check(g, cu->stream_create(&g->stream, 0), "make a stream", err) ||
        !check(g, cu->event_create(&g->start, 0), "make an event", err) ||
        !check(g, cu->event_create(&g->end, 0), "make an event", err) ||
        !cuda_mapping_granularity(cu, g->device, &page, err))
        return false;
    g->page_bytes = (int64_t)page;
    // Nothing is kept in caches by decree, and there is no heap in which something could be kept.
    // Where a device has no such limit there is nothing to limit.
    cu->context_limit(CUDA_LIMIT_PERSISTING_L2, 0);
    cu->context_limit(CUDA_LIMIT_HEAP, 0);
    cu->context_limit(CUDA_LIMIT_PRINTF, 0);
    return true;
}

static char *read_fd(struct arena *a, int fd, struct error *err) {
    struct stat s;
    if (fstat(fd, &s) != 0 || s.st_size <= 0 || s.st_size > CUBIN_MAX) {
        error_set(err, ERROR_IO, "a cubin of no or too many bytes");
        return NULL;
    }
    char *bytes = arena_alloc(a, (size_t)s.st_size);
    if (pread(fd, bytes, (size_t)s.st_size, 0) == s.st_size)
        return bytes;
    error_set(err, ERROR_IO, "a cubin cannot be read");
    return NULL;
}

static bool open_wiping(struct gpu_state *g, cuda_module module, struct error *err) {
    struct cuda *cu = &g->cu;
    struct wipe *w = &g->wiping;
    int own = 0;
    for (int i = 0; i < WIPE_SIZES; i++)
        if (!check(g, cu->module_function(&w->local[i], module, wipes[i].name), wipes[i].name, err))
            return false;
    if (!check(g, cu->module_function(&w->shared, module, "judge_wipe_shared"), "judge_wipe_shared",
               err) ||
        !check(g, cu->device_attribute(&w->shared_bytes, CUDA_SHARED_PER_BLOCK_OPTIN, g->device),
               "ask the GPU", err) ||
        !check(g, cu->function_attribute(&own, CUDA_FUNCTION_STATIC_SHARED, w->shared),
               "ask for shared memory", err))
        return false;
    w->shared_bytes -= own;
    return check(g, cu->function_set(w->shared, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, w->shared_bytes),
                 "ask for shared memory", err);
}

static bool open_flush(struct gpu_state *g, int fd, struct error *err) {
    struct cuda *cu = &g->cu;
    cuda_module module;
    char *cubin = read_fd(&g->arena, fd, err);
    return cubin && check(g, cu->module_load(&module, cubin), "load our kernels", err) &&
           check(g, cu->module_function(&g->flush, module, "judge_flush"), "judge_flush", err) &&
           open_wiping(g, module, err) &&
           check(g, cu->allocate(&g->flush_buffer, (size_t)g->flush_bytes), "take memory", err) &&
           check(g, cu->fill32(g->flush_buffer, 0x3f000000, (size_t)g->flush_bytes / 4),
                 "fill memory", err);
}

static void release(struct gpu_state *g, struct cuda_mapping *memory) {
    for (int i = 0; i < g->n_slots; i++)
        cuda_mapping_reset(&g->cu, &memory[i]);
}

// Buffers first .. first + n of a plan for every slot; `fds` gets what the judge opens.
static bool share(struct gpu_state *g, const struct plan *p, int first, struct cuda_mapping *memory,
                  int *fds, struct error *err) {
    for (int slot = 0; slot < g->n_slots; slot++) {
        struct gpu_layout l;
        gpu_layout_make(&l, p->buffers, first, p->n_buffers - first, slot, g->page_bytes);
        if (cuda_mapping_create(&g->cu, g->device, (size_t)l.total_bytes, &memory[slot], &fds[slot],
                                err))
            continue;
        g->code = CUDA_ERROR_NO_MEMORY;
        while (slot-- > 0)
            close(fds[slot]);
        release(g, memory);
        return false;
    }
    return true;
}

static bool send(json_t *message, const int *fds, int n_fds, struct error *err) {
    bool ok = frame_write(JUDGE, message, fds, n_fds, err);
    json_decref(message);
    for (int i = 0; i < n_fds; i++)
        close(fds[i]);
    return ok;
}

static bool start(struct gpu_state *g, const json_t *message, struct error *err) {
    struct json_reader r = {.where = "gpu_start"};
    int ordinal = (int)json_read_int(&r, message, "ordinal");
    return json_reader_done(&r, err) && open_device(g, ordinal, err);
}

// The memory of every slot, which another runner has made.
static bool import(struct gpu_state *g, const int *fds, struct error *err) {
    for (int slot = 0; slot < g->n_slots; slot++) {
        struct gpu_layout l;
        gpu_layout_make(&l, g->problem.buffers, 0, g->problem.n_buffers, slot, g->page_bytes);
        if (!cuda_mapping_import(&g->cu, g->device, (size_t)l.total_bytes, fds[slot],
                                 &g->memory[slot], err))
            return false;
    }
    return true;
}

static bool open_all(struct gpu_state *g, const json_t *message, const int *given, int n_given,
                     struct error *err) {
    struct json_reader r = {.where = "gpu_open"};
    int fds[GPU_SLOTS_MAX];
    g->n_slots = (int)json_read_int(&r, message, "slots");
    g->flush_bytes = json_read_int(&r, message, "flush_bytes");
    json_t *plan = json_read_object(&r, message, "plan");
    if (!json_reader_done(&r, err) || !plan_from_json(&g->arena, plan, &g->problem, err))
        return false;
    bool is_given = n_given == g->n_slots + 1;
    if (g->n_slots < 1 || g->n_slots > GPU_SLOTS_MAX || g->flush_bytes < 16 ||
        (n_given != 1 && !is_given))
        return error_set(err, ERROR_IO, "gpu_open: sizes or descriptors out of range");
    if (!open_flush(g, given[0], err) ||
        !(is_given ? import(g, given + 1, err) : share(g, &g->problem, 0, g->memory, fds, err)))
        return false;
    return send(json_pack("{s:s}", "schema", "hone.gpu_memory/1"), fds, is_given ? 0 : g->n_slots,
                err);
}

static void tell(json_t *facts, const char *name, cuda_result code, int value) {
    if (code == 0)
        json_object_set_new(facts, name, json_integer(value));
}

json_t *gpu_program_facts(const struct gpu_program *p, int step) {
    const struct plan_step *s = &p->plan->steps[step];
    const struct cuda *cu = p->cu;
    int threads = (int)(s->shape.block[0] * s->shape.block[1] * s->shape.block[2]), value = 0;
    cuda_function f = p->functions[step];
    json_t *facts = json_pack("{s:s}", "function", s->function);
    cuda_result code = cu->function_attribute(&value, CUDA_FUNCTION_REGISTERS, f);
    tell(facts, "registers", code, value);
    code = cu->function_attribute(&value, CUDA_FUNCTION_STATIC_SHARED, f);
    tell(facts, "static_shared", code, value);
    code = cu->function_attribute(&value, CUDA_FUNCTION_LOCAL_BYTES, f);
    tell(facts, "local", code, value);
    code = cu->occupancy(&value, f, threads, (size_t)s->shape.shared_bytes);
    tell(facts, "blocks_per_sm", code, value);
    return facts;
}

static void unload(struct gpu_state *g) {
    for (int i = 0; i < g->n_slots; i++) {
        if (g->graphs[i])
            g->cu.graph_exec_destroy(g->graphs[i]);
        g->graphs[i] = NULL;
    }
    gpu_program_close(&g->program);
    if (g->module)
        g->cu.module_unload(g->module);
    g->module = NULL;
    release(g, g->scratch);
    arena_reset(&g->candidate);
}

static void find_buffers(const struct gpu_state *g, int slot, cuda_pointer *buffers) {
    struct gpu_layout l, scratch;
    int n = g->problem.n_buffers;
    gpu_layout_make(&l, g->plan.buffers, 0, n, slot, g->page_bytes);
    gpu_layout_make(&scratch, g->plan.buffers, n, g->plan.n_buffers - n, slot, g->page_bytes);
    for (int i = 0; i < g->plan.n_buffers; i++)
        buffers[i] = i < n ? g->memory[slot].at + (cuda_pointer)l.offset[i]
                           : g->scratch[slot].at + (cuda_pointer)scratch.offset[i];
}

static bool capture(struct gpu_state *g, struct error *err) {
    for (int slot = 0; slot < g->n_slots; slot++) {
        cuda_pointer buffers[PLAN_BUFFERS_MAX];
        find_buffers(g, slot, buffers);
        if (slot == 0 && !gpu_program_tune(&g->program, g->stream, buffers, &g->code, err))
            return false;
        if (!gpu_program_capture(&g->program, g->stream, buffers, &g->graphs[slot], &g->code, err))
            return false;
    }
    return check(g, g->cu.stream_synchronize(g->stream), "upload graphs", err);
}

static int most_local(struct gpu_state *g) {
    int most = 0;
    for (int i = 0; i < g->plan.n_steps; i++) {
        int bytes = 0;
        if (g->plan.steps[i].kind == STEP_LAUNCH &&
            g->cu.function_attribute(&bytes, CUDA_FUNCTION_LOCAL_BYTES, g->program.functions[i]) ==
                0 &&
            bytes > most)
            most = bytes;
    }
    return most;
}

static bool load(struct gpu_state *g, const json_t *message, int fd, struct error *err) {
    struct json_reader r = {.where = "gpu_load"};
    int fds[GPU_SLOTS_MAX];
    unload(g);
    json_t *plan = json_read_object(&r, message, "plan");
    if (!json_reader_done(&r, err) || !plan_from_json(&g->candidate, plan, &g->plan, err))
        return false;
    if (g->plan.n_buffers < g->problem.n_buffers)
        return error_set(err, ERROR_IO, "gpu_load: a plan of another problem");
    bool has_scratch = g->plan.n_buffers > g->problem.n_buffers;
    char *cubin = read_fd(&g->candidate, fd, err);
    if (!cubin || !check(g, g->cu.module_load(&g->module, cubin), "load the cubin", err) ||
        !gpu_program_open(&g->program, &g->cu, g->module, &g->plan, &g->code, err) ||
        (has_scratch && !share(g, &g->plan, g->problem.n_buffers, g->scratch, fds, err)))
        return false;
    if (!capture(g, err)) {
        for (int i = 0; has_scratch && i < g->n_slots; i++)
            close(fds[i]);
        return false;
    }
    g->wiping.local_bytes = most_local(g);
    json_t *launches = json_array();
    for (int i = 0; i < g->plan.n_steps; i++)
        if (g->plan.steps[i].kind == STEP_LAUNCH)
            json_array_append_new(launches, gpu_program_facts(&g->program, i));
    return send(json_pack("{s:s, s:o}", "schema", "hone.gpu_memory/1", "launches", launches), fds,
                has_scratch ? g->n_slots : 0, err);
}

static bool wipe_local(struct gpu_state *g, struct error *err) {
    const struct wipe *w = &g->wiping;
    int size = 0;
    while (size + 1 < WIPE_SIZES && wipes[size].bytes < w->local_bytes)
        size++;
    unsigned n = (unsigned)wipes[size].bytes / 4;
    void *arguments[] = {&n};
    return check(g,
                 g->cu.launch(w->local[size], (unsigned)(g->sms * WIPE_BLOCKS_PER_SM), 1, 1,
                              WIPE_THREADS, 1, 1, 0, g->stream, arguments, NULL),
                 "overwrite local memory", err);
}

static bool wipe(struct gpu_state *g, struct error *err) {
    unsigned n = (unsigned)g->wiping.shared_bytes / 4;
    void *arguments[] = {&n};
    return check(g,
                 g->cu.launch(g->wiping.shared, (unsigned)g->sms, 1, 1, WIPE_SHARED_THREADS, 1, 1,
                              4 * n, g->stream, arguments, NULL),
                 "overwrite shared memory", err) &&
           (!g->wiping.local_bytes || wipe_local(g, err));
}

static bool start_flush(struct gpu_state *g, struct error *err) {
    uint64_t n = (uint64_t)g->flush_bytes / 16;
    void *arguments[] = {&g->flush_buffer, &n, &g->flush_buffer};
    return check(g,
                 g->cu.launch(g->flush, (unsigned)(g->sms * FLUSH_BLOCKS_PER_SM), 1, 1,
                              FLUSH_THREADS, 1, 1, 0, g->stream, arguments, NULL),
                 "flush the caches", err);
}

// While the flush runs, the rest is queued: launching costs nothing of the time between events.
static bool call(struct gpu_state *g, const json_t *message, struct error *err) {
    struct json_reader r = {.where = "gpu_call"};
    int slot = (int)json_read_int(&r, message, "slot");
    float ms = 0;
    if (!json_reader_done(&r, err))
        return false;
    if (slot < -1 || slot >= g->n_slots || (slot >= 0 && !g->graphs[slot]))
        return error_set(err, ERROR_IO, "gpu_call: no slot %d, or nothing loaded", slot);
    if (!wipe(g, err) || !start_flush(g, err) ||
        !check(g, g->cu.event_record(g->start, g->stream), "record an event", err) ||
        (slot >= 0 &&
         !check(g, g->cu.graph_launch(g->graphs[slot], g->stream), "launch the graph", err)) ||
        !check(g, g->cu.event_record(g->end, g->stream), "record an event", err) ||
        !check(g, g->cu.event_synchronize(g->end), "run the kernels", err) ||
        !check(g, g->cu.event_elapsed(&ms, g->start, g->end), "read an event", err))
        return false;
    return send(json_pack("{s:s, s:f}", "schema", "hone.gpu_called/1", "time_s", ms * 1e-3), NULL,
                0, err);
}

// As a program calls it that has nothing else to do: caches hold what the calls before left there.
static bool repeat(struct gpu_state *g, const json_t *message, struct error *err) {
    struct json_reader r = {.where = "gpu_repeat"};
    int64_t slot = json_read_int(&r, message, "slot"), n = json_read_int(&r, message, "calls");
    if (!json_reader_done(&r, err))
        return false;
    if (slot < 0 || n < 1 || !g->graphs[0])
        return error_set(err, ERROR_IO, "gpu_repeat: no slot %lld, no calls, or nothing loaded",
                         (long long)slot);
    for (int64_t i = 0; i < n; i++)
        if (!check(g, g->cu.graph_launch(g->graphs[(slot + i) % g->n_slots], g->stream),
                   "launch the graph", err))
            return false;
    return check(g, g->cu.event_record(g->end, g->stream), "record an event", err) &&
           check(g, g->cu.event_synchronize(g->end), "run the kernels", err) &&
           send(json_pack("{s:s}", "schema", "hone.gpu_repeated/1"), NULL, 0, err);
}

static bool make_marks(struct gpu_state *g, int n, struct error *err) {
    for (; g->n_marks < n; g->n_marks++)
        if (!check(g, g->cu.event_create(&g->marks[g->n_marks], 0), "make an event", err))
            return false;
    return true;
}

// Launch by launch rather than as a graph, so that there is something between them to be timed.
static bool call_stepwise(struct gpu_state *g, const json_t *message, struct error *err) {
    struct json_reader r = {.where = "gpu_steps"};
    int slot = (int)json_read_int(&r, message, "slot"), n = g->plan.n_steps;
    cuda_pointer buffers[PLAN_BUFFERS_MAX];
    const struct plan_tensormap *refused;  // capturing it has told already
    if (!json_reader_done(&r, err))
        return false;
    if (slot < 0 || slot >= g->n_slots || !g->graphs[slot])
        return error_set(err, ERROR_IO, "gpu_steps: no slot %d, or nothing loaded", slot);
    find_buffers(g, slot, buffers);
    if (!make_marks(g, n + 1, err) || !start_flush(g, err) ||
        !check(g, gpu_program_issue(&g->program, g->stream, buffers, g->marks, &refused), "launch",
               err) ||
        !check(g, g->cu.event_synchronize(g->marks[n]), "run the kernels", err))
        return false;
    json_t *steps = json_array();
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        float ms = 0;
        ok = check(g, g->cu.event_elapsed(&ms, g->marks[i], g->marks[i + 1]), "read an event", err);
        json_array_append_new(steps, json_real(ms * 1e-3));
    }
    if (!ok) {
        json_decref(steps);
        return false;
    }
    return send(json_pack("{s:s, s:o}", "schema", "hone.gpu_stepped/1", "steps_s", steps), NULL, 0,
                err);
}

static bool answer(struct gpu_state *g, const json_t *message, const int *fds, int n_fds,
                   struct error *err) {
    const char *schema = json_string_value(json_object_get(message, "schema"));
    if (!schema)
        schema = "";
    if (strcmp(schema, "hone.gpu_start/1") == 0)
        return start(g, message, err);
    if (strcmp(schema, "hone.gpu_open/1") == 0 && n_fds > 0 && g->page_bytes && !g->n_slots)
        return open_all(g, message, fds, n_fds, err);
    if (strcmp(schema, "hone.gpu_load/1") == 0 && n_fds == 1 && g->n_slots)
        return load(g, message, fds[0], err);
    if (strcmp(schema, "hone.gpu_call/1") == 0 && g->n_slots)
        return call(g, message, err);
    if (strcmp(schema, "hone.gpu_steps/1") == 0 && g->n_slots)
        return call_stepwise(g, message, err);
    if (strcmp(schema, "hone.gpu_repeat/1") == 0 && g->n_slots)
        return repeat(g, message, err);
    if (strcmp(schema, "hone.gpu_unload/1") != 0)
        return error_set(err, ERROR_IO, "the runner does not understand '%s'", schema);
    unload(g);
    return send(json_pack("{s:s}", "schema", "hone.gpu_unloaded/1"), NULL, 0, err);
}

// One question; false when the conversation is over.
static bool serve(struct gpu_state *g) {
    struct error err = {0}, lost = {0};
    json_t *message = NULL;
    int fds[FRAME_MAX_FDS], n_fds = 0;
    if (!frame_read(JUDGE, -1, &message, fds, &n_fds, &err))
        return false;
    bool ok = answer(g, message, fds, n_fds, &err);
    for (int i = 0; i < n_fds; i++)
        close(fds[i]);
    json_decref(message);
    if (ok)
        return true;
    // Its context may be lost: tell, and end.
    send(json_pack("{s:s, s:i, s:s, s:o}", "schema", "hone.gpu_failed/1", "code", (int)g->code,
                   "name", g->code ? cuda_error_name(&g->cu, g->code) : "", "what",
                   json_optional_text(err.text)),
         NULL, 0, &lost);
    return false;
}

int gpu_runner_main(void) {
    struct rlimit none = {0, 0};
    struct arena a = {0};
    struct gpu_state *g = arena_new(&a, struct gpu_state);
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    while (serve(g))
        continue;
    // The driver's own clean-up takes longer than the kernel's, and may hang after an error.
    _exit(0);
}
