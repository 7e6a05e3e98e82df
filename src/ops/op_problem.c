// Reads files with --dim applied, checks problems and kernel blocks against their targets, and
// formats.
#include "ops/op_problem.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/temporary.h"
#include "family/block.h"
#include "family/support.h"
#include "model/target.h"

enum { FILE_MAX = 64 * 1024 * 1024 };

static bool read_source(struct arena *a, const char *path, struct lang_source *source,
                        struct error *err) {
    bool is_input = strcmp(path, "-") == 0;
    source->file = path;
    if (!is_input)
        temporary_remove_dead_next_to(path);
    source->text = file_read(a, is_input ? "/dev/stdin" : path, FILE_MAX, &source->len, err);
    return source->text != NULL;
}

// "M=1024,N=64"
static bool read_dims(struct arena *a, const char *text, struct lang_source *source,
                      struct error *err) {
    int max = 1;
    for (const char *c = text; c && *c; c++)
        max += *c == ',';
    struct dim_override *list = arena_array(a, struct dim_override, max);
    source->overrides = list;
    while (text && *text) {
        size_t len = strcspn(text, ",");
        char *item = arena_strndup(a, text, len), *equals = strchr(item, '=');
        long long size = 0;
        if (equals)
            *equals = '\0';
        if (!equals || equals == item || !str_to_int64(equals + 1, &size))
            return error_set(err, ERROR_USAGE, "sizes are given as M=1024,N=64, not '%.*s'",
                             (int)(len < 64 ? len : 64), text);
        list[source->n_overrides++] = (struct dim_override){.name = item, .size = size};
        text += len + (text[len] == ',');
    }
    return true;
}

static bool has_dim(const struct lang_file *file, const char *name) {
    for (int i = 0; i < file->n_problems; i++)
        for (int j = 0; j < file->problems[i]->graph.n_dims; j++)
            if (strcmp(file->problems[i]->graph.dims[j].name, name) == 0)
                return true;
    return false;
}

// Every size that was given is one of a dim in the file. A file of kernels alone has none.
static bool check_dims(struct arena *a, const struct lang_source *source,
                       const struct lang_file *file, struct error *err) {
    for (int i = 0; i < source->n_overrides && file->n_problems; i++) {
        const char *name = source->overrides[i].name;
        if (has_dim(file, name))
            continue;
        const struct graph *g = &file->problems[0]->graph;
        const char **names = arena_array(a, const char *, g->n_dims + 1);
        struct str known = {0};
        for (int j = 0; j < g->n_dims; j++) {
            names[j] = g->dims[j].name;
            str_printf(&known, "%s%s", j ? ", " : "", names[j]);
        }
        const char *near = str_nearest(name, names), *all = str_take(a, &known);
        return error_set(err, ERROR_USAGE, "%s has no dim '%s'; %s%s%s", source->file, name,
                         near        ? "did you mean '"
                         : g->n_dims ? "it has "
                                     : "it has none",
                         near ? near : all, near ? "'?" : "");
    }
    return true;
}

// The mistakes themselves as the error's text: all that fit, whole ones.
static bool show_mistakes(const char *diagnostics, struct error *err) {
    size_t room = sizeof err->text - 1, len = strlen(diagnostics);
    if (len <= room)
        return error_set(err, ERROR_PARSE, "%s", diagnostics);
    // A mistake begins where a line does not begin with a space.
    char summary[256];
    snprintf(summary, sizeof summary, "%.200s", err->text);
    size_t cut = 0;
    for (size_t i = 1; i < room - sizeof summary; i++)
        if (diagnostics[i - 1] == '\n' && diagnostics[i] != ' ')
            cut = i;
    return error_set(err, ERROR_PARSE, "%.*s%s\n", (int)cut, diagnostics, summary);
}

static bool choose(const char *path, const struct lang_file *file, struct loaded *out,
                   struct error *err) {
    if (file->n_problems != 1)
        return error_set(err, ERROR_PARSE, "%s holds %d problems, and this command takes one", path,
                         file->n_problems);
    out->problem = file->problems[0];
    out->kernels = file->kernels;
    out->n_kernels = file->n_kernels;
    for (int i = 0; i < file->n_kernels; i++)
        if (strcmp(file->kernels[i]->problem, out->problem->name) != 0)
            return error_set(err, ERROR_PARSE, "%s has a kernel for '%s', but its problem is '%s'",
                             path, file->kernels[i]->problem, out->problem->name);
    return true;
}

bool op_load(struct arena *a, const char *path, const char *dims, struct loaded *out,
             struct error *err) {
    *out = (struct loaded){.diagnostics = ""};
    struct lang_source source = {0};
    struct lang_file file;
    if (!read_dims(a, dims, &source, err) || !read_source(a, path, &source, err))
        return false;
    if (!lang_parse(a, &source, &file, &out->diagnostics, err))
        return show_mistakes(out->diagnostics, err);
    return check_dims(a, &source, &file, err) && choose(path, &file, out, err);
}

bool op_load_runnable(struct arena *a, const char *path, const char *dims, struct loaded *out,
                      struct error *err) {
    return op_load(a, path, dims, out, err) && support_problem(out->problem, err);
}

bool op_has_default(const struct problem *p) {
    struct error none;
    return support_problem(p, &none);
}

static const struct problem *find_problem(const struct lang_file *file, const char *name) {
    for (int i = 0; i < file->n_problems; i++)
        if (strcmp(file->problems[i]->name, name) == 0)
            return file->problems[i];
    return NULL;
}

// The target of a block: this machine's CPU, or an architecture. False: there is none.
static bool find_target(struct arena *a, const struct kernel *k, struct mistakes *m,
                        struct target *t, struct error *err) {
    static const char *const names[] = {"cpu", "sm_90a", "sm_100a", "sm_80", NULL};
    if (strcmp(k->target, "cpu") == 0)
        return target_read_cpu(a, 0, "cc", t, err);
    if (target_of_arch(k->target, t))
        return true;
    mistake_add(m, mistake_spot(m, k->target_at), str_nearest(k->target, names),
                "no target is named '%s'; cpu, sm_80, sm_90a and sm_100a are", k->target);
    return false;
}

// In the file itself, or in those before it.
static const struct problem *find_problem_of(const struct checked *c, const struct kernel *k) {
    const struct problem *p = find_problem(&c->file, k->problem);
    for (int i = c->n_before; !p && c->file.n_problems == 0 && i > 0; i--)
        p = c->before[i - 1].ok ? find_problem(&c->before[i - 1].file, k->problem) : NULL;
    return p;
}

// A kernel block against its problem; NULL where a mistake is in the way, or where the problem is
// in another file.
static struct block *check_kernel(struct arena *a, const struct checked *c, const struct kernel *k,
                                  struct mistakes *m, struct error *err) {
    struct target *t = arena_new(a, struct target);
    const struct problem *p = find_problem_of(c, k);
    if (!p && c->file.n_problems == 0)
        return NULL;
    if (!p) {
        const char **names = arena_array(a, const char *, c->file.n_problems + 1);
        for (int i = 0; i < c->file.n_problems; i++)
            names[i] = c->file.problems[i]->name;
        mistake_add(m, mistake_spot(m, k->at), str_nearest(k->problem, names),
                    "no problem of this file is named '%s'", k->problem);
        return NULL;
    }
    return find_target(a, k, m, t, err) ? block_resolve(a, p, t, k, m) : NULL;
}

static bool check_kernels(struct arena *a, const struct lang_source *source, struct checked *out,
                          struct error *err) {
    struct mistakes m = {.arena = a, .source = source};
    struct error machine = {0};
    out->blocks = arena_array(a, struct block *, out->file.n_kernels + 1);
    for (int i = 0; i < out->file.n_kernels; i++)
        out->blocks[i] = check_kernel(a, out, out->file.kernels[i], &m, &machine);
    out->ok = m.count == 0;
    out->diagnostics = mistakes_print(a, &m);
    if (!machine.text[0])
        return true;
    *err = machine;
    return false;
}

bool op_check(struct arena *a, const char *path, const char *dims, struct checked *out,
              struct error *err) {
    *out = (struct checked){
        .path = path, .diagnostics = "", .before = out->before, .n_before = out->n_before};
    struct lang_source source = {0};
    if (!read_dims(a, dims, &source, err) || !read_source(a, path, &source, err))
        return false;
    struct error mistakes = {0};
    out->ok = lang_parse(a, &source, &out->file, &out->diagnostics, &mistakes);
    return !out->ok ||
           (check_dims(a, &source, &out->file, err) && check_kernels(a, &source, out, err));
}

static const char *plural(int n) {
    return n == 1 ? "" : "s";
}

const char *op_check_summary(struct arena *a, const struct checked *c) {
    struct str out = {0};
    str_printf(&out, "%s: ok:", c->path);
    for (int i = 0; i < c->file.n_problems; i++) {
        const struct problem *p = c->file.problems[i];
        str_printf(&out, "%s problem %s, %d input%s, %d output%s, %d nodes", i ? ";" : "", p->name,
                   p->n_inputs, plural(p->n_inputs), p->n_outputs, plural(p->n_outputs),
                   p->graph.n_nodes);
    }
    for (int i = 0; i < c->file.n_kernels; i++) {
        const struct kernel *k = c->file.kernels[i];
        str_printf(&out, "%s kernel for %s on %s, %d stage%s", i || c->file.n_problems ? ";" : "",
                   k->problem, k->target, k->n_stages, plural(k->n_stages));
    }
    return str_take(a, &out);
}

const char *op_check_graphs(struct arena *a, const struct checked *c) {
    struct str out = {0};
    for (int i = 0; i < c->file.n_problems; i++)
        str_puts(&out, graph_print(a, &c->file.problems[i]->graph));
    for (int i = 0; i < c->file.n_kernels; i++)
        if (c->blocks[i])
            str_puts(&out, block_print(a, c->blocks[i]));
    return str_take(a, &out);
}

const char *op_check_notes(struct arena *a, const struct checked *c) {
    struct str out = {0};
    for (int i = 0; i < c->file.n_kernels; i++) {
        const struct kernel *k = c->file.kernels[i];
        if (!c->blocks[i])
            str_printf(
                &out,
                "%s:%d:%d: note: not checked against problem %s, which is not here: name its "
                "file before this one\n",
                c->path, k->at.line, k->at.column, k->problem);
        for (int j = 0; c->blocks[i] && j < c->blocks[i]->n_stages; j++) {
            const struct block_stage *s = &c->blocks[i]->stages[j];
            if (s->no_emitter)
                str_printf(&out, "%s:%d:%d: note: stage %s cannot be lowered yet: %s\n", c->path,
                           s->text->family_at.line, s->text->family_at.column, s->text->values[0],
                           s->no_emitter);
        }
    }
    return str_take(a, &out);
}

static json_t *check_json(struct arena *a, const struct checked *c) {
    json_t *problems = json_array(), *kernels = json_array();
    for (int i = 0; c->ok && i < c->file.n_problems; i++) {
        const struct problem *p = c->file.problems[i];
        json_array_append_new(problems, json_pack("{sssisisiss}", "name", p->name, "inputs",
                                                  p->n_inputs, "outputs", p->n_outputs, "nodes",
                                                  p->graph.n_nodes, "text", p->text));
    }
    for (int i = 0; c->ok && i < c->file.n_kernels; i++) {
        const struct kernel *k = c->file.kernels[i];
        const char *explained = c->blocks[i] ? block_print(a, c->blocks[i]) : NULL;
        json_array_append_new(kernels,
                              json_pack("{sssssissso}", "problem", k->problem, "target", k->target,
                                        "stages", k->n_stages, "text", kernel_print(a, k),
                                        "explained", json_optional_text(explained)));
    }
    const char *notes = c->ok ? op_check_notes(a, c) : "";
    return json_pack("{sosbsosososo}", "file", json_optional_text(c->path), "ok", c->ok, "problems",
                     problems, "kernels", kernels, "notes",
                     json_optional_text(*notes ? notes : NULL), "diagnostics",
                     json_optional_text(c->ok ? NULL : c->diagnostics));
}

json_t *op_check_json(struct arena *a, const struct checked *files, int n_files) {
    json_t *list = json_array();
    bool ok = true;
    for (int i = 0; i < n_files; i++) {
        json_array_append_new(list, check_json(a, &files[i]));
        ok &= files[i].ok;
    }
    return json_pack("{sssbso}", "schema", "hone.check/1", "ok", ok, "files", list);
}

bool op_format(struct arena *a, const char *path, bool only_look, bool *changed,
               struct error *err) {
    struct lang_source source = {0};
    const char *formatted, *diagnostics;
    if (!read_source(a, path, &source, err))
        return false;
    if (!lang_format(a, &source, &formatted, &diagnostics, err))
        return show_mistakes(diagnostics, err);
    size_t len = strlen(formatted);
    *changed = len != source.len || memcmp(formatted, source.text, len) != 0;
    if (!*changed || only_look)
        return true;
    return file_write(path, formatted, len, err);
}
