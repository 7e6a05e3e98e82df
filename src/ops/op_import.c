// Asks the child, reads the answer, and lets our own parser accept it.
#include "ops/op_import.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "lang/lang.h"
#include "ops/import_child.h"
#include "ops/import_verify.h"

static bool read_refusals(struct arena *a, const json_t *answer, struct import_result *m,
                          struct error *err) {
    struct json_reader r = {.where = "answer"};
    json_t *nodes = json_read_array(&r, answer, "nodes"), *one;
    m->refused = arena_array(a, struct import_refusal, json_array_size(nodes) + 1);
    size_t i;
    json_array_foreach(nodes, i, one) {
        m->refused[m->n_refused++] =
            (struct import_refusal){.module = json_read_string(&r, a, one, "path"),
                                    .op = json_read_string(&r, a, one, "op"),
                                    .why = json_read_string(&r, a, one, "why"),
                                    .line = json_read_int(&r, one, "line"),
                                    .is_last = json_is_true(json_object_get(one, "last"))};
    }
    return json_reader_done(&r, err);
}

static void read_notes(struct arena *a, const json_t *answer, struct import_result *m) {
    const json_t *notes = json_object_get(answer, "notes");
    m->notes = arena_array(a, const char *, json_array_size(notes) + 1);
    for (size_t i = 0; i < json_array_size(notes); i++)
        if (json_is_string(json_array_get(notes, i)))
            m->notes[m->n_notes++] = arena_strdup(a, json_string_value(json_array_get(notes, i)));
}

// The text in canonical form. What the parser does not take is reported as for any file: limits
// such as the number of inputs are its, and a mistake of ours shows too.
static bool accept(struct arena *a, const char *file, const char *text, struct import_result *m,
                   struct error *err) {
    const char *name = arena_printf(a, "the import of %s", file), *diagnostics = "";
    struct lang_source source = {.file = name, .text = text, .len = strlen(text)};
    struct lang_file parsed;
    if (!lang_format(a, &source, &m->text, &diagnostics, err) ||
        !lang_parse(a, &source, &parsed, &diagnostics, err)) {
        m->text = NULL;
        return error_wrap(err, "the language does not take what was imported");
    }
    const struct problem *p = parsed.problems[0];
    m->problem = p->name;
    for (int i = 0; i < p->n_inputs; i++)
        p->inputs[i].is_param ? m->n_params++ : m->n_inputs++;
    m->n_outputs = p->n_outputs;
    m->n_nodes = p->graph.n_nodes;
    return true;
}

static bool read_answer(struct import_child *c, const json_t *answer, struct import_result *m,
                        struct error *err) {
    const char *status = json_string_value(json_object_get(answer, "status"));
    const char *torch = json_string_value(json_object_get(answer, "torch"));
    const char *text = json_string_value(json_object_get(answer, "text"));
    m->python = c->python;
    m->torch = arena_strdup(c->a, torch ? torch : "");
    if (strcmp(status, "refused") == 0)
        return read_refusals(c->a, answer, m, err);
    read_notes(c->a, answer, m);
    if (!text)
        return error_set(err, ERROR_IO, "%s gave an answer without a problem", c->python);
    return accept(c->a, c->request->file, text, m, err);
}

bool op_import(struct arena *a, const struct import_request *q, struct import_result *out,
               struct error *err) {
    *out = (struct import_result){0};
    if (file_size(q->file) < 0)
        return error_set(err, ERROR_USAGE, "%s: there is no such file", q->file);
    struct import_child c = {.a = a, .request = q};
    json_t *answer = import_child_begin(&c, err) ? import_child_ask(&c, "", NULL, err) : NULL;
    bool ok = answer && read_answer(&c, answer, out, err);
    if (ok && q->verify && out->text)
        ok = import_verify(&c, answer, out, err);
    json_decref(answer);
    import_child_end(&c);
    return ok;
}

static json_t *refusals_json(const struct import_result *m) {
    json_t *list = json_array();
    for (int i = 0; i < m->n_refused; i++) {
        const struct import_refusal *r = &m->refused[i];
        json_t *line = r->line > 0 ? json_integer(r->line) : json_null();
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o, s:b}", "module", r->module, "op",
                                        r->op, "why", r->why, "line", line, "last", r->is_last));
    }
    return list;
}

static json_t *verdict_json(const struct import_verdict *v) {
    if (!v)
        return json_null();
    json_t *outputs = json_array();
    for (int i = 0; i < v->n_outputs; i++)
        json_array_append_new(outputs,
                              json_pack("{s:s, s:o, s:o}", "name", v->outputs[i].output,
                                        "difference", json_optional_real(v->outputs[i].relative),
                                        "why", json_optional_text(v->outputs[i].why)));
    return json_pack("{s:b, s:s, s:s, s:o}", "equal", v->is_equal, "precision", v->precision,
                     "sizes", v->sizes, "outputs", outputs);
}

json_t *op_import_json(const struct import_request *q, const struct import_result *m,
                       const char *output) {
    json_t *notes = json_array();
    for (int i = 0; i < m->n_notes; i++)
        json_array_append_new(notes, json_string(m->notes[i]));
    json_t *problem = json_null();
    if (m->text)
        problem = json_pack("{s:s, s:i, s:i, s:i, s:i}", "name", m->problem, "inputs", m->n_inputs,
                            "params", m->n_params, "outputs", m->n_outputs, "nodes", m->n_nodes);
    bool ok = m->text && (!m->verdict || m->verdict->is_equal);
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                     "hone.import/1", "ok", ok, "file", json_optional_text(q->file), "output",
                     json_optional_text(output), "python", json_optional_text(m->python), "torch",
                     json_optional_text(m->torch), "problem", problem, "text",
                     json_optional_text(m->text), "notes", notes, "refused", refusals_json(m),
                     "verified", verdict_json(m->verdict));
}
