// What the files of the server share. One thread, one poll(): nothing waits for anything else.
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "mcp/mcp_job.h"
#include "mcp/mcp_message.h"
#include "mcp/mcp_pages.h"
#include "mcp/mcp_roots.h"

struct command_options;

enum {
    MCP_JOBS_MAX = 1024,        // calls that wait or run; more are refused
    MCP_SHORT_AT_ONCE = 4,      // children that measure nothing
    MCP_UNSENT_MAX = 16 << 20,  // bytes; a client that does not read is not read from either
};

struct mcp_server {
    const struct command_options *const *tables;
    const char *self;
    struct arena a;
    int in, out;
    struct mcp_lines lines;
    struct str unsent;
    size_t n_sent;           // of `unsent`
    bool is_ended, is_gone;  // standard input has ended; nobody reads any more
    bool is_initialized;     // by a client of the legacy era
    bool has_own_roots;      // named on the command line
    bool has_client_roots;   // the client can be asked for its own
    int64_t roots_wait_ns;   // we have asked, and wait until then; 0: not
    struct mcp_roots roots;
    struct mcp_pages pages;
    struct mcp_job *jobs[MCP_JOBS_MAX];  // in the order in which they came
    int n_jobs;
};

// Answers. They take over `result`.
void mcp_send(struct mcp_server *s, json_t *message);
void mcp_send_result(struct mcp_server *s, const json_t *id, bool is_modern, json_t *result);
void mcp_send_error(struct mcp_server *s, const json_t *id, int code, const char *why,
                    json_t *data);
// The result of a tool: its text, and the document where it is one and short enough.
json_t *mcp_tool_result(struct mcp_server *s, const char *text, json_t *document, bool is_error);

// mcp_methods.c: one message.
void mcp_take(struct mcp_server *s, const struct mcp_message *m);

// mcp_calls.c: a call is queued; queued ones are started, running ones are read, ended ones
// answered.
void mcp_call_add(struct mcp_server *s, const struct mcp_message *m, const struct mcp_tool *tool,
                  const char *uri);
void mcp_call_cancel(struct mcp_server *s, const json_t *id);
void mcp_calls_step(struct mcp_server *s);
void mcp_calls_end_long(struct mcp_server *s);
void mcp_calls_reset(struct mcp_server *s);
int mcp_calls_running(const struct mcp_server *s);

// mcp_main.c
void mcp_server_reset(struct mcp_server *s);

// mcp_resources.c and mcp_prompts.c.
json_t *mcp_resources_list(void);
json_t *mcp_resource_templates(void);
// The command line that gives a resource; NULL: it is a text of ours, or there is none.
const char *const *mcp_resource_argv(struct arena *a, const char *uri);
const char *mcp_resource_text(const char *uri);
const char *mcp_resource_type(const char *uri);
json_t *mcp_prompts_list(void);
json_t *mcp_prompt_get(struct arena *a, const char *name, const json_t *arguments,
                       struct error *err);
