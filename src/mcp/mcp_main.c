// The loop: bytes in, bytes out, children in between.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "mcp/mcp.h"
#include "mcp/mcp_server.h"

const struct command_options mcp_options = {
    .command = "mcp",
    .arguments = "[DIR...]",
    .summary = "serve coding agents on standard input and output (Model Context Protocol)",
    .text =
        "Started by a client such as an editor or an agent; docs/agents.md says how to add it to\n"
        "the common ones. Its tools are commands of hone: check, import, sol, emit, eval,\n"
        "compare, profile, diagnose, optimize, runs, show, findings, export. A call may name "
        "files\n"
        "under DIR; without DIR, under the roots that the client gives; else under the working\n"
        "directory. Commands run in the first of these, so the store is the .hone found upward\n"
        "from there. Nothing that costs money is called. When the client goes, what it had\n"
        "started ends.",
    .max_arguments = -1,
};

enum { N_FIXED = 2, FDS_MAX = N_FIXED + 3 * (MCP_SHORT_AT_ONCE + 1), TICK_MS = 500 };

static void read_input(struct mcp_server *s) {
    static char chunk[1 << 16];
    ssize_t n = read(s->in, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        s->is_ended = true;
        mcp_calls_end_long(s);
        return;
    }
    mcp_lines_add(&s->lines, chunk, (size_t)n);
    struct span line;
    enum mcp_line kind;
    while ((kind = mcp_lines_next(&s->lines, &line)) != MCP_LINE_NONE) {
        struct mcp_message m = {.kind = MCP_BAD, .code = MCP_INVALID};
        if (kind == MCP_LINE_TOO_LONG)
            snprintf(m.why, sizeof m.why, "a message has at most %d bytes", MCP_LINE_MAX);
        else if (line.len == 0 || (line.len == 1 && line.ptr[0] == '\r'))
            continue;
        else
            mcp_message_parse(&m, line.ptr, line.len);
        mcp_take(s, &m);
        mcp_message_reset(&m);
    }
}

// As much as goes without waiting. The descriptor is shared with others, so it is not made
// nonblocking: what poll() says is writable takes PIPE_BUF bytes.
static void write_output(struct mcp_server *s) {
    size_t left = s->unsent.len - s->n_sent;
    const char *from = s->unsent.ptr + s->n_sent;
    ssize_t n = send(s->out, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK)
        n = write(s->out, from, left < 4096 ? left : 4096);
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        s->is_gone = s->is_ended = true;
        mcp_calls_end_long(s);
    }
    if (n > 0)
        s->n_sent += (size_t)n;
    if (s->n_sent == s->unsent.len) {
        s->unsent.len = s->n_sent = 0;
    } else if (s->n_sent > 1 << 20) {
        memmove(s->unsent.ptr, s->unsent.ptr + s->n_sent, s->unsent.len - s->n_sent + 1);
        s->unsent.len -= s->n_sent;
        s->n_sent = 0;
    }
}

static int watch(const struct mcp_server *s, struct pollfd fds[FDS_MAX]) {
    bool is_reading = !s->is_ended && s->unsent.len - s->n_sent < MCP_UNSENT_MAX;
    bool is_writing = s->unsent.len > s->n_sent && !s->is_gone;
    fds[0] = (struct pollfd){.fd = is_reading ? s->in : -1, .events = POLLIN};
    // A client that has gone is noticed (POLLERR) without anything to write.
    fds[1] = (struct pollfd){.fd = s->is_gone ? -1 : s->out, .events = is_writing ? POLLOUT : 0};
    int n = N_FIXED;
    for (int i = 0; i < s->n_jobs && n + 3 <= FDS_MAX; i++) {
        const struct process_pipes *p = &s->jobs[i]->process;
        if (!s->jobs[i]->is_running)
            continue;
        for (int k = 0; k < 2; k++)
            fds[n++] = (struct pollfd){.fd = p->out[k], .events = POLLIN};
        fds[n++] = (struct pollfd){.fd = p->end, .events = POLLIN};
    }
    return n;
}

static void step(struct mcp_server *s) {
    struct pollfd fds[FDS_MAX];
    int n = watch(s, fds);
    bool is_idle = mcp_calls_running(s) == 0 && !s->roots_wait_ns;
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    sigset_t none;
    sigemptyset(&none);
    if (ppoll(fds, (nfds_t)n, is_idle ? NULL : &tick, &none) < 0)
        return;
    if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) {
        s->is_gone = s->is_ended = true;
        mcp_calls_end_long(s);
    }
    if (fds[0].revents)
        read_input(s);
    if (s->roots_wait_ns && (clock_now_ns() > s->roots_wait_ns || s->is_ended))
        s->roots_wait_ns = 0;
    mcp_calls_step(s);
    if (s->unsent.len > s->n_sent && (fds[1].revents & POLLOUT || fds[1].events == 0) &&
        !s->is_gone) {
        struct pollfd out = {.fd = s->out, .events = POLLOUT};
        if (poll(&out, 1, 0) > 0)
            write_output(s);
    }
}

static bool is_done(const struct mcp_server *s) {
    return s->is_ended && s->n_jobs == 0 && (s->is_gone || s->unsent.len == s->n_sent);
}

// Messages alone may go to the real standard output: what else prints, prints to standard error.
static bool take_output(struct mcp_server *s, struct error *err) {
    s->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    return (s->out >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) ||
           error_set(err, ERROR_IO, "standard output: %s", strerror(errno));
}

// Children ask no model: without a key none can be charged.
static void drop_keys(void) {
    static const char *const keys[] = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
                                       "OPENAI_API_KEY", "HONE_LLM_KEY"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        unsetenv(keys[i]);
    setenv("HONE_LLM_PROVIDER", "", 1);
    setenv("HONE_LLM_KEY_FILE", "/dev/null", 1);
}

static bool set_up(struct mcp_server *s, const struct arguments *args, struct error *err) {
    for (int i = 0; i < args->count; i++)
        if (!mcp_roots_add(&s->roots, &s->a, args->values[i]))
            return error_set(err, ERROR_USAGE, "mcp: %s is not a directory", args->values[i]);
    s->has_own_roots = s->roots.n > 0;
    if (s->roots.n == 0 && !mcp_roots_add(&s->roots, &s->a, "."))
        return error_set(err, ERROR_IO, "the working directory is gone");
    s->self = file_self(&s->a, err);
    drop_keys();
    return s->self && take_output(s, err);
}

void mcp_server_reset(struct mcp_server *s) {
    mcp_calls_reset(s);
    mcp_lines_reset(&s->lines);
    str_reset(&s->unsent);
    mcp_pages_reset(&s->pages);
    arena_reset(&s->a);
}

bool mcp_run(const struct command_options *const *tables, int argc, char **argv,
             struct error *err) {
    struct arguments args;
    if (!options_parse(&mcp_options, argc, argv, NULL, &args, err))
        return false;
    struct mcp_server s = {.tables = tables, .in = STDIN_FILENO};
    bool ok = set_up(&s, &args, err);
    // Signals are taken within ppoll() only, so none comes between a look and a wait.
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_BLOCK, &ours, NULL);
    while (ok && !is_done(&s) && !(interrupt_seen() && s.n_jobs == 0)) {
        if (interrupt_seen() && !s.is_gone) {
            s.is_gone = s.is_ended = true;
            mcp_calls_end_long(&s);
            continue;
        }
        step(&s);
    }
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
    if (ok)
        close(s.out);
    mcp_server_reset(&s);
    return ok;
}
