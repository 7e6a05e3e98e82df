// Runs nvdisasm where there is one, and annotates.
#include "ops/op_sass.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/str.h"
#include "ops/diagnosis.h"
#include "ops/op_runs.h"
#include "play/play.h"
#include "profile/injected.h"
#include "profile/line_table.h"
#include "profile/sass_text.h"
#include "profile/source.h"
#include "store/store.h"

enum { FILE_MAX = 256 << 20, BARRIERS = 6 };
static const double STALL_SHOWN = 0.005;
static const int64_t nvdisasm_timeout_ns = 60000000000;

// NULL: there is no such program, or it does not read this cubin; then the names must do.
static const char *disassemble(struct arena *a, const char *file, size_t *len) {
    const char *program = source_find_program(a, "nvdisasm");
    if (!program)
        return NULL;
    const char *const argv[] = {program, "-c", "-g", file, NULL};
    struct process_spec spec = {
        .argv = argv, .timeout_ns = nvdisasm_timeout_ns, .max_output = FILE_MAX};
    struct process_result p;
    struct error ignored = {0};
    if (!process_run(a, &spec, &p, &ignored) || p.exit_status != 0)
        return NULL;
    *len = strlen(p.out);
    return p.out;
}

// The source that the cubin's own line table names, where it lies next to the cubin.
static const char *source_of(struct arena *a, const char *cubin, const char *name) {
    const char *slash = strrchr(cubin, '/');
    struct error ignored = {0};
    size_t len;
    const char *path = slash ? arena_printf(a, "%.*s/%s", (int)(slash - cubin), cubin, name) : name;
    return file_exists(path) ? file_read(a, path, FILE_MAX, &len, &ignored) : NULL;
}

static void read_lines(struct arena *a, const char *file, const char *bytes, size_t len,
                       struct sass_listing *out) {
    struct line_table table;
    if (!line_table_read(a, bytes, len, &table))
        return;
    for (int i = 0; i < out->sass.n_kernels; i++) {
        const struct sass_kernel *k = &out->sass.kernels[i];
        const char *name = line_table_lines(&table, k->name, SASS_BYTES, out->lines[i], k->n);
        if (name && !out->source)
            out->source = source_of(a, file, name);
    }
}

// By its name in the code, or as people write it, with or without parameters.
static bool is_called(struct arena *a, const struct sass_kernel *k, const char *kernel) {
    return !kernel || strcmp(k->name, kernel) == 0 ||
           strcmp(program_demangle(a, k->name), kernel) == 0 ||
           diagnosis_is_code_of(a, kernel, k->name);
}

static bool list_file(struct arena *a, const char *file, const char *kernel,
                      struct sass_listing *out, struct error *err) {
    size_t len, listing_len;
    const char *bytes = file_read(a, file, FILE_MAX, &len, err);
    if (!bytes)
        return false;
    if (!sass_read(a, bytes, len, &out->sass, err))
        return error_wrap(err, "%s", file);
    bool is_there = false;
    for (int i = 0; i < out->sass.n_kernels; i++)
        is_there |= is_called(a, &out->sass.kernels[i], kernel);
    if (!is_there && kernel)
        return error_set(err, ERROR_USAGE, "%s: there is no kernel '%s' in it", file, kernel);
    out->lines = arena_array(a, int *, out->sass.n_kernels + 1);
    for (int i = 0; i < out->sass.n_kernels; i++)
        out->lines[i] = arena_array(a, int, out->sass.kernels[i].n + 1);
    const char *listing = disassemble(a, file, &listing_len);
    read_lines(a, file, bytes, len, out);
    if (!listing)
        return true;
    out->texts = arena_array(a, const char **, out->sass.n_kernels + 1);
    for (int i = 0; i < out->sass.n_kernels; i++)
        out->texts[i] = sass_text_of(a, listing, listing_len, &out->sass.kernels[i], out->lines[i]);
    return true;
}

static void take_spots(const struct collected_kernel *k, int n, int *lines,
                       struct sass_stall *stalls) {
    for (int i = 0; i < k->n_spots; i++) {
        const struct collected_spot *s = &k->spots[i];
        uint64_t at = s->pc / SASS_BYTES;
        if (at >= (uint64_t)n)
            continue;
        stalls[at] = (struct sass_stall){s->share, s->reason};
        if (s->line > 0 && lines[at] == 0)
            lines[at] = s->line;
    }
}

// Run it on this machine's card, and put what was sampled next to the instructions.
static bool sample(struct arena *a, struct play *play, const struct candidate *c,
                   struct sass_listing *out, struct error *err) {
    struct profile profile = {0};
    struct collected seen;
    if (!play_candidate(play, a, c, PLAY_FULL, &profile, &seen, err))
        return false;
    out->stalls = arena_array(a, struct sass_stall *, out->sass.n_kernels + 1);
    for (int i = 0; i < out->sass.n_kernels; i++) {
        const struct sass_kernel *k = &out->sass.kernels[i];
        out->stalls[i] = arena_array(a, struct sass_stall, k->n + 1);
        for (int j = 0; j < seen.profile.n_launches; j++)
            if (strcmp(seen.kernels[j].kernel->name, k->name) == 0)
                take_spots(&seen.kernels[j], k->n, out->lines[i], out->stalls[i]);
    }
    for (int i = 0; i < seen.n_notes; i++)
        if (strncmp(seen.notes[i], "samples", 7) == 0)
            return error_set(err, ERROR_UNSUPPORTED, "%s", seen.notes[i]);
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
         list_file(a, path, q->kernel, out, err) &&
         (!q->stalls || sample(a, play, &v.nodes[node].candidate, out, err));
    out->source = v.nodes[node].candidate.source;
    play_close(play);
    return ok;
}

bool op_sass(struct arena *a, const struct sass_request *q, struct sass_listing *out,
             struct error *err) {
    *out = (struct sass_listing){0};
    bool is_node = !file_exists(q->file) && strspn(q->file, "0123456789.") == strlen(q->file);
    if (is_node || strncmp(q->file, "last.", 5) == 0)
        return list_node(a, q, out, err);
    if (q->stalls)
        return error_set(err, ERROR_USAGE,
                         "--stalls needs a node of a run: a cubin does not say how it is launched; "
                         "hone profile -- PROGRAM samples a program");
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

// What an instruction is listed with.
struct instruction_notes {
    const char *text;  // NULL: names only
    const struct sass_stall *stall;
    const int *setter;
};

// How far apart threads are, where they are not side by side.
static void put_stride(struct str *s, const struct sass_instruction *i) {
    if (i->stride == SASS_STRIDE_OF_LAUNCH)
        str_puts(s, ", threads as far apart as the launch says");
    else if (i->stride == 0)
        str_puts(s, ", the same for a warp");
    else if (i->stride != SASS_STRIDE_UNKNOWN && abs(i->stride) != i->bytes)
        str_printf(s, ", threads %d apart", abs(i->stride));
}

static void put_instruction(struct str *s, const struct sass_kernel *k, int at,
                            const struct instruction_notes *b) {
    const char *text = b->text;
    const struct sass_instruction *i = &k->code[at];
    bool is_hot = k->has_hot_loop && at >= k->hot_begin && at <= k->hot_end;
    size_t from = s->len;
    str_printf(s, "  %c %04x  %s%s", is_hot ? '|' : ' ', at * SASS_BYTES,
               text || !i->is_guarded ? "" : "@P ", text ? text : sass_name(i->code));
    size_t wide = s->len - from;
    struct str note = {0};
    if (i->bytes) {
        str_printf(&note, "  %d byte%s", i->bytes, i->bytes == 1 ? "" : "s");
        put_stride(&note, i);
    }
    put_waits(&note, k, at, b->setter);
    if (i->target >= 0 && !text)
        str_printf(&note, "  to %04x", i->target * SASS_BYTES);
    if (b->stall && b->stall->share >= STALL_SHOWN)
        str_printf(&note, "  <- %.0f%% of the waiting: %s", 100 * b->stall->share,
                   b->stall->reason);
    if (note.len > 0)
        str_printf(s, "%*s%s", wide < 56 ? (int)(56 - wide) : 1, "", str_text(&note));
    str_reset(&note);
    str_puts(s, "\n");
}

// "     12: y[i] = x[i];" where the line is another than that of the instruction before.
static void put_line(struct str *s, const char *source, int line) {
    for (int n = 1; source && n < line; n++) {
        const char *end = strchr(source, '\n');
        source = end ? end + 1 : NULL;
    }
    str_printf(s, "%7d: ", line);
    if (source)
        str_append(s, source + strspn(source, " \t"),
                   strcspn(source + strspn(source, " \t"), "\n"));
    str_puts(s, "\n");
}

static void put_kernel(struct arena *a, struct str *s, const struct sass_listing *l, int number) {
    const struct sass *sass = &l->sass;
    const struct sass_kernel *k = &sass->kernels[number];
    int last = 0, setter[BARRIERS] = {-1, -1, -1, -1, -1, -1};
    str_printf(s, "%s: sm_%d, %d instructions", program_demangle(a, k->name), sass->capability,
               k->n);
    if (k->registers >= 0)
        str_printf(s, ", %d registers", k->registers);
    if (k->frame_bytes > 0)
        str_printf(s, ", %d bytes of stack", k->frame_bytes);
    if (k->has_hot_loop)
        str_printf(s, "; %d loop%s, | marks the hot one", k->n_loops, k->n_loops == 1 ? "" : "s");
    if (k->n_unknown > 0)
        str_printf(s, "; %d instruction%s not known", k->n_unknown,
                   k->n_unknown == 1 ? " is" : "s are");
    str_puts(s, "\n");
    for (int i = 0; i < k->n; i++) {
        struct instruction_notes b = {.text = l->texts ? l->texts[number][i] : NULL,
                                      .stall = l->stalls ? &l->stalls[number][i] : NULL,
                                      .setter = setter};
        if (l->lines[number][i] > 0 && l->lines[number][i] != last)
            put_line(s, l->source, last = l->lines[number][i]);
        put_instruction(s, k, i, &b);
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
        if (!is_called(a, k, kernel))
            continue;
        str_puts(&s, n++ > 0 ? "\n" : "");
        put_kernel(a, &s, l, i);
    }
    if (!l->texts)
        str_puts(&s, "\nnames only: nvdisasm is not here, which prints operands\n");
    return str_take(a, &s);
}

static json_t *stalls_to_json(const struct sass_listing *l, int kernel) {
    json_t *all = json_array();
    for (int i = 0; l->stalls && i < l->sass.kernels[kernel].n; i++)
        if (l->stalls[kernel][i].share > 0)
            json_array_append_new(all, json_pack("{s:i, s:i, s:f, s:s}", "pc", i * SASS_BYTES,
                                                 "line", l->lines[kernel][i], "share",
                                                 l->stalls[kernel][i].share, "reason",
                                                 l->stalls[kernel][i].reason));
    return all;
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
        json_array_append_new(kernels, json_pack("{s:o, s:i, s:i, s:o, s:o}", "name",
                                                 json_optional_text(k->name), "instructions", k->n,
                                                 "unknown", k->n_unknown, "metrics", metrics,
                                                 "stalls", stalls_to_json(l, i)));
    }
    return json_pack("{s:s, s:i, s:o}", "schema", "hone.sass/1", "capability", l->sass.capability,
                     "kernels", kernels);
}
