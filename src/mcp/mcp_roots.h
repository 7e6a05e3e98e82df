// Which files a call may name: those under the roots. These are the directories that `hone mcp` was
// started with; else what the client says its roots are; else the working directory.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

enum { MCP_ROOTS_MAX = 32 };

struct mcp_roots {
    const char *paths[MCP_ROOTS_MAX];  // absolute, without links; the first is where children run
    int n;
};

// One more directory, by path or as a file: URI. False when it is none.
bool mcp_roots_add(struct mcp_roots *r, struct arena *a, const char *place);
// What a client answers to roots/list. Those that are no directories here are left out; false,
// and nothing is changed, when none is left.
bool mcp_roots_read(struct mcp_roots *r, struct arena *a, const json_t *result);

// The absolute path of a file that is there, or (`is_new`) that shall be made; relative ones
// are relative to the first root. NULL when it is not there or lies outside.
const char *mcp_roots_find(const struct mcp_roots *r, struct arena *a, const char *path,
                           bool is_new, struct error *err);
