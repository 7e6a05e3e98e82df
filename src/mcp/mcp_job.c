#include "mcp/mcp_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "mcp/mcp_message.h"
#include "mcp/mcp_tools.h"

static const int64_t GRACE_NS = 5000000000;  // between Ctrl-C and SIGKILL

bool mcp_job_start(struct mcp_job *j, const char *self, const char *const *argv, const char *cwd,
                   struct error *err) {
    int n = 0;
    while (argv[n])
        n++;
    const char **full = arena_array(&j->a, const char *, n + 2);
    full[0] = self;
    memcpy(full + 1, argv, sizeof *argv * (size_t)n);
    struct process_spec spec = {.argv = full, .cwd = cwd, .keep_environment = true};
    str_reset(&j->out);
    str_reset(&j->err);
    j->out.max = MCP_OUTPUT_MAX;
    j->err.max = MCP_ERROR_MAX;
    j->is_running = process_open(&j->process, &spec, err);
    if (!j->started_ns)
        j->started_ns = clock_now_ns();
    return j->is_running;
}

static void read_pipe(int *fd, struct str *into) {
    char chunk[16 * 1024];
    while (*fd >= 0) {
        ssize_t n = read(*fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0) {
            str_append(into, chunk, (size_t)n);
        } else {
            close(*fd);
            *fd = -1;
        }
    }
}

// Of lines that are complete only the last is kept.
static void take_lines(struct mcp_job *j) {
    const char *from = j->out.ptr, *end;
    if (!from)
        return;
    while ((end = strchr(from, '\n')) != NULL) {
        str_reset(&j->last);
        str_append(&j->last, from, (size_t)(end - from));
        struct error err = {0};
        json_t *event = json_parse(j->last.ptr ? j->last.ptr : "", j->last.len, &err);
        mcp_event_text(event, j->message, sizeof j->message);
        json_decref(event);
        from = end + 1;
    }
    size_t left = strlen(from);
    memmove(j->out.ptr, from, left + 1);
    j->out.len = left;
}

bool mcp_job_read(struct mcp_job *j, int *status) {
    bool is_over = process_is_over(&j->process);
    read_pipe(&j->process.out[0], &j->out);
    read_pipe(&j->process.out[1], &j->err);
    if (j->tool && j->tool->answer == ANSWER_EVENTS && !j->is_report)
        take_lines(j);
    if (j->stopped_ns && clock_now_ns() - j->stopped_ns > GRACE_NS)
        is_over = true;
    if (!is_over)
        return false;
    struct process_result result = {0};
    process_finish(&j->process, &result);
    j->is_running = false;
    *status = result.exit_status;
    return true;
}

void mcp_job_stop(struct mcp_job *j) {
    if (!j->is_running || j->stopped_ns)
        return;
    kill(j->process.pid, SIGINT);
    j->stopped_ns = clock_now_ns();
}

void mcp_job_reset(struct mcp_job *j) {
    process_finish(&j->process, NULL);
    str_reset(&j->out);
    str_reset(&j->err);
    str_reset(&j->last);
    json_decref(j->id);
    json_decref(j->params);
    arena_reset(&j->a);
    *j = (struct mcp_job){0};
}

static void add_best(struct str *s, const json_t *event) {
    const json_t *best = json_object_get(event, "best"), *reach = json_object_get(event, "reach_s");
    double best_s = json_number_value(json_object_get(event, "best_s"));
    if (!json_is_integer(best) || !(best_s > 0))
        return;
    struct arena a = {0};
    str_printf(s, "; best %s by node %lld", clock_duration(&a, best_s * 1e9),
               (long long)json_integer_value(best));
    if (json_is_number(reach))
        str_printf(s, ", %.0f%% of reach", 100 * json_number_value(reach) / best_s);
    arena_reset(&a);
}

void mcp_event_text(const json_t *event, char *into, size_t size) {
    const char *kind = mcp_text(event, "event"), *words = mcp_text(event, "words");
    const json_t *node = json_object_get(event, "node");
    const char *verdict = mcp_text(node, "verdict");
    struct str s = {0};
    if (words) {
        while (*words == ' ')
            words++;
        str_puts(&s, words);
    } else if (kind && json_is_object(node)) {
        const json_t *speedup = json_object_get(node, "speedup");
        str_printf(&s, "%s node %lld", kind,
                   (long long)json_integer_value(json_object_get(node, "number")));
        if (verdict)
            str_printf(&s, ": %s", verdict);
        if (json_is_object(speedup))
            str_printf(&s, ", %.2fx over %s", json_number_value(json_object_get(speedup, "value")),
                       mcp_text(speedup, "over") ? mcp_text(speedup, "over") : "the baseline");
    } else if (kind) {
        str_puts(&s, kind);
    }
    if (s.len > 0)
        add_best(&s, event);
    if (s.len > 0)
        snprintf(into, size, "%s", s.ptr);
    str_reset(&s);
}
