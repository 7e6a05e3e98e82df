// A call under way: a command of ours as a child, what it has said so far, and who waits for it.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/process.h"
#include "base/str.h"
#include "mcp/mcp_roots.h"

struct mcp_tool;

struct mcp_job {
    json_t *id;                   // of the request; owned
    bool is_modern;               // the era that it is answered in
    json_t *params;               // owned
    json_t *token;                // of progress; NULL: none wanted; borrowed from params
    const struct mcp_tool *tool;  // NULL: a resource is read
    const char *uri;              // then its name
    struct mcp_roots roots;       // that came with the call; none: the server's
    bool wants_json, is_running, is_cancelled;
    bool is_report;  // the second child of an optimisation: the report of its run
    int64_t started_ns, stopped_ns, said_ns;
    struct arena a;  // what lives as long as the job
    struct process_pipes process;
    struct str out, err;
    struct str last;    // of a command that prints events: its last line
    char message[256];  // and what that says
};

enum { MCP_OUTPUT_MAX = 64 << 20, MCP_ERROR_MAX = 64 << 10 };

// Start `hone argv...` in a directory.
bool mcp_job_start(struct mcp_job *j, const char *self, const char *const *argv, const char *cwd,
                   struct error *err);
// Read what it has written. True once it has ended; `status` is then that of exit(), or -1.
bool mcp_job_read(struct mcp_job *j, int *status);
// Ask it to end as Ctrl-C does; the second time, or when it does not, it is killed.
void mcp_job_stop(struct mcp_job *j);
// Kill what is left of it and forget it.
void mcp_job_reset(struct mcp_job *j);

// What an event of an optimisation says in one line; "" when nothing.
void mcp_event_text(const json_t *event, char *into, size_t size);
