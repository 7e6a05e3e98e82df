// Calls from the queue to the answer. What measures runs alone among its like, in the order in
// which it came; what only reads goes past it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "mcp/mcp_server.h"
#include "mcp/mcp_tools.h"

static const int64_t PROGRESS_NS = 1000000000;

static bool is_same(const json_t *a, const json_t *b) {
    return a && b && json_equal(a, b);
}

static int find(const struct mcp_server *s, const json_t *id) {
    for (int i = 0; i < s->n_jobs; i++)
        if (is_same(s->jobs[i]->id, id))
            return i;
    return -1;
}

static void drop(struct mcp_server *s, int i) {
    mcp_job_reset(s->jobs[i]);
    free(s->jobs[i]);
    memmove(&s->jobs[i], &s->jobs[i + 1], sizeof s->jobs[0] * (size_t)(s->n_jobs - i - 1));
    s->n_jobs--;
}

void mcp_call_add(struct mcp_server *s, const struct mcp_message *m, const struct mcp_tool *tool,
                  const char *uri) {
    if (s->n_jobs == MCP_JOBS_MAX) {
        mcp_send_error(s, m->id, MCP_INTERNAL, "too many calls wait already", NULL);
        return;
    }
    if (find(s, m->id) >= 0) {
        mcp_send_error(s, m->id, MCP_INVALID, "a call with this id is under way", NULL);
        return;
    }
    struct mcp_job *j = calloc(1, sizeof *j);
    if (!j)
        abort();
    j->id = json_incref(m->id);
    j->params = json_incref(m->params);
    j->is_modern = m->revision != NULL;
    j->token = json_object_get(m->meta, "progressToken");
    j->tool = tool;
    mcp_roots_read(&j->roots, &j->a,
                   json_object_get(json_object_get(m->params, "inputResponses"), "roots"));
    j->uri = uri ? arena_strdup(&j->a, uri) : NULL;
    s->jobs[s->n_jobs++] = j;
}

void mcp_calls_reset(struct mcp_server *s) {
    while (s->n_jobs > 0)
        drop(s, s->n_jobs - 1);
}

void mcp_call_cancel(struct mcp_server *s, const json_t *id) {
    int i = find(s, id);
    if (i < 0)
        return;
    s->jobs[i]->is_cancelled = true;
    if (s->jobs[i]->is_running)
        mcp_job_stop(s->jobs[i]);
    else
        drop(s, i);
}

static bool is_long(const struct mcp_job *j) {
    return j->tool && j->tool->is_long;
}

static void answer(struct mcp_server *s, struct mcp_job *j, json_t *result) {
    if (j->is_cancelled)
        json_decref(result);
    else
        mcp_send_result(s, j->id, j->is_modern, result);
}

static void answer_failure(struct mcp_server *s, struct mcp_job *j, const char *why) {
    if (j->tool)
        answer(s, j, mcp_tool_result(s, why, NULL, true));
    else if (!j->is_cancelled)
        mcp_send_error(s, j->id, j->is_modern ? MCP_BAD_PARAMS : MCP_NO_RESOURCE, why, NULL);
}

// True when it runs; else it has been answered.
static bool start(struct mcp_server *s, struct mcp_job *j) {
    struct error err = {0};
    struct mcp_call call = {.argv = j->uri ? mcp_resource_argv(&j->a, j->uri) : NULL};
    if (s->has_own_roots || j->roots.n == 0)
        j->roots = s->roots;
    if (j->tool && !mcp_tool_call(&j->a, j->tool, s->tables, &j->roots,
                                  json_object_get(j->params, "arguments"), &call, &err)) {
        answer_failure(s, j, err.text);
        return false;
    }
    j->wants_json = call.wants_json;
    if (mcp_job_start(j, s->self, call.argv, j->roots.paths[0], &err))
        return true;
    answer_failure(s, j, err.text);
    return false;
}

// What both streams said: the result, and behind it what was said about it.
static const char *both(struct mcp_job *j) {
    return arena_printf(&j->a, "%s%s", str_text(&j->out), str_text(&j->err));
}

static const char *compact(struct arena *a, const char *text, json_t **document) {
    struct error err = {0};
    *document = json_parse(text, strlen(text), &err);
    return *document ? json_print(a, *document) : text;
}

static void add_text(struct str *s, const char *before, const char *text) {
    if (text && *text)
        str_printf(s, "%s%s", before, text);
}

static void add_finding(struct str *s, const json_t *f) {
    const json_t *gain = json_object_get(f, "expected_gain"), *one;
    const json_t *sure = json_object_get(f, "confidence");
    size_t i;
    add_text(s, "- ", mcp_text(f, "tool"));
    add_text(s, ", severity ", mcp_text(f, "severity"));
    add_text(s, ": ", mcp_text(f, "cause"));
    add_text(s, "\n  evidence: ", mcp_text(f, "evidence"));
    if (json_is_number(gain))
        str_printf(s, "\n  worth at most: %.2fx", json_number_value(gain));
    if (json_is_number(sure))
        str_printf(s, "\n  confidence: %.1f", json_number_value(sure));
    json_array_foreach(json_object_get(f, "actions"), i, one) {
        add_text(s, "\n  try: ", mcp_text(one, "words"));
        add_text(s, " -> ", mcp_text(one, "move"));
    }
    str_puts(s, "\n");
}

static json_t *findings_result(struct mcp_server *s, struct mcp_job *j) {
    json_t *node, *one;
    size_t i;
    compact(&j->a, str_text(&j->out), &node);
    json_t *findings = json_object_get(node, "findings");
    struct str text = {0};
    json_array_foreach(findings, i, one) add_finding(&text, one);
    json_t *result;
    if (j->wants_json) {
        json_t *document = json_pack("{s:O}", "findings", findings ? findings : json_null());
        result = mcp_tool_result(s, json_print(&j->a, document), document, false);
    } else {
        result = mcp_tool_result(
            s, text.len ? text.ptr : "no findings: it was not judged, or no tool found anything\n",
            NULL, false);
    }
    str_reset(&text);
    json_decref(node);
    return result;
}

static json_t *output_result(struct mcp_server *s, struct mcp_job *j, int status) {
    json_t *document = NULL;
    const char *text = both(j);
    if (j->wants_json && status <= 1 && status >= 0)
        text = compact(&j->a, str_text(&j->out), &document);
    if (!*text)
        text = arena_printf(&j->a, "%s ended with status %d and said nothing\n", j->tool->command,
                            status);
    return mcp_tool_result(s, text, document, status < 0 || status > 1);
}

static json_t *resource_result(struct mcp_job *j) {
    return json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", j->uri, "mimeType",
                     mcp_resource_type(j->uri), "text", json_optional_text(str_text(&j->out)));
}

// An optimisation has ended: its last line is the document. Now the report, by another child.
static bool goes_on(struct mcp_server *s, struct mcp_job *j) {
    struct error err = {0};
    json_t *document = json_parse(str_text(&j->last), j->last.len, &err);
    const json_t *run = json_object_get(document, "run");
    const char *schema = mcp_text(document, "schema");
    bool goes = schema && strcmp(schema, "hone.optimize/1") == 0 && json_is_integer(run) &&
                !j->wants_json && !j->is_cancelled;
    if (goes) {
        const char *argv[] = {
            "report", arena_printf(&j->a, "%lld", (long long)json_integer_value(run)), NULL};
        j->is_report = true;
        goes = mcp_job_start(j, s->self, argv, j->roots.paths[0], &err);
    } else if (document) {
        str_append(&j->out, j->last.ptr, j->last.len);
    }
    json_decref(document);
    return goes;
}

// True when it is done with.
static bool end(struct mcp_server *s, struct mcp_job *j, int status) {
    if (j->stopped_ns || s->is_gone)
        j->is_cancelled = true;
    if (j->is_cancelled)
        return true;
    if (!j->tool) {
        if (status == 0)
            mcp_send_result(s, j->id, j->is_modern, resource_result(j));
        else
            answer_failure(s, j, *str_text(&j->err) ? j->err.ptr : "it cannot be read");
        return true;
    }
    if (j->tool->answer == ANSWER_EVENTS && !j->is_report && goes_on(s, j))
        return false;
    if (j->tool->answer == ANSWER_FINDINGS && status == 0)
        answer(s, j, findings_result(s, j));
    else
        answer(s, j, output_result(s, j, status));
    return true;
}

// Progress is the whole seconds that have gone by, at most one notice for each; the message says
// what happened. What takes less than a second is not worth a word.
static void tell_progress(struct mcp_server *s, struct mcp_job *j) {
    int64_t now = clock_now_ns(), elapsed_s = (now - j->started_ns) / 1000000000;
    bool is_first = j->said_ns == 0;
    if (!j->token || j->stopped_ns ||
        (is_first ? elapsed_s == 0 && !j->message[0] : now - j->said_ns < PROGRESS_NS))
        return;
    j->said_ns = now;
    json_t *params =
        json_pack("{s:O, s:I}", "progressToken", j->token, "progress", (json_int_t)elapsed_s);
    // Only a search has its seconds as a whole; of others they are a part.
    const json_t *total = json_object_get(json_object_get(j->params, "arguments"), "seconds");
    if (j->tool && j->tool->seconds > 0)
        json_object_set_new(
            params, "total",
            json_real(json_is_number(total) ? json_number_value(total) : j->tool->seconds));
    if (j->message[0])
        json_object_set_new(params, "message", json_optional_text(j->message));
    mcp_send(s, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", "notifications/progress",
                          "params", params));
}

static void start_waiting(struct mcp_server *s) {
    int n_short = 0;
    bool has_long = false;
    if (s->roots_wait_ns)
        return;
    for (int i = 0; i < s->n_jobs; i++) {
        has_long |= s->jobs[i]->is_running && is_long(s->jobs[i]);
        n_short += s->jobs[i]->is_running && !is_long(s->jobs[i]);
    }
    for (int i = 0; i < s->n_jobs; i++) {
        struct mcp_job *j = s->jobs[i];
        if (j->is_running || (is_long(j) ? has_long : n_short >= MCP_SHORT_AT_ONCE))
            continue;
        if (!start(s, j)) {
            drop(s, i--);
            continue;
        }
        has_long |= is_long(j);
        n_short += !is_long(j);
    }
}

void mcp_calls_step(struct mcp_server *s) {
    for (int i = 0; i < s->n_jobs; i++) {
        struct mcp_job *j = s->jobs[i];
        int status;
        if (!j->is_running)
            continue;
        if (mcp_job_read(j, &status) && end(s, j, status))
            drop(s, i--);
        else
            tell_progress(s, j);
    }
    start_waiting(s);
}

// Nobody waits for what measures once the client has gone.
void mcp_calls_end_long(struct mcp_server *s) {
    for (int i = 0; i < s->n_jobs; i++) {
        struct mcp_job *j = s->jobs[i];
        bool all = s->is_gone;
        if (!all && !is_long(j))
            continue;
        j->is_cancelled = true;
        if (j->is_running)
            mcp_job_stop(j);
        else
            drop(s, i--);
    }
}

int mcp_calls_running(const struct mcp_server *s) {
    int n = 0;
    for (int i = 0; i < s->n_jobs; i++)
        n += s->jobs[i]->is_running;
    return n;
}
