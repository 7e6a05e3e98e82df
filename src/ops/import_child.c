// Finds a Python that has PyTorch, runs it under limits, reads what it wrote.
//
// The model's file may print, so the answer is a file of its own; what it printed is shown only
// when there is no answer.
#include "ops/import_child.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/str.h"
#include "lang/names.h"

enum { ANSWER_MAX = 64 * 1024 * 1024, OUTPUT_MAX = 64 * 1024, MESSAGE_MAX = 700 };

static const char system_python[] = "/usr/bin/python3";
static const char package_hint[] =
    "install the package python3-torch, or name a Python that has it with --python";

bool import_child_begin(struct import_child *c, struct error *err) {
    c->dir = file_scratch_dir(c->a, err);
    for (const struct embedded_file *f = embedded_files; c->dir && f->name; f++) {
        if (strncmp(f->name, "import_", 7) != 0 || !str_ends_with(f->name, ".py"))
            continue;
        const char *path = arena_printf(c->a, "%s/%s", c->dir, f->name);
        if (!file_keep(path, f->text, strlen(f->text), err))
            return false;
    }
    return c->dir != NULL;
}

void import_child_end(struct import_child *c) {
    struct error ignored = {0};
    if (c->dir)
        file_remove_tree(c->dir, &ignored);
}

// "batch_size=2,scale=0.5" as an object.
static bool read_sizes(struct arena *a, const char *text, json_t *into, struct error *err) {
    while (text && *text) {
        size_t len = strcspn(text, ",");
        char *item = arena_strndup(a, text, len), *equals = strchr(item, '=');
        long long whole = 0;
        double number = 0;
        if (equals)
            *equals = '\0';
        if (equals && equals != item && str_to_int64(equals + 1, &whole))
            json_object_set_new(into, item, json_integer(whole));
        else if (equals && equals != item && str_to_double(equals + 1, &number) && isfinite(number))
            json_object_set_new(into, item, json_real(number));
        else
            return error_set(err, ERROR_USAGE, "--set takes NAME=NUMBER,..., not '%.64s'", text);
        text += len + (text[len] == ',');
    }
    return true;
}

static json_t *names_that_are_taken(void) {
    json_t *list = json_array();
    for (int i = 0; names_taken(i); i++)
        for (const char *const *name = names_taken(i); *name; name++)
            json_array_append_new(list, json_string(*name));
    return list;
}

static json_t *question(struct import_child *c, const char *what, json_t *more, struct error *err) {
    const struct import_request *q = c->request;
    json_t *sizes = json_object();
    if (!read_sizes(c->a, q->sizes, sizes, err)) {
        json_decref(sizes);
        return NULL;
    }
    json_t *ask = json_pack("{s:s, s:b, s:s, s:s, s:b, s:o, s:o}", "do", what, "small", q->verify,
                            "file", q->file, "class", q->class_name ? q->class_name : "", "eval",
                            q->is_eval, "set", sizes, "reserved", names_that_are_taken());
    if (!ask)
        error_set(err, ERROR_USAGE, "%s: a name that is no UTF-8", q->file);
    else if (more)
        json_object_update(ask, more);
    return ask;
}

// The last lines of what a child said, as many as fit.
static const char *last_words(struct arena *a, const char *text) {
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        len--;
    size_t from = len > MESSAGE_MAX ? len - MESSAGE_MAX : 0;
    while (from > 0 && from < len && text[from - 1] != '\n')
        from++;
    return arena_strndup(a, text + from, len - from);
}

static bool no_answer(struct import_child *c, const struct process_result *p, double seconds,
                      struct error *err) {
    const char *file = c->request->file, *said = last_words(c->a, p->err);
    if (p->timed_out)
        return error_set(err, ERROR_TIMEOUT,
                         "%s was still running after %g s; --seconds gives it more", file, seconds);
    if (p->signal)
        return error_set(err, ERROR_IO, "%s: Python was ended by signal %d%s%s", file, p->signal,
                         *said ? ":\n" : "", said);
    if (p->exit_status == 0)
        return error_set(err, ERROR_PARSE, "%s ended Python before it could be traced", file);
    return error_set(err, ERROR_PARSE, "%s ended Python with status %d%s%s", file, p->exit_status,
                     *said ? ":\n" : "", said);
}

static json_t *run_python(struct import_child *c, const char *python, const char *ask,
                          struct error *err) {
    const char *request = arena_printf(c->a, "%s/request.json", c->dir);
    const char *answer = arena_printf(c->a, "%s/answer.json", c->dir);
    const char *script = arena_printf(c->a, "%s/import_main.py", c->dir);
    const char *argv[] = {python, "-B", "-W", "ignore", script, request, answer, NULL};
    double seconds = c->request->seconds > 0 ? c->request->seconds : IMPORT_SECONDS;
    struct process_spec spec = {.argv = argv,
                                .keep_environment = true,
                                .timeout_ns = (int64_t)(seconds * 1e9),
                                .max_output = OUTPUT_MAX};
    struct process_result p;
    size_t len = 0;
    if (!file_keep(request, ask, strlen(ask), err) || !process_run(c->a, &spec, &p, err))
        return NULL;
    if (!file_exists(answer)) {
        no_answer(c, &p, seconds, err);
        return NULL;
    }
    char *text = file_read(c->a, answer, ANSWER_MAX, &len, err);
    json_t *document = text ? json_parse(text, len, err) : NULL;
    if (text && !document)
        error_set(err, ERROR_IO, "%s gave an answer that is no JSON", python);
    if (remove(answer) != 0 && document)
        error_set(err, ERROR_IO, "remove %s", answer);
    return document;
}

// A status that ends the import, as an error; true: there is something to read.
static bool has_content(struct import_child *c, const char *python, const json_t *answer,
                        struct error *err) {
    const char *status = json_string_value(json_object_get(answer, "status"));
    const char *message = json_string_value(json_object_get(answer, "message"));
    const char *file = c->request->file;
    message = last_words(c->a, message ? message : "");
    if (!status)
        return error_set(err, ERROR_IO, "%s gave an answer without a status", python);
    if (strcmp(status, "absent") == 0)
        return error_set(err, ERROR_UNSUPPORTED, "%s has no PyTorch (%s); %s", python, message,
                         package_hint);
    if (strcmp(status, "misuse") == 0 || strcmp(status, "unfit") == 0)
        return error_set(err, status[0] == 'm' ? ERROR_USAGE : ERROR_PARSE, "%s: %s", file,
                         message);
    if (strcmp(status, "raised") == 0)
        return error_set(err, ERROR_PARSE, "%s: Python raised\n%s", file, message);
    return true;
}

static bool is_absent(const json_t *answer) {
    const char *status = json_string_value(json_object_get(answer, "status"));
    return status && strcmp(status, "absent") == 0;
}

// Which one, where none was named: the first along $PATH, and the system's where that one has no
// PyTorch (a user's own Python often comes before it).
static json_t *ask_any(struct import_child *c, const char *ask, const char **python,
                       struct error *err) {
    const char *named = c->python ? c->python : c->request->python;
    *python = file_find_program(c->a, named ? named : "python3");
    if (!*python && named) {
        error_set(err, ERROR_USAGE, "--python %s: there is no such program", named);
        return NULL;
    }
    json_t *answer = *python ? run_python(c, *python, ask, err) : NULL;
    if (*python && (!answer || named || !is_absent(answer)))
        return answer;
    bool is_other = file_exists(system_python) && (!*python || strcmp(*python, system_python) != 0);
    if (!is_other && !*python)
        error_set(err, ERROR_UNSUPPORTED, "there is no python3; %s", package_hint);
    if (!is_other)
        return answer;
    json_decref(answer);
    *python = system_python;
    return run_python(c, system_python, ask, err);
}

json_t *import_child_ask(struct import_child *c, const char *what, json_t *more,
                         struct error *err) {
    json_t *ask = question(c, what, more, err);
    if (!ask)
        return NULL;
    const char *text = json_print(c->a, ask), *python = NULL;
    json_decref(ask);
    json_t *answer = ask_any(c, text, &python, err);
    if (answer && !has_content(c, python, answer, err)) {
        json_decref(answer);
        return NULL;
    }
    c->python = python;
    return answer;
}
