// The file is imported once more with smaller numbers at its top, as far as the module takes them;
// that problem's inputs are drawn as any problem's are, interpreted, and written for the child,
// which puts them into the real module. What the two have in common is the file, and nothing else.
#include "ops/import_verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "lang/lang.h"

enum { SEED = 1, MOST_ELEMENTS = 1 << 28 };

static bool write_doubles(const char *path, const double *values, int64_t n, struct error *err) {
    return file_keep(path, (const char *)values, sizeof *values * (size_t)n, err);
}

static json_t *entry(const struct node *n, const char *name, const char *path) {
    json_t *shape = json_array();
    for (int i = 0; i < n->shape.rank; i++)
        json_array_append_new(shape, json_integer(n->shape.size[i]));
    return json_pack("{s:s, s:s, s:s, s:o}", "name", name, "type", dtype_name(n->dtype), "path",
                     path, "shape", shape);
}

// Where the module has an input of that name: ["parameter", "conv.weight"].
static json_t *origin_of(const json_t *answer, const char *name) {
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(answer, "inputs"), i, one) {
        const char *other = json_string_value(json_object_get(one, "name"));
        if (other && strcmp(other, name) == 0)
            return json_object_get(one, "origin");
    }
    return NULL;
}

struct comparison {
    struct import_child *child;
    const struct problem *problem;
    const json_t *answer;  // of the import at small sizes
    json_t *inputs, *outputs;
};

static bool draw_inputs(struct comparison *v, struct interpret_data *data, struct error *err) {
    struct arena *a = v->child->a;
    const struct problem *p = v->problem;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        int64_t count = shape_count(&n->shape);
        void *stored = arena_array(a, char, dtype_size(n->dtype, count) + 1);
        double *values = arena_array(a, double, count + 1);
        const char *path = arena_printf(a, "%s/in%d", v->child->dir, i);
        inputs_fill(p, i, SEED, stored);
        dtype_get_run(n->dtype, stored, 0, count, values);
        data->inputs[i] = stored;
        if (!write_doubles(path, values, count, err))
            return false;
        json_t *one = entry(n, n->name, path);
        json_object_set(one, "origin", origin_of(v->answer, n->name));
        json_array_append_new(v->inputs, one);
    }
    return true;
}

static bool write_outputs(struct comparison *v, const struct interpret_result *r,
                          struct error *err) {
    struct arena *a = v->child->a;
    const struct problem *p = v->problem;
    for (int i = 0; i < r->n_outputs; i++) {
        const char *path = arena_printf(a, "%s/out%d", v->child->dir, i);
        if (!write_doubles(path, r->value[i], r->count[i], err) ||
            !write_doubles(arena_printf(a, "%s.spread", path), r->spread[i], r->count[i], err))
            return false;
        json_array_append_new(v->outputs,
                              entry(&p->graph.nodes[p->outputs[i].node], p->outputs[i].name, path));
    }
    return true;
}

static bool is_too_large(const struct problem *p) {
    for (int i = 0; i < p->graph.n_nodes; i++)
        if (shape_count(&p->graph.nodes[i].shape) > MOST_ELEMENTS)
            return true;
    return false;
}

static bool interpret_it(struct comparison *v, struct error *err) {
    struct interpret_data data = {0};
    struct interpret_result r;
    if (is_too_large(v->problem))
        return error_set(
            err, ERROR_UNSUPPORTED,
            "--verify: too large to interpret, and no number at the top of %s makes it "
            "smaller; give some with --set",
            v->child->request->file);
    if (!draw_inputs(v, &data, err))
        return false;
    interpret(v->problem, &data, &r);
    bool ok = r.fault[0] ? error_set(err, ERROR_PARSE, "--verify: %s", r.fault)
                         : write_outputs(v, &r, err);
    interpret_reset(&r);
    return ok;
}

static const char *sizes_text(struct arena *a, const json_t *sizes) {
    struct str text = {0};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)sizes, name, value) {
        str_printf(&text, "%s%s=%g", text.len ? ", " : "", name, json_number_value(value));
    }
    return str_take(a, &text);
}

static bool read_verdict(struct import_child *c, const json_t *answer, const json_t *sizes,
                         struct import_result *m, struct error *err) {
    struct json_reader r = {.where = "verification"};
    json_t *outputs = json_read_array(&r, answer, "outputs"), *one;
    struct import_verdict *v = arena_array(c->a, struct import_verdict, 1);
    size_t i;
    v->is_equal = json_read_bool(&r, answer, "equal");
    v->precision = json_read_string(&r, c->a, answer, "precision");
    v->sizes = sizes_text(c->a, sizes);
    v->outputs = arena_array(c->a, struct import_difference, json_array_size(outputs) + 1);
    json_array_foreach(outputs, i, one) {
        v->outputs[v->n_outputs++] =
            (struct import_difference){.output = json_read_string(&r, c->a, one, "name"),
                                       .relative = json_read_optional_number(&r, one, "difference"),
                                       .why = json_read_optional_string(&r, c->a, one, "why")};
    }
    m->verdict = v;
    return json_reader_done(&r, err);
}

static bool compare(struct comparison *v, struct import_result *m, struct error *err) {
    json_t *sizes = json_object_get(v->answer, "set");
    json_t *more =
        json_pack("{s:O, s:O, s:O}", "inputs", v->inputs, "outputs", v->outputs, "set", sizes);
    json_t *answer = import_child_ask(v->child, "verify", more, err);
    bool ok = answer && read_verdict(v->child, answer, sizes, m, err);
    json_decref(more);
    json_decref(answer);
    return ok;
}

static bool parse_small(struct import_child *c, const json_t *answer, const struct problem **p,
                        struct error *err) {
    const char *text = json_string_value(json_object_get(answer, "text")), *diagnostics;
    if (!text)
        return error_set(err, ERROR_IO, "%s gave an answer without sizes to verify at", c->python);
    struct lang_source source = {
        .file = "the import at smaller sizes", .text = text, .len = strlen(text)};
    struct lang_file file;
    if (!lang_parse(c->a, &source, &file, &diagnostics, err))
        return error_wrap(err, "--verify");
    *p = file.problems[0];
    return true;
}

bool import_verify(struct import_child *c, const json_t *answer, struct import_result *m,
                   struct error *err) {
    struct comparison v = {.child = c,
                           .answer = json_object_get(answer, "small"),
                           .inputs = json_array(),
                           .outputs = json_array()};
    bool ok =
        parse_small(c, v.answer, &v.problem, err) && interpret_it(&v, err) && compare(&v, m, err);
    json_decref(v.inputs);
    json_decref(v.outputs);
    return ok;
}
