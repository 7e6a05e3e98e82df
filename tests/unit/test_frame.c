#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/frame.h"

static const int64_t SOON_NS = 600000000000;  // never reached when things work

static void make_pair(int fd[2]) {
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
}

static void close_pair(int fd[2]) {
    close(fd[0]);
    close(fd[1]);
}

// Send these bytes, close, and give the message of the failure that follows.
static const char *fail_on(const void *bytes, size_t len, struct error *err) {
    int fd[2];
    make_pair(fd);
    cr_assert_eq(write(fd[0], bytes, len), (ssize_t)len);
    shutdown(fd[0], SHUT_WR);
    json_t *message;
    cr_assert_not(frame_read(fd[1], SOON_NS, &message, NULL, NULL, err));
    cr_assert_null(message);
    cr_assert_eq(err->kind, ERROR_IO);
    close_pair(fd);
    return err->text;
}

Test(frame, carries_documents_in_order) {
    int fd[2];
    struct error err = {0};
    make_pair(fd);
    for (int i = 0; i < 3; i++) {
        json_t *out = json_pack("{s:i}", "n", i);
        cr_assert(frame_write(fd[0], out, NULL, 0, &err), "%s", err.text);
        json_decref(out);
    }
    for (int i = 0; i < 3; i++) {
        json_t *in;
        cr_assert(frame_read(fd[1], SOON_NS, &in, NULL, NULL, &err), "%s", err.text);
        cr_assert_eq(json_integer_value(json_object_get(in, "n")), i);
        json_decref(in);
    }
    close_pair(fd);
}

static void *send_big(void *arg) {
    char *text = malloc(5000000);
    memset(text, 'x', 5000000);
    json_t *big = json_stringn(text, 5000000);
    struct error err = {0};
    bool ok = frame_write(*(int *)arg, big, NULL, 0, &err);
    json_decref(big);
    free(text);
    return ok ? arg : NULL;
}

Test(frame, carries_more_than_a_socket_buffer) {
    int fd[2];
    struct error err = {0};
    make_pair(fd);
    pthread_t sender;
    cr_assert_eq(pthread_create(&sender, NULL, send_big, &fd[0]), 0);
    json_t *in;
    cr_assert(frame_read(fd[1], -1, &in, NULL, NULL, &err), "%s", err.text);
    cr_assert_eq(json_string_length(in), 5000000);
    json_decref(in);
    void *ok;
    pthread_join(sender, &ok);
    cr_assert_not_null(ok);
    close_pair(fd);
}

Test(frame, carries_over_a_pipe_too) {
    int fd[2];
    struct error err = {0};
    cr_assert_eq(pipe(fd), 0);
    json_t *out = json_string("hello"), *in;
    cr_assert(frame_write(fd[1], out, NULL, 0, &err), "%s", err.text);
    cr_assert(frame_read(fd[0], SOON_NS, &in, NULL, NULL, &err), "%s", err.text);
    cr_assert(json_equal(in, out));
    json_decref(in);
    int unix_only[] = {fd[0]};
    cr_assert_not(frame_write(fd[1], out, unix_only, 1, &err));
    json_decref(out);
    close_pair(fd);
}

static int n_open(void) {
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

Test(frame, passes_descriptors) {
    int fd[2], other[2], got[FRAME_MAX_FDS], n_got;
    struct error err = {0};
    make_pair(fd);
    cr_assert_eq(pipe(other), 0);
    json_t *out = json_object(), *in;
    cr_assert(frame_write(fd[0], out, other, 2, &err), "%s", err.text);
    cr_assert(frame_read(fd[1], SOON_NS, &in, got, &n_got, &err), "%s", err.text);
    cr_assert_eq(n_got, 2);
    cr_assert_eq(fcntl(got[0], F_GETFD), FD_CLOEXEC);
    char c = 0;
    cr_assert_eq(write(got[1], "x", 1), 1);
    cr_assert_eq(read(other[0], &c, 1), 1);
    cr_assert_eq(c, 'x');
    json_decref(in);

    int before = n_open();
    cr_assert(frame_write(fd[0], out, other, 2, &err));
    cr_assert(frame_read(fd[1], SOON_NS, &in, NULL, NULL, &err));
    json_decref(in);
    cr_assert_eq(n_open(), before, "unexpected descriptors are closed");
    json_decref(out);
}

Test(frame, passes_the_most_and_refuses_more) {
    int fd[2], many[FRAME_MAX_FDS + 1], got[FRAME_MAX_FDS], n_got;
    struct error err = {0};
    make_pair(fd);
    for (int i = 0; i <= FRAME_MAX_FDS; i++)
        many[i] = 0;
    json_t *out = json_object(), *in;
    cr_assert(frame_write(fd[0], out, many, FRAME_MAX_FDS, &err), "%s", err.text);
    cr_assert(frame_read(fd[1], SOON_NS, &in, got, &n_got, &err), "%s", err.text);
    cr_assert_eq(n_got, FRAME_MAX_FDS);
    json_decref(in);
    cr_assert_not(frame_write(fd[0], out, many, FRAME_MAX_FDS + 1, &err));
    cr_assert_str_eq(err.text, "send a message: 65 descriptors, at most 64");
    json_decref(out);
}

Test(frame, a_peer_that_sends_too_many_descriptors_leaks_none) {
    int fd[2], many[FRAME_MAX_FDS + 1] = {0};
    struct error err = {0};
    make_pair(fd);
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof many)];
    } control = {0};
    struct iovec part = {(char[]){"hn1\n\2\0\0\0{}"}, 10};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){CMSG_LEN(sizeof many), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(c), many, sizeof many);
    cr_assert_eq(sendmsg(fd[0], &m, 0), 10);
    int before = n_open(), got[FRAME_MAX_FDS], n_got;
    json_t *in;
    cr_assert_not(frame_read(fd[1], SOON_NS, &in, got, &n_got, &err));
    cr_assert_str_eq(err.text, "receive a message: more than 64 descriptors");
    cr_assert_eq(n_open(), before);
}

Test(frame, refuses_what_is_no_message) {
    struct error err = {0};
    cr_assert_str_eq(fail_on("", 0, &err), "closed");
    cr_assert_str_eq(fail_on("hn1", 3, &err), "receive a message: it ends after 3 of 8 bytes");
    cr_assert_str_eq(fail_on("hn1\n\5\0\0\0{}", 10, &err),
                     "receive a message: it ends after 2 of 5 bytes");
    cr_assert_str_eq(fail_on("hn1\n\5\0\0\0", 8, &err),
                     "receive a message: it ends after 0 of 5 bytes");
    cr_assert_str_eq(fail_on("hn2\n\2\0\0\0{}", 10, &err),
                     "receive a message: it begins with 68 6e 32 0a, not ours");
    cr_assert_str_eq(fail_on("hn1\n\1\0\0\4", 8, &err),
                     "receive a message: 67108865 bytes, at most 67108864");
    cr_assert_eq(strncmp(fail_on("hn1\n\2\0\0\0[}", 10, &err), "receive a message: 1:", 21), 0);
    cr_assert_eq(strncmp(fail_on("hn1\n\0\0\0\0", 8, &err), "receive a message: 1:", 21), 0);
}

Test(frame, times_out) {
    int fd[2];
    struct error err = {0};
    json_t *in;
    make_pair(fd);
    cr_assert_not(frame_read(fd[1], 0, &in, NULL, NULL, &err));
    cr_assert_eq(err.kind, ERROR_TIMEOUT);
    cr_assert_eq(write(fd[0], "hn1\n\5\0\0\0{", 9), 9);  // begins, and never goes on
    cr_assert_not(frame_read(fd[1], 1000000, &in, NULL, NULL, &err));
    cr_assert_eq(err.kind, ERROR_TIMEOUT);
    close_pair(fd);
}

Test(frame, write_to_a_closed_peer_is_no_signal) {
    int fd[2];
    struct error err = {0};
    make_pair(fd);
    close(fd[1]);
    json_t *out = json_object();
    cr_assert_not(frame_write(fd[0], out, NULL, 0, &err));
    cr_assert_str_eq(err.text, "closed");
    cr_assert(frame_was_closed(&err));
    cr_assert_eq(err.kind, ERROR_NONE, "forgotten");
    error_set(&err, ERROR_IO, "send a message: no");
    cr_assert_not(frame_was_closed(&err));
    cr_assert_eq(err.kind, ERROR_IO, "kept");
    cr_assert_not(frame_write(-1, out, NULL, 0, &err));
    cr_assert_eq(err.kind, ERROR_IO);
    json_decref(out);
    close(fd[0]);
}

Test(frame, write_refuses_what_the_reader_would) {
    int fd[2];
    struct error err = {0};
    make_pair(fd);
    size_t len = FRAME_MAX;
    char *text = malloc(len);
    memset(text, 'x', len);
    json_t *big = json_stringn(text, len);  // and two quotes
    cr_assert_not(frame_write(fd[0], big, NULL, 0, &err));
    cr_assert_str_eq(err.text, "send a message: 67108866 bytes, at most 67108864");
    json_decref(big);
    free(text);
    close_pair(fd);
}

Test(frame, read_stops_at_an_interrupt) {
    int fd[2];
    struct error err = {0};
    json_t *in;
    make_pair(fd);
    interrupt_init();
    raise(SIGINT);
    cr_assert_not(frame_read(fd[1], -1, &in, NULL, NULL, &err));
    cr_assert_eq(err.kind, ERROR_INTERRUPTED);
    cr_assert_not(frame_read(-1, 0, &in, NULL, NULL, &err));
    close_pair(fd);
}
