// Opens the store, resolves names like 12.7 and `last`, and reads back problem and target of a run.
#include "ops/op_runs.h"

#include <string.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "ir/graph.h"
#include "ir/problem.h"
#include "lang/lang.h"
#include "model/target.h"
#include "record/judgement.h"
#include "store/store.h"

enum { RUNS_MAX = 10000 };

bool op_open_store(struct arena *a, const char *named, bool create, struct store **out,
                   struct error *err) {
    struct config config;
    if (!named) {
        if (!config_load(a, &config, err))
            return false;
        const char *dir = config_get(&config, "store.path");
        named = *dir ? arena_printf(a, "%s/runs.db", dir) : NULL;
    }
    return store_open(out, named, create, err);
}

const char *op_store_option(struct arena *a, const char *named) {
    struct str text = {0};
    if (!named)
        return NULL;
    str_puts(&text, " --store ");
    str_put_quoted(&text, named);
    return str_take(a, &text);
}

static void add_role(struct run_view *v, const struct exchange *e) {
    enum { MOST = sizeof v->roles / sizeof v->roles[0] };
    int i = 0;
    while (i < v->n_roles && strcmp(v->roles[i].role, e->role) != 0)
        i++;
    if (i == MOST)
        return;
    if (i == v->n_roles)
        v->roles[v->n_roles++].role = e->role;
    spend_add(&v->roles[i].spend, e);
}

bool op_read_run(struct arena *a, struct store *s, int64_t id, struct run_view *v,
                 struct error *err) {
    *v = (struct run_view){.store = arena_strdup(a, store_path(s)),
                           .is_running = store_run_is_locked(s, id)};
    struct exchange *exchanges;
    int n_exchanges;
    if (!store_get_run(s, a, id, &v->run, err) ||
        !store_get_nodes(s, a, id, &v->nodes, &v->n_nodes, err) ||
        !store_get_exchanges(s, a, id, &exchanges, &n_exchanges, err))
        return false;
    for (int i = 0; i < n_exchanges; i++) {
        spend_add(&v->spend, &exchanges[i]);
        add_role(v, &exchanges[i]);
    }
    return true;
}

bool op_runs(struct arena *a, const char *store, struct run_view **views, int *n_views,
             struct error *err) {
    struct store *s;
    struct run *runs;
    if (!op_open_store(a, store, false, &s, err))
        return false;
    bool ok = store_list_runs(s, a, RUNS_MAX, &runs, n_views, err);
    *views = arena_array(a, struct run_view, ok ? *n_views + 1 : 1);
    for (int i = 0; ok && i < *n_views; i++)
        (*views)[i] = (struct run_view){.run = runs[i],
                                        .store = arena_strdup(a, store_path(s)),
                                        .is_running = store_run_is_locked(s, runs[i].id)};
    store_close(s);
    return ok;
}

// "3.7" -> "3" and 7; without a dot the node is -1.
static bool split_name(struct arena *a, const char *name, const char **run, int *node,
                       struct error *err) {
    const char *dot = name ? strchr(name, '.') : NULL;
    *node = -1;
    *run = name;
    if (!dot)
        return true;
    long long number;
    if (!str_to_int64(dot + 1, &number) || number < 0 || number > 1000000000)
        return error_set(err, ERROR_USAGE, "'%s' is not a node; give RUN.NODE, like 3.7", name);
    *node = (int)number;
    *run = arena_strndup(a, name, (size_t)(dot - name));
    return true;
}

bool op_show(struct arena *a, const char *store, const char *name, struct run_view *v, int *node,
             struct error *err) {
    const char *run;
    struct store *s;
    int64_t id;
    if (!split_name(a, name, &run, node, err) || !op_open_store(a, store, false, &s, err))
        return false;
    bool ok = store_find_run(s, run, &id, err) && op_read_run(a, s, id, v, err);
    store_close(s);
    v->store_option = op_store_option(a, store);
    if (ok && *node >= v->n_nodes)
        return error_set(err, ERROR_USAGE, "run %lld has no node %d; the newest is %d",
                         (long long)id, *node, v->n_nodes - 1);
    return ok;
}

bool op_remove_runs(struct arena *a, const char *store, const char *const *names, int n_names,
                    struct error *err) {
    struct store *s;
    int64_t *ids = arena_array(a, int64_t, n_names + 1);
    if (!op_open_store(a, store, false, &s, err))
        return false;
    store_close(s);  // it is there; now for writing
    if (!op_open_store(a, store, true, &s, err))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < n_names; i++) {
        struct run run;
        ok = store_find_run(s, names[i], &ids[i], err) && store_get_run(s, a, ids[i], &run, err);
        for (int k = 0; ok && k < i; k++)
            ok = ids[k] != ids[i] || error_set(err, ERROR_USAGE, "run %s is named twice", names[i]);
        if (ok && store_run_is_locked(s, ids[i]))
            ok = error_set(err, ERROR_USAGE, "run %lld is being worked on", (long long)ids[i]);
    }
    for (int i = 0; ok && i < n_names; i++)
        ok = store_remove_run(s, ids[i], err);
    store_close(s);
    return ok;
}

bool op_stored_problem(struct arena *a, const struct run *run, struct problem **problem,
                       struct error *err) {
    struct lang_file file;
    const char *diagnostics;
    struct lang_source source = {
        .file = "stored problem", .text = run->problem_text, .len = strlen(run->problem_text)};
    if (!lang_parse(a, &source, &file, &diagnostics, err))
        return error_wrap(err, "run %lld", (long long)run->id);
    if (file.n_problems != 1)
        return error_set(err, ERROR_IO, "run %lld: its stored text is not one problem",
                         (long long)run->id);
    *problem = file.problems[0];
    return true;
}

const char *op_run_graph(struct arena *a, const struct run *run) {
    struct error ignored = {0};
    struct problem *problem;
    return op_stored_problem(a, run, &problem, &ignored) ? graph_print(a, &problem->graph) : NULL;
}

bool op_stored_target(struct arena *a, struct store *s, const struct run *run, struct target *t,
                      bool *found, struct error *err) {
    struct judgement *judgements;
    int n;
    *found = false;
    if (!store_get_judgements(s, a, run->id, &judgements, &n, err))
        return false;
    while (n > 0 && !judgements[n - 1].facts)
        n--;
    if (n == 0)
        return true;
    const char *facts = judgements[n - 1].facts;
    json_t *json = json_parse(facts, strlen(facts), err);
    *found = json && target_from_json(a, json, t, err);
    json_decref(json);
    return *found;
}
