// replay:FILE: answers from a recording, a file of lines: hone.recording/1 first, then
// hone.exchange/1 (and lines of other kinds, which others read). A question finds its answer by
// the node and step that it is for; whether it is worded as it was is counted, not required,
// since prompts may be reworded without changing what comes of it.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "llm/provider.h"
#include "record/exchange.h"

static const size_t FILE_MAX = (size_t)512 << 20;

struct recording {
    struct arena a;
    struct exchange *exchanges;
    int n, room;
};

static void add(struct recording *r, const struct exchange *e) {
    if (r->n == r->room) {
        int room = r->room ? 2 * r->room : 64;
        struct exchange *more = arena_array(&r->a, struct exchange, room);
        if (r->n > 0)
            memcpy(more, r->exchanges, sizeof *more * (size_t)r->n);
        r->exchanges = more;
        r->room = room;
    }
    r->exchanges[r->n++] = *e;
}

static bool check_head(struct llm *l, struct arena *a, const json_t *json, struct error *err) {
    struct json_reader r = {.where = "recording"};
    json_read_schema(&r, json, "hone.recording/1");
    const json_t *problem = json_read_object(&r, json, "problem");
    const char *name = json_read_string(&r, a, problem, "name");
    const char *hash = json_read_string(&r, a, problem, "hash");
    struct error inner = {0};
    if (!json_reader_done(&r, &inner))
        return error_set(err, ERROR_USAGE, "%s", inner.text);
    const char *model = json_string_value(json_object_get(json, "model"));
    l->model = strdup(model ? model : "");
    if (l->settings.subject && strcmp(l->settings.subject, hash) != 0)
        return error_set(err, ERROR_USAGE, "it was made with another problem: %s", name);
    return true;
}

static bool read_line(struct llm *l, const char *line, size_t len, int number, struct error *err) {
    struct recording *rec = l->state;
    struct error inner = {0};
    json_t *json = json_parse(line, len, &inner);
    bool ok = json != NULL;
    if (ok && number == 1) {
        ok = check_head(l, &rec->a, json, &inner);
    } else if (ok) {
        const char *schema = json_string_value(json_object_get(json, "schema"));
        struct exchange e;
        if (schema && strcmp(schema, "hone.exchange/1") == 0) {
            ok = exchange_from_json(&rec->a, json, &e, &inner);
            if (ok)
                add(rec, &e);
        }
    }
    json_decref(json);
    return ok || error_set(err, ERROR_USAGE, "recording %s:%d: %s", l->place, number, inner.text);
}

static bool open_replay(struct llm *l, const char *rest, struct error *err) {
    struct recording *rec = calloc(1, sizeof *rec);
    l->state = rec;
    l->place = strdup(rest);
    size_t len;
    const char *text = file_read(&rec->a, rest, FILE_MAX, &len, err);
    if (!text)
        return error_wrap(err, "replay");
    if (len == 0)
        return error_set(err, ERROR_USAGE, "recording %s is empty", rest);
    int number = 0;
    for (const char *at = text, *end = text + len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (line_len > 0 && !read_line(l, at, line_len, ++number, err))
            return false;
        at += line_len + 1;
    }
    return true;
}

static void close_replay(struct llm *l) {
    struct recording *rec = l->state;
    if (rec)
        arena_reset(&rec->a);
    free(rec);
}

// Without the run's number: the replay is another run.
static const char *place_of(const char *tag) {
    const char *dash = tag ? strchr(tag, '-') : NULL;
    return dash ? dash + 1 : "";
}

static enum error_kind kind_of(const char *name) {
    static const struct {
        const char *name;
        enum error_kind kind;
    } rows[] = {{"unsupported", ERROR_UNSUPPORTED},
                {"usage", ERROR_USAGE},
                {"timeout", ERROR_TIMEOUT},
                {"parse", ERROR_PARSE}};
    for (size_t i = 0; name && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(name, rows[i].name) == 0)
            return rows[i].kind;
    return ERROR_IO;
}

static struct attempt attempt(struct llm *l, struct arena *a, const struct chat_request *q,
                              struct chat_answer *out) {
    struct recording *rec = l->state;
    const struct exchange *e = NULL;
    // The last one counts: what was asked again after a kill was answered then.
    for (int i = 0; i < rec->n; i++)
        if (rec->exchanges[i].state != EXCHANGE_ASKED &&
            strcmp(place_of(rec->exchanges[i].request.tag), place_of(q->tag)) == 0)
            e = &rec->exchanges[i];
    if (!e)
        return attempt_set(ATTEMPT_FAILED, ERROR_USAGE, "the recording has no answer for %s",
                           place_of(q->tag));
    if (strcmp(e->hash, chat_request_hash(a, q)) != 0) {
        l->n_reworded++;
        log_info("replay: %s is worded differently now", place_of(q->tag));
    }
    *out = e->answer;
    if (e->state == EXCHANGE_ANSWERED)
        return attempt_answered();
    return attempt_set(ATTEMPT_FAILED, kind_of(e->failure_kind), "%.400s", e->failure);
}

const struct provider provider_replay = {
    .name = "replay",
    .usage = "replay:FILE",
    .is_local = true,
    .open = open_replay,
    .attempt = attempt,
    .close = close_replay,
};
