// Over memory/memory.h; the document of an export is made and read here.
#include "ops/op_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/str.h"
#include "memory/advise.h"
#include "memory/kind.h"
#include "memory/learn.h"
#include "memory/memory.h"
#include "model/target.h"
#include "record/advice.h"
#include "record/run.h"

enum { IMPORT_MAX = 1 << 28 };

bool op_memory_path(struct arena *a, const char *named, const char **path, struct error *err) {
    struct config config;
    *path = NULL;
    if (!named) {
        if (!config_load(a, &config, err))
            return false;
        named = config_get(&config, "memory.path");
    }
    if (strcmp(named, "off") != 0)
        *path = memory_path(a, named);
    return true;
}

// The same for commands that are about memory: it must not be off.
static bool need_path(struct arena *a, const char *named, const char **path, struct error *err) {
    if (!op_memory_path(a, named, path, err))
        return false;
    return *path ||
           error_set(err, ERROR_USAGE,
                     "memory is off, or there is no place for it: --memory PATH names one");
}

static void keep_problem(struct memory_view *v, const char *problem) {
    int n = 0;
    for (int i = 0; i < v->n_lessons; i++)
        if (strcmp(v->lessons[i].problem, problem) == 0)
            v->lessons[n++] = v->lessons[i];
    v->n_lessons = n;
}

bool op_memory_read(struct arena *a, const char *named, const char *problem, struct memory_view *v,
                    struct error *err) {
    struct memory *m;
    *v = (struct memory_view){0};
    if (!need_path(a, named, &v->path, err))
        return false;
    if (!file_exists(v->path))
        return true;
    if (!memory_open(&m, v->path, false, err))
        return false;
    bool ok = memory_list(m, a, &(struct memory_filter){0}, &v->lessons, &v->n_lessons, err);
    memory_close(m);
    if (ok && problem)
        keep_problem(v, problem);
    return ok;
}

bool op_memory_export(struct arena *a, const char *named, const char *file, int *n,
                      struct error *err) {
    struct memory_view v;
    if (!op_memory_read(a, named, NULL, &v, err))
        return false;
    json_t *lessons = json_array();
    for (int i = 0; i < v.n_lessons; i++)
        json_array_append_new(lessons, lesson_to_json(&v.lessons[i]));
    json_t *json = json_pack("{s:s, s:s, s:o}", "schema", "hone.lessons/1", "version", HONE_VERSION,
                             "lessons", lessons);
    const char *text = json_print_pretty(a, json);
    json_decref(json);
    *n = v.n_lessons;
    return file_write(file, text, strlen(text), err) || error_wrap(err, "export");
}

static bool read_document(struct arena *a, const char *file, struct memory_view *v,
                          struct error *err) {
    size_t len;
    const char *text = file_read(a, file, IMPORT_MAX, &len, err);
    json_t *json = text ? json_parse(text, len, err) : NULL;
    if (!json)
        return false;
    struct json_reader r = {.where = "lessons"};
    json_read_schema(&r, json, "hone.lessons/1");
    const json_t *lessons = json_read_array(&r, json, "lessons");
    int n = (int)json_array_size(lessons);
    bool ok = json_reader_done(&r, err);
    v->lessons = arena_array(a, struct lesson, n + 1);
    for (int i = 0; ok && i < n; i++)
        ok = lesson_from_json(a, json_array_get(lessons, (size_t)i), &v->lessons[v->n_lessons++],
                              err);
    json_decref(json);
    return ok;
}

static bool add(struct arena *a, const char *named, const struct memory_view *v,
                struct memory_added *out, struct error *err) {
    struct memory *m;
    const char *path;
    if (!need_path(a, named, &path, err) || !memory_open(&m, path, true, err))
        return false;
    bool ok = memory_put(m, v->lessons, v->n_lessons, &out->n_new, err);
    memory_close(m);
    out->n_read = v->n_lessons;
    return ok;
}

bool op_memory_import(struct arena *a, const char *named, const char *file,
                      struct memory_added *out, struct error *err) {
    struct memory_view v = {0};
    return (read_document(a, file, &v, err) || error_wrap(err, "import %s", file)) &&
           add(a, named, &v, out, err);
}

bool op_memory_merge(struct arena *a, const char *named, const char *file, struct memory_added *out,
                     struct error *err) {
    struct memory_view v = {0};
    struct memory *m;
    if (!memory_open(&m, file, false, err))
        return error_wrap(err, "merge");
    bool ok = memory_list(m, a, &(struct memory_filter){0}, &v.lessons, &v.n_lessons, err);
    memory_close(m);
    return ok && add(a, named, &v, out, err);
}

bool op_memory_prune(struct arena *a, const char *named, int keep, int *n_removed,
                     struct error *err) {
    struct memory *m;
    const char *path;
    *n_removed = 0;
    if (!need_path(a, named, &path, err))
        return false;
    if (!file_exists(path))
        return true;
    if (!memory_open(&m, path, true, err))
        return false;
    bool ok = memory_prune(m, keep, n_removed, err);
    memory_close(m);
    return ok;
}

bool op_memory_ask(struct arena *a, const char *path, const struct problem *p,
                   const struct target *t, struct advice *out, struct error *err) {
    *out = (struct advice){
        .run = arena_printf(a, "%016" PRIx64 "%016" PRIx64, rng_entropy(), rng_entropy())};
    struct memory *m;
    if (!file_exists(path))
        return true;
    if (!memory_open(&m, path, false, err))
        return false;
    struct problem_kind kind;
    struct lesson *lessons;
    int n;
    kind_of(a, p, &kind);
    struct memory_filter filter = {kind.skeleton, target_kernel_name(t)};
    bool ok = memory_list(m, a, &filter, &lessons, &n, err);
    memory_close(m);
    if (ok)
        advise(a, p, t, lessons, n, out);
    return ok;
}

const char *op_memory_text(struct arena *a, const struct advice *d) {
    if (d->n_lessons == 0)
        return NULL;
    const char *text = arena_printf(a, "memory    %d run%s on siblings", d->n_lessons,
                                    d->n_lessons == 1 ? "" : "s");
    if (d->n_starts > 0)
        text = arena_printf(a, "%s; begins with the %s%s", text,
                            d->starts[0].is_default ? "" : "champion of ", d->starts[0].words);
    return d->n_starts > 1 ? arena_printf(a, "%s, and %d more", text, d->n_starts - 1) : text;
}

static struct prior expect(const void *ctx, const char *kind, const char *tool,
                           const char *bottleneck) {
    const struct advice_prior *p = advice_find(ctx, kind, tool, bottleneck);
    return p ? (struct prior){.gain = p->gain, .weight = p->weight, .words = p->words}
             : (struct prior){0};
}

static int by_weight(const void *x, const void *y) {
    const struct advice_prior *p = x, *q = y;
    return p->weight != q->weight ? (p->weight < q->weight) - (p->weight > q->weight)
                                  : strcmp(p->move, q->move);
}

// What a model reads: the kinds of moves that are best known, and what was champion elsewhere.
static const char *summary(struct arena *a, const struct advice *d) {
    enum { TOLD = 12 };
    struct str text = {0};
    struct advice_prior *priors = arena_array(a, struct advice_prior, d->n_priors + 1);
    if (d->n_priors > 0)
        memcpy(priors, d->priors, sizeof *priors * (size_t)d->n_priors);
    qsort(priors, (size_t)d->n_priors, sizeof *priors, by_weight);
    for (int i = 0, n = 0; i < d->n_priors && n < TOLD; i++)
        if (!priors[i].tool && !priors[i].bottleneck) {
            str_printf(&text, "- %s: %s\n", priors[i].move, priors[i].words);
            n++;
        }
    return text.len ? str_take(a, &text) : NULL;
}

struct priors op_memory_priors(struct arena *a, const struct advice *d) {
    return (struct priors){.expect = expect, .ctx = d, .summary = summary(a, d)};
}

bool op_memory_advice(struct arena *a, const struct run *run, struct advice *out,
                      struct error *err) {
    *out = (struct advice){0};
    if (!run->memory)
        return true;
    json_t *json = json_parse(run->memory, strlen(run->memory), err);
    bool ok = json && advice_from_json(a, json, out, err);
    json_decref(json);
    return ok;
}

bool op_memory_update(struct arena *a, const char *path, const struct memory_lesson_of *of,
                      struct error *err) {
    struct advice advice;
    struct lesson lesson;
    struct memory *m;
    int n_new;
    if (!op_memory_advice(a, of->run, &advice, err))
        return false;
    struct learn_from from = {.problem = of->problem,
                              .target = of->target,
                              .bound = of->bound,
                              .run = of->run,
                              .nodes = of->nodes,
                              .n_nodes = of->n_nodes,
                              .identity = advice.run};
    learn(a, &from, &lesson);
    if (!memory_open(&m, path, true, err))
        return false;
    bool ok = memory_put(m, &lesson, 1, &n_new, err);
    memory_close(m);
    return ok;
}
