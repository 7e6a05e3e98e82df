#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

static json_t *parse(const char *text) {
    struct error err = {0};
    json_t *value = json_parse(text, strlen(text), &err);
    cr_assert_not_null(value, "%s", err.text);
    return value;
}

static const char *mistake(struct error *err, const char *text, size_t len) {
    *err = (struct error){0};
    cr_assert_null(json_parse(text, len, err));
    cr_assert_eq(err->kind, ERROR_PARSE);
    return err->text;
}

Test(json, parse_names_line_and_column) {
    struct error err;
    const char *text = "{\n  \"a\": }";
    cr_assert_eq(strncmp(mistake(&err, text, strlen(text)), "2:8: ", 5), 0, "%s", err.text);
}

Test(json, parse_refuses) {
    const char *bad[] = {"",         "{",   "{\"a\":1,\"a\":2}", "{} x",      "[1,]",
                         "\"\xff\"", "nan", "\"\\u0000\"",       "{\"a\" 1}", "1e999"};
    struct error err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        mistake(&err, bad[i], strlen(bad[i]));
    mistake(&err, "{}\0", 3);
    const char *twice = "{\"a\":1,\"a\":2}";
    cr_assert_not_null(strstr(mistake(&err, twice, strlen(twice)), "duplicate"));
}

Test(json, parse_refuses_absurd_depth) {
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    struct error err;
    cr_assert_not_null(strstr(mistake(&err, deep, sizeof deep), "depth"), "%s", err.text);
}

Test(json, prints_compact_and_pretty_in_order) {
    struct arena a = {0};
    json_t *value = parse("{\"b\": 1, \"a\": [true, null]}");
    cr_assert_str_eq(json_print(&a, value), "{\"b\":1,\"a\":[true,null]}");
    cr_assert_str_eq(json_print_pretty(&a, value),
                     "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}");
    json_decref(value);
    arena_reset(&a);
}

Test(json, reals_survive_print_and_parse) {
    struct arena a = {0};
    double values[] = {0.1, 1e-300, 123456789.123456789, 5e-324};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json_t *value = json_real(values[i]);
        json_t *again = parse(json_print(&a, value));
        cr_assert_eq(json_real_value(again), values[i]);
        json_decref(value);
        json_decref(again);
    }
    arena_reset(&a);
}

Test(json, reader_reads_every_type) {
    struct arena a = {0};
    json_t *o = parse("{\"schema\":\"hone.x/1\",\"s\":\"text\",\"i\":-7,\"n\":2.5,\"b\":true,"
                      "\"o\":{},\"l\":[],\"z\":null}");
    struct json_reader r = {.where = "record"};
    json_read_schema(&r, o, "hone.x/1");
    cr_assert_str_eq(json_read_string(&r, &a, o, "s"), "text");
    cr_assert_str_eq(json_read_optional_string(&r, &a, o, "s"), "text");
    cr_assert_null(json_read_optional_string(&r, &a, o, "z"));
    cr_assert_null(json_read_optional_string(&r, &a, o, "none"));
    cr_assert_eq(json_read_int(&r, o, "i"), -7);
    cr_assert_eq(json_read_number(&r, o, "n"), 2.5);
    cr_assert_eq(json_read_number(&r, o, "i"), -7);
    cr_assert_eq(json_read_optional_number(&r, o, "n"), 2.5);
    cr_assert(isnan(json_read_optional_number(&r, o, "z")));
    cr_assert(isnan(json_read_optional_number(&r, o, "none")));
    cr_assert(json_read_bool(&r, o, "b"));
    cr_assert(json_is_object(json_read_object(&r, o, "o")));
    cr_assert(json_is_array(json_read_array(&r, o, "l")));
    struct error err = {0};
    cr_assert(json_reader_done(&r, &err), "%s", err.text);
    json_decref(o);
    arena_reset(&a);
}

// Reads one field wrongly and gives the message.
static const char *misread(struct arena *a, const char *text, int which, struct error *err) {
    json_t *o = parse(text);
    struct json_reader r = {.where = "record"};
    switch (which) {
    case 0:
        cr_assert_str_eq(json_read_string(&r, a, o, "k"), "");
        break;
    case 1:
        cr_assert_null(json_read_optional_string(&r, a, o, "k"));
        break;
    case 2:
        cr_assert_eq(json_read_int(&r, o, "k"), 0);
        break;
    case 3:
        cr_assert_eq(json_read_number(&r, o, "k"), 0);
        break;
    case 4:
        cr_assert_eq(json_read_optional_number(&r, o, "k"), 0);
        break;
    case 5:
        cr_assert_not(json_read_bool(&r, o, "k"));
        break;
    case 6:
        cr_assert_null(json_read_object(&r, o, "k"));
        break;
    case 7:
        cr_assert_null(json_read_array(&r, o, "k"));
        break;
    case 8:
        json_read_schema(&r, o, "hone.x/1");
        break;
    }
    cr_assert_not(json_reader_done(&r, err));
    cr_assert_eq(err->kind, ERROR_PARSE);
    json_decref(o);
    return err->text;
}

Test(json, reader_names_the_mistake) {
    struct arena a = {0};
    struct error err = {0};
    static const struct {
        const char *text;
        int which;
        const char *message;
    } rows[] = {
        {"{}", 0, "record: \"k\" is missing"},
        {"{\"k\":1}", 0, "record: \"k\" is not a string"},
        {"[]", 0, "record: not an object"},
        {"{\"k\":1}", 1, "record: \"k\" is not a string"},
        {"[]", 1, "record: not an object"},
        {"{}", 2, "record: \"k\" is missing"},
        {"{\"k\":1.5}", 2, "record: \"k\" is not an integer"},
        {"{\"k\":\"1\"}", 3, "record: \"k\" is not a number"},
        {"{\"k\":\"1\"}", 4, "record: \"k\" is not a number"},
        {"{\"k\":1}", 5, "record: \"k\" is not true or false"},
        {"{\"k\":[]}", 6, "record: \"k\" is not an object"},
        {"{\"k\":{}}", 7, "record: \"k\" is not an array"},
        {"{}", 8, "record: \"schema\" is missing"},
        {"{\"schema\":1}", 8, "record: \"schema\" is not a string"},
        {"{\"schema\":\"hone.x/2\"}", 8, "record: schema is \"hone.x/2\", expected \"hone.x/1\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert_str_eq(misread(&a, rows[i].text, rows[i].which, &err), rows[i].message);
    arena_reset(&a);
}

Test(json, reader_keeps_the_first_mistake) {
    struct arena a = {0};
    json_t *o = parse("{\"b\":1}");
    struct json_reader r = {.where = "record"};
    json_read_int(&r, o, "a");
    cr_assert_eq(json_read_int(&r, o, "b"), 0);
    cr_assert_null(json_read_optional_string(&r, &a, o, "b"));
    json_reader_fail(&r, "later");
    struct error err = {0};
    cr_assert_not(json_reader_done(&r, &err));
    cr_assert_str_eq(err.text, "record: \"a\" is missing");
    json_decref(o);
    arena_reset(&a);
}

Test(json, absent_is_null) {
    cr_assert(json_is_null(json_optional_real(NAN)));
    cr_assert(json_is_null(json_optional_real(INFINITY)));
    cr_assert(json_is_null(json_optional_text(NULL)));
    json_t *zero = json_optional_real(0), *text = json_optional_text("");
    cr_assert(json_is_real(zero));
    cr_assert(json_is_string(text));
    json_decref(zero);
    json_decref(text);
    json_t *dirty = json_optional_text("a\xff");
    cr_assert_str_eq(json_string_value(dirty), "a?");
    json_decref(dirty);
}
