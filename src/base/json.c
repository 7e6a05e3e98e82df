// Thin wrappers; after the first mistake of a reader every further read returns a harmless value.
#include "base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

json_t *json_parse(const char *text, size_t len, struct error *err) {
    json_error_t mistake;
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &mistake);
    if (!value)
        error_set(err, ERROR_PARSE, "%d:%d: %s", mistake.line, mistake.column, mistake.text);
    return value;
}

static char *print(struct arena *a, const json_t *value, size_t flags) {
    char *heap = json_dumps(value, flags | JSON_ENCODE_ANY);
    if (!heap) {
        // jansson fails here for want of memory only: our documents hold valid UTF-8.
        fprintf(stderr, "hone: out of memory\n");
        abort();
    }
    char *text = arena_strdup(a, heap);
    free(heap);
    return text;
}

char *json_print(struct arena *a, const json_t *value) {
    return print(a, value, JSON_COMPACT);
}

char *json_print_pretty(struct arena *a, const json_t *value) {
    return print(a, value, JSON_INDENT(2));
}

// The value of a key, noting a mistake when it is missing; NULL after any mistake.
static json_t *field(struct json_reader *r, const json_t *object, const char *key) {
    if (r->failed)
        return NULL;
    if (!json_is_object(object)) {
        json_reader_fail(r, "not an object");
        return NULL;
    }
    json_t *value = json_object_get(object, key);
    if (!value)
        json_reader_fail(r, "\"%s\" is missing", key);
    return value;
}

// The same for a key that may be absent or null: both give NULL without a mistake.
static json_t *optional_field(struct json_reader *r, const json_t *object, const char *key) {
    if (r->failed)
        return NULL;
    if (!json_is_object(object)) {
        json_reader_fail(r, "not an object");
        return NULL;
    }
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const char *json_read_string(struct json_reader *r, struct arena *a, const json_t *object,
                             const char *key) {
    json_t *value = field(r, object, key);
    if (!value)
        return "";
    if (!json_is_string(value)) {
        json_reader_fail(r, "\"%s\" is not a string", key);
        return "";
    }
    return arena_strdup(a, json_string_value(value));
}

const char *json_key(const json_t *object, const char *name, const char *former) {
    return json_object_get(object, former) && !json_object_get(object, name) ? former : name;
}

const char *json_read_optional_string(struct json_reader *r, struct arena *a, const json_t *object,
                                      const char *key) {
    json_t *value = optional_field(r, object, key);
    if (!value)
        return NULL;
    if (!json_is_string(value)) {
        json_reader_fail(r, "\"%s\" is not a string", key);
        return NULL;
    }
    return arena_strdup(a, json_string_value(value));
}

int64_t json_read_int(struct json_reader *r, const json_t *object, const char *key) {
    json_t *value = field(r, object, key);
    if (value && !json_is_integer(value))
        json_reader_fail(r, "\"%s\" is not an integer", key);
    return json_integer_value(value);
}

double json_read_number(struct json_reader *r, const json_t *object, const char *key) {
    json_t *value = field(r, object, key);
    if (value && !json_is_number(value))
        json_reader_fail(r, "\"%s\" is not a number", key);
    return json_number_value(value);
}

double json_read_optional_number(struct json_reader *r, const json_t *object, const char *key) {
    json_t *value = optional_field(r, object, key);
    if (!value)
        return r->failed ? 0 : NAN;
    if (!json_is_number(value))
        json_reader_fail(r, "\"%s\" is not a number", key);
    return json_number_value(value);
}

bool json_read_bool(struct json_reader *r, const json_t *object, const char *key) {
    json_t *value = field(r, object, key);
    if (value && !json_is_boolean(value))
        json_reader_fail(r, "\"%s\" is not true or false", key);
    return json_is_true(value);
}

json_t *json_read_object(struct json_reader *r, const json_t *object, const char *key) {
    json_t *value = field(r, object, key);
    if (!value || json_is_object(value))
        return value;
    json_reader_fail(r, "\"%s\" is not an object", key);
    return NULL;
}

json_t *json_read_array(struct json_reader *r, const json_t *object, const char *key) {
    json_t *value = field(r, object, key);
    if (!value || json_is_array(value))
        return value;
    json_reader_fail(r, "\"%s\" is not an array", key);
    return NULL;
}

void json_read_schema(struct json_reader *r, const json_t *object, const char *schema) {
    json_t *value = field(r, object, "schema");
    if (!value)
        return;
    const char *found = json_string_value(value);
    if (!found)
        json_reader_fail(r, "\"schema\" is not a string");
    else if (strcmp(found, schema) != 0)
        json_reader_fail(r, "schema is \"%s\", expected \"%s\"", found, schema);
}

void json_reader_fail(struct json_reader *r, const char *fmt, ...) {
    if (r->failed)
        return;
    r->failed = true;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->message, sizeof r->message, fmt, ap);
    va_end(ap);
}

bool json_reader_done(const struct json_reader *r, struct error *err) {
    if (!r->failed)
        return true;
    return error_set(err, ERROR_PARSE, "%s: %s", r->where, r->message);
}

json_t *json_optional_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_optional_text(const char *text) {
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    if (value)
        return value;
    // No UTF-8: a file name, or a program's words.
    size_t len = strlen(text);
    char *clean = strdup(text);
    if (clean)
        str_clean(clean, len);
    value = clean ? json_string(clean) : NULL;
    free(clean);
    return value;
}
