// What `hone profile --json` or `hone diagnose --json` printed, read again: tools of another
// version may see more in it.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "profile/import.h"

bool import_is_hone(const char *text, size_t len) {
    size_t at = 0;
    while (at < len && strchr(" \t\r\n", text[at]))
        at++;
    return at < len && text[at] == '{';
}

static void read_metrics(const json_t *object, struct metrics *m) {
    const char *name;
    json_t *value;
    enum metric_id id;
    json_object_foreach((json_t *)object, name, value) {
        if (json_is_number(value) && metric_find(name, &id) &&
            metric_is_possible(id, json_number_value(value)))
            metrics_set(m, id, json_number_value(value));
    }
}

bool import_hone(struct arena *a, const char *text, size_t len, struct imported *out,
                 struct error *err) {
    json_error_t why;
    json_t *root = json_loadb(text, len, 0, &why), *d = json_object_get(root, "diagnosis");
    const char *schema;
    *out = (struct imported){.what = "hone, profile"};
    d = d ? d : root;
    schema = json_string_value(json_object_get(d, "schema"));
    if (!schema || strcmp(schema, "hone.diagnosis/1") != 0) {
        json_decref(root);
        return error_set(err, ERROR_USAGE, "this is no profile of hone's (hone.program/1)");
    }
    const char *device = json_string_value(json_object_get(d, "device"));
    out->device = device ? arena_strdup(a, device) : NULL;
    out->n_launches = (int)json_integer_value(json_object_get(d, "launches"));
    read_metrics(json_object_get(d, "call"), &out->profile.call);
    size_t i;
    json_t *kernel;
    json_array_foreach(json_object_get(d, "kernels"), i, kernel) {
        const char *name = json_string_value(json_object_get(kernel, "name"));
        if (name)
            read_metrics(json_object_get(kernel, "metrics"),
                         &profile_add_launch(a, &out->profile, arena_strdup(a, name))->metrics);
    }
    json_decref(root);
    return true;
}
