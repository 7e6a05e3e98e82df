// validate SCHEMA < DOCUMENT: does the document keep to the schema? For tests only.
//
// The part of JSON Schema (2020-12) that docs/schema uses: type, properties, required,
// additionalProperties, items, enum, const, anyOf, minimum, pattern-free strings, and $ref
// to another file next to the schema or to "#/$defs/name". A keyword that is not known here
// is refused, so that no schema promises what nobody checks.
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const known[] = {
    "$schema", "$id",  "title",      "description", "$comment",
    "$defs",   "type", "properties", "required",    "additionalProperties",
    "items",   "enum", "const",      "anyOf",       "$ref",
    "minimum", NULL,
};

struct place {
    const struct place *above;
    const char *key;  // NULL: an index
    size_t index;
};

// A schema, the file that it stands in, and how loudly mistakes are told.
struct schema {
    const json_t *json, *root;
    const char *dir;
    bool quiet;
};

static bool check(struct schema s, const json_t *value, const struct place *at);

static void print_place(const struct place *at) {
    if (!at->above)
        return;
    print_place(at->above);
    if (at->key)
        fprintf(stderr, ".%s", at->key);
    else
        fprintf(stderr, "[%zu]", at->index);
}

static bool complain(const struct schema *s, const struct place *at, const char *what,
                     const char *detail) {
    if (s->quiet)
        return false;
    fprintf(stderr, "validate: $");
    print_place(at);
    fprintf(stderr, ": %s%s\n", what, detail);
    return false;
}

static bool is_type(const json_t *value, const char *type) {
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "null") == 0)
        return json_is_null(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    return strcmp(type, "object") == 0 && json_is_object(value);
}

static bool check_type(struct schema s, const json_t *value, const struct place *at) {
    const json_t *type = json_object_get(s.json, "type");
    if (!type || (json_is_string(type) && is_type(value, json_string_value(type))))
        return true;
    size_t i;
    json_t *one;
    json_array_foreach(type, i, one) {
        if (is_type(value, json_string_value(one)))
            return true;
    }
    return complain(&s, at, "has another type", "");
}

static bool check_values(struct schema s, const json_t *value, const struct place *at) {
    json_t *only = json_object_get(s.json, "const"), *several = json_object_get(s.json, "enum");
    json_t *minimum = json_object_get(s.json, "minimum");
    if (only && !json_equal(only, value))
        return complain(&s, at, "is not the constant", "");
    if (minimum && json_number_value(value) < json_number_value(minimum))
        return complain(&s, at, "is below the minimum", "");
    if (!several)
        return true;
    size_t i;
    json_t *one;
    json_array_foreach(several, i, one) {
        if (json_equal(one, value))
            return true;
    }
    return complain(&s, at, "is none of the values listed", "");
}

static bool check_object(struct schema s, const json_t *value, const struct place *at) {
    json_t *required = json_object_get(s.json, "required");
    json_t *properties = json_object_get(s.json, "properties");
    json_t *others = json_object_get(s.json, "additionalProperties");
    size_t i;
    json_t *name, *member;
    json_array_foreach(required, i, name) {
        if (!json_object_get(value, json_string_value(name)))
            return complain(&s, at, "lacks ", json_string_value(name));
    }
    const char *key;
    json_object_foreach((json_t *)value, key, member) {
        struct place below = {.above = at, .key = key};
        struct schema inner = s;
        inner.json = json_object_get(properties, key);
        if (!inner.json)
            inner.json = others;
        if (json_is_false(inner.json))
            return complain(&s, at, "has what the schema does not know: ", key);
        if (json_is_object(inner.json) && !check(inner, member, &below))
            return false;
    }
    return true;
}

static bool check_array(struct schema s, const json_t *value, const struct place *at) {
    struct schema inner = s;
    inner.json = json_object_get(s.json, "items");
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item) {
        struct place below = {.above = at, .index = i};
        if (inner.json && !check(inner, item, &below))
            return false;
    }
    return true;
}

static bool check_any(struct schema s, const json_t *value, const struct place *at) {
    json_t *any = json_object_get(s.json, "anyOf");
    size_t i;
    json_t *one;
    json_array_foreach(any, i, one) {
        struct schema inner = s;
        inner.json = one;
        inner.quiet = true;
        if (check(inner, value, at))
            return true;
    }
    return !any || complain(&s, at, "fits none of anyOf", "");
}

static bool check_reference(struct schema s, const json_t *value, const struct place *at) {
    const char *name = json_string_value(json_object_get(s.json, "$ref"));
    if (!name)
        return true;
    struct schema inner = s;
    if (strncmp(name, "#/$defs/", 8) == 0) {
        inner.json = json_object_get(json_object_get(s.root, "$defs"), name + 8);
        return inner.json ? check(inner, value, at) : complain(&s, at, "no such $ref: ", name);
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", s.dir, name);
    json_t *file = json_load_file(path, 0, NULL);
    if (!file)
        return complain(&s, at, "cannot read $ref ", path);
    inner.json = inner.root = file;
    bool ok = check(inner, value, at);
    json_decref(file);
    return ok;
}

static bool check_keywords(struct schema s, const struct place *at) {
    const char *key;
    json_t *unused;
    json_object_foreach((json_t *)s.json, key, unused) {
        const char *const *k = known;
        while (*k && strcmp(*k, key) != 0)
            k++;
        if (!*k) {
            s.quiet = false;
            return complain(&s, at, "the schema uses a keyword that is not checked: ", key);
        }
    }
    return true;
}

static bool check(struct schema s, const json_t *value, const struct place *at) {
    return check_keywords(s, at) && check_reference(s, value, at) && check_type(s, value, at) &&
           check_values(s, value, at) && check_any(s, value, at) &&
           (!json_is_object(value) || check_object(s, value, at)) &&
           (!json_is_array(value) || check_array(s, value, at));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: validate SCHEMA < DOCUMENT\n");
        return 2;
    }
    json_error_t e;
    json_t *schema = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &e);
    if (!schema) {
        fprintf(stderr, "validate: %s:%d: %s\n", argv[1], e.line, e.text);
        return 2;
    }
    char dir[4096];
    const char *slash = strrchr(argv[1], '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - argv[1]) : 1, slash ? argv[1] : ".");
    json_t *value = json_loadf(stdin, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    struct place top = {0};
    bool ok = value && check((struct schema){schema, schema, dir, false}, value, &top);
    if (!value)
        fprintf(stderr, "validate: document:%d: %s\n", e.line, e.text);
    json_decref(value);
    json_decref(schema);
    return ok ? 0 : 1;
}
