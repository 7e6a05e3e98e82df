// A client can send any bytes: every line must become a message or a mistake, every call a command
// line or words, and the roots must hold. Children are not started here.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "mcp/mcp_server.h"
#include "mcp/mcp_tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct option_row rows[] = {
    {.name = "dim", .type = OPTION_STRING, .summary = "s"},
    {.name = "verbose", .type = OPTION_FLAG, .summary = "s"},
    {.name = "seconds", .type = OPTION_NUMBER, .summary = "s"},
    {.name = "evals", .type = OPTION_INT, .summary = "s"},
    {.name = "json", .type = OPTION_FLAG, .summary = "s"},
    {0},
};
static const struct command_options check = {.command = "check", .rows = rows};
static const struct command_options optimize = {.command = "optimize", .rows = rows};
static const struct command_options *const tables[] = {&check, &optimize, NULL};

// All paths on a command line lie under the root.
static void inspect(const struct mcp_call *call) {
    for (int i = 0; call->argv[i]; i++) {
        const char *word = call->argv[i];
        if (word[0] == '/' && strncmp(word, "/usr", 4) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct mcp_server s = {.tables = tables, .is_initialized = true};
    struct span line;
    mcp_roots_add(&s.roots, &s.a, "/usr");
    mcp_lines_add(&s.lines, (const char *)data, size);
    mcp_lines_add(&s.lines, "\n", 1);
    while (mcp_lines_next(&s.lines, &line) == MCP_LINE_WHOLE) {
        struct mcp_message m;
        mcp_message_parse(&m, line.ptr, line.len);
        // The list of tools is made from all tables, which are not here.
        if (m.kind != MCP_REQUEST || strcmp(m.method, "tools/list") != 0)
            mcp_take(&s, &m);
        const struct mcp_tool *t = mcp_tools_find(mcp_text(m.params, "name"));
        struct mcp_call call;
        struct error err = {0};
        if (t && t->command &&
            mcp_tool_call(&s.a, t, tables, &s.roots, json_object_get(m.params, "arguments"), &call,
                          &err))
            inspect(&call);
        mcp_message_reset(&m);
    }
    mcp_server_reset(&s);
    return 0;
}
