// Questions as frames (play_process.c has their form), answers partly as files: what the library
// counts it writes into the directory, as it does for any program.
#include "play/play_warm.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/str.h"
#include "gpu/library.h"

enum { ANSWER_SECONDS = 120 };
static const int64_t second_ns = 1000000000;

void warm_init(struct warm *w, struct arena *a, const char *self, const char *dir) {
    *w = (struct warm){.arena = a, .self = self, .dir = dir, .process = {.socket = -1}};
}

void warm_close(struct warm *w) {
    process_close(&w->process, second_ns);
    if (w->cupti.handle)
        cupti_close(&w->cupti);
    w->cupti = (struct cupti){0};
    w->is_open = false;
}

static bool ask(struct warm *w, const char *what, json_t **facts, struct error *err) {
    json_t *question = json_pack("{s:s}", "do", what), *told = NULL;
    bool ok = frame_write(w->process.socket, question, NULL, 0, err) &&
              frame_read(w->process.socket, ANSWER_SECONDS * second_ns, &told, NULL, NULL, err);
    json_decref(question);
    if (!ok) {
        process_kill(&w->process);
        w->is_open = false;
        return error_wrap(err, "the process that is counted did not answer");
    }
    const char *why = json_string_value(json_object_get(told, "error"));
    if (why)
        ok = error_set(err, ERROR_IO, "%s", why);
    if (facts)
        *facts = json_incref(json_object_get(told, "launches"));
    json_decref(told);
    return ok;
}

static bool write_ask(struct warm *w, const struct program_kernel *kernels, int n,
                      int64_t memory_bytes, struct error *err) {
    struct str text = {0};
    struct arena scratch = {0};
    collect_ask_counters(&text, w->cupti_path, memory_bytes, w->is_open ? &w->plan : NULL);
    for (int i = 0; i < n; i++) {
        const struct program_kernel *k = &kernels[i];
        str_printf(&text, "launch 0 %d %d %d %d %d %d %s\n", k->grid[0], k->grid[1], k->grid[2],
                   k->block[0], k->block[1], k->block[2], k->name);
    }
    bool ok = file_keep(arena_printf(&scratch, "%s/ask", w->dir), str_text(&text), text.len, err);
    str_reset(&text);
    arena_reset(&scratch);
    return ok;
}

// The process, its context, and from what card that is the counters.
static bool open_process(struct warm *w, struct error *err) {
    const char *library, *path;
    struct program_data d;
    if (!w->cupti.handle && !cupti_open(&w->cupti, err))
        return error_wrap(err, "counters need CUPTI, which is in CUDA's toolkit and in the Python "
                               "package nvidia-cuda-cupti");
    path = library_path(w->cupti.handle);
    w->cupti_path = arena_strdup(w->arena, path ? path : "libcupti.so.13");
    if (!collect_place_library(w->arena, &library, err) || !write_ask(w, NULL, 0, 0, err))
        return false;
    const char *const argv[] = {w->self, "_play", w->dir, library, NULL};
    struct process_spec spec = {.argv = argv, .keep_environment = true};
    if (!process_start(&w->process, &spec, err) || !ask(w, "open", NULL, err) ||
        !program_read(w->arena, w->dir, NULL, &d, err))
        return false;
    if (d.n_faults > 0)
        return error_set(err, ERROR_UNSUPPORTED, "counters: %s",
                         collect_fault_text(w->arena, &d.faults[0]));
    if (!d.chip)
        return error_set(err, ERROR_UNSUPPORTED, "counters: the chip is not known");
    w->is_open = counter_plan(w->arena, &w->cupti, d.chip, counter_set_find("all"), &w->plan, err);
    return w->is_open;
}

bool warm_count(struct warm *w, struct arena *a, const struct program_kernel *kernels, int n,
                int64_t memory_bytes, struct program_data *out, json_t **facts, struct error *err) {
    struct program_asked asked = {w->plan.metrics, 0, n};
    *facts = NULL;
    if (!w->is_open && !open_process(w, err)) {
        process_kill(&w->process);
        return false;
    }
    asked.n_ids = w->plan.n;
    return write_ask(w, kernels, n, memory_bytes, err) && ask(w, "count", facts, err) &&
           program_read(a, w->dir, &asked, out, err);
}
