// Results short enough for a model's context: what is longer comes in pages. The server keeps the
// last few long ones; a cursor says which and from where.
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { MCP_PAGE_BYTES = 24000, MCP_PAGES_KEPT = 8 };

struct mcp_pages {
    char *texts[MCP_PAGES_KEPT];  // malloc'ed
    int64_t n_kept;               // so far; the newest is at (n_kept - 1) % MCP_PAGES_KEPT
};

// The content of a result: the text, or its first page and a block that names the cursor.
json_t *mcp_pages_content(struct mcp_pages *p, const char *text);
// The same from a cursor on; NULL when there is no such thing (any more).
json_t *mcp_pages_more(struct mcp_pages *p, const char *cursor);
void mcp_pages_reset(struct mcp_pages *p);
