// hone import without PyTorch: shell scripts stand for Python, with answers as the child would
// write them.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "ops/op_import.h"
#include "scratch.h"

// A program that answers a question about the import with `first`, and one about PyTorch's values
// with `verdict`.
static const char *python(struct arena *a, const char *dir, const char *first,
                          const char *verdict) {
    struct error err = {0};
    const char *path = arena_printf(a, "%s/python", dir);
    const char *script = arena_printf(a,
                                      "#!/bin/sh\n"
                                      "case $(cat \"$5\") in\n"
                                      "*'\"do\":\"verify\"'*)\n"
                                      "cat >\"$6\" <<'E'\n%s\nE\n;;\n"
                                      "*) cat >\"$6\" <<'E'\n%s\nE\n;;\nesac\n",
                                      verdict, first);
    cr_assert(file_write(path, script, strlen(script), &err), "%s", err.text);
    cr_assert_eq(chmod(path, 0700), 0);
    return path;
}

static bool import(struct arena *a, const char *first, const char *verdict, struct import_result *m,
                   struct error *err) {
    const char *dir = scratch_make(a);
    struct import_request q = {.file = arena_printf(a, "%s/model.py", dir),
                               .python = python(a, dir, first, verdict),
                               .verify = verdict[0] != '\0'};
    cr_assert(file_write(q.file, "", 0, err));
    bool ok = op_import(a, &q, m, err);
    scratch_remove(dir);
    return ok;
}

#define PROBLEM "problem p\\nin x : f32[2]\\nout y : f32[2]\\ny = x*2\\n"
#define FIRST                                                                                \
    "{\"status\": \"ok\", \"torch\": \"9\", \"text\": \"" PROBLEM "\", \"notes\": [\"n\"], " \
    "\"small\": {\"text\": \"" PROBLEM "\", \"set\": {\"n\": 2, \"d\": 0.5}, \"inputs\": "   \
    "[{\"name\": \"x\", \"origin\": [\"input\", 0]}]}}"

Test(op_import, gives_the_canonical_text_and_what_is_in_it) {
    struct arena a = {0};
    struct error err = {0};
    struct import_result m;
    cr_assert(import(&a, FIRST, "", &m, &err), "%s", err.text);
    cr_expect_str_eq(m.text, "problem p\nin  x : f32[2]\nout y : f32[2]\ny = x * 2\n");
    cr_expect_eq(m.n_inputs, 1);
    cr_expect_eq(m.n_outputs, 1);
    cr_expect_eq(m.n_notes, 1);
    cr_expect_null(m.verdict);
    arena_reset(&a);
}

Test(op_import, names_every_refusal) {
    struct arena a = {0};
    struct error err = {0};
    struct import_result m;
    cr_assert(import(&a,
                     "{\"status\": \"refused\", \"torch\": \"9\", \"nodes\": [{\"path\": \"a.b\", "
                     "\"op\": \"fft\", \"why\": \"w\", \"line\": 7}, {\"path\": \"\", \"op\": "
                     "\"svd\", \"why\": \"v\", \"line\": 0, \"last\": true}]}",
                     "", &m, &err),
              "%s", err.text);
    cr_expect_null(m.text);
    cr_assert_eq(m.n_refused, 2);
    cr_expect_str_eq(m.refused[0].module, "a.b");
    cr_expect_eq(m.refused[0].line, 7);
    cr_expect(m.refused[1].is_last);
    struct import_request q = {.file = "model.py"};
    json_t *json = op_import_json(&q, &m, NULL);
    cr_expect(json_is_false(json_object_get(json, "ok")));
    cr_expect(
        json_is_null(json_object_get(json_array_get(json_object_get(json, "refused"), 1), "line")));
    json_decref(json);
    arena_reset(&a);
}

Test(op_import, verifies_by_the_inputs_that_it_drew) {
    struct arena a = {0};
    struct error err = {0};
    struct import_result m;
    cr_assert(import(&a, FIRST,
                     "{\"status\": \"ok\", \"equal\": false, \"precision\": \"f64\", \"outputs\": "
                     "[{\"name\": \"y\", \"difference\": 0.5, \"why\": \"far\"}]}",
                     &m, &err),
              "%s", err.text);
    cr_assert_not_null(m.verdict);
    cr_expect_not(m.verdict->is_equal);
    cr_expect_str_eq(m.verdict->sizes, "n=2, d=0.5");
    cr_expect_str_eq(m.verdict->outputs[0].why, "far");
    arena_reset(&a);
}

Test(op_import, tells_answers_that_make_no_sense) {
    static const char *const cases[][3] = {
        {"{\"status\": \"refused\"}", "", "answer: \"nodes\" is missing"},
        {"{\"status\": \"ok\", \"text\": \"" PROBLEM "\"}", "{\"status\": \"ok\"}",
         "without sizes to verify at"},
        {FIRST, "{\"status\": \"ok\"}", "verification: "},
        {FIRST, "{\"status\": \"raised\", \"message\": \"boom\"}", "Python raised\nboom"},
        {"{\"status\": \"misuse\", \"message\": \"no\"}", "", "model.py: no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        struct error err = {0};
        struct import_result m;
        cr_expect_not(import(&a, cases[i][0], cases[i][1], &m, &err), "%s", cases[i][0]);
        cr_expect_not_null(strstr(err.text, cases[i][2]), "%s", err.text);
        arena_reset(&a);
    }
}
