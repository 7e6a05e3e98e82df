// A model's server that misbehaves on purpose, for the tests of llm/.
//
//     llm-server SCENARIO PORTFILE LOGFILE
//
// Listens on the loopback address only, writes its port into PORTFILE, appends every request
// to LOGFILE, and ends by itself: after half an hour, or with its parent. It answers in the
// dialect of the path asked for (Messages or Chat Completions). SCENARIO holds blocks separated
// by lines `---`; a request is served by the first block that is not used up and matches:
//
//     match TEXT          only requests whose body holds TEXT
//     repeat              never used up
//     status N            (200)
//     header NAME: VALUE
//     body TEXT           a line of the body; then no stream
//     say TEXT            a streamed answer; \n is a new line, \t a tab
//     sayfile PATH        the same from a file
//     sayheaders          the request's headers are the answer, the key among them
//     saymany N           N bytes of answer
//     tool NAME JSON      a tool call in the stream
//     stop REASON         why it stopped
//     raw TEXT            these bytes, as they are
//     sse TEXT            data: TEXT
//     nostop              the stream ends without its end
//     chunk N             write N bytes at a time
//     drip MS             wait so long between pieces
//     stall               say nothing more until the client leaves
//     reset               break the connection
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS_MAX = 64, LINES_MAX = 64, REQUEST_MAX = 8 << 20, LIFETIME_S = 1800 };

struct block {
    char *lines[LINES_MAX];
    int n_lines;
    bool is_used;
};

struct request {
    char *text;  // head and body
    char *body;
    bool is_anthropic;
};

struct reply {
    int fd;
    const struct request *q;
    size_t chunk;
    long drip_ms;
    bool is_broken;
    bool has_head;
    int status, index;
    char headers[1024];
    const char *stop;
};

static struct block blocks[BLOCKS_MAX];
static int n_blocks;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static char *read_whole(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f)
        die(path);
    char *text = calloc(1, REQUEST_MAX);
    size_t len = fread(text, 1, REQUEST_MAX - 1, f);
    text[len] = '\0';
    fclose(f);
    return text;
}

static void load(const char *path) {
    char *text = read_whole(path);
    n_blocks = 1;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (strcmp(line, "---") == 0)
            n_blocks++;
        else if (*line && *line != '#' && n_blocks <= BLOCKS_MAX &&
                 blocks[n_blocks - 1].n_lines < LINES_MAX)
            blocks[n_blocks - 1].lines[blocks[n_blocks - 1].n_lines++] = line;
    }
}

// The rest of the line when it begins with that word, else NULL.
static const char *after(const char *line, const char *word) {
    size_t len = strlen(word);
    if (strncmp(line, word, len) != 0 || (line[len] && line[len] != ' '))
        return NULL;
    return line[len] ? line + len + 1 : line + len;
}

static bool block_matches(const struct block *b, const struct request *q) {
    if (b->is_used)
        return false;
    for (int i = 0; i < b->n_lines; i++) {
        const char *text = after(b->lines[i], "match");
        if (text && !strstr(q->body, text))
            return false;
    }
    return true;
}

static struct block *find_block(const struct request *q) {
    for (int i = 0; i < n_blocks; i++) {
        if (!block_matches(&blocks[i], q))
            continue;
        blocks[i].is_used = true;
        for (int j = 0; j < blocks[i].n_lines; j++)
            if (strcmp(blocks[i].lines[j], "repeat") == 0)
                blocks[i].is_used = false;
        return &blocks[i];
    }
    return NULL;
}

static void pause_ms(long ms) {
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0)
        nanosleep(&ts, NULL);
}

static void send_bytes(struct reply *r, const char *bytes, size_t len) {
    while (len > 0 && !r->is_broken) {
        size_t n = r->chunk && r->chunk < len ? r->chunk : len;
        ssize_t sent = send(r->fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            r->is_broken = true;
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        }
        pause_ms(r->drip_ms);
    }
}

static void send_text(struct reply *r, const char *text) {
    send_bytes(r, text, strlen(text));
}

static void send_head(struct reply *r, const char *type) {
    if (r->has_head)
        return;
    r->has_head = true;
    char head[2048];
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Scripted\r\ncontent-type: %s\r\nconnection: close\r\n%s\r\n", r->status,
             type, r->headers);
    size_t chunk = r->chunk;
    long drip_ms = r->drip_ms;
    r->chunk = 0;
    r->drip_ms = 0;
    send_text(r, head);
    r->chunk = chunk;
    r->drip_ms = drip_ms;
}

static void send_event(struct reply *r, json_t *data) {
    char *text = json_dumps(data, JSON_COMPACT);
    const char *type = json_string_value(json_object_get(data, "type"));
    send_head(r, "text/event-stream");
    if (type) {
        send_text(r, "event: ");
        send_text(r, type);
        send_text(r, "\n");
    }
    send_text(r, "data: ");
    send_text(r, text);
    send_text(r, "\n\n");
    free(text);
    json_decref(data);
}

static void begin(struct reply *r) {
    if (r->index == 0 && r->q->is_anthropic)
        send_event(r, json_pack("{s:s, s:{s:s, s:{s:i, s:i, s:i}}}", "type", "message_start",
                                "message", "model", "scripted", "usage", "input_tokens", 100,
                                "cache_read_input_tokens", 20, "output_tokens", 1));
}

static void say(struct reply *r, const char *text) {
    begin(r);
    if (r->q->is_anthropic) {
        send_event(r, json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_start", "index",
                                r->index, "content_block", "type", "text", "text", ""));
        send_event(r, json_pack("{s:s}", "type", "ping"));
        send_event(r, json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_delta", "index",
                                r->index, "delta", "type", "text_delta", "text", text));
        send_event(r, json_pack("{s:s, s:i}", "type", "content_block_stop", "index", r->index));
    } else {
        send_event(r, json_pack("{s:s, s:[{s:i, s:{s:s, s:s}, s:n}]}", "model", "scripted",
                                "choices", "index", 0, "delta", "role", "assistant", "content",
                                text, "finish_reason"));
    }
    r->index++;
}

static void call_tool(struct reply *r, const char *rest) {
    char name[64], id[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, " "), rest);
    snprintf(id, sizeof id, "toolu_%d", r->index + 1);
    const char *arguments = rest + strcspn(rest, " ");
    arguments += *arguments == ' ';
    begin(r);
    if (r->q->is_anthropic) {
        send_event(r, json_pack("{s:s, s:i, s:{s:s, s:s, s:s, s:{}}}", "type",
                                "content_block_start", "index", r->index, "content_block", "type",
                                "tool_use", "id", id, "name", name, "input"));
        send_event(r, json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_delta", "index",
                                r->index, "delta", "type", "input_json_delta", "partial_json",
                                arguments));
    } else {
        send_event(r, json_pack("{s:[{s:i, s:{s:[{s:i, s:s, s:{s:s, s:s}}]}, s:n}]}", "choices",
                                "index", 0, "delta", "tool_calls", "index", 0, "id", "call_1",
                                "function", "name", name, "arguments", arguments, "finish_reason"));
    }
    r->index++;
    if (!r->stop)
        r->stop = r->q->is_anthropic ? "tool_use" : "tool_calls";
}

static void end(struct reply *r) {
    const char *stop = r->stop ? r->stop : r->q->is_anthropic ? "end_turn" : "stop";
    if (r->q->is_anthropic) {
        send_event(r, json_pack("{s:s, s:{s:s}, s:{s:i}}", "type", "message_delta", "delta",
                                "stop_reason", stop, "usage", "output_tokens", 50));
        send_event(r, json_pack("{s:s}", "type", "message_stop"));
        return;
    }
    send_event(r, json_pack("{s:[{s:i, s:{}, s:s}]}", "choices", "index", 0, "delta",
                            "finish_reason", stop));
    send_event(r,
               json_pack("{s:[], s:{s:i, s:i, s:{s:i}}}", "choices", "usage", "prompt_tokens", 120,
                         "completion_tokens", 50, "prompt_tokens_details", "cached_tokens", 20));
    send_text(r, "data: [DONE]\n\n");
}

static void say_escaped(struct reply *r, const char *text) {
    char *plain = calloc(1, strlen(text) + 1), *to = plain;
    for (const char *c = text; *c; c++) {
        bool is_escape = c[0] == '\\' && (c[1] == 'n' || c[1] == 't');
        *to++ = !is_escape ? *c : c[1] == 'n' ? '\n' : '\t';
        c += is_escape;
    }
    say(r, plain);
    free(plain);
}

static void say_file(struct reply *r, const char *path) {
    char *text = read_whole(path);
    say(r, text);
    free(text);
}

static void say_many(struct reply *r, size_t n) {
    enum { PIECE = 60000 };
    static char piece[PIECE + 1];
    memset(piece, 'x', PIECE);
    for (; n > 0 && !r->is_broken; n -= n < PIECE ? n : PIECE) {
        piece[n < PIECE ? n : PIECE] = '\0';
        say(r, piece);
    }
}

static void stall(struct reply *r) {
    struct pollfd fd = {.fd = r->fd, .events = POLLRDHUP};
    send_head(r, "text/event-stream");
    poll(&fd, 1, LIFETIME_S * 1000);
}

static void reset(struct reply *r) {
    struct linger now = {.l_onoff = 1};
    setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    r->is_broken = true;
}

// One line of a block. True: it streamed something that wants an end.
static bool perform(struct reply *r, const char *line) {
    const char *rest;
    if ((rest = after(line, "body"))) {
        send_head(r, "application/json");
        send_text(r, rest);
        send_text(r, "\n");
    } else if ((rest = after(line, "say"))) {
        say_escaped(r, rest);
        return true;
    } else if ((rest = after(line, "sayfile"))) {
        say_file(r, rest);
        return true;
    } else if (strcmp(line, "sayheaders") == 0) {
        say(r, r->q->text);
        return true;
    } else if ((rest = after(line, "saymany"))) {
        say_many(r, strtoul(rest, NULL, 10));
        return true;
    } else if ((rest = after(line, "tool"))) {
        call_tool(r, rest);
        return true;
    } else if ((rest = after(line, "raw"))) {
        send_head(r, "text/event-stream");
        send_text(r, rest);
    } else if ((rest = after(line, "sse"))) {
        send_head(r, "text/event-stream");
        send_text(r, "data: ");
        send_text(r, rest);
        send_text(r, "\n\n");
    } else if (strcmp(line, "stall") == 0) {
        stall(r);
    } else if (strcmp(line, "reset") == 0) {
        reset(r);
    }
    return false;
}

static void set_up(struct reply *r, const char *line) {
    const char *rest;
    size_t used = strlen(r->headers);
    if ((rest = after(line, "status")))
        r->status = (int)strtol(rest, NULL, 10);
    else if ((rest = after(line, "header")))
        snprintf(r->headers + used, sizeof r->headers - used, "%s\r\n", rest);
    else if ((rest = after(line, "chunk")))
        r->chunk = strtoul(rest, NULL, 10);
    else if ((rest = after(line, "drip")))
        r->drip_ms = strtol(rest, NULL, 10);
    else if ((rest = after(line, "stop")))
        r->stop = rest;
}

static void serve(int fd, const struct request *q) {
    struct reply r = {.fd = fd, .q = q, .status = 200};
    struct block *b = find_block(q);
    if (!b) {
        r.status = 500;
        send_head(&r, "application/json");
        send_text(&r, "{\"error\": {\"message\": \"the scenario has no answer left\"}}");
        return;
    }
    bool streamed = false, wants_end = true;
    for (int i = 0; i < b->n_lines; i++)
        set_up(&r, b->lines[i]);
    for (int i = 0; i < b->n_lines && !r.is_broken; i++) {
        streamed = perform(&r, b->lines[i]) || streamed;
        wants_end = wants_end && strcmp(b->lines[i], "nostop") != 0;
    }
    if (streamed && wants_end && !r.is_broken)
        end(&r);
    send_head(&r, "application/json");
}

// Head and body of one request; false when the client left or sent nonsense.
static bool receive(int fd, struct request *q) {
    size_t len = 0, want = 0;
    q->text = calloc(1, REQUEST_MAX);
    for (;;) {
        ssize_t n = recv(fd, q->text + len, REQUEST_MAX - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        if (q->text[0] == 0x16)  // TLS, which we do not speak
            return false;
        q->text[len] = '\0';
        char *blank = strstr(q->text, "\r\n\r\n");
        if (!blank)
            continue;
        char *length = strcasestr(q->text, "content-length:");
        want = length && length < blank ? strtoul(length + 15, NULL, 10) : 0;
        // A large body waits for our leave.
        if (strcasestr(q->text, "expect: 100-continue") && len == (size_t)(blank + 4 - q->text) &&
            want > 0)
            if (send(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL) < 0)
                return false;
        q->body = blank + 4;
        if (len - (size_t)(q->body - q->text) >= want)
            break;
    }
    q->is_anthropic = strstr(q->text, "/v1/messages") != NULL;
    return true;
}

static int listen_here(const char *port_file) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        die("listen");
    char draft[4096];
    snprintf(draft, sizeof draft, "%s.tmp", port_file);
    FILE *f = fopen(draft, "w");
    if (!f || fprintf(f, "%d\n", ntohs(at.sin_port)) < 0 || fclose(f) != 0 ||
        rename(draft, port_file) != 0)
        die(port_file);
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: llm-server SCENARIO PORTFILE LOGFILE\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    alarm(LIFETIME_S);
    load(argv[1]);
    FILE *log = fopen(argv[3], "a");
    int fd = listen_here(argv[2]);
    for (;;) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        int yes = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        struct request q = {0};
        if (receive(client, &q)) {
            fprintf(log, "%s\n====\n", q.text);
            fflush(log);
            serve(client, &q);
        }
        free(q.text);
        shutdown(client, SHUT_WR);
        close(client);
    }
}
