#include "mcp/mcp_message.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

void mcp_lines_add(struct mcp_lines *l, const char *bytes, size_t len) {
    if (l->start > 0) {
        size_t left = l->text.len - l->start;
        memmove(l->text.ptr, l->text.ptr + l->start, left);
        l->text.len = left;
        l->scanned -= l->start;
        l->start = 0;
    }
    str_append(&l->text, bytes, len);
}

enum mcp_line mcp_lines_next(struct mcp_lines *l, struct span *line) {
    const char *from = l->text.ptr + l->scanned;
    const char *end = l->text.ptr ? memchr(from, '\n', l->text.len - l->scanned) : NULL;
    size_t stop = end ? (size_t)(end - l->text.ptr) : l->text.len;
    bool was_skipping = l->is_skipping;
    bool is_too_long = was_skipping || stop - l->start > MCP_LINE_MAX;
    *line = (struct span){l->text.ptr + l->start, stop - l->start};
    l->scanned = end ? stop + 1 : stop;
    if (end || is_too_long)
        l->start = l->scanned;
    l->is_skipping = is_too_long && !end;
    if (is_too_long)
        return end ? MCP_LINE_TOO_LONG : MCP_LINE_NONE;
    return end ? MCP_LINE_WHOLE : MCP_LINE_NONE;
}

void mcp_lines_reset(struct mcp_lines *l) {
    str_reset(&l->text);
    *l = (struct mcp_lines){0};
}

const char *mcp_text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void bad(struct mcp_message *m, int code, const char *why) {
    m->kind = MCP_BAD;
    m->code = code;
    snprintf(m->why, sizeof m->why, "%.190s", why);
}

static bool is_id(const json_t *id) {
    return json_is_string(id) || json_is_integer(id);
}

static void read_method(struct mcp_message *m, const json_t *method) {
    m->method = json_string_value(method);
    if (!m->method) {
        bad(m, MCP_INVALID, "the method is no text");
        return;
    }
    json_t *params = json_object_get(m->json, "params");
    if (params && !json_is_object(params)) {
        bad(m, MCP_BAD_PARAMS, "params must be an object");
        return;
    }
    m->params = params;
    m->meta = json_object_get(params, "_meta");
    m->revision = mcp_text(m->meta, "io.modelcontextprotocol/protocolVersion");
    m->kind = m->id ? MCP_REQUEST : MCP_NOTIFICATION;
}

void mcp_message_parse(struct mcp_message *m, const char *text, size_t len) {
    *m = (struct mcp_message){0};
    struct error err = {0};
    m->json = json_parse(text, len, &err);
    if (!m->json) {
        bad(m, MCP_PARSE, err.text);
        return;
    }
    if (json_is_array(m->json)) {
        bad(m, MCP_INVALID, "batches are no part of the protocol; one message a line");
        return;
    }
    json_t *id = json_object_get(m->json, "id");
    if (is_id(id))
        m->id = id;
    const char *version = mcp_text(m->json, "jsonrpc");
    json_t *method = json_object_get(m->json, "method");
    if (!version || strcmp(version, "2.0") != 0)
        bad(m, MCP_INVALID, "\"jsonrpc\": \"2.0\" is missing");
    else if (id && !m->id)
        bad(m, MCP_INVALID, "an id is a text or an integer");
    else if (method)
        read_method(m, method);
    else if (m->id && (json_object_get(m->json, "result") || json_object_get(m->json, "error")))
        m->kind = MCP_RESPONSE;
    else
        bad(m, MCP_INVALID, "neither a request nor a notification nor a response");
}

void mcp_message_reset(struct mcp_message *m) {
    json_decref(m->json);
    *m = (struct mcp_message){0};
}
