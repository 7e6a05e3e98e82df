// One message in, an answer or a call out: the table of methods of both eras.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "mcp/mcp_server.h"
#include "mcp/mcp_tools.h"

enum { TTL_MS = 3600 * 1000 };
static const int64_t ROOTS_WAIT_NS = 2000000000;
static const char ROOTS_ID[] = "hone-roots";

static const char instructions[] =
    "hone makes GPU and CPU kernels fast. A problem is a .hone file (resource "
    "hone://docs/language); a candidate is C, CUDA or a kernel block (hone://docs/families). "
    "Usual order: check, sol, optimize, findings, then eval of your own candidate with the "
    "champion (RUN.NODE) as baseline. Times are measured on this machine: run nothing else while "
    "eval, compare or optimize work.";

void mcp_send(struct mcp_server *s, json_t *message) {
    struct arena a = {0};
    str_puts(&s->unsent, json_print(&a, message));
    str_puts(&s->unsent, "\n");
    arena_reset(&a);
    json_decref(message);
}

void mcp_send_result(struct mcp_server *s, const json_t *id, bool is_modern, json_t *result) {
    if (is_modern && !json_object_get(result, "resultType"))
        json_object_set_new(result, "resultType", json_string("complete"));
    // What lists or reads says how long it holds.
    static const char *const lists[] = {
        "tools", "prompts", "resources", "resourceTemplates", "contents", "supportedVersions"};
    for (size_t i = 0; is_modern && i < sizeof lists / sizeof lists[0]; i++)
        if (json_object_get(result, lists[i])) {
            bool is_fixed = strcmp(lists[i], "contents") != 0;
            json_object_set_new(result, "ttlMs", json_integer(is_fixed ? TTL_MS : 0));
            json_object_set_new(result, "cacheScope", json_string(is_fixed ? "public" : "private"));
        }
    mcp_send(s, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

void mcp_send_error(struct mcp_server *s, const json_t *id, int code, const char *why,
                    json_t *data) {
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message", json_optional_text(why));
    if (data)
        json_object_set_new(error, "data", data);
    json_t *message = json_pack("{s:s, s:o}", "jsonrpc", "2.0", "error", error);
    if (id)
        json_object_set(message, "id", (json_t *)id);
    mcp_send(s, message);
}

json_t *mcp_tool_result(struct mcp_server *s, const char *text, json_t *document, bool is_error) {
    bool is_short = strlen(text) <= MCP_PAGE_BYTES;
    json_t *result =
        json_pack("{s:o, s:b}", "content", mcp_pages_content(&s->pages, text), "isError", is_error);
    if (is_short && json_is_object(document))
        json_object_set(result, "structuredContent", document);
    json_decref(document);
    return result;
}

static json_t *server_info(void) {
    return json_pack("{s:s, s:s}", "name", "hone", "version", HONE_VERSION);
}

static json_t *capabilities(void) {
    return json_pack("{s:{}, s:{}, s:{}}", "tools", "resources", "prompts");
}

typedef void (*method_fn)(struct mcp_server *s, const struct mcp_message *m);

static void reply(struct mcp_server *s, const struct mcp_message *m, json_t *result) {
    mcp_send_result(s, m->id, m->revision != NULL, result);
}

static void initialize(struct mcp_server *s, const struct mcp_message *m) {
    static const char *const known[] = {"2024-11-05", "2025-03-26", "2025-06-18", MCP_LEGACY, NULL};
    const char *wanted = mcp_text(m->params, "protocolVersion"), *given = MCP_LEGACY;
    if (s->is_initialized) {
        mcp_send_error(s, m->id, MCP_INVALID, "initialize came before", NULL);
        return;
    }
    for (int i = 0; wanted && known[i]; i++)
        if (strcmp(known[i], wanted) == 0)
            given = known[i];
    s->is_initialized = true;
    s->has_client_roots =
        json_is_object(json_object_get(json_object_get(m->params, "capabilities"), "roots"));
    reply(s, m,
          json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", given, "capabilities",
                    capabilities(), "serverInfo", server_info(), "instructions", instructions));
}

static void discover(struct mcp_server *s, const struct mcp_message *m) {
    reply(s, m,
          json_pack("{s:[s], s:o, s:s, s:{s:o}}", "supportedVersions", MCP_MODERN, "capabilities",
                    capabilities(), "instructions", instructions, "_meta",
                    "io.modelcontextprotocol/serverInfo", server_info()));
}

static void ping(struct mcp_server *s, const struct mcp_message *m) {
    reply(s, m, json_object());
}

static void tools_list(struct mcp_server *s, const struct mcp_message *m) {
    json_t *all = json_array();
    for (const struct mcp_tool *t = mcp_tools; t->name; t++)
        json_array_append_new(all, mcp_tool_json(t, s->tables));
    reply(s, m, json_pack("{s:o}", "tools", all));
}

static void more(struct mcp_server *s, const struct mcp_message *m) {
    const char *cursor = mcp_text(json_object_get(m->params, "arguments"), "cursor");
    json_t *content = cursor ? mcp_pages_more(&s->pages, cursor) : NULL;
    if (!content)
        reply(s, m,
              mcp_tool_result(s, "there is no such cursor any more: make the call again", NULL,
                              true));
    else
        reply(s, m, json_pack("{s:o, s:b}", "content", content, "isError", 0));
}

// A client of the modern era cannot be asked for its roots: it makes the call again with them. One
// that cannot say them is not asked.
static bool lacks_roots(const struct mcp_server *s, const struct mcp_message *m) {
    const json_t *client = json_object_get(m->meta, "io.modelcontextprotocol/clientCapabilities");
    return m->revision && !s->has_own_roots && json_is_object(json_object_get(client, "roots")) &&
           !json_is_object(json_object_get(m->params, "inputResponses"));
}

static json_t *ask_with_result(void) {
    return json_pack("{s:s, s:{s:{s:s}}}", "resultType", "input_required", "inputRequests", "roots",
                     "method", "roots/list");
}

static void tools_call(struct mcp_server *s, const struct mcp_message *m) {
    const char *name = mcp_text(m->params, "name");
    const struct mcp_tool *t = mcp_tools_find(name);
    const json_t *arguments = json_object_get(m->params, "arguments");
    char why[120];
    snprintf(why, sizeof why, "there is no tool '%.60s'", name ? name : "");
    if (!t)
        mcp_send_error(s, m->id, MCP_BAD_PARAMS, why, NULL);
    else if (arguments && !json_is_object(arguments))
        mcp_send_error(s, m->id, MCP_BAD_PARAMS, "arguments must be an object", NULL);
    else if (!t->command)
        more(s, m);
    else if (lacks_roots(s, m))
        reply(s, m, ask_with_result());
    else
        mcp_call_add(s, m, t, NULL);
}

static void resources_list(struct mcp_server *s, const struct mcp_message *m) {
    reply(s, m, mcp_resources_list());
}

static void resources_templates(struct mcp_server *s, const struct mcp_message *m) {
    reply(s, m, mcp_resource_templates());
}

static void resources_read(struct mcp_server *s, const struct mcp_message *m) {
    const char *uri = mcp_text(m->params, "uri"), *text = uri ? mcp_resource_text(uri) : NULL;
    struct arena a = {0};
    if (text)
        reply(s, m,
              json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType",
                        mcp_resource_type(uri), "text", text));
    else if (uri && mcp_resource_argv(&a, uri))
        mcp_call_add(s, m, NULL, uri);
    else
        mcp_send_error(s, m->id, m->revision ? MCP_BAD_PARAMS : MCP_NO_RESOURCE,
                       "there is no such resource", NULL);
    arena_reset(&a);
}

static void prompts_list(struct mcp_server *s, const struct mcp_message *m) {
    reply(s, m, mcp_prompts_list());
}

static void prompts_get(struct mcp_server *s, const struct mcp_message *m) {
    struct arena a = {0};
    struct error err = {0};
    json_t *prompt = mcp_prompt_get(&a, mcp_text(m->params, "name"),
                                    json_object_get(m->params, "arguments"), &err);
    if (prompt)
        reply(s, m, prompt);
    else
        mcp_send_error(s, m->id, MCP_BAD_PARAMS, err.text, NULL);
    arena_reset(&a);
}

enum { LEGACY = 1, MODERN = 2, BOTH = 3 };

static const struct {
    const char *name;
    int eras;
    method_fn serve;
} methods[] = {
    {"initialize", LEGACY, initialize},
    {"ping", LEGACY, ping},
    {"server/discover", MODERN, discover},
    {"tools/list", BOTH, tools_list},
    {"tools/call", BOTH, tools_call},
    {"resources/list", BOTH, resources_list},
    {"resources/templates/list", BOTH, resources_templates},
    {"resources/read", BOTH, resources_read},
    {"prompts/list", BOTH, prompts_list},
    {"prompts/get", BOTH, prompts_get},
};

// Is a request in order? Else it has been refused.
static bool admit(struct mcp_server *s, const struct mcp_message *m) {
    if (m->revision && strcmp(m->revision, MCP_MODERN) != 0) {
        mcp_send_error(
            s, m->id, MCP_NO_VERSION, "Unsupported protocol version",
            json_pack("{s:[s], s:s}", "supported", MCP_MODERN, "requested", m->revision));
        return false;
    }
    if (m->revision &&
        !json_is_object(json_object_get(m->meta, "io.modelcontextprotocol/clientCapabilities"))) {
        mcp_send_error(s, m->id, MCP_BAD_PARAMS,
                       "_meta has no io.modelcontextprotocol/clientCapabilities", NULL);
        return false;
    }
    bool needs_none = strcmp(m->method, "initialize") == 0 || strcmp(m->method, "ping") == 0 ||
                      strcmp(m->method, "server/discover") == 0;
    if (m->revision || s->is_initialized || needs_none)
        return true;
    mcp_send_error(s, m->id, MCP_INVALID,
                   "out of order: initialize comes first, or _meta says the protocol's version",
                   NULL);
    return false;
}

static void serve(struct mcp_server *s, const struct mcp_message *m) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].name, m->method) == 0 &&
            (methods[i].eras & (m->revision ? MODERN : LEGACY))) {
            if (admit(s, m))
                methods[i].serve(s, m);
            return;
        }
    char why[120];
    snprintf(why, sizeof why, "there is no method '%.60s'", m->method);
    mcp_send_error(s, m->id, MCP_NO_METHOD, why, NULL);
}

static void ask_roots(struct mcp_server *s) {
    if (!s->has_client_roots || s->has_own_roots)
        return;
    mcp_send(
        s, json_pack("{s:s, s:s, s:s}", "jsonrpc", "2.0", "id", ROOTS_ID, "method", "roots/list"));
    s->roots_wait_ns = clock_now_ns() + ROOTS_WAIT_NS;
}

static void notice(struct mcp_server *s, const struct mcp_message *m) {
    if (strcmp(m->method, "notifications/cancelled") == 0)
        mcp_call_cancel(s, json_object_get(m->params, "requestId"));
    else if (strcmp(m->method, "notifications/initialized") == 0 ||
             strcmp(m->method, "notifications/roots/list_changed") == 0)
        ask_roots(s);
}

void mcp_take(struct mcp_server *s, const struct mcp_message *m) {
    const char *id = json_string_value(m->id);
    switch (m->kind) {
    case MCP_BAD:
        mcp_send_error(s, m->id, m->code, m->why, NULL);
        break;
    case MCP_REQUEST:
        serve(s, m);
        break;
    case MCP_NOTIFICATION:
        notice(s, m);
        break;
    case MCP_RESPONSE:
        if (id && strcmp(id, ROOTS_ID) == 0 && s->roots_wait_ns) {
            mcp_roots_read(&s->roots, &s->a, json_object_get(m->json, "result"));
            s->roots_wait_ns = 0;
        }
        break;
    }
}
