// The process in which a candidate runs for its profile. Without a library it is somebody else's
// program to the library of inject/, which the driver loads: it runs its calls and ends. With one
// it loads that itself (by the driver, in its own environment), stays, and is asked by frames over
// descriptor 3, each answered by one:
//
//   -> {"do": "open"}    make a context, so that the library writes down what card it is
//   -> {"do": "count"}   the plan and the cubin of the directory, one call; the library's `ask`
//                        there names the launches
//   <- {"error": null, "launches": [...]}  as gpu_program_facts has them
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/json.h"
#include "build/compile_cuda.h"
#include "eval/gpu_runner.h"
#include "gpu/cuda.h"
#include "play/play.h"

enum { SOCKET = 3 };

struct playing {
    struct arena arena;  // of one question
    const char *dir;
    struct cuda cu;
    cuda_stream stream;
    struct plan plan;
    int ordinal, turns;
    int64_t flush_bytes;
    // What is there already, from a candidate before.
    bool is_open;
    cuda_pointer buffers[PLAN_BUFFERS_MAX], flush;
    int64_t sizes[PLAN_BUFFERS_MAX], flush_size;  // 0: not there
    bool (*again)(void);
    void (*flush_output)(void);
};

static bool read_play(struct playing *p, struct error *err) {
    size_t len;
    struct json_reader r = {.where = "play"};
    const char *text =
        file_read(&p->arena, arena_printf(&p->arena, "%s/play.json", p->dir), 64 << 20, &len, err);
    json_t *json = text ? json_parse(text, len, err) : NULL;
    if (!json)
        return false;
    p->ordinal = (int)json_read_int(&r, json, "ordinal");
    p->turns = (int)json_read_int(&r, json, "turns");
    p->flush_bytes = json_read_int(&r, json, "flush_bytes");
    json_t *plan = json_read_object(&r, json, "plan");
    bool ok = json_reader_done(&r, err) && plan_from_json(&p->arena, plan, &p->plan, err);
    json_decref(json);
    return ok;
}

// A file's bytes as often as they go into a buffer.
static bool fill_input(struct playing *p, int i, struct error *err) {
    struct arena scratch = {0};
    size_t len, all = (size_t)p->plan.buffers[i].size_bytes;
    const char *path = arena_printf(&p->arena, "%s/input.%d", p->dir, i);
    const char *bytes = file_read(&scratch, path, (size_t)1 << 36, &len, err);
    bool ok =
        bytes && len > 0 && cuda_ok(&p->cu, p->cu.copy_to(p->buffers[i], bytes, len), "copy", err);
    for (size_t done = len; ok && done < all;) {
        size_t more = done < all - done ? done : all - done;
        ok = cuda_ok(&p->cu, p->cu.copy(p->buffers[i] + done, p->buffers[i], more), "copy", err);
        done += more;
    }
    arena_reset(&scratch);
    return ok;
}

static bool open_context(struct playing *p, struct error *err) {
    struct cuda *cu = &p->cu;
    cuda_device device;
    cuda_context context;
    if (p->is_open)
        return true;
    p->is_open = cuda_open(cu, err) &&
                 cuda_ok(cu, cu->device_get(&device, p->ordinal), "open the GPU", err) &&
                 cuda_ok(cu, cu->context_retain(&context, device), "make a context", err) &&
                 cuda_ok(cu, cu->context_set(context), "use the context", err) &&
                 cuda_ok(cu, cu->stream_create(&p->stream, 0), "make a stream", err);
    return p->is_open;
}

// At least so many bytes; what is there and large enough stays as it is.
static bool reserve(struct playing *p, cuda_pointer *at, int64_t *have, int64_t bytes,
                    struct error *err) {
    if (*have >= bytes)
        return true;
    if (*have > 0)
        p->cu.release(*at);
    *have = 0;
    if (!cuda_ok(&p->cu, p->cu.allocate(at, (size_t)bytes), "take memory", err))
        return false;
    *have = bytes;
    return true;
}

static bool open_buffers(struct playing *p, struct error *err) {
    enum { BEYOND = 256 };
    if (!reserve(p, &p->flush, &p->flush_size, p->flush_bytes + 4, err))
        return false;
    for (int i = 0; i < p->plan.n_buffers; i++) {
        const struct plan_buffer *b = &p->plan.buffers[i];
        bool is_new = p->sizes[i] < b->size_bytes + BEYOND;
        if (!reserve(p, &p->buffers[i], &p->sizes[i], b->size_bytes + BEYOND, err) ||
            (is_new && b->role == BUFFER_INPUT && !fill_input(p, i, err)))
            return false;
    }
    return true;
}

// Between calls the last level of caches is written over, as where candidates are timed.
static bool run_calls(struct playing *p, const struct gpu_program *program, struct error *err) {
    cuda_result code = 0;
    const struct plan_tensormap *refused;
    for (int turn = 0; turn < p->turns; turn++) {
        code = p->cu.fill32_async(p->flush, (unsigned)turn, (size_t)p->flush_bytes / 4, p->stream);
        code = code ? code : gpu_program_issue(program, p->stream, p->buffers, NULL, &refused);
        code = code ? code : p->cu.stream_synchronize(p->stream);
        if (!cuda_ok(&p->cu, code, "run the kernels", err))
            return false;
    }
    return true;
}

static json_t *facts_of(const struct gpu_program *program) {
    json_t *all = json_array();
    for (int i = 0; i < program->plan->n_steps; i++)
        if (program->plan->steps[i].kind == STEP_LAUNCH)
            json_array_append_new(all, gpu_program_facts(program, i));
    return all;
}

static bool play(struct playing *p, json_t **facts, struct error *err) {
    struct gpu_program program;
    cuda_module module;
    cuda_result code = 0;
    size_t len;
    const char *cubin =
        file_read(&p->arena, arena_printf(&p->arena, "%s/cubin", p->dir), CUBIN_MAX, &len, err);
    if (!cubin || !open_buffers(p, err) ||
        !cuda_ok(&p->cu, p->cu.module_load(&module, cubin), "load the cubin", err))
        return false;
    bool ok = gpu_program_open(&program, &p->cu, module, &p->plan, &code, err);
    if (ok && facts)
        *facts = facts_of(&program);
    ok = ok && run_calls(p, &program, err);
    gpu_program_close(&program);
    p->cu.module_unload(module);
    return ok;
}

// ---- asked again and again

static bool answer(struct playing *p, const char *what, json_t **facts, struct error *err) {
    *facts = NULL;
    if (!read_play(p, err) || !open_context(p, err))
        return false;
    if (strcmp(what, "open") == 0)
        return true;
    if (!p->again || !p->again())
        return error_set(err, ERROR_IO, "the library that counts was not loaded");
    bool ok = play(p, facts, err);
    p->flush_output();
    return ok;
}

// The driver has loaded it by now; this is the same one.
static void find_library(struct playing *p, const char *path) {
    void *lib = p->again ? NULL : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!lib)
        return;
    *(void **)&p->again = dlsym(lib, "hone_inject_again");
    *(void **)&p->flush_output = dlsym(lib, "hone_inject_flush");
}

static int serve(struct playing *p, const char *library) {
    struct error err = {0};
    json_t *question;
    setenv("CUDA_INJECTION64_PATH", library, 1);
    setenv("HONE_INJECT_DIR", p->dir, 1);
    while (frame_read(SOCKET, -1, &question, NULL, NULL, &err)) {
        struct error why = {0};
        json_t *facts = NULL;
        const char *what = json_string_value(json_object_get(question, "do"));
        bool ok = answer(p, what ? what : "", &facts, &why);
        find_library(p, library);
        json_t *told = json_pack("{s:o, s:o}", "error", json_optional_text(ok ? NULL : why.text),
                                 "launches", facts ? facts : json_array());
        json_decref(question);
        bool is_sent = frame_write(SOCKET, told, NULL, 0, &err);
        json_decref(told);
        arena_reset(&p->arena);
        if (!is_sent)
            break;
    }
    return frame_was_closed(&err) ? 0 : 1;
}

int play_main(const char *dir, const char *library) {
    struct error err = {0}, ignored = {0};
    struct playing *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->dir = dir;
    int status = 0;
    if (library) {
        status = serve(p, library);
    } else if (!read_play(p, &err) || !open_context(p, &err) || !play(p, NULL, &err)) {
        file_keep(arena_printf(&p->arena, "%s/error", dir), err.text, strlen(err.text), &ignored);
        status = 1;
    }
    arena_reset(&p->arena);
    free(p);
    return status;
}
