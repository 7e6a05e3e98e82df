// From a store or a file to one struct, and back to lines.
#include "ops/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "store/store.h"

static const size_t FILE_MAX = (size_t)512 << 20;

bool recording_from_store(struct arena *a, struct store *s, int64_t run, struct recording *r,
                          struct error *err) {
    *r = (struct recording){0};
    return store_get_run(s, a, run, &r->run, err) &&
           store_get_judgements(s, a, run, &r->judgements, &r->n_judgements, err) &&
           store_get_exchanges(s, a, run, &r->exchanges, &r->n_exchanges, err) &&
           store_get_nodes(s, a, run, &r->nodes, &r->n_nodes, err);
}

static void print_line(struct str *out, json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT);
    str_puts(out, text);
    str_puts(out, "\n");
    free(text);
    json_decref(json);
}

void recording_print(struct str *out, const struct recording *r) {
    print_line(out,
               json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "schema", "hone.recording/1", "version",
                         r->run.version, "problem", "name", r->run.problem_name, "hash",
                         r->run.problem_hash, "model", json_optional_text(r->run.llm.spec)));
    // Without the raw samples, which are most of a run and nothing of its course.
    struct run run = r->run;
    run.confirm.n_pairs = 0;
    print_line(out, run_to_json(&run));
    for (int i = 0; i < r->n_judgements; i++)
        print_line(out, judgement_to_json(&r->judgements[i]));
    for (int i = 0; i < r->n_exchanges; i++)
        print_line(out, exchange_to_json(&r->exchanges[i]));
    for (int i = 0; i < r->n_nodes; i++) {
        struct search_node n = r->nodes[i];
        n.measurement.n_pairs = 0;
        print_line(out, search_node_to_json(&n));
    }
}

// How many lines there are: room for records of any kind.
static int count_lines(const char *text) {
    int n = 1;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static bool read_record(struct arena *a, struct recording *r, const json_t *json,
                        struct error *err) {
    const char *schema = json_string_value(json_object_get(json, "schema"));
    if (!schema)
        return error_set(err, ERROR_USAGE, "it has no schema");
    if (strcmp(schema, "hone.run/1") == 0)
        return run_from_json(a, json, &r->run, err);
    if (strcmp(schema, "hone.judgement/1") == 0)
        return judgement_from_json(a, json, &r->judgements[r->n_judgements++], err);
    if (strcmp(schema, "hone.exchange/1") == 0)
        return exchange_from_json(a, json, &r->exchanges[r->n_exchanges++], err);
    if (strcmp(schema, "hone.node/1") != 0)
        return error_set(err, ERROR_USAGE, "a recording holds no '%s'", schema);
    if (!search_node_from_json(a, json, &r->nodes[r->n_nodes], err))
        return false;
    if (r->nodes[r->n_nodes].number != r->n_nodes)
        return error_set(err, ERROR_USAGE, "node %d is missing", r->n_nodes);
    r->n_nodes++;
    return true;
}

static bool check_head(const json_t *json, struct error *err) {
    const char *schema = json_string_value(json_object_get(json, "schema"));
    return (schema && strcmp(schema, "hone.recording/1") == 0) ||
           error_set(err, ERROR_USAGE, "expected hone.recording/1, found %s",
                     schema ? schema : "no schema");
}

static bool read_line(struct arena *a, struct recording *r, struct span line, bool is_first,
                      struct error *err) {
    json_t *json = json_parse(line.ptr, line.len, err);
    bool ok = json && (is_first ? check_head(json, err) : read_record(a, r, json, err));
    json_decref(json);
    return ok;
}

bool recording_from_file(struct arena *a, const char *path, struct recording *r,
                         struct error *err) {
    size_t len;
    const char *text = file_read(a, path, FILE_MAX, &len, err);
    if (!text)
        return false;
    int room = count_lines(text), number = 0;
    *r = (struct recording){.judgements = arena_array(a, struct judgement, room),
                            .exchanges = arena_array(a, struct exchange, room),
                            .nodes = arena_array(a, struct search_node, room)};
    for (const char *at = text; *at;) {
        struct span line = {at, strcspn(at, "\n")};
        at += line.len + (at[line.len] == '\n');
        number++;
        struct error inner = {0};
        if (!read_line(a, r, line, number == 1, &inner))
            return error_set(err, ERROR_USAGE, "recording %s:%d: %s", path, number, inner.text);
    }
    if (!r->run.problem_text || r->n_nodes == 0)
        return error_set(err, ERROR_USAGE, "recording %s holds no run", path);
    return true;
}
