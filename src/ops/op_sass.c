// Runs nvdisasm where there is one, and annotates.
#include "ops/op_sass.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/str.h"
#include "eval/play.h"
#include "ops/op_runs.h"
#include "profile/sass_text.h"
#include "profile/source.h"
#include "store/store.h"

enum { FILE_MAX = 256 << 20, BARRIERS = 6 };
static const int64_t nvdisasm_timeout_ns = 60000000000;

// NULL: there is no such program, or it does not read this cubin; then the names must do.
static const char *disassemble(struct arena *a, const char *file, size_t *len) {
    const char *program = source_find_program(a, "nvdisasm");
    if (!program)
        return NULL;
    const char *const argv[] = {program, "-c", file, NULL};
    struct process_spec spec = {
        .argv = argv, .timeout_ns = nvdisasm_timeout_ns, .max_output = FILE_MAX};
    struct process_result p;
    struct error ignored = {0};
    if (!process_run(a, &spec, &p, &ignored) || p.exit_status != 0)
        return NULL;
    *len = strlen(p.out);
    return p.out;
}

static bool list_file(struct arena *a, const char *file, const char *kernel,
                      struct sass_listing *out, struct error *err) {
    size_t len, listing_len;
    const char *bytes = file_read(a, file, FILE_MAX, &len, err);
    if (!bytes)
        return false;
    if (!sass_read(a, bytes, len, &out->sass, err))
        return error_wrap(err, "%s", file);
    if (kernel && !sass_find(&out->sass, kernel))
        return error_set(err, ERROR_USAGE, "%s: there is no kernel '%s' in it", file, kernel);
    const char *listing = disassemble(a, file, &listing_len);
    if (!listing)
        return true;
    out->texts = arena_array(a, const char **, out->sass.n_kernels + 1);
    for (int i = 0; i < out->sass.n_kernels; i++)
        out->texts[i] = sass_text_of(a, listing, listing_len, &out->sass.kernels[i]);
    return true;
}

// A node's candidate, compiled again for the device that its run was on.
static bool list_node(struct arena *a, const struct sass_request *q, struct sass_listing *out,
                      struct error *err) {
    struct run_view v;
    struct problem *problem;
    struct target target;
    struct play *play;
    struct store *store;
    const char *path;
    int node;
    bool is_known = false;
    if (!op_show(a, q->store, q->file, &v, &node, err))
        return false;
    if (node < 0)
        return error_set(err, ERROR_USAGE, "%s is a run; name a node of it, like %lld.0", q->file,
                         (long long)v.run.id);
    if (!op_stored_problem(a, &v.run, &problem, err) ||
        !op_open_store(a, q->store, false, &store, err))
        return false;
    bool ok = op_stored_target(a, store, &v.run, &target, &is_known, err);
    store_close(store);
    if (!ok)
        return false;
    if (!is_known || !target.is_gpu)
        return error_set(err, ERROR_USAGE, "%s is not for a GPU", q->file);
    if (!play_open(&play, problem, &target, err))
        return false;
    ok = play_compile(play, a, &v.nodes[node].candidate, &path, err) &&
         list_file(a, path, q->kernel, out, err);
    play_close(play);
    return ok;
}

bool op_sass(struct arena *a, const struct sass_request *q, struct sass_listing *out,
             struct error *err) {
    *out = (struct sass_listing){0};
    bool is_node = !file_exists(q->file) && strspn(q->file, "0123456789.") == strlen(q->file);
    if (is_node || strncmp(q->file, "last.", 5) == 0)
        return list_node(a, q, out, err);
    return list_file(a, q->file, q->kernel, out, err);
}

// "waits for LDG at 00f0": the last instruction before it that released the barrier; in a loop the
// one may stand behind it.
static void put_waits(struct str *s, const struct sass_kernel *k, int at, const int *setter) {
    const char *between = "  waits for ";
    for (int b = 0; b < BARRIERS; b++)
        if ((k->code[at].waits >> b & 1) && setter[b] >= 0) {
            str_printf(s, "%s%s at %04x", between, sass_name(k->code[setter[b]].code),
                       setter[b] * SASS_BYTES);
            between = ", ";
        }
}

static void put_instruction(struct str *s, const struct sass_kernel *k, int at, const char *text,
                            const int *setter) {
    const struct sass_instruction *i = &k->code[at];
    bool is_hot = k->has_hot_loop && at >= k->hot_begin && at <= k->hot_end;
    size_t from = s->len;
    str_printf(s, "  %c %04x  %s%s", is_hot ? '|' : ' ', at * SASS_BYTES,
               text || !i->is_guarded ? "" : "@P ", text ? text : sass_name(i->code));
    size_t wide = s->len - from;
    struct str note = {0};
    if (i->bytes)
        str_printf(&note, "  %d byte%s", i->bytes, i->bytes == 1 ? "" : "s");
    put_waits(&note, k, at, setter);
    if (i->target >= 0 && !text)
        str_printf(&note, "  to %04x", i->target * SASS_BYTES);
    if (note.len > 0)
        str_printf(s, "%*s%s", wide < 56 ? (int)(56 - wide) : 1, "", str_text(&note));
    str_reset(&note);
    str_puts(s, "\n");
}

static void put_kernel(struct str *s, const struct sass *sass, const struct sass_kernel *k,
                       const char *const *texts) {
    int setter[BARRIERS] = {-1, -1, -1, -1, -1, -1};
    str_printf(s, "%s: sm_%d, %d instructions", k->name, sass->capability, k->n);
    if (k->registers >= 0)
        str_printf(s, ", %d registers", k->registers);
    if (k->frame_bytes > 0)
        str_printf(s, ", %d bytes of stack", k->frame_bytes);
    if (k->has_hot_loop)
        str_printf(s, "; %d loop%s, | marks the hot one", k->n_loops, k->n_loops == 1 ? "" : "s");
    if (k->n_unknown > 0)
        str_printf(s, "; %d instructions are not known", k->n_unknown);
    str_puts(s, "\n");
    for (int i = 0; i < k->n; i++) {
        put_instruction(s, k, i, texts ? texts[i] : NULL, setter);
        if (k->code[i].frees < BARRIERS)
            setter[k->code[i].frees] = i;
        if (k->code[i].sets < BARRIERS)
            setter[k->code[i].sets] = i;
    }
}

const char *op_sass_text(struct arena *a, const struct sass_listing *l, const char *kernel) {
    struct str s = {0};
    int n = 0;
    for (int i = 0; i < l->sass.n_kernels; i++) {
        const struct sass_kernel *k = &l->sass.kernels[i];
        if (kernel && strcmp(k->name, kernel) != 0)
            continue;
        str_puts(&s, n++ > 0 ? "\n" : "");
        put_kernel(&s, &l->sass, k, l->texts ? (const char *const *)l->texts[i] : NULL);
    }
    if (!l->texts)
        str_puts(&s, "\nnames only: nvdisasm is not here, which prints operands\n");
    return str_take(a, &s);
}

json_t *op_sass_json(const struct sass_listing *l) {
    json_t *kernels = json_array();
    for (int i = 0; i < l->sass.n_kernels; i++) {
        const struct sass_kernel *k = &l->sass.kernels[i];
        struct metrics m = {0};
        json_t *metrics = json_object();
        sass_metrics(k, &m);
        for (int j = 0; j < METRIC_COUNT; j++)
            if (metrics_has(&m, (enum metric_id)j))
                json_object_set_new(metrics, metric_table[j].name, json_real(m.value[j]));
        json_array_append_new(kernels, json_pack("{s:o, s:i, s:i, s:o}", "name",
                                                 json_optional_text(k->name), "instructions", k->n,
                                                 "unknown", k->n_unknown, "metrics", metrics));
    }
    return json_pack("{s:s, s:i, s:o}", "schema", "hone.sass/1", "capability", l->sass.capability,
                     "kernels", kernels);
}
