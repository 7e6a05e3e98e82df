// The plan of a candidate as a CUDA graph: captured once per slot, before anything is timed.
#include <string.h>

#include "base/error.h"
#include "eval/gpu_runner.h"

// A kernel takes at most 4 KiB of parameters, so of the smallest kind (one byte) there are at most
// so many.
enum { PARAMETER_BYTES = 4096, PORTABLE_CLUSTER = 8 };

static int log2_of(int value, int one) {
    int n = 0;
    for (; value > one; value /= 2)
        n++;
    return n;
}

static cuda_result encode(const struct cuda *cu, const struct plan *plan,
                          const struct plan_tensormap *m, cuda_pointer at,
                          struct cuda_tensormap *out) {
    uint64_t dims[TENSORMAP_RANK_MAX], strides[TENSORMAP_RANK_MAX] = {0};
    unsigned box[TENSORMAP_RANK_MAX], ones[TENSORMAP_RANK_MAX];
    for (int i = 0; i < m->rank; i++) {
        dims[i] = (uint64_t)m->dims[i];
        box[i] = (unsigned)m->box[i];
        ones[i] = 1;
        if (i + 1 < m->rank)
            strides[i] = (uint64_t)m->strides_bytes[i];
    }
    // Swizzles none, 32, 64, 128 are 0 to 3; promotions none, 64, 128, 256 as well.
    int swizzle = m->swizzle_bytes ? 1 + log2_of(m->swizzle_bytes, 32) : 0;
    int promotion = m->promote_bytes ? 1 + log2_of(m->promote_bytes, 64) : 0;
    return cu->tensormap_encode(out, plan_map_type(plan->buffers[m->buffer].type)->number,
                                (unsigned)m->rank, (void *)(uintptr_t)at, dims, strides, box, ones,
                                0, swizzle, promotion, m->is_nan_outside);
}

static bool fail(const struct cuda *cu, cuda_result result, const char *what, cuda_result *code,
                 struct error *err) {
    *code = result;
    return cuda_ok(cu, result, what, err);
}

// Does a kernel take what the plan passes? Old drivers cannot say.
static bool check_parameters(const struct cuda *cu, cuda_function f, const struct plan_step *s,
                             cuda_result *code, struct error *err) {
    size_t n = 0, offset, bytes;
    for (; cu->function_parameter && n <= PLAN_ARGS_MAX; n++) {
        if (cu->function_parameter(f, n, &offset, &bytes) != 0)
            break;
        size_t want = n < (size_t)s->n_args && s->args[n] < 0 ? sizeof(struct cuda_tensormap)
                                                              : sizeof(cuda_pointer);
        if (n < (size_t)s->n_args && bytes != want) {
            *code = CUDA_ERROR_INVALID_VALUE;
            return error_set(err, ERROR_PARSE,
                             "parameter %zu of '%s' has %zu bytes; the plan passes %zu", n + 1,
                             s->function, bytes, want);
        }
    }
    if (!cu->function_parameter || n == (size_t)s->n_args)
        return true;
    *code = CUDA_ERROR_INVALID_VALUE;
    return error_set(err, ERROR_PARSE, "'%s' takes %zu parameters, the plan passes %d", s->function,
                     n, s->n_args);
}

// Without asking, a launch has 48 KiB of shared memory with what the kernel declares itself; what
// is asked for holds for all launches of the kernel, so it is the most that any of them has.
static bool ask_shared(struct gpu_program *p, int step, cuda_result *code, struct error *err) {
    const struct cuda *cu = p->cu;
    const char *function = p->plan->steps[step].function;
    int64_t most = 0;
    int own = 0;
    for (int i = 0; i < p->plan->n_steps; i++) {
        const struct plan_step *s = &p->plan->steps[i];
        if (s->kind == STEP_LAUNCH && strcmp(s->function, function) == 0 &&
            s->shape.shared_bytes > most)
            most = s->shape.shared_bytes;
    }
    if (most == 0)
        return true;
    cuda_function f = p->functions[step];
    *code = cu->function_set(f, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)most);
    if (*code == CUDA_ERROR_INVALID_VALUE &&
        cu->function_attribute(&own, CUDA_FUNCTION_STATIC_SHARED, f) == 0 && own > 0)
        return error_set(err, ERROR_PARSE,
                         "'%s' declares %d bytes of shared memory itself and is launched with %lld "
                         "more: together that is more than a block has",
                         function, own, (long long)most);
    return cuda_ok(cu, *code, "ask for shared memory", err);
}

static bool open_step(struct gpu_program *p, cuda_module module, int step, cuda_result *code,
                      struct error *err) {
    const struct cuda *cu = p->cu;
    const struct plan_step *s = &p->plan->steps[step];
    cuda_function *f = &p->functions[step];
    *code = cu->module_function(f, module, s->function);
    if (*code == CUDA_ERROR_NOT_FOUND)
        return error_set(err, ERROR_PARSE,
                         "the plan launches '%s', but the source has no such kernel (it must be "
                         "extern \"C\")",
                         s->function);
    if (!cuda_ok(cu, *code, "find a kernel", err) || !check_parameters(cu, *f, s, code, err))
        return false;
    const struct plan_shape *h = &s->shape;
    if (!ask_shared(p, step, code, err))
        return false;
    return h->cluster[0] * h->cluster[1] * h->cluster[2] <= PORTABLE_CLUSTER ||
           fail(cu, cu->function_set(*f, CUDA_FUNCTION_ANY_CLUSTER, 1), "ask for a large cluster",
                code, err);
}

void gpu_program_close(struct gpu_program *p) {
    gpu_calls_close(p->calls);
    p->calls = NULL;
}

bool gpu_program_tune(struct gpu_program *p, cuda_stream stream, const cuda_pointer *buffers,
                      cuda_result *code, struct error *err) {
    if (!p->calls || gpu_calls_tune(p->calls, stream, buffers, err))
        return true;
    *code = CUDA_ERROR_INVALID_VALUE;
    return false;
}

bool gpu_program_open(struct gpu_program *p, const struct cuda *cu, cuda_module module,
                      const struct plan *plan, cuda_result *code, struct error *err) {
    *p = (struct gpu_program){.cu = cu, .plan = plan};
    if (plan_has_calls(plan) && !gpu_calls_open(&p->calls, cu, plan, err)) {
        gpu_program_close(p);
        *code = CUDA_ERROR_INVALID_VALUE;
        return false;
    }
    for (int i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].kind == STEP_LAUNCH && !open_step(p, module, i, code, err))
            return false;
    return true;
}

static cuda_result launch(const struct gpu_program *p, int step, cuda_stream stream,
                          const cuda_pointer *buffers, const struct plan_tensormap **refused) {
    const struct plan_step *s = &p->plan->steps[step];
    const struct plan_shape *h = &s->shape;
    static char nothing[PARAMETER_BYTES];  // for parameters that the plan does not pass
    cuda_pointer pointers[PLAN_ARGS_MAX];
    struct cuda_tensormap maps[PLAN_ARGS_MAX];
    void *arguments[PARAMETER_BYTES];
    for (int i = 0; i < PARAMETER_BYTES; i++)
        arguments[i] = nothing;
    for (int i = 0; i < s->n_args; i++) {
        if (s->args[i] >= 0) {
            pointers[i] = buffers[s->args[i]];
            arguments[i] = &pointers[i];
            continue;
        }
        const struct plan_tensormap *m = &p->plan->tensormaps[-1 - s->args[i]];
        cuda_result code = encode(p->cu, p->plan, m, buffers[m->buffer], &maps[i]);
        arguments[i] = &maps[i];
        if (code != 0) {
            *refused = m;
            return code;
        }
    }
    struct cuda_launch_attribute attributes[3];
    struct cuda_launch_config c = {
        .shared_bytes = (unsigned)h->shared_bytes, .stream = stream, .attributes = attributes};
    for (int i = 0; i < 3; i++) {
        c.grid[i] = (unsigned)h->grid[i];
        c.block[i] = (unsigned)h->block[i];
    }
    if (h->cluster[0])
        attributes[c.n_attributes++] = (struct cuda_launch_attribute){
            .id = CUDA_ATTRIBUTE_CLUSTER,
            .value.cluster = {(unsigned)h->cluster[0], (unsigned)h->cluster[1],
                              (unsigned)h->cluster[2]}};
    if (h->is_cooperative)
        attributes[c.n_attributes++] = (struct cuda_launch_attribute){
            .id = CUDA_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    // Without it the launch begins later, and finds that there is nothing to wait for.
    if (h->is_programmatic && p->cu->version >= CUDA_GRAPHS_PROGRAMMATIC)
        attributes[c.n_attributes++] = (struct cuda_launch_attribute){
            .id = CUDA_ATTRIBUTE_PROGRAMMATIC, .value.programmatic = 1};
    return p->cu->launch_with(&c, p->functions[step], arguments, NULL);
}

static cuda_result fill(const struct gpu_program *p, int buffer, double value, cuda_stream stream,
                        const cuda_pointer *buffers) {
    const struct plan_buffer *b = &p->plan->buffers[buffer];
    cuda_pointer at = buffers[buffer];
    uint64_t word = plan_fill_word(b->type, value);
    unsigned low = (unsigned)word, high = (unsigned)(word >> 32);
    size_t n = (size_t)b->size_bytes / 4;
    cuda_result code = 0;
    if (low != high) {  // of eight bytes each: every other word
        code = p->cu->fill32_2d_async(at, 8, low, 1, n / 2, stream);
        return code ? code : p->cu->fill32_2d_async(at + 4, 8, high, 1, n / 2, stream);
    }
    if (n)
        code = p->cu->fill32_async(at, low, n, stream);
    for (size_t i = 4 * n; i < (size_t)b->size_bytes && code == 0; i++)
        code = p->cu->fill8_async(at + i, (unsigned char)(low >> (8 * (i % 4))), 1, stream);
    return code;
}

cuda_result gpu_program_issue(const struct gpu_program *p, cuda_stream stream,
                              const cuda_pointer *buffers, const cuda_event *marks,
                              const struct plan_tensormap **refused) {
    cuda_result code = 0;
    *refused = NULL;
    for (int i = 0; i < p->plan->n_buffers && code == 0; i++)
        if (p->plan->buffers[i].is_zeroed)
            code = fill(p, i, 0, stream, buffers);
    if (marks && code == 0)
        code = p->cu->event_record(marks[0], stream);
    for (int i = 0; i < p->plan->n_steps && code == 0; i++) {
        const struct plan_step *s = &p->plan->steps[i];
        code = s->kind == STEP_FILL   ? fill(p, s->fill_buffer, s->fill_value, stream, buffers)
               : s->kind == STEP_CALL ? gpu_calls_issue(p->calls, i, stream, buffers)
                                      : launch(p, i, stream, buffers, refused);
        if (marks && code == 0)
            code = p->cu->event_record(marks[i + 1], stream);
    }
    return code;
}

// The words for what a plan was stopped by.
static bool issued(const struct gpu_program *p, cuda_result code,
                   const struct plan_tensormap *refused, struct error *err) {
    if (!refused)
        return cuda_ok(p->cu, code, "launch the plan", err);
    cuda_ok(p->cu, code, "the driver refuses it", err);
    return error_wrap(err, "tensor map '%s' of '%s'", refused->name,
                      p->plan->buffers[refused->buffer].name);
}

bool gpu_program_capture(const struct gpu_program *p, cuda_stream stream,
                         const cuda_pointer *buffers, cuda_graph_exec *exec, cuda_result *code,
                         struct error *err) {
    const struct cuda *cu = p->cu;
    cuda_graph graph = NULL;
    const struct plan_tensormap *refused;
    *exec = NULL;
    if (!fail(cu, cu->capture_begin(stream, 0), "begin a graph", code, err))
        return false;
    *code = gpu_program_issue(p, stream, buffers, NULL, &refused);
    cuda_result ended = cu->capture_end(stream, &graph);
    bool ok = issued(p, *code, refused, err) && fail(cu, ended, "end a graph", code, err) &&
              fail(cu, cu->graph_instantiate(exec, graph, 0), "make a graph", code, err) &&
              fail(cu, cu->graph_upload(*exec, stream), "upload a graph", code, err);
    if (graph)
        cu->graph_destroy(graph);
    return ok;
}
