// Partial reads and writes, end of file inside a message, time-outs and descriptors that came with
// a message that is refused: each is an error in words, and nothing leaks.
#include "base/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"

static const char magic[4] = {'h', 'n', '1', '\n'};
enum { HEADER = 8, TICK_MS = 50 };

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * FRAME_MAX_FDS)];
};

// sendmsg on a socket (no SIGPIPE), write on anything else.
static ssize_t send_some(int fd, struct iovec part, const int *fds, int n_fds) {
    union control control = {0};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds > 0) {
        size_t size = sizeof(int) * (size_t)n_fds;
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(c), fds, size);
    }
    ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK && n_fds == 0)
        n = write(fd, part.iov_base, part.iov_len);
    return n;
}

// Send everything; the descriptors ride on the first byte.
static bool send_all(int fd, struct iovec part, const int *fds, int n_fds, struct error *err) {
    while (part.iov_len > 0) {
        ssize_t n = send_some(fd, part, fds, n_fds);
        if (n < 0 && errno == EINTR && interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return error_set(err, ERROR_IO, "closed");
        if (n < 0)
            return error_set(err, ERROR_IO, "send a message: %s", strerror(errno));
        part.iov_base = (char *)part.iov_base + n;
        part.iov_len -= (size_t)n;
        n_fds = 0;
    }
    return true;
}

bool frame_write(int fd, const json_t *message, const int *fds, int n_fds, struct error *err) {
    if (n_fds > FRAME_MAX_FDS)
        return error_set(err, ERROR_IO, "send a message: %d descriptors, at most %d", n_fds,
                         FRAME_MAX_FDS);
    // One allocation for header and body, so that a small message is one packet.
    size_t len = json_dumpb(message, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
    if (len == 0 || len > FRAME_MAX)
        return error_set(err, ERROR_IO, "send a message: %zu bytes, at most %d", len, FRAME_MAX);
    unsigned char *bytes = malloc(HEADER + len);
    if (!bytes)
        return error_set(err, ERROR_IO, "send a message: out of memory");
    memcpy(bytes, magic, sizeof magic);
    for (int i = 0; i < 4; i++)
        bytes[4 + i] = (unsigned char)(len >> (8 * i));
    json_dumpb(message, (char *)bytes + HEADER, len, JSON_COMPACT | JSON_ENCODE_ANY);
    bool ok = send_all(fd, (struct iovec){bytes, HEADER + len}, fds, n_fds, err);
    free(bytes);
    return ok;
}

bool frame_was_closed(struct error *err) {
    bool is_closed = err->kind == ERROR_IO && strcmp(err->text, "closed") == 0;
    if (is_closed)
        *err = (struct error){0};
    return is_closed;
}

struct receiver {
    int fd;
    int64_t deadline_ns;  // -1: none
    int fds[FRAME_MAX_FDS];
    int n_fds;
};

static void close_received(struct receiver *r) {
    for (int i = 0; i < r->n_fds; i++)
        close(r->fds[i]);
    r->n_fds = 0;
}

// Keep the descriptors that came with a part; false when there were too many.
static bool keep_descriptors(struct receiver *r, struct msghdr *m) {
    bool fits = !(m->msg_flags & MSG_CTRUNC);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (r->n_fds < FRAME_MAX_FDS) {
                r->fds[r->n_fds++] = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits;
}

static bool wait_readable(const struct receiver *r, struct error *err) {
    for (;;) {
        if (interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        int64_t left_ms = TICK_MS;
        if (r->deadline_ns >= 0) {
            int64_t left_ns = r->deadline_ns - clock_now_ns();
            left_ms = left_ns <= 0 ? 0 : left_ns / 1000000 + 1;
        }
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        int n = poll(&p, 1, left_ms < TICK_MS ? (int)left_ms : TICK_MS);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return error_set(err, ERROR_IO, "wait for a message: %s", strerror(errno));
        if (left_ms == 0)
            return error_set(err, ERROR_TIMEOUT, "no message in time");
    }
}

static bool receive_some(struct receiver *r, struct iovec part, size_t *got, struct error *err) {
    union control control;
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(r->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK) {
        n = read(r->fd, part.iov_base, part.iov_len);
        m.msg_controllen = 0;
        m.msg_flags = 0;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        *got = 0;
        return true;
    }
    if (n < 0 && errno != ECONNRESET)
        return error_set(err, ERROR_IO, "receive a message: %s", strerror(errno));
    if (n <= 0)
        return error_set(err, ERROR_IO, "closed");
    if (!keep_descriptors(r, &m))
        return error_set(err, ERROR_IO, "receive a message: more than %d descriptors",
                         FRAME_MAX_FDS);
    *got = (size_t)n;
    return true;
}

// All `len` bytes. `started`: part of the message is here already, so an end is a cut.
static bool receive_all(struct receiver *r, void *into, size_t len, bool started,
                        struct error *err) {
    size_t done = 0;
    while (done < len) {
        size_t got;
        if (!wait_readable(r, err))
            return false;
        if (!receive_some(r, (struct iovec){(char *)into + done, len - done}, &got, err)) {
            if ((started || done > 0) && strcmp(err->text, "closed") == 0)
                error_set(err, ERROR_IO, "receive a message: it ends after %zu of %zu bytes", done,
                          len);
            return false;
        }
        done += got;
    }
    return true;
}

static json_t *receive(struct receiver *r, struct error *err) {
    unsigned char header[HEADER];
    if (!receive_all(r, header, sizeof header, false, err))
        return NULL;
    if (memcmp(header, magic, sizeof magic) != 0) {
        error_set(err, ERROR_IO, "receive a message: it begins with %02x %02x %02x %02x, not ours",
                  header[0], header[1], header[2], header[3]);
        return NULL;
    }
    size_t len = 0;
    for (int i = 0; i < 4; i++)
        len |= (size_t)header[4 + i] << (8 * i);
    if (len > FRAME_MAX) {
        error_set(err, ERROR_IO, "receive a message: %zu bytes, at most %d", len, FRAME_MAX);
        return NULL;
    }

    char *body = malloc(len + 1);
    if (!body) {
        error_set(err, ERROR_IO, "receive a message: out of memory");
        return NULL;
    }
    json_t *message = NULL;
    if (receive_all(r, body, len, true, err)) {
        message = json_parse(body, len, err);
        // Our peer is a program of ours: its mistake is a failure, not a negative answer.
        if (!message) {
            err->kind = ERROR_IO;
            error_wrap(err, "receive a message");
        }
    }
    free(body);
    return message;
}

bool frame_read(int fd, int64_t timeout_ns, json_t **message, int *fds, int *n_fds,
                struct error *err) {
    struct receiver r = {.fd = fd,
                         .deadline_ns = timeout_ns < 0 ? -1 : clock_now_ns() + timeout_ns};
    *message = receive(&r, err);
    if (n_fds)
        *n_fds = 0;
    if (!*message || !fds) {
        close_received(&r);
        return *message != NULL;
    }
    memcpy(fds, r.fds, sizeof(int) * (size_t)r.n_fds);
    *n_fds = r.n_fds;
    return true;
}
