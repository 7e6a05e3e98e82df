// JSON is jansson's; this adds our error type, arena copies and a reader that
// collects the first mistake.
//
// A record's reader asks for fields one after the other and checks once at the
// end:
//
//     struct json_reader r = {.where = "verdict"};
//     v->kind = json_read_string(&r, a, object, "kind");
//     v->rule = json_read_optional_string(&r, a, object, "rule");
//     return json_reader_done(&r, err);
//
// After the first mistake every read returns zero, "" or NULL and changes nothing.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;

struct json_reader {
    const char *where;  // what is being read, for the message
    bool failed;
    char message[256];  // the first mistake
};

// Parse one document of `len` bytes; duplicate keys and trailing text are mistakes. The
// caller owns the result (json_decref). NULL and `err` set on a mistake.
json_t *json_parse(const char *text, size_t len, struct error *err);

// The document as text in the arena: compact on one line, or indented by two.
char *json_print(struct arena *a, const json_t *value);
char *json_print_pretty(struct arena *a, const json_t *value);

const char *json_read_string(struct json_reader *r, struct arena *a, const json_t *object,
                             const char *key);
const char *json_read_optional_string(struct json_reader *r, struct arena *a, const json_t *object,
                                      const char *key);  // NULL when absent or null
// What a member is called, or in older documents was called.
const char *json_key(const json_t *object, const char *name, const char *former);
int64_t json_read_int(struct json_reader *r, const json_t *object, const char *key);
double json_read_number(struct json_reader *r, const json_t *object, const char *key);
// NAN when absent or null.
double json_read_optional_number(struct json_reader *r, const json_t *object, const char *key);
bool json_read_bool(struct json_reader *r, const json_t *object, const char *key);
json_t *json_read_object(struct json_reader *r, const json_t *object, const char *key);  // borrowed
json_t *json_read_array(struct json_reader *r, const json_t *object, const char *key);   // borrowed

// Require "schema": name; the message says which one was found.
void json_read_schema(struct json_reader *r, const json_t *object, const char *schema);

// Note a mistake of the caller's own finding.
void json_reader_fail(struct json_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

// True when nothing failed; else `err` is set (ERROR_PARSE).
bool json_reader_done(const struct json_reader *r, struct error *err);

// A number, or null when it is NAN or infinite: absent is not zero.
json_t *json_optional_real(double value);
// A string, or null when it is NULL; '?' for what is no UTF-8, which plain json_string()
// refuses.
json_t *json_optional_text(const char *text);
