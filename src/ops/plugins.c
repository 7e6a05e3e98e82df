// One process for the description, one for all kernels.
#include "ops/plugins.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "tools/tool.h"

enum { OUTPUT_MAX = 1 << 20, FINDINGS_MAX = 32, TEXT_MAX = 400 };
// Nobody finds more than that in one place.
static const double GAIN_MAX = 1e5;
static const int64_t timeout_ns = 10000000000;

struct plugin {
    struct arena *a;
    struct diagnosis *d;
    const char *path, *name;
    json_t *description;
    bool is_out;
};

static void complain(struct plugin *p, const char *what) {
    p->is_out = true;
    diagnosis_absent(
        p->d, arena_printf(p->a, "what the tool %s says: %s", p->name ? p->name : p->path, what));
}

// NULL: it said nothing that can be read, and that was noted.
static json_t *ask(struct plugin *p, const char *option, const char *input) {
    const char *const argv[] = {p->path, option, NULL};
    struct process_spec spec = {.argv = argv,
                                .input = input,
                                .input_len = input ? strlen(input) : 0,
                                .keep_environment = true,
                                .timeout_ns = timeout_ns,
                                .max_output = OUTPUT_MAX};
    struct process_result r;
    struct error err = {0};
    json_t *json = NULL;
    if (!process_run(p->a, &spec, &r, &err))
        complain(p, arena_strdup(p->a, err.text));
    else if (r.timed_out)
        complain(p, "it took more than 10 s");
    else if (r.exit_status != 0)
        complain(p, arena_printf(p->a, "it ended with %s %d", r.signal ? "signal" : "status",
                                 r.signal ? r.signal : r.exit_status));
    else if (!(json = json_parse(r.out, strlen(r.out), &err)))
        complain(p, arena_printf(p->a, "no JSON: %.200s", err.text));
    return json;
}

// ---- what it is asked about

static bool is_in(const json_t *words, const char *word) {
    size_t i;
    json_t *one;
    json_array_foreach((json_t *)words, i, one) {
        if (json_is_string(one) && strcmp(json_string_value(one), word) == 0)
            return true;
    }
    return false;
}

static bool is_for(const struct plugin *p, const struct diagnosed_kernel *k) {
    const json_t *classes = json_object_get(p->description, "classes");
    const json_t *needs = json_object_get(p->description, "metrics");
    size_t i;
    json_t *one;
    if (json_array_size(classes) > 0 && !is_in(classes, class_name(k->measured.kind)))
        return false;
    json_array_foreach((json_t *)needs, i, one) {
        enum metric_id id;
        const char *name = json_string_value(one);
        if (!name || !metric_find(name, &id) || !metrics_has(&k->launch->metrics, id))
            return false;
    }
    return true;
}

static bool is_metric(const char *name) {
    enum metric_id id;
    return metric_find(name, &id);
}

static bool is_class(const char *name) {
    for (int k = 0; k < CLASS_KINDS; k++)
        if (strcmp(name, class_name((enum class_kind)k)) == 0)
            return true;
    return false;
}

static bool is_ours(const char *name) {
    for (const struct tool *const *t = tools; *t; t++)
        if (strcmp(name, (*t)->name) == 0)
            return true;
    return false;
}

// What it wants must be a list of names that hone has; else that is said.
static void check_list(struct plugin *p, const char *key, const char *word,
                       bool (*is_known)(const char *)) {
    const json_t *list = json_object_get(p->description, key);
    size_t i;
    json_t *one;
    if (list && !json_is_array(list))
        complain(p, arena_printf(p->a, "%s is no list of names", key));
    json_array_foreach((json_t *)list, i, one) {
        const char *name = json_is_string(one) ? json_string_value(one) : "(no text)";
        if (!is_known(name))
            complain(p, arena_printf(p->a, "there is no %s '%.40s'", word, name));
    }
}

static json_t *kernels_for(const struct plugin *p) {
    json_t *kernels = json_array();
    for (int i = 0; i < p->d->n_kernels; i++) {
        const struct diagnosed_kernel *k = &p->d->kernels[i];
        json_t *metrics = json_object();
        for (int m = 0; m < METRIC_COUNT; m++)
            if (metrics_has(&k->launch->metrics, (enum metric_id)m))
                json_object_set_new(metrics, metric_table[m].name,
                                    json_real(k->launch->metrics.value[m]));
        json_t *one = json_pack("{s:i, s:o, s:o, s:s, s:o}", "kernel", i, "name",
                                json_optional_text(k->name), "share", json_optional_real(k->share),
                                "class", class_name(k->measured.kind), "metrics", metrics);
        if (is_for(p, k))
            json_array_append(kernels, one);
        json_decref(one);
    }
    return kernels;
}

// ---- what it found

// What it says twice counts once: ours are not crowded out.
static void put_in(struct diagnosed_kernel *k, const struct finding *f) {
    int at = k->n_findings;
    for (int i = 0; i < k->n_findings; i++)
        if (k->findings[i].tool == f->tool && strcmp(k->findings[i].cause, f->cause) == 0)
            return;
    while (at > 0 && finding_ranks_before(f, &k->findings[at - 1]))
        at--;
    if (at == NODE_FINDINGS_MAX)
        return;
    int n = k->n_findings < NODE_FINDINGS_MAX ? k->n_findings : NODE_FINDINGS_MAX - 1;
    memmove(&k->findings[at + 1], &k->findings[at], (size_t)(n - at) * sizeof *f);
    k->findings[at] = *f;
    k->n_findings = n + 1;
}

// A line for a terminal: without control characters, and not without end. NULL stays.
static const char *plain(struct arena *a, const char *text) {
    if (!text)
        return NULL;
    size_t len = strlen(text);
    if (len > TEXT_MAX)
        for (len = TEXT_MAX; ((unsigned char)text[len] & 0xc0) == 0x80; len--)
            ;  // no half of a character
    char *kept = arena_strndup(a, text, len);
    for (char *at = kept; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    return kept;
}

static const char *text_of(struct plugin *p, const json_t *json, const char *key) {
    return plain(p->a, json_string_value(json_object_get(json, key)));
}

// Words, or a move: {"words": "wider loads", "knob": "vec", "direction": 1}, "word" in place of the
// direction.
static bool read_action(struct plugin *p, const json_t *json, struct action *out) {
    *out = (struct action){0};
    if (json_is_string(json))
        out->words = plain(p->a, json_string_value(json));
    if (!json_is_object(json))
        return out->words != NULL;
    json_int_t direction = json_integer_value(json_object_get(json, "direction"));
    out->words = text_of(p, json, "words");
    out->knob = text_of(p, json, "knob");
    out->word = text_of(p, json, "word");
    out->direction = direction > 0 ? 1 : direction < 0 ? -1 : 0;
    return out->words != NULL;
}

// {"kernel": 0, "severity": "high", "cause", "evidence", "gain": 1.5, "actions": ["..."]}
static bool read_finding(struct plugin *p, const json_t *json, struct finding *f, int *kernel) {
    const char *severity = json_string_value(json_object_get(json, "severity"));
    const char *cause = text_of(p, json, "cause"), *evidence = text_of(p, json, "evidence");
    const json_t *gain = json_object_get(json, "gain"), *actions = json_object_get(json, "actions");
    double sure = json_is_number(json_object_get(json, "confidence"))
                      ? json_number_value(json_object_get(json, "confidence"))
                      : NAN;
    json_int_t number = json_integer_value(json_object_get(json, "kernel"));
    int level = SEVERITY_LOW;
    while (severity && level <= SEVERITY_HIGH &&
           strcmp(severity, severity_name((enum severity)level)) != 0)
        level++;
    if (!severity || level > SEVERITY_HIGH || !cause ||
        !json_is_integer(json_object_get(json, "kernel")) || number < 0 ||
        number >= p->d->n_kernels)
        return false;
    *kernel = (int)number;
    double factor = json_is_number(gain) ? json_number_value(gain) : NAN;
    if (json_is_number(gain) && !(factor >= 1 && factor <= GAIN_MAX)) {
        complain(p, "a gain that cannot be");
        factor = NAN;
    }
    *f = (struct finding){.tool = p->name,
                          .severity = (enum severity)level,
                          .cause = cause,
                          .evidence = evidence ? evidence : "",
                          .share = NAN,
                          .confidence = sure >= 0 && sure <= 1 ? sure : NAN,
                          .expected_gain = factor};
    for (size_t i = 0; i < json_array_size(actions) && f->n_actions < FINDING_ACTIONS_MAX; i++)
        f->n_actions += read_action(p, json_array_get(actions, i), &f->actions[f->n_actions]);
    return true;
}

static void take_findings(struct plugin *p, const json_t *answer) {
    const json_t *all = json_object_get(answer, "findings");
    size_t i;
    json_t *one;
    if (!json_is_array(all)) {
        complain(p, "there are no findings in it");
        return;
    }
    json_array_foreach((json_t *)all, i, one) {
        struct finding f;
        int kernel;
        if (read_finding(p, one, &f, &kernel))
            put_in(&p->d->kernels[kernel], &f);
        else
            complain(p, "a finding without kernel, severity or cause");
    }
}

static void run_plugin(struct plugin *p) {
    p->description = ask(p, "--describe", NULL);
    const char *name = json_string_value(json_object_get(p->description, "name"));
    if (p->description && !name)
        complain(p, "it does not say its name");
    if (name && is_ours(name))
        complain(p, arena_printf(p->a, "it calls itself '%s', as a tool of hone's", name));
    if (name && !p->is_out) {
        p->name = plain(p->a, name);
        check_list(p, "metrics", "metric", is_metric);
        check_list(p, "classes", "class", is_class);
        json_t *kernels = kernels_for(p);
        if (json_array_size(kernels) > 0) {
            json_t *input = json_pack("{s:s, s:o, s:O}", "schema", "hone.tool_input/1", "device",
                                      json_optional_text(p->d->target.device), "kernels", kernels);
            json_t *answer = ask(p, NULL, json_print_pretty(p->a, input));
            if (answer)
                take_findings(p, answer);
            json_decref(answer);
            json_decref(input);
        }
        json_decref(kernels);
    }
    json_decref(p->description);
}

static int compare_paths(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void plugins_find(struct arena *a, const char *named, struct plugins *p) {
    const char *config = file_config_path(a);
    const char *slash = config ? strrchr(config, '/') : NULL;
    const char *dir = slash ? arena_printf(a, "%.*s/tools", (int)(slash - config), config) : NULL;
    DIR *open = dir ? opendir(dir) : NULL;
    *p = (struct plugins){0};
    for (struct dirent *e; open && p->n < PLUGINS_MAX && (e = readdir(open));) {
        const char *path = arena_printf(a, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.' && access(path, X_OK) == 0)
            p->paths[p->n++] = path;
    }
    if (open)
        closedir(open);
    qsort(p->paths, (size_t)p->n, sizeof *p->paths, compare_paths);
    if (named && p->n < PLUGINS_MAX)
        p->paths[p->n++] = named;
}

void plugins_run(struct arena *a, struct plugins *p, struct diagnosis *d) {
    for (int i = 0; i < p->n; i++) {
        struct plugin one = {.a = a, .d = d, .path = p->paths[i]};
        if (!p->is_out[i])
            run_plugin(&one);
        p->is_out[i] |= one.is_out;
    }
}

// ---- a candidate

// Its launches as kernels; one without launches, as on a CPU, is one kernel.
static void list_kernels(struct arena *a, const struct bound *b, struct profile *p,
                         struct diagnosis *d) {
    struct classes classes;
    int n = p->n_launches > 0 ? p->n_launches : 1;
    struct profile_launch *launches = arena_array(a, struct profile_launch, n);
    classify(a, p, b, &d->target, &classes);
    d->kernels = arena_array(a, struct diagnosed_kernel, n);
    d->n_kernels = n;
    for (int i = 0; i < n; i++) {
        launches[i].name = p->n_launches > 0 ? p->launches[i].name : "call";
        if (n == 1)
            launches[i].metrics = p->call;
        if (p->n_launches > 0)
            metrics_merge(&launches[i].metrics, &p->launches[i].metrics);
        struct class_of class = p->n_launches > 0 ? classes.launches[i] : classes.measured;
        d->kernels[i] = (struct diagnosed_kernel){
            .name = launches[i].name,
            .launch = &launches[i],
            .share = n == 1 ? 1 : classes.shares[i],
            .measured = class.kind != CLASS_UNKNOWN ? class : classes.analytic};
    }
}

void plugins_report(struct arena *a, struct plugins *p, const struct target *t,
                    const struct bound *b, struct profile *profile,
                    void (*on_wrong)(void *ctx, const char *words), void *ctx) {
    struct diagnosis d = {.device = t->device, .target = *t};
    int n = 0;
    if (p->n == 0)
        return;
    struct finding *said = arena_array(a, struct finding, FINDINGS_MAX);
    list_kernels(a, b, profile, &d);
    plugins_run(a, p, &d);
    for (int i = 0; i < d.n_kernels; i++)
        for (int k = 0; k < d.kernels[i].n_findings && n < FINDINGS_MAX; k++) {
            said[n] = d.kernels[i].findings[k];
            if (profile->n_launches > 1) {
                said[n].launch = d.kernels[i].name;
                said[n].share = d.kernels[i].share;
            }
            n++;
        }
    profile->said = said;
    profile->n_said = n;
    for (int i = 0; i < d.n_absent; i++)
        on_wrong(ctx, d.absent[i]);
}
