// From bytes to messages: JSON-RPC 2.0, one message a line. Whatever comes in is either a message
// or a mistake with the code that JSON-RPC has for it; nothing ends the server.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum {
    MCP_LINE_MAX = 4 << 20,  // bytes of a message; requests have hundreds

    MCP_PARSE = -32700,  // codes of JSON-RPC
    MCP_INVALID = -32600,
    MCP_NO_METHOD = -32601,
    MCP_BAD_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002,  // and of MCP: up to 2025-11-25
    MCP_NO_VERSION = -32022,   // from 2026-07-28 on
};

#define MCP_LEGACY "2025-11-25"
#define MCP_MODERN "2026-07-28"

// Bytes that were read and are not yet used. Zeroed: none.
struct mcp_lines {
    struct str text;
    size_t start, scanned;
    bool is_skipping;  // inside a line that is too long
};

enum mcp_line { MCP_LINE_NONE, MCP_LINE_WHOLE, MCP_LINE_TOO_LONG };

void mcp_lines_add(struct mcp_lines *l, const char *bytes, size_t len);
// The next line without its end; it lives until the next call. One that is too long is dropped as
// it comes, and said once.
enum mcp_line mcp_lines_next(struct mcp_lines *l, struct span *line);
void mcp_lines_reset(struct mcp_lines *l);

enum mcp_kind { MCP_BAD, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
    enum mcp_kind kind;
    json_t *json;          // the whole; owned
    json_t *id;            // of a request or a response; of a bad message where it has one, or NULL
    const char *method;    // of a request or a notification
    json_t *params;        // an object, or NULL
    json_t *meta;          // _meta of params, or NULL
    const char *revision;  // of the protocol, where the message says it (modern); else NULL
    int code;              // MCP_BAD: the error and why
    char why[200];
};

void mcp_message_parse(struct mcp_message *m, const char *text, size_t len);
void mcp_message_reset(struct mcp_message *m);

// A text member of an object; NULL when it is absent or no text. `object` may be NULL.
const char *mcp_text(const json_t *object, const char *key);
